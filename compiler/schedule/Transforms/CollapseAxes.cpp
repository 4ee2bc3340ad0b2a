#include "compiler/schedule/Transforms/CollapseAxes.h"
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

/// Returns the number of elements of a tensor of `dims`; null if it overflows.
Attribute countOf(MLIRContext *context, ArrayRef<Attribute> dims) {
  if (dims.size() == 1) return dims.front();
  std::vector<IndexExpr> extents;
  for (Attribute dim : dims) {
    auto known = dyn_cast<IntegerAttr>(dim);
    extents.push_back(known ? IndexExpr::constant(known.getInt()) : cast<tile::IndexExprAttr>(dim).getExpr());
  }
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

/// Returns the types of the group's tensors that have axes, but for those that slices read; none if an
/// operation reads elements at other positions than its own.
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
    if (!isa<graph::UnaryOp, graph::BinaryOp, graph::SelectOp, graph::CastOp, graph::BroadcastOp>(op))
      return {};
    for (TypeRange of : {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
      for (Type type : of)
        if (!isSingle(type)) types.push_back(cast<Tensor>(type));
  }
  return types;
}

/// Returns the smallest number of runs of axes such that each tensor has or lacks each run as a whole, and
/// slices take whole runs of several axes.
SmallVector<Run> runsOf(ArrayRef<Tensor> tensors, ArrayRef<graph::SliceOp> slices, Tensor space) {
  auto fits = [&](Run run) {
    return llvm::all_of(tensors, [&](Tensor t) { return hasAll(t, space, run) || hasNone(t, space, run); }) &&
           (run.count == 1 || llvm::all_of(slices, [&](graph::SliceOp s) { return isWhole(s, space, run); }));
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

/// Of tensors that are joined, the axes before the one along which they are become one, and that axis and
/// those after it become another: what is copied in one piece is as long as possible.
void collapseConcat(GroupOp group, graph::FuncOp function, const codegen::Target &target) {
  auto op = cast<graph::ConcatOp>(group.getBody().front().front());
  const auto axis = static_cast<size_t>(op.getAxis());
  const auto rank = static_cast<size_t>(op.getType().getRank());
  if (rank == (axis == 0 ? 1U : 2U)) return;
  auto flat = [&](Type type) -> Type {
    auto tensor = cast<Tensor>(type);
    ArrayRef<Attribute> dims = tensor.getDims().getValue();
    SmallVector<Attribute> merged;
    if (axis > 0) merged.push_back(countOf(group.getContext(), dims.take_front(axis)));
    merged.push_back(countOf(group.getContext(), dims.drop_front(axis)));
    if (!llvm::all_of(merged, [](Attribute count) { return bool(count); })) return {};
    return Tensor::get(group.getContext(), ArrayAttr::get(group.getContext(), merged),
                       tensor.getElementType());
  };
  Type result = flat(op.getType());
  SmallVector<Type> types = llvm::map_to_vector(op.getInputs(), [&](Value v) { return flat(v.getType()); });
  if (!result || !llvm::all_of(types, [](Type type) { return bool(type); })) return;
  // The group's tensors are the operands; scalars that are extents of the old shapes are not needed.
  Block &old = group.getBody().front();
  OpBuilder b(group);
  SmallVector<Value> inputs;
  for (BlockArgument arg : old.getArguments())
    if (isa<Tensor>(arg.getType()))
      inputs.push_back(
          reshaped(b, group.getLoc(), group.getInputs()[arg.getArgNumber()], flat(arg.getType())));
  auto collapsed = GroupOp::create(b, group.getLoc(), TypeRange(result), group.getKind(), inputs,
                                   group.getTile(), IntegerAttr(), StringAttr(), ArrayAttr());
  Block &body = collapsed.getBody().emplaceBlock();
  IRMapping map;
  size_t next = 0;
  for (BlockArgument arg : old.getArguments())
    if (isa<Tensor>(arg.getType())) map.map(arg, body.addArgument(inputs[next++].getType(), arg.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  auto copy = graph::ConcatOp::create(
      inner, op.getLoc(), result, llvm::map_to_vector(op.getInputs(), [&](Value v) { return map.lookup(v); }),
      axis == 0 ? 0 : 1);
  YieldOp::create(inner, group.getLoc(), copy.getResult());
  GroupSpace space;
  if (space.add(copy)) llvm_unreachable("a concat is the first operation of a group");
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
  SmallVector<Run> runs = runsOf(tensors, slices, space);
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
  auto flatInput = [&](BlockArgument arg) -> Type {
    auto tensor = dyn_cast<Tensor>(arg.getType());
    if (!tensor || llvm::none_of(slices, [&](graph::SliceOp s) { return s.getInput() == arg; }))
      return flat(arg.getType());
    SmallVector<Attribute> dims;
    for (auto [run, count] : llvm::zip_equal(runs, counts))
      dims.push_back(run.count == 1 ? tensor.getDims()[run.first] : count);
    return Tensor::get(b.getContext(), b.getArrayAttr(dims), tensor.getElementType());
  };
  SmallVector<Value> inputs;
  for (auto [input, arg] : llvm::zip_equal(group.getInputs(), group.getBody().front().getArguments()))
    inputs.push_back(reshaped(b, group.getLoc(), input, flatInput(arg)));
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
