// The rules of the operations on whole tensors.
#include "compiler/graph/IR/GraphDialect.h"

using namespace mlir;
using namespace tessera::graph;
using Tensor = tessera::graph::TensorType;

namespace {

Type elementOf(Type type) {
  auto tensor = dyn_cast<Tensor>(type);
  return tensor ? tensor.getElementType() : type;
}

/// u8 is ui8 in tensors and i8 in scalars.
bool sameElement(Type a, Type b) {
  auto signless = [](Type t) -> Type {
    return t.isUnsignedInteger() ? IntegerType::get(t.getContext(), t.getIntOrFloatBitWidth()) : t;
  };
  return a == b || signless(a) == signless(b);
}

bool isBool(Type type) { return type.isInteger(1); }

/// Returns the dims that tensors broadcast to; null, with `clash` filled, if they do not broadcast.
ArrayAttr broadcastDims(MLIRContext *context, ArrayRef<ArrayAttr> shapes, std::string &clash) {
  size_t rank = 0;
  for (ArrayAttr dims : shapes)
    rank = std::max(rank, dims.size());
  Attribute one = IntegerAttr::get(IntegerType::get(context, 64), 1);
  SmallVector<Attribute> out(rank, one);
  for (ArrayAttr dims : shapes)
    for (auto [d, dim] : llvm::enumerate(dims)) {
      Attribute &known = out[rank - dims.size() + d];
      if (dim == known || dim == one) continue;
      if (known != one) {
        auto text = [&](Attribute a) { return tessera::graph::extentsText(ArrayAttr::get(context, a)); };
        clash = text(known) + " and " + text(dim);
        return {};
      }
      known = dim;
    }
  return ArrayAttr::get(context, out);
}

LogicalResult verifyBroadcast(Operation *op, ValueRange operands, Tensor result) {
  SmallVector<ArrayAttr> shapes;
  for (Value operand : operands)
    if (auto tensor = dyn_cast<Tensor>(operand.getType())) shapes.push_back(tensor.getDims());
  std::string clash;
  ArrayAttr dims = broadcastDims(op->getContext(), shapes, clash);
  if (!dims) return op->emitOpError() << "has operands whose dims " << clash << " do not broadcast";
  if (dims == result.getDims()) return success();
  return op->emitOpError() << "broadcasts to " << tessera::graph::extentsText(dims) << " but gives "
                           << result;
}

LogicalResult sameType(Operation *op, Type found, Type expected) {
  if (found == expected) return success();
  return op->emitOpError() << "gives " << found << " where " << expected << " is expected";
}

LogicalResult verifyAxis(Operation *op, int64_t axis, Tensor type) {
  if (axis >= 0 && axis < type.getRank()) return success();
  return op->emitOpError() << "has axis " << axis << " of a tensor of rank " << type.getRank();
}

Tensor withDims(Tensor like, ArrayRef<Attribute> dims) {
  return Tensor::get(like.getContext(), ArrayAttr::get(like.getContext(), dims), like.getElementType());
}

/// Checks gamma or beta: one axis, of the extent that is normalised.
LogicalResult verifyScale(Operation *op, Value scale, Tensor input, int64_t axis) {
  if (!scale) return success();
  return sameType(op, scale.getType(), withDims(input, input.getDims()[axis]));
}

} // namespace

LogicalResult UnaryOp::verify() { return sameType(*this, getType(), getInput().getType()); }

LogicalResult BinaryOp::verify() {
  Type lhs = elementOf(getLhs().getType()), rhs = elementOf(getRhs().getType());
  if (!sameElement(lhs, rhs)) return emitOpError() << "has operands of " << lhs << " and " << rhs;
  bool compares = getKind() >= BinaryKind::Lt;
  Type element = getType().getElementType();
  if (compares ? !isBool(element) : !sameElement(element, lhs))
    return emitOpError() << "of " << lhs << " cannot give " << element;
  return verifyBroadcast(*this, getOperands(), getType());
}

LogicalResult SelectOp::verify() {
  if (!isBool(elementOf(getCondition().getType())))
    return emitOpError() << "has a condition of type " << getCondition().getType();
  Type element = getType().getElementType();
  for (Value value : {getLhs(), getRhs()})
    if (!sameElement(elementOf(value.getType()), element))
      return emitOpError() << "chooses " << value.getType() << " for " << element;
  return verifyBroadcast(*this, getOperands(), getType());
}

LogicalResult CastOp::verify() {
  auto input = dyn_cast<Tensor>(getInput().getType());
  ArrayAttr dims = input ? input.getDims() : ArrayAttr::get(getContext(), {});
  return sameType(*this, getType(), Tensor::get(getContext(), dims, getType().getElementType()));
}

LogicalResult BroadcastOp::verify() {
  if (!sameElement(elementOf(getInput().getType()), getType().getElementType()))
    return emitOpError() << "changes the dtype";
  auto input = dyn_cast<Tensor>(getInput().getType());
  if (!input) return success();
  std::string clash;
  ArrayAttr dims = broadcastDims(getContext(), {input.getDims(), getType().getDims()}, clash);
  if (dims == getType().getDims()) return success();
  return emitOpError() << "cannot repeat " << input << " to " << getType();
}

LogicalResult IotaOp::verify() {
  Type element = getType().getElementType();
  if (!element.isInteger(32) && !element.isInteger(64)) return emitOpError() << "gives i32 or i64";
  return verifyAxis(*this, getAxis(), getType());
}

LogicalResult DimOp::verify() {
  auto tensor = dyn_cast<Tensor>(getType());
  if (!tensor || (tensor.getRank() == 0 && tensor.getElementType().isInteger(64))) return success();
  return emitOpError() << "gives i64 of rank 0, not " << tensor;
}

/// One element of `specialize`.
static bool isSpecialization(Attribute attr) {
  auto dict = dyn_cast<DictionaryAttr>(attr);
  auto tile = dict ? dict.getAs<DenseI64ArrayAttr>("tile_sizes") : DenseI64ArrayAttr();
  return tile && tile.size() == 3 && llvm::all_of(tile.asArrayRef(), [](int64_t size) { return size > 0; }) &&
         llvm::all_of(dict, [](NamedAttribute item) {
           return item.getName() == "tile_sizes" ||
                  (llvm::is_contained({"backend", "arch"}, item.getName()) &&
                   isa<StringAttr>(item.getValue()));
         });
}

LogicalResult MatmulOp::verify() {
  for (Attribute attr : getSpecializeAttr() ? getSpecializeAttr().getValue() : ArrayRef<Attribute>())
    if (!isSpecialization(attr))
      return emitOpError()
             << "has " << attr
             << " in 'specialize', whose elements have three positive 'tile_sizes' and may have "
                "the names 'backend' and 'arch'";
  Tensor a = getA().getType(), b = getB().getType();
  if (a.getRank() < 2 || b.getRank() < 2) return emitOpError() << "needs tensors of rank 2 or more";
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "has operands of " << a.getElementType() << " and " << b.getElementType();
  if (a.getElementType().isInteger(1)) return emitOpError() << "multiplies numbers, not bool";
  auto dim = [](Tensor t, int64_t fromEnd) { return t.getDims()[t.getRank() - fromEnd]; };
  Attribute m = dim(a, getTransA() ? 1 : 2), ka = dim(a, getTransA() ? 2 : 1);
  Attribute kb = dim(b, getTransB() ? 1 : 2), n = dim(b, getTransB() ? 2 : 1);
  if (ka != kb) return emitOpError() << "contracts " << ka << " of a with " << kb << " of b";
  std::string clash;
  auto leading = [&](Tensor t) { return ArrayAttr::get(getContext(), t.getDims().getValue().drop_back(2)); };
  ArrayAttr batch = broadcastDims(getContext(), {leading(a), leading(b)}, clash);
  if (!batch) return emitOpError() << "has batch dims " << clash << " that do not broadcast";
  SmallVector<Attribute> dims(batch.begin(), batch.end());
  dims.append({m, n});
  return sameType(*this, getType(), withDims(getType(), dims));
}

Attribute tessera::graph::partsOf(Tensor tensor, int64_t axis, int64_t elements) {
  return extentAttr(tensor.getContext(), IndexExpr::binary(IndexExpr::Code::CeilDiv, tensor.getExtent(axis),
                                                           IndexExpr::constant(elements)));
}

LogicalResult ReduceOp::verify() {
  Tensor input = getInput().getType();
  bool positions = isPosition(getKind());
  if (positions && getAxes().size() != 1) return emitOpError() << "takes one axis";
  for (int64_t axis : getAxes())
    if (failed(verifyAxis(*this, axis, input))) return failure();
  if (!llvm::is_sorted(getAxes(), std::less_equal<int64_t>()))
    return emitOpError() << "needs its axes in order, each once";
  const std::optional<uint64_t> parts = getParts();
  if (parts && (getKind() == ReduceKind::Mean || getKeepDims() || getAxes().size() != 1))
    return emitOpError() << "in parts is no mean, and is along one axis, which stays";
  SmallVector<Attribute> dims;
  for (auto [d, dim] : llvm::enumerate(input.getDims())) {
    if (!llvm::is_contained(getAxes(), static_cast<int64_t>(d)))
      dims.push_back(dim);
    else if (parts)
      dims.push_back(partsOf(input, static_cast<int64_t>(d), static_cast<int64_t>(*parts)));
    else if (getKeepDims())
      dims.push_back(IntegerAttr::get(IntegerType::get(getContext(), 64), 1));
  }
  Type element = positions ? IntegerType::get(getContext(), 32) : input.getElementType();
  return sameType(*this, getType(), Tensor::get(getContext(), ArrayAttr::get(getContext(), dims), element));
}

bool ScanOp::isExact() {
  return getKind() == ScanKind::Max || getKind() == ScanKind::Min ||
         isa<IntegerType>(getType().getElementType());
}

LogicalResult ScanOp::verify() {
  const Tensor input = getInput().getType();
  const auto axis = static_cast<int64_t>(getAxis());
  if (failed(verifyAlongAxis(*this, input, axis, getType()))) return failure();
  if (!getAfter() || !getParts()) {
    if (getAfter() || getParts()) return emitOpError() << "has parts and what is before them, or neither";
    return success();
  }
  SmallVector<Attribute> dims(input.getDims().getValue());
  dims[axis] = partsOf(input, axis, static_cast<int64_t>(*getParts()));
  return sameType(*this, getAfter().getType(), withDims(input, dims));
}

LogicalResult tessera::graph::verifyAlongAxis(Operation *op, Tensor input, int64_t axis, Tensor result) {
  if (failed(verifyAxis(op, axis, input))) return failure();
  return sameType(op, result, input);
}

LogicalResult LayerNormOp::verify() {
  Tensor input = getInput().getType();
  if (failed(verifyAxis(*this, getAxis(), input)) ||
      failed(verifyScale(*this, getGamma(), input, getAxis())) ||
      failed(verifyScale(*this, getBeta(), input, getAxis())))
    return failure();
  return sameType(*this, getType(), input);
}

LogicalResult RmsNormOp::verify() {
  Tensor input = getInput().getType();
  if (failed(verifyAxis(*this, getAxis(), input)) || failed(verifyScale(*this, getGamma(), input, getAxis())))
    return failure();
  return sameType(*this, getType(), input);
}

LogicalResult TransposeOp::verify() {
  Tensor input = getInput().getType();
  SmallVector<int64_t> sorted(getPerm());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.getRank())))
    return emitOpError() << "has a perm that is no permutation of " << input.getRank() << " axes";
  SmallVector<Attribute> dims;
  for (int64_t axis : getPerm())
    dims.push_back(input.getDims()[axis]);
  return sameType(*this, getType(), withDims(input, dims));
}

LogicalResult ReshapeOp::verify() {
  if (getInput().getType().getElementType() == getType().getElementType()) return success();
  return emitOpError() << "changes the dtype";
}

LogicalResult SliceOp::verify() {
  Tensor input = getInput().getType();
  if (input.getRank() != getType().getRank() || getStarts().size() != getType().getDims().size())
    return emitOpError() << "needs one start per axis, and keeps the rank";
  if (getSteps() && static_cast<int64_t>(getSteps()->size()) != input.getRank())
    return emitOpError() << "needs one step per axis";
  return sameType(*this, getType(), withDims(input, getType().getDims().getValue()));
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty()) return emitOpError() << "needs an input";
  for (Value value : getInputs()) {
    auto input = cast<Tensor>(value.getType());
    if (failed(verifyAxis(*this, getAxis(), input))) return failure();
    SmallVector<Attribute> dims(input.getDims().getValue());
    if (dims.size() == getType().getDims().size()) dims[getAxis()] = getType().getDims()[getAxis()];
    if (failed(sameType(*this, getType(), withDims(input, dims)))) return failure();
  }
  return success();
}

LogicalResult PadOp::verify() {
  Tensor input = getInput().getType();
  if (input.getRank() != getType().getRank() || getLow().size() != getType().getDims().size())
    return emitOpError() << "needs one number of elements per axis, and keeps the rank";
  if (!sameElement(getValue().getType(), input.getElementType()))
    return emitOpError() << "pads " << input.getElementType() << " with " << getValue().getType();
  return sameType(*this, getType(), withDims(input, getType().getDims().getValue()));
}

LogicalResult GatherOp::verify() {
  Tensor table = getTable().getType();
  if (static_cast<int64_t>(getAlong().size()) != table.getRank())
    return emitOpError() << "needs an axis or -1 for each axis of " << table;
  size_t indexed = 0;
  SmallVector<int64_t> seen;
  for (auto [d, axis] : llvm::enumerate(getAlong())) {
    if (axis == -1) {
      ++indexed;
      continue;
    }
    if (axis < 0 || axis >= getType().getRank() || llvm::is_contained(seen, axis))
      return emitOpError() << "has " << axis << " as the axis of the result for axis " << d
                           << " of the table";
    seen.push_back(axis);
    if (table.getDims()[d] != getType().getDims()[axis])
      return emitOpError() << "runs along axis " << axis << " of " << getType() << " with axis " << d
                           << " of " << table;
  }
  if (indexed != getIndices().size())
    return emitOpError() << "has " << getIndices().size() << " indices for " << indexed << " axes";
  SmallVector<ArrayAttr> shapes = {getType().getDims()};
  for (Value value : getIndices()) {
    auto index = cast<Tensor>(value.getType());
    if (!index.getElementType().isInteger(32) && !index.getElementType().isInteger(64))
      return emitOpError() << "has indices of " << index.getElementType();
    shapes.push_back(index.getDims());
  }
  std::string clash;
  if (broadcastDims(getContext(), shapes, clash) != getType().getDims())
    return emitOpError() << "has indices that do not broadcast to " << getType();
  return sameType(*this, getType(), withDims(table, getType().getDims().getValue()));
}

LogicalResult AttentionOp::verify() {
  Tensor q = getQ().getType(), k = getK().getType();
  if (q.getRank() < 2 || k.getRank() != q.getRank())
    return emitOpError() << "needs q, k and v of one rank, 2 or more";
  if (failed(sameType(*this, getV().getType(), k)) || failed(sameType(*this, getType(), q))) return failure();
  if (q.getDims().getValue().back() != k.getDims().getValue().back())
    return emitOpError() << "has rows of different length in q and k";
  SmallVector<Attribute> scores(q.getDims().getValue());
  scores.back() = k.getDims()[k.getRank() - 2];
  for (Value beside : {getBias(), getMask()}) {
    if (!beside) continue;
    auto type = cast<Tensor>(beside.getType());
    std::string clash;
    auto all = ArrayAttr::get(getContext(), scores);
    if (broadcastDims(getContext(), {all, type.getDims()}, clash) != all)
      return emitOpError() << "has scores " << extentsText(all) << " to which " << type
                           << " does not broadcast";
    if (beside == getMask() ? !isBool(type.getElementType()) : !isa<FloatType>(type.getElementType()))
      return emitOpError() << "takes a bias of floats and a mask of bool, not " << type.getElementType();
  }
  return success();
}
