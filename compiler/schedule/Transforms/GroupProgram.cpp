#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/frontend/Frontend.h"
#include "compiler/schedule/Transforms/StoreCoverage.h"
#include "compiler/tile/IR/DTypes.h"
#include "core/metadata/KernelMetadata.h"

using namespace mlir;

namespace tessera::schedule {

GroupProgram::GroupProgram(GroupOp group, const std::string &name) : group_(group), name_(name) {
  std::string why;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && !space_.add(&op, why))
      llvm_unreachable("the verifier accepts groups that have a space only");
  specialized_ = group->getParentOfType<graph::FuncOp>().getSpecializedAttr();
}

/// A gather of single elements runs a lane for each.
static bool isElementGather(GroupOp group) {
  auto gather = dyn_cast<graph::GatherOp>(group.getBody().front().front());
  return gather && gather.getTable().getType().getRank() == 1;
}

LogicalResult GroupProgram::build(frontend::Kernel &kernel, std::vector<std::string> &dims) {
  kernel_.name = name_;
  b_.at(group_.getLoc());
  int64_t rank = space_.space().getRank();
  // A gather's tile lies in one row: each row has an index of its own.
  rows_ = rank >= 2 && space_.kind() != GroupKind::Gather ? rank - 2 : GroupSpace::kFixed;
  columns_ = rank - 1;
  // The reduced axis is one of the tile's.
  if (auto reduced = space_.reducedAxis(); reduced && *reduced != columns_) rows_ = *reduced;
  fixed_ = varying_ = &kernel_.body;
  addParams();
  if (!isElementGather(group_)) addGrid();
  LogicalResult result = success();
  switch (space_.kind()) {
  case GroupKind::Map:
    storeAll();
    break;
  case GroupKind::Reduce:
    buildReduce();
    break;
  case GroupKind::Matmul:
    buildMatmul();
    break;
  case GroupKind::Attention:
    result = buildAttention();
    break;
  case GroupKind::Gather:
    buildGather();
    break;
  case GroupKind::Concat:
    buildConcat();
    break;
  }
  if (!missing_.empty())
    return emitError(group_.getLoc()) << "the group needs '" << missing_
                                      << "', which is no expression of the dims of its tensors; give it a "
                                         "graph.dim of that";
  if (succeeded(result))
    if (std::string why = whyNotCovered(kernel_); !why.empty())
      return emitError(group_.getLoc()) << "the programs of this group leave a gap: " << why;
  for (auto &[text, name] : dims_)
    dims.push_back(text);
  kernel = std::move(kernel_);
  return result;
}

DType GroupProgram::dtypeOf(Type type) const {
  if (auto tensor = dyn_cast<Tensor>(type)) type = tensor.getElementType();
  return *dtypeOfMemory(type);
}

/// Dims of the metadata are symbols and products of them; anything else gets a name.
std::string GroupProgram::dimName(StringAttr text) {
  for (auto &[known, name] : dims_)
    if (known == text.getValue()) return name;
  auto isPlain = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '*'; };
  std::string name = text.str();
  if (!llvm::all_of(name, isPlain)) name = "dim" + std::to_string(dims_.size());
  dims_.emplace_back(text.str(), name);
  kernel_.dims.push_back(name);
  if (auto value = specialized_ ? specialized_.getAs<IntegerAttr>(text) : IntegerAttr())
    kernel_.specialized.emplace_back(name, value.getInt());
  return name;
}

void GroupProgram::addParams() {
  auto tensor = [&](Tensor type, std::string name, bool isResult) {
    frontend::Param p;
    p.name = std::move(name);
    p.isTensor = true;
    p.isResult = isResult;
    p.dtype = dtypeOf(type);
    for (Attribute dim : type.getDims())
      if (auto known = dyn_cast<IntegerAttr>(dim))
        p.dims.push_back({known.getInt(), ""});
      else
        p.dims.push_back({1, dimName(cast<StringAttr>(dim))});
    if (p.dims.empty()) p.dims.push_back({1, ""}); // one element
    kernel_.params.push_back(std::move(p));
    return static_cast<int>(kernel_.params.size() - 1);
  };
  Block &body = group_.getBody().front();
  for (BlockArgument arg : body.getArguments())
    if (auto type = dyn_cast<Tensor>(arg.getType()))
      params_[arg] = tensor(type, "in" + std::to_string(params_.size()), false);
  for (auto [i, type] : llvm::enumerate(group_.getResultTypes()))
    results_.push_back(tensor(cast<Tensor>(type), "out" + std::to_string(i), true));
  for (BlockArgument arg : body.getArguments()) {
    if (isa<Tensor>(arg.getType())) continue;
    frontend::Param p;
    p.name = "scalar" + std::to_string(arg.getArgNumber());
    p.dtype = dtypeOf(arg.getType());
    params_[arg] = static_cast<int>(kernel_.params.size());
    kernel_.params.push_back(std::move(p));
  }
}

std::optional<int64_t> GroupProgram::staticExtent(Attribute dim) const {
  if (auto known = dyn_cast<IntegerAttr>(dim)) return known.getInt();
  auto value = specialized_ ? specialized_.getAs<IntegerAttr>(cast<StringAttr>(dim)) : IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

ExprPtr GroupProgram::extent(Attribute dim) {
  if (auto known = dyn_cast<IntegerAttr>(dim)) return b_.integer(known.getInt());
  StringRef text = cast<StringAttr>(dim).getValue();
  for (auto &[known, name] : dims_)
    if (known == text) return b_.dim(name);
  return expression(text);
}

/// An expression over the function's dims, of which the kernel has those of its tensors.
ExprPtr GroupProgram::expression(StringRef text) {
  for (auto [arg, input] : llvm::zip_equal(group_.getBody().front().getArguments(), group_.getInputs()))
    if (auto dim = input.getDefiningOp<graph::DimOp>();
        dim && !isa<Tensor>(input.getType()) && dim.getExpression() == text) {
      ExprPtr e = b_.make(Op::ParamRef, ProgramBuilder::scalar(DType::I64));
      e->param = params_[arg];
      return e;
    }
  std::vector<std::string> names;
  for (auto &[known, name] : dims_)
    names.push_back(known);
  IndexExpr parsed;
  std::string why;
  if (!IndexExpr::parse(std::string_view(text.data(), text.size()), names, parsed, why)) {
    missing_ = text.str();
    return b_.integer(0);
  }
  using Code = IndexExpr::Code;
  std::vector<ExprPtr> stack;
  parsed.forEach([&](Code code, int64_t v) {
    if (code == Code::Const) return stack.push_back(b_.integer(v));
    if (code == Code::Slot) return stack.push_back(b_.dim(dims_[static_cast<size_t>(v)].second));
    ExprPtr top = std::move(stack.back());
    stack.pop_back();
    if (code == Code::Neg) return stack.push_back(b_.binary(Op::Sub, b_.integer(0), std::move(top)));
    ExprPtr lhs = std::move(stack.back());
    if (code == Code::CeilDiv) { // -floor(-a / b)
      lhs = b_.binary(Op::FloorDiv, b_.binary(Op::Sub, b_.integer(0), std::move(lhs)), std::move(top));
      stack.back() = b_.binary(Op::Sub, b_.integer(0), std::move(lhs));
      return;
    }
    Op op = code == Code::Add        ? Op::Add
            : code == Code::Sub      ? Op::Sub
            : code == Code::Mul      ? Op::Mul
            : code == Code::FloorDiv ? Op::FloorDiv
            : code == Code::Mod      ? Op::Mod
            : code == Code::Min      ? Op::Minimum
                                     : Op::Maximum;
    stack.back() = b_.binary(op, std::move(lhs), std::move(top));
  });
  return std::move(stack.back());
}

int64_t GroupProgram::tileExtent(int64_t axis) {
  ArrayRef<int64_t> tile = group_.getTile();
  if (axis >= 0 && axis < space_.space().getRank() && space_.space().isOne(axis)) return 1;
  if (axis == columns_) return space_.space().getRank() == 0 ? 1 : tile[1];
  return axis == rows_ ? tile[0] : 1;
}

/// One axis of the grid per axis of the space that is neither reduced nor of extent 1.
void GroupProgram::addGrid() {
  Tensor space = space_.space();
  starts_.resize(static_cast<size_t>(space.getRank()));
  for (int64_t axis = 0; axis < space.getRank(); ++axis) {
    bool isWalked =
        space_.reducedAxis() == axis ||
        (space_.kind() == GroupKind::Concat &&
         cast<graph::ConcatOp>(group_.getBody().front().front()).getAxis() == static_cast<uint64_t>(axis));
    if (space.isOne(axis) || isWalked) continue;
    frontend::GridAxis grid;
    grid.symbol = b_.symbol("i" + std::to_string(axis), ProgramBuilder::scalar(DType::I64));
    grid.lo = b_.integer(0);
    grid.hi = extent(space.getDims()[axis]);
    grid.step = b_.integer(isTileAxis(axis) ? tileExtent(axis) : 1);
    starts_[axis] = b_.var(grid.symbol);
    kernel_.grid.push_back(std::move(grid));
  }
}

ExprPtr GroupProgram::start(int64_t axis) {
  const ExprPtr &known = starts_[static_cast<size_t>(axis)];
  return known ? frontend::clone(*known) : b_.integer(0);
}

/// A tile of a tensor as [rows, columns], or [columns]; extent 1 where the tensor does not vary.
ExprPtr GroupProgram::loadTile(int param, Tensor type, const Axes &axes, ArrayAttr offsets) {
  std::vector<ExprPtr> starts;
  std::vector<int64_t> ints;
  SmallVector<int64_t> spanned; // axes of the space, in the tensor's order
  for (auto [d, axis] : llvm::enumerate(axes)) {
    bool isFixed = axis == GroupSpace::kFixed;
    ExprPtr at = isFixed ? b_.integer(0) : start(axis);
    if (offsets) at = b_.binary(Op::Add, std::move(at), expression(cast<StringAttr>(offsets[d]).getValue()));
    starts.push_back(std::move(at));
    bool spans = !isFixed && isTileAxis(axis);
    ints.push_back(spans ? tileExtent(axis) : -1);
    if (spans) spanned.push_back(axis);
  }
  if (axes.empty()) { // one element
    starts.push_back(b_.integer(0));
    ints.push_back(-1);
  }
  ExprPtr tile = b_.load(param, std::move(starts), std::move(ints));
  if (spanned.empty()) return b_.broadcast(std::move(tile), Shape(tileRank(), 1));
  if (spanned.size() == 2) return spanned[0] == rows_ ? std::move(tile) : b_.transpose(std::move(tile));
  if (tileRank() == 1) return tile;
  return b_.expandDims(std::move(tile), spanned[0] == rows_ ? 1 : 0);
}

ExprPtr GroupProgram::load(OpOperand &operand) {
  auto slice = dyn_cast<graph::SliceOp>(operand.getOwner());
  return loadTile(params_[operand.get()], cast<Tensor>(operand.get().getType()), space_.axesOf(operand),
                  slice ? slice.getStarts() : ArrayAttr());
}

void GroupProgram::storeResult(unsigned result) {
  storeResult(result, value(group_.getBody().front().getTerminator()->getOperand(result)));
}

/// Stores one result where its axes lie; what reaches past its edge is dropped.
void GroupProgram::storeResult(unsigned result, ExprPtr value) {
  OpOperand &operand = group_.getBody().front().getTerminator()->getOpOperand(result);
  std::vector<ExprPtr> starts;
  std::vector<int64_t> ints;
  Shape shape;                // of the stored tile
  Shape whole(tileRank(), 1); // the same with every axis of a tile
  for (int64_t axis : space_.axesOf(operand.get())) {
    bool isFixed = axis == GroupSpace::kFixed, spans = !isFixed && isTileAxis(axis);
    starts.push_back(isFixed ? b_.integer(0) : start(axis));
    ints.push_back(spans ? tileExtent(axis) : isFixed ? 1 : -1);
    if (ints.back() > 0) shape.push_back(ints.back());
    if (spans) whole[axis == columns_ ? tileRank() - 1 : 0] = tileExtent(axis);
  }
  if (starts.empty()) {
    starts.push_back(b_.integer(0));
    ints.push_back(1);
    shape.push_back(1);
  }
  ExprPtr tile = b_.broadcast(std::move(value), whole);
  if (shape.empty()) { // every axis an index: one element
    ExprPtr flat = b_.reshape(std::move(tile), {1});
    tile = b_.make(Op::Sum, ProgramBuilder::scalar(flat->type.dtype), std::move(flat));
    tile->ints = {0};
  } else {
    tile = b_.reshape(std::move(tile), shape);
  }
  b_.store(results_[result], std::move(tile), std::move(starts), std::move(ints));
}

void GroupProgram::storeAll() {
  for (unsigned i = 0; i < group_.getNumResults(); ++i)
    storeResult(i);
}

} // namespace tessera::schedule
