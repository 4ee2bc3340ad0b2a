#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/schedule/IR/GroupVariants.h"
#include "compiler/schedule/IR/VariantBodies.h"
#include "compiler/schedule/Transforms/IndexEmitter.h"
#include "compiler/schedule/Transforms/StoreCoverage.h"
#include "compiler/tile/IR/DTypes.h"

using namespace mlir;

namespace tessera::schedule {

/// Returns the source location that a group came from, or its own location.
static Location placeOf(GroupOp group) {
  auto where = group.getLoc()->findInstanceOf<FileLineColLoc>();
  return where ? Location(where) : group.getLoc();
}

GroupProgram::GroupProgram(GroupOp group, StringRef name, ArrayRef<DType> bodies, bool fitsTile)
    : group_(group), bodies_(bodies), builder_(group->getParentOfType<graph::FuncOp>()),
      frame_(builder_, placeOf(group), name, group->getParentOfType<graph::FuncOp>().getNumerics()),
      fitsTile_(fitsTile) {
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && space_.add(&op))
      llvm_unreachable("the verifier accepts groups that have a space only");
  specialized_ = group->getParentOfType<graph::FuncOp>().getSpecializedAttr();
}

LogicalResult GroupProgram::build(SmallVectorImpl<Attribute> &dims) {
  b_.at(placeOf(group_));
  std::tie(rows_, columns_) = space_.tileAxes();
  // The tile spans the reduced axis.
  if (auto reduced = space_.reducedAxis(); reduced && *reduced != columns_) rows_ = *reduced;
  addParams();
  openGrid();
  fixed_ = varying_ = builder_.saveInsertionPoint();
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
  case GroupKind::Scan:
    buildScan();
    break;
  case GroupKind::Concat:
    buildConcat();
    break;
  }
  frame_.close();
  if (!missing_.empty())
    return emitError(group_.getLoc()) << "the group needs '" << missing_
                                      << "', which is no expression of the dims of its tensors; give it a "
                                         "graph.dim of that";
  if (failed(result) || failed_) return failure();
  std::optional<KnownLength> known; // a number is in the program
  if (fitsTile_)
    if (auto expr = dyn_cast<tile::IndexExprAttr>(space_.space().getDims()[*space_.reducedAxis()]))
      known = {dimName(expr), tileExtent(*space_.reducedAxis())};
  if (std::string why = whyNotCovered(frame_.kernel(), known); !why.empty())
    return emitError(group_.getLoc()) << "the programs of this group leave a gap: " << why;
  nameTile();
  for (const Dim &dim : dims_)
    dims.push_back(dim.expr);
  return success();
}

/// Records the extents of the tile as the kernel's tunables, under the names that a variant gives them.
void GroupProgram::nameTile() {
  ArrayRef<BodyParameter> names = findBody(kTileBody, group_.getKind())->parameters;
  ArrayRef<int64_t> tile = group_.getTile();
  NamedAttrList extents;
  Builder b(group_.getContext());
  for (auto [p, extent] : llvm::zip(names.take_back(tile.size()), tile.take_back(names.size())))
    extents.set(p.name, b.getI64IntegerAttr(extent));
  if (!extents.empty()) frame_.kernel().setTunablesAttr(extents.getDictionary(group_.getContext()));
}

DType GroupProgram::dtypeOf(Type type) const {
  if (auto tensor = dyn_cast<Tensor>(type)) type = tensor.getElementType();
  return *dtypeOfMemory(type);
}

/// Dims in the metadata are symbols and products of them; any other expression gets a name.
std::string GroupProgram::dimName(tile::IndexExprAttr expr) {
  for (const Dim &dim : dims_)
    if (dim.expr == expr) return dim.name;
  std::string name(expr.getExpr().asSymbol());
  if (name.empty()) name = "dim" + std::to_string(dims_.size());
  dims_.push_back({expr, name, staticExtent(expr), {}});
  return name;
}

void GroupProgram::addParams() {
  auto tensor = [&](Tensor type, std::string name, bool isResult) {
    const DType dtype = dtypeOf(type);
    SmallVector<int64_t> shape;
    SmallVector<Attribute> dims;
    for (Attribute dim : type.getDims()) {
      auto known = dyn_cast<IntegerAttr>(dim);
      dims.push_back(builder_.getStringAttr(known ? std::to_string(known.getInt())
                                                  : dimName(cast<tile::IndexExprAttr>(dim))));
      shape.push_back(staticExtent(dim).value_or(ShapedType::kDynamic));
    }
    if (dims.empty()) { // one element
      dims.push_back(builder_.getStringAttr("1"));
      shape.push_back(1);
    }
    MLIRContext *context = builder_.getContext();
    auto param = tile::ParamAttr::get(
        context, builder_.getStringAttr(name), isResult ? tile::ParamKind::Result : tile::ParamKind::Tensor,
        dtype, isResult ? tile::Access::Write : tile::Access::Read, builder_.getArrayAttr(dims), ArrayAttr(),
        Attribute(), DictionaryAttr());
    auto view = tile::ViewType::get(context, shape, elementTypeInMemory(context, dtype));
    return TypedValue{frame_.addParam(param, view, b_.loc()), dtype};
  };
  Block &body = group_.getBody().front();
  for (BlockArgument arg : body.getArguments())
    if (auto type = dyn_cast<Tensor>(arg.getType()))
      params_[arg] = tensor(type, "in" + std::to_string(params_.size()), false);
  for (auto [i, type] : llvm::enumerate(group_.getResultTypes()))
    results_.push_back(tensor(cast<Tensor>(type), "out" + std::to_string(i), true));
  for (BlockArgument arg : body.getArguments()) {
    if (isa<Tensor>(arg.getType())) continue;
    const DType dtype = scalarDType(group_, arg);
    auto name = builder_.getStringAttr("scalar" + std::to_string(arg.getArgNumber()));
    auto param =
        tile::ParamAttr::get(builder_.getContext(), name, tile::ParamKind::Scalar, dtype, tile::Access::None,
                             ArrayAttr(), ArrayAttr(), Attribute(), DictionaryAttr());
    Type type = elementTypeInValues(builder_.getContext(), dtype);
    params_[arg] = {frame_.addParam(param, type, b_.loc()), dtype};
  }
  std::vector<std::pair<std::string, int64_t>> known;
  for (Dim &dim : dims_) {
    dim.argument = frame_.addDim(dim.name);
    if (dim.known) known.emplace_back(dim.name, *dim.known);
  }
  if (!known.empty()) frame_.kernel().setSpecializedAttr(describeInts(builder_, known));
}

std::optional<int64_t> GroupProgram::staticExtent(Attribute dim) const {
  if (auto known = dyn_cast<IntegerAttr>(dim)) return known.getInt();
  auto value =
      specialized_ ? specialized_.getAs<IntegerAttr>(cast<tile::IndexExprAttr>(dim).text()) : IntegerAttr();
  return value ? std::optional(value.getInt()) : std::nullopt;
}

TypedValue GroupProgram::dimValue(size_t dim) {
  return dims_[dim].known ? b_.integer(*dims_[dim].known) : b_.fromIndex(dims_[dim].argument);
}

TypedValue GroupProgram::extent(Attribute dim) {
  if (auto known = dyn_cast<IntegerAttr>(dim)) return b_.integer(known.getInt());
  for (size_t i = 0; i < dims_.size(); ++i)
    if (dims_[i].expr == dim) return dimValue(i);
  return expression(cast<tile::IndexExprAttr>(dim));
}

IndexExpr GroupProgram::extentExpr(Attribute dim) {
  if (auto known = dyn_cast<IntegerAttr>(dim)) return IndexExpr::constant(known.getInt());
  for (const Dim &known : dims_)
    if (known.expr == dim) return IndexExpr::symbol(known.name);
  auto expr = cast<tile::IndexExprAttr>(dim);
  if (Value param = extentParam(expr))
    return IndexExpr::symbol("scalar" + std::to_string(cast<BlockArgument>(param).getArgNumber()));
  missing_ = expr.text();
  return IndexExpr::constant(0);
}

Value GroupProgram::extentParam(tile::IndexExprAttr expr) {
  for (auto [arg, input] : llvm::zip_equal(group_.getBody().front().getArguments(), group_.getInputs()))
    if (auto dim = input.getDefiningOp<graph::DimOp>();
        dim && !isa<Tensor>(input.getType()) && dim.getExpression() == expr)
      return arg;
  return {};
}

/// Emits an expression over the function's dims. The kernel has those dims that its tensors have.
TypedValue GroupProgram::expression(tile::IndexExprAttr expr) {
  if (Value param = extentParam(expr)) return {params_[param].value, DType::I64};
  std::vector<IndexExpr> known;
  for (const Dim &dim : dims_)
    known.push_back(dim.expr.getExpr());
  tessera::Expected<IndexExpr> bound = expr.getExpr().bind(known);
  if (!bound) {
    missing_ = expr.text();
    return b_.integer(0);
  }
  auto valueOf = [&](int64_t slot) { return b_.toIndex(dimValue(static_cast<size_t>(slot))); };
  return b_.fromIndex(emitIndexExpr(builder_, b_.loc(), *bound, valueOf));
}

int64_t GroupProgram::tileExtent(int64_t axis) {
  ArrayRef<int64_t> tile = group_.getTile();
  if (axis >= 0 && axis < space_.space().getRank() && space_.space().isOne(axis)) return 1;
  if (axis == columns_) return space_.space().getRank() == 0 ? 1 : tile[1];
  return axis == rows_ ? tile[0] : 1;
}

/// Opens a grid with one axis per axis of the space that is neither reduced nor of extent 1.
void GroupProgram::openGrid() {
  Tensor space = space_.space();
  SmallVector<int64_t> axes;
  std::vector<KernelFrame::Axis> grid;
  for (int64_t axis = 0; axis < space.getRank(); ++axis) {
    // A program of attention computes whole rows.
    bool isWalked = space_.reducedAxis() == axis ||
                    (space_.kind() == GroupKind::Attention && axis + 1 == space.getRank()) ||
                    (space_.interleaves() && axis + 1 == space.getRank());
    const bool isSplit = isWalked && space_.parts();
    if ((space.isOne(axis) || isWalked) && !isSplit) continue;
    axes.push_back(axis);
    if (isSplit) {
      grid.push_back({IndexExpr::constant(0), extentExpr(partCount()), IndexExpr::constant(1),
                      "i" + std::to_string(axis), b_.loc()});
      continue;
    }
    grid.push_back({IndexExpr::constant(0), extentExpr(space.getDims()[axis]),
                    IndexExpr::constant(isTileAxis(axis) ? tileExtent(axis) : 1), "i" + std::to_string(axis),
                    b_.loc()});
  }
  starts_.resize(static_cast<size_t>(space.getRank()));
  for (auto [axis, variable] : llvm::zip_equal(axes, frame_.openGrid(grid)))
    (axis == space_.reducedAxis() ? part_ : starts_[axis]) = b_.fromIndex(variable);
}

Attribute GroupProgram::partCount() {
  return graph::partsOf(space_.space(), *space_.reducedAxis(), *space_.parts());
}

TypedValue GroupProgram::start(int64_t axis) {
  const std::optional<TypedValue> &known = starts_[static_cast<size_t>(axis)];
  return known ? *known : b_.integer(0);
}

/// Loads a tile of a tensor as [rows, columns], or [columns], with extent 1 where the tensor does not vary.
/// Of what is before parts it loads that of the program's part; nothing is before the first.
TypedValue GroupProgram::loadTile(const TypedValue &view, Tensor type, const Axes &axes, ArrayAttr offsets,
                                  bool beginsAfter) {
  GroupBuilder::Starts starts;
  std::vector<int64_t> ints;
  SmallVector<int64_t> spanned; // axes of the space, in the tensor's order
  for (auto [d, axis] : llvm::enumerate(axes)) {
    bool isFixed = axis == GroupSpace::kFixed;
    TypedValue at = isFixed ? b_.integer(0)
                    : axis == GroupSpace::kParts
                        ? b_.binary(graph::BinaryKind::Maximum, b_.sub(*part_, b_.integer(1)), b_.integer(0))
                        : start(axis);
    if (offsets) {
      TypedValue offset = expression(cast<tile::IndexExprAttr>(offsets[d]));
      const bool isZero = isFixed || !starts_[static_cast<size_t>(axis)];
      at = beginsAfter ? b_.sub(at, offset) : isZero ? offset : b_.add(at, offset);
    }
    starts.push_back(at);
    bool spans = !isFixed && isTileAxis(axis);
    ints.push_back(spans ? tileExtent(axis) : -1);
    if (spans) spanned.push_back(axis);
  }
  if (axes.empty()) { // one element
    starts.push_back(b_.integer(0));
    ints.push_back(-1);
  }
  TypedValue tile = b_.load(view, starts, ints);
  if (spanned.empty()) return b_.broadcast(tile, Shape(tileRank(), 1));
  if (spanned.size() == 2) return spanned[0] == rows_ ? tile : b_.transpose(tile);
  if (tileRank() == 1) return tile;
  return b_.expandDims(tile, spanned[0] == rows_ ? 1 : 0);
}

TypedValue GroupProgram::load(OpOperand &operand) {
  auto slice = dyn_cast<graph::SliceOp>(operand.getOwner());
  return loadTile(params_[operand.get()], cast<Tensor>(operand.get().getType()), space_.axesOf(operand),
                  slice ? slice.getStarts() : ArrayAttr());
}

void GroupProgram::storeResult(unsigned result) {
  storeResult(result, value(group_.getBody().front().getTerminator()->getOperand(result)));
}

/// Stores one result at its axes. Elements past its edge are masked.
void GroupProgram::storeResult(unsigned result, const TypedValue &value) {
  OpOperand &operand = group_.getBody().front().getTerminator()->getOpOperand(result);
  GroupBuilder::Starts starts;
  std::vector<int64_t> ints;
  Shape shape;                // of the stored tile
  Shape whole(tileRank(), 1); // the same with every axis of a tile
  for (int64_t axis : space_.axesOf(operand.get())) {
    bool isFixed = axis == GroupSpace::kFixed, spans = !isFixed && isTileAxis(axis);
    starts.push_back(isFixed ? b_.integer(0) : axis == GroupSpace::kParts ? *part_ : start(axis));
    ints.push_back(spans ? tileExtent(axis) : isFixed ? 1 : -1);
    if (ints.back() > 0) shape.push_back(ints.back());
    if (spans) whole[axis == columns_ ? tileRank() - 1 : 0] = tileExtent(axis);
  }
  if (starts.empty()) {
    starts.push_back(b_.integer(0));
    ints.push_back(1);
    shape.push_back(1);
  }
  TypedValue tile = b_.broadcast(value, whole);
  if (shape.empty()) { // every axis is an index: one element
    tile = b_.reduce(tile::ReduceKind::Sum, b_.reshape(tile, {1}), 0);
  } else {
    tile = b_.reshape(tile, shape);
  }
  b_.store(tile, results_[result], starts, ints);
}

void GroupProgram::storeAll() {
  for (unsigned i = 0; i < group_.getNumResults(); ++i)
    storeResult(i);
}

} // namespace tessera::schedule
