#include "compiler/schedule/Transforms/CollapseAxes.h"
#include "compiler/schedule/Transforms/MissingExpressions.h"
#include "compiler/schedule/Transforms/TileSizes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tessera::schedule {

using Tensor = graph::TensorType;

namespace {

bool isSingle(Type type) {
  auto tensor = dyn_cast<Tensor>(type);
  return !tensor || tensor.getRank() == 0;
}

IndexExpr exprOf(Attribute extent) {
  auto known = dyn_cast<IntegerAttr>(extent);
  return known ? IndexExpr::constant(known.getInt()) : cast<tile::IndexExprAttr>(extent).getExpr();
}

/// Returns the number of elements of a tensor of `dims`; null if it overflows.
Attribute countOf(MLIRContext *context, ArrayRef<Attribute> dims) {
  if (dims.size() == 1) return dims.front();
  std::vector<IndexExpr> extents;
  for (Attribute dim : dims)
    extents.push_back(exprOf(dim));
  std::optional<IndexExpr> count = IndexExpr::product(extents);
  return count && !count->checkText() ? graph::extentAttr(context, *count) : Attribute();
}

/// Adjacent axes of a space, starting at `first`.
struct Run {
  int64_t first, count;
};

/// How a tensor, whose last axes are the space's, has the axes of `run`: all of them, or none (extent 1, or
/// no such axis). A tensor whose extents there are all 1 has both.
bool hasAll(Tensor type, Tensor space, Run run) {
  int64_t first = run.first - (space.getRank() - type.getRank());
  return first >= 0 && type.getDims().getValue().slice(first, run.count) ==
                           space.getDims().getValue().slice(run.first, run.count);
}
bool hasNone(Tensor type, Tensor space, Run run) {
  int64_t first = run.first - (space.getRank() - type.getRank());
  for (int64_t d = first; d < first + run.count; ++d)
    if (d >= 0 && !type.isOne(d)) return false;
  return true;
}

/// Does the slice take all elements of the axes of `run`?
bool isWhole(graph::SliceOp slice, Tensor space, Run run) {
  Tensor input = slice.getInput().getType();
  for (int64_t d = run.first; d < run.first + run.count; ++d)
    if (input.getDims()[d] != space.getDims()[d] ||
        cast<tile::IndexExprAttr>(slice.getStarts()[d]).getExpr().asConstant() != 0 ||
        (slice.getSteps() && (*slice.getSteps())[d] != 1))
      return false;
  return true;
}

/// Are the axes of `run` next to each other, in this order, in the transposed tensor too?
bool isKept(graph::TransposeOp transpose, Run run) {
  for (int64_t d = run.first + 1; d < run.first + run.count; ++d)
    if (transpose.getPerm()[d] != transpose.getPerm()[d - 1] + 1) return false;
  return true;
}

/// Returns the runs in the order that the transposed tensor has them.
SmallVector<int64_t> orderIn(graph::TransposeOp transpose, ArrayRef<Run> runs) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(runs.size())));
  llvm::sort(order, [&](int64_t x, int64_t y) {
    return transpose.getPerm()[runs[x].first] < transpose.getPerm()[runs[y].first];
  });
  return order;
}

/// Returns the types of the group's tensors that have axes, but for those that slices and transposes read;
/// none if an operation reads elements at other positions than its own.
SmallVector<Tensor> tensorsOf(GroupOp group) {
  SmallVector<Tensor> types;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>()) continue;
    if (auto slice = dyn_cast<graph::SliceOp>(op)) {
      // An expression of dims would need them as extents of the collapsed tensors.
      for (auto start : slice.getStarts().getAsRange<tile::IndexExprAttr>())
        if (!start.getExpr().asConstant()) return {};
      types.push_back(slice.getType());
      continue;
    }
    if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
      types.push_back(transpose.getType());
      continue;
    }
    if (!isa<graph::UnaryOp, graph::BinaryOp, graph::SelectOp, graph::CastOp, graph::BroadcastOp>(op))
      return {};
    for (TypeRange of : {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
      for (Type type : of)
        if (!isSingle(type)) types.push_back(cast<Tensor>(type));
  }
  return types;
}

/// Returns the smallest number of runs of axes such that each tensor has or lacks each run as a whole, slices
/// take whole runs of several axes, and transposes move whole runs.
SmallVector<Run> runsOf(ArrayRef<Tensor> tensors, ArrayRef<graph::SliceOp> slices,
                        ArrayRef<graph::TransposeOp> transposes, Tensor space) {
  auto fits = [&](Run run) {
    return llvm::all_of(tensors, [&](Tensor t) { return hasAll(t, space, run) || hasNone(t, space, run); }) &&
           (run.count == 1 ||
            llvm::all_of(slices, [&](graph::SliceOp s) { return isWhole(s, space, run); })) &&
           llvm::all_of(transposes, [&](graph::TransposeOp t) { return isKept(t, run); });
  };
  SmallVector<Run> runs;
  for (int64_t axis = 0; axis < space.getRank(); ++axis) {
    if (!fits({axis, 1})) return {};
    if (!runs.empty() && fits({runs.back().first, runs.back().count + 1}))
      ++runs.back().count;
    else
      runs.push_back({axis, 1});
  }
  return runs;
}

Value reshaped(OpBuilder &b, Location loc, Value v, Type type) {
  return v.getType() == type ? v : graph::ReshapeOp::create(b, loc, type, v);
}

/// A slice along one axis, with that axis and those after it merged, and those before it.
struct FlatSlice {
  SmallVector<Attribute> starts;
  SmallVector<int64_t> steps;
};

/// Returns null if the merged slice is not one: it takes a part of another axis, or leaves elements out of
/// the merged one.
std::optional<FlatSlice> flatten(graph::SliceOp slice, size_t axis) {
  Tensor input = slice.getInput().getType(), result = slice.getType();
  const auto rank = static_cast<size_t>(input.getRank());
  auto start = [&](size_t d) { return cast<tile::IndexExprAttr>(slice.getStarts()[d]); };
  auto step = [&](size_t d) { return slice.getSteps() ? (*slice.getSteps())[d] : 1; };
  for (size_t d = 0; d < rank; ++d) {
    if (d == axis || (axis == 1 && d == 0)) continue;
    if (input.getDims()[d] != result.getDims()[d] || start(d).getExpr().asConstant() != 0 || step(d) != 1)
      return std::nullopt;
  }
  FlatSlice flat;
  if (axis > 0) {
    const bool keeps = axis == 1;
    flat.starts.push_back(keeps ? start(0)
                                : tile::IndexExprAttr::get(slice.getContext(), IndexExpr::constant(0)));
    flat.steps.push_back(keeps ? step(0) : 1);
  }
  flat.steps.push_back(step(axis));
  if (axis + 1 == rank) {
    flat.starts.push_back(start(axis));
    return flat;
  }
  if (step(axis) != 1) return std::nullopt;
  std::vector<IndexExpr> factors{start(axis).getExpr()};
  for (size_t d = axis + 1; d < rank; ++d)
    factors.push_back(exprOf(input.getDims()[d]));
  std::optional<IndexExpr> first = IndexExpr::product(factors);
  if (!first || first->checkText()) return std::nullopt;
  flat.starts.push_back(tile::IndexExprAttr::get(slice.getContext(), *first));
  return flat;
}

/// Of tensors that are joined, the axes before the one along which they are become one, and that axis and
/// those after it become another: what is copied in one piece is as long as possible.
void collapseConcat(GroupOp group, graph::FuncOp function, const codegen::Target &target) {
  Block &old = group.getBody().front();
  auto op = *old.getOps<graph::ConcatOp>().begin();
  const auto axis = static_cast<size_t>(op.getAxis());
  const auto rank = static_cast<size_t>(op.getType().getRank());
  if (rank == (axis == 0 ? 1U : 2U)) return;
  auto flat = [&](Type type) -> Tensor {
    auto tensor = cast<Tensor>(type);
    ArrayRef<Attribute> dims = tensor.getDims().getValue();
    SmallVector<Attribute> merged;
    if (axis > 0) merged.push_back(countOf(group.getContext(), dims.take_front(axis)));
    merged.push_back(countOf(group.getContext(), dims.drop_front(axis)));
    if (!llvm::all_of(merged, [](Attribute count) { return bool(count); })) return {};
    return Tensor::get(group.getContext(), ArrayAttr::get(group.getContext(), merged),
                       tensor.getElementType());
  };
  auto isValue = [](Operation &inside) {
    return !isa<graph::SliceOp, graph::ConcatOp>(inside) && !inside.hasTrait<OpTrait::ConstantLike>();
  };
  for (Operation &inside : old.without_terminator()) {
    if (!isValue(inside)) continue;
    if (isa<graph::BroadcastOp, graph::IotaOp>(inside) || !flat(inside.getResult(0).getType())) return;
    for (Type type : inside.getOperandTypes())
      if (auto tensor = dyn_cast<Tensor>(type);
          tensor && tensor.getDims() != cast<Tensor>(inside.getResult(0).getType()).getDims())
        return;
  }
  llvm::SmallDenseMap<Operation *, FlatSlice> slices;
  for (auto slice : old.getOps<graph::SliceOp>()) {
    std::optional<FlatSlice> merged = flatten(slice, axis);
    if (!merged || !flat(slice.getType())) return;
    slices[slice] = std::move(*merged);
  }
  Tensor result = flat(op.getType());
  if (!result || !llvm::all_of(op.getInputs(), [&](Value v) { return bool(flat(v.getType())); })) return;
  for (BlockArgument arg : old.getArguments())
    if (isa<Tensor>(arg.getType()) && !flat(arg.getType())) return;
  // Scalars that no operation reads are extents of the old shapes, which are not needed.
  auto isRead = [](BlockArgument arg) { return isa<Tensor>(arg.getType()) || !arg.use_empty(); };
  OpBuilder b(group);
  SmallVector<Value> inputs;
  for (BlockArgument arg : old.getArguments()) {
    if (!isRead(arg)) continue;
    Value input = group.getInputs()[arg.getArgNumber()];
    inputs.push_back(isa<Tensor>(arg.getType()) ? reshaped(b, group.getLoc(), input, flat(arg.getType()))
                                                : input);
  }
  SmallVector<Attribute> starts, extents;
  for (auto slice : old.getOps<graph::SliceOp>())
    llvm::append_range(starts, slices[slice].starts);
  for (Value v : op.getInputs())
    llvm::append_range(extents, flat(v.getType()).getDims().getValue());
  for (tile::IndexExprAttr expr : missingExpressions(inputs, result, extents, starts))
    inputs.push_back(graph::DimOp::create(b, op.getLoc(), b.getI64Type(), expr));
  auto collapsed = GroupOp::create(b, group.getLoc(), TypeRange(result), group.getKind(), inputs,
                                   group.getTile(), IntegerAttr(), StringAttr(), ArrayAttr());
  Block &body = collapsed.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), input.getLoc());
  IRMapping map;
  size_t next = 0;
  for (BlockArgument arg : old.getArguments())
    if (isRead(arg)) map.map(arg, body.getArgument(next++));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (Operation &inside : old.without_terminator()) {
    if (isa<graph::ConcatOp>(inside)) continue;
    auto slice = dyn_cast<graph::SliceOp>(inside);
    if (!slice) {
      Operation *copy = inner.clone(inside, map);
      if (isValue(inside)) copy->getResult(0).setType(flat(inside.getResult(0).getType()));
      continue;
    }
    const FlatSlice &merged = slices[slice];
    auto steps = slice.getSteps() ? inner.getDenseI64ArrayAttr(merged.steps) : DenseI64ArrayAttr();
    map.map(slice.getResult(),
            graph::SliceOp::create(inner, slice.getLoc(), flat(slice.getType()), map.lookup(slice.getInput()),
                                   inner.getArrayAttr(merged.starts), steps)
                .getResult());
  }
  auto copy = graph::ConcatOp::create(
      inner, op.getLoc(), result, llvm::map_to_vector(op.getInputs(), [&](Value v) { return map.lookup(v); }),
      axis == 0 ? 0 : 1);
  YieldOp::create(inner, group.getLoc(), copy.getResult());
  GroupSpace space;
  for (Operation &inside : body.without_terminator())
    if (!inside.hasTrait<OpTrait::ConstantLike>() && space.add(&inside))
      llvm_unreachable("a concat joins slices with any axes, and values of one shape");
  collapsed.setTile(chooseTile(space, function, target));
  b.setInsertionPointAfter(collapsed);
  group.getResult(0).replaceAllUsesWith(
      reshaped(b, group.getLoc(), collapsed.getResult(0), group.getResult(0).getType()));
  group.erase();
}

} // namespace

void collapseAxes(GroupOp group, graph::FuncOp function, const codegen::Target &target) {
  if (group.getKind() == GroupKind::Concat) return collapseConcat(group, function, target);
  if (group.getKind() != GroupKind::Map || group.getVariant()) return;
  SmallVector<Tensor> tensors = tensorsOf(group);
  if (tensors.empty()) return;
  GroupSpace whole;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && whole.add(&op)) return;
  Tensor space = whole.space();
  const auto slices = llvm::to_vector(group.getBody().front().getOps<graph::SliceOp>());
  const auto transposes = llvm::to_vector(group.getBody().front().getOps<graph::TransposeOp>());
  SmallVector<Run> runs = runsOf(tensors, slices, transposes, space);
  if (runs.empty() || static_cast<int64_t>(runs.size()) == space.getRank()) return;
  SmallVector<Attribute> counts;
  for (Run run : runs) {
    counts.push_back(countOf(group.getContext(), space.getDims().getValue().slice(run.first, run.count)));
    if (!counts.back()) return;
  }
  OpBuilder b(group);
  auto flat = [&](Type type) -> Type {
    if (isSingle(type)) return type;
    auto tensor = cast<Tensor>(type);
    SmallVector<Attribute> dims;
    for (auto [run, count] : llvm::zip_equal(runs, counts))
      if (run.first + run.count > space.getRank() - tensor.getRank())
        dims.push_back(hasAll(tensor, space, run) ? count : Attribute(b.getI64IntegerAttr(1)));
    return Tensor::get(b.getContext(), b.getArrayAttr(dims), tensor.getElementType());
  };
  // A slice leaves the axes as they are that it takes a part of.
  auto flatFor = [&](Operation *reader, Type type) -> Type {
    auto tensor = dyn_cast<Tensor>(type);
    SmallVector<Attribute> dims;
    if (auto transpose = dyn_cast<graph::TransposeOp>(reader)) {
      for (int64_t run : orderIn(transpose, runs))
        dims.push_back(counts[run]);
    } else if (isa<graph::SliceOp>(reader)) {
      for (auto [run, count] : llvm::zip_equal(runs, counts))
        dims.push_back(run.count == 1 ? tensor.getDims()[run.first] : count);
    } else {
      return flat(type);
    }
    return Tensor::get(b.getContext(), b.getArrayAttr(dims), tensor.getElementType());
  };
  SmallVector<Type> types;
  for (BlockArgument arg : group.getBody().front().getArguments()) {
    types.push_back(arg.use_empty() ? flat(arg.getType()) : flatFor(*arg.user_begin(), arg.getType()));
    if (!llvm::all_of(arg.getUsers(),
                      [&](Operation *reader) { return flatFor(reader, arg.getType()) == types.back(); }))
      return; // it is read in two ways
  }
  SmallVector<Value> inputs;
  for (auto [input, type] : llvm::zip_equal(group.getInputs(), types))
    inputs.push_back(reshaped(b, group.getLoc(), input, type));
  SmallVector<Type> results = llvm::map_to_vector(group.getResultTypes(), flat);
  auto collapsed = GroupOp::create(b, group.getLoc(), results, group.getKind(), inputs, group.getTile(),
                                   IntegerAttr(), StringAttr(), ArrayAttr());
  Block &body = collapsed.getBody().emplaceBlock();
  IRMapping map;
  for (auto [old, input] : llvm::zip_equal(group.getBody().front().getArguments(), inputs))
    map.map(old, body.addArgument(input.getType(), old.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  GroupSpace merged;
  for (Operation &op : group.getBody().front()) {
    Operation *copy = inner.clone(op, map);
    for (Value result : copy->getResults())
      result.setType(flat(result.getType()));
    if (auto slice = dyn_cast<graph::SliceOp>(copy)) {
      SmallVector<Attribute> starts;
      SmallVector<int64_t> steps;
      for (Run run : runs) {
        starts.push_back(slice.getStarts()[run.first]);
        if (slice.getSteps()) steps.push_back((*slice.getSteps())[run.first]);
      }
      slice.setStartsAttr(b.getArrayAttr(starts));
      if (slice.getSteps()) slice.setSteps(steps);
    }
    if (auto transpose = dyn_cast<graph::TransposeOp>(copy)) {
      SmallVector<int64_t> perm(runs.size());
      for (auto [place, run] : llvm::enumerate(orderIn(transpose, runs)))
        perm[run] = static_cast<int64_t>(place);
      transpose.setPerm(perm);
    }
    if (!isa<YieldOp>(copy) && !copy->hasTrait<OpTrait::ConstantLike>() && merged.add(copy))
      llvm_unreachable("operations that shared a space share its runs of axes");
  }
  collapsed.setTile(chooseTile(merged, function, target));
  b.setInsertionPointAfter(collapsed);
  for (auto [old, result] : llvm::zip_equal(group.getResults(), collapsed.getResults()))
    old.replaceAllUsesWith(reshaped(b, group.getLoc(), result, old.getType()));
  group.erase();
}

} // namespace tessera::schedule
