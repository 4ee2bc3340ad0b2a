// Casts, reductions and matrix products: verification and folding.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "numerics/Casts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static ArrayRef<int64_t> shapeOf(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  return shaped ? shaped.getShape() : ArrayRef<int64_t>();
}

static bool isTile(Type type) { return isa<RankedTensorType>(type); }

//===-- cast
//----------------------------------------------------------------------------------------------===//

static std::optional<DType> dtypeOf(StringAttr name) {
  return parseDType(std::string_view(name.getValue().data(), name.getValue().size()));
}

static LogicalResult verifySide(CastOp op, StringAttr name, Type type) {
  std::optional<DType> dtype = dtypeOf(name);
  if (!dtype) return op.emitOpError() << "'" << name.getValue() << "' is no dtype of the language";
  if (getElementTypeOrSelf(type) == elementTypeInValues(op.getContext(), *dtype)) return success();
  return op.emitOpError() << "values of " << name.getValue() << " are of type "
                          << elementTypeInValues(op.getContext(), *dtype) << ", not "
                          << getElementTypeOrSelf(type);
}

LogicalResult CastOp::verify() {
  if (isTile(getInput().getType()) != isTile(getResult().getType()) ||
      shapeOf(getInput().getType()) != shapeOf(getResult().getType()))
    return emitOpError() << "keeps the shape: " << getInput().getType() << " to " << getResult().getType();
  if (isTile(getInput().getType()) &&
      tensorOf(getInput()).getEncoding() != tensorOf(getResult()).getEncoding())
    return emitOpError() << "keeps the layout: " << getInput().getType() << " to " << getResult().getType();
  if (failed(verifySide(*this, getFromAttr(), getInput().getType()))) return failure();
  return verifySide(*this, getToAttr(), getResult().getType());
}

/// Is every value of `from` also a value of `to`, so that the cast is exact?
static bool isExact(DType from, DType to) {
  const DTypeInfo &a = info(from), &b = info(to);
  if (from == to) return true;
  if (a.cls == DTypeClass::Float && b.cls == DTypeClass::Float)
    return a.mantissaBits <= b.mantissaBits && a.maxExponent <= b.maxExponent &&
           a.minExponent - a.mantissaBits >= b.minExponent - b.mantissaBits && (b.hasInf || !a.hasInf) &&
           (b.hasNaN || !a.hasNaN);
  if (a.cls == DTypeClass::SignedInt && b.cls == DTypeClass::SignedInt) return a.bits <= b.bits;
  return a.cls == DTypeClass::UnsignedInt && b.cls == DTypeClass::SignedInt && a.bits < b.bits;
}

/// Returns a literal of dtype `from`, converted as the reference casts do; null if `value` is not a literal.
static Attribute castLiteral(Attribute value, DType from, DType to, Type element) {
  uint64_t bits;
  if (auto f = dyn_cast_or_null<FloatAttr>(value))
    bits = f.getValue().bitcastToAPInt().getZExtValue();
  else if (auto i = dyn_cast_or_null<IntegerAttr>(value))
    bits = i.getValue().getZExtValue();
  else
    return {};
  llvm::APInt result(element.getIntOrFloatBitWidth(), castBits(bits, from, to), /*isSigned=*/false,
                     /*implicitTrunc=*/true);
  if (auto type = dyn_cast<FloatType>(element))
    return FloatAttr::get(type, llvm::APFloat(type.getFloatSemantics(), result));
  return IntegerAttr::get(element, result);
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  std::optional<DType> from = dtypeOf(getFromAttr()), to = dtypeOf(getToAttr());
  Type element = getElementTypeOrSelf(getResult().getType());
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return SplatElementsAttr::get(cast<ShapedType>(getResult().getType()),
                                  castLiteral(splat.getSplatValue<Attribute>(), *from, *to, element));
  if (Attribute literal = castLiteral(adaptor.getInput(), *from, *to, element)) return literal;
  // f32 to tf32 rounds although the MLIR types are equal.
  if (from == to && *from != DType::TF32) return getInput();
  // An exact widening does not affect the result of the cast that follows it.
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner) return {};
  std::optional<DType> origin = dtypeOf(inner.getFromAttr());
  if (!isExact(*origin, *from)) return {};
  if (*origin == *to && *to != DType::TF32) return inner.getInput();
  setFromAttr(inner.getFromAttr());
  getInputMutable().assign(inner.getInput());
  return getResult();
}

//===-- reductions
//----------------------------------------------------------------------------------------===//

static LogicalResult verifyAxis(Operation *op, Type input, uint64_t axis) {
  if (axis < shapeOf(input).size()) return success();
  return op->emitOpError() << "axis " << axis << " is outside " << input;
}

static LogicalResult verifyUnsigned(Operation *op, Type input, bool isUnsigned) {
  if (!isUnsigned || isa<IntegerType>(getElementTypeOrSelf(input))) return success();
  return op->emitOpError() << "is unsigned but works on " << getElementTypeOrSelf(input);
}

/// Returns the type of a reduction's result: without the axis; a scalar if no axis is left.
static Type reducedType(Type input, uint64_t axis, Type element) {
  SmallVector<int64_t> shape(shapeOf(input));
  shape.erase(shape.begin() + axis);
  if (shape.empty()) return element;
  Attribute encoding = cast<RankedTensorType>(input).getEncoding();
  if (auto layout = dyn_cast_or_null<LayoutAttr>(encoding))
    encoding = LayoutAttr::get(input.getContext(), layout::withoutAxis(layout.getValue(), axis));
  return RankedTensorType::get(shape, element, encoding);
}

static LogicalResult verifyReduction(Operation *op, Type input, uint64_t axis, bool isUnsigned,
                                     Type element) {
  if (failed(verifyAxis(op, input, axis)) || failed(verifyUnsigned(op, input, isUnsigned))) return failure();
  Type expected = reducedType(input, axis, element);
  if (op->getResult(0).getType() == expected) return success();
  return op->emitOpError() << "gives " << expected << ", not " << op->getResult(0).getType();
}

LogicalResult ReduceOp::verify() {
  return verifyReduction(*this, getInput().getType(), getAxis(), getIsUnsigned(),
                         getElementTypeOrSelf(getInput().getType()));
}

LogicalResult ArgReduceOp::verify() {
  return verifyReduction(*this, getInput().getType(), getAxis(), getIsUnsigned(),
                         IntegerType::get(getContext(), 32));
}

LogicalResult ScanOp::verify() {
  if (failed(verifyAxis(*this, getInput().getType(), getAxis()))) return failure();
  return verifyUnsigned(*this, getInput().getType(), getIsUnsigned());
}

//===-- mma
//-----------------------------------------------------------------------------------------------===//

namespace {
struct Matrix {
  int64_t rows = 0, columns = 0;
  Type element; // as in memory if it is a buffer
};
} // namespace

static std::optional<Matrix> matrixOf(Type type, bool transposed) {
  auto buffer = dyn_cast<BufferType>(type);
  ArrayRef<int64_t> shape = buffer ? buffer.getShape() : shapeOf(type);
  if (shape.size() != 2) return std::nullopt;
  Type element = buffer ? buffer.getElementType() : getElementTypeOrSelf(type);
  return Matrix{shape[transposed], shape[!transposed], loadedElementType(element)};
}

static Attribute encodingOf(Value v) {
  auto tile = dyn_cast<RankedTensorType>(v.getType());
  return tile ? tile.getEncoding() : Attribute();
}

/// The layouts of operands and accumulator are those of the fragment's instruction.
static LogicalResult verifyLayouts(MmaOp op, std::optional<DType> operands, std::optional<DType> sum,
                                   std::array<int64_t, 3> mnk) {
  const std::optional<layout::Fragment> row = op.getFragment() ? op.getFragment()->getRow() : std::nullopt;
  if (!row) {
    if (encodingOf(op.getA()) || encodingOf(op.getB()) || encodingOf(op.getAcc()))
      return op.emitOpError() << "has layouts but no fragment with an instruction";
    return success();
  }
  if (operands == DType::F32) operands = DType::TF32; // the instruction rounds them
  if (!operands || !row->multiplies(*operands) || parseDType(row->accumulator) != sum)
    return op.emitOpError() << "of " << op.getA().getType() << " into " << op.getAcc().getType()
                            << " is not what " << row->name << " does: it multiplies " << row->dtypes
                            << " and adds in " << row->accumulator;
  if (!row->readsOrder(op.getTransA(), op.getTransB())) {
    if (StringRef(row->order) == "nt")
      return op.emitOpError() << "by " << row->name
                              << " needs both factors stored along k: a as it is, b with trans_b";
    std::string wanted;
    for (auto [letter, factor] : llvm::zip(StringRef(row->order), StringRef("ab")))
      if (letter != '*')
        wanted += llvm::formatv("{0}{1} {2} trans_{1}", wanted.empty() ? "" : " and ", factor,
                                letter == 't' ? "with" : "without");
    return op.emitOpError() << "by " << row->name << " needs " << wanted;
  }
  const layout::WarpGrid warps = op.getFragment()->getWarpGrid();
  const std::array<int64_t, 3> padded = layout::paddedProduct(*row, warps, mnk);
  if (padded != mnk)
    return op.emitOpError() << "of " << mnk[0] << "x" << mnk[1] << "x" << mnk[2] << " is not padded to "
                            << padded[0] << "x" << padded[1] << "x" << padded[2] << " for " << row->name
                            << " on " << warps.m << "x" << warps.n << " warps";
  auto check = [&](Value v, layout::Operand operand, const char *what, std::array<int64_t, 2> shape,
                   bool isTurned) -> LogicalResult {
    auto layout = dyn_cast_or_null<LayoutAttr>(encodingOf(v));
    if (!layout && operand != layout::Operand::C) return success(); // in memory
    auto wrong = [&] { return op.emitOpError() << what; };
    if (!layout) return wrong() << " has no layout, which " << row->name << " needs";
    if (isTurned) return wrong() << " is transposed but has a layout";
    if (!row->isInRegisters(operand)) return wrong() << " is read from shared memory by " << row->name;
    auto expected = LayoutAttr::get(op.getContext(), layout::operandLayout(*row, operand, warps, shape));
    if (layout == expected) return success();
    return wrong() << " has the layout " << layout << ", but " << row->name << " needs " << expected;
  };
  if (failed(check(op.getA(), layout::Operand::A, "a", {mnk[0], mnk[2]}, op.getTransA())) ||
      failed(check(op.getB(), layout::Operand::B, "b", {mnk[2], mnk[1]}, op.getTransB())))
    return failure();
  return check(op.getAcc(), layout::Operand::C, "the accumulator", {mnk[0], mnk[1]}, false);
}

LogicalResult MmaOp::verify() {
  std::optional<Matrix> a = matrixOf(getA().getType(), getTransA()),
                        b = matrixOf(getB().getType(), getTransB()),
                        acc = matrixOf(getAcc().getType(), false);
  if (!a || !b || !acc) return emitOpError() << "multiplies matrices: operands and accumulator have rank 2";
  // Words of two rows (tile.pair_rows).
  if ((*this)->hasAttr(kStrided) && a->element.isBF16() && b->element.isInteger(32))
    b->rows *= 2, b->element = a->element;
  if (a->columns != b->rows)
    return emitOpError() << "inner extents differ: " << a->rows << "x" << a->columns << " times " << b->rows
                         << "x" << b->columns;
  if (acc->rows != a->rows || acc->columns != b->columns)
    return emitOpError() << "the product is " << a->rows << "x" << b->columns << " but the accumulator is "
                         << acc->rows << "x" << acc->columns;
  if (a->element != b->element)
    return emitOpError() << "operands share a dtype: " << a->element << " and " << b->element;
  if (!getLimits().empty() && getLimits().size() != 3)
    return emitOpError() << "has no limits or three: rows, columns and depth";
  bool isInteger = isa<IntegerType>(a->element);
  int64_t bits = a->element.isInteger(64) ? 64 : 32; // of an integer sum
  if (isInteger ? !acc->element.isInteger(bits) : !isa<FloatType>(acc->element))
    return emitOpError() << "operands of " << a->element << " accumulate in "
                         << (!isInteger   ? "a float"
                             : bits == 64 ? "i64"
                                          : "i32")
                         << ", not " << acc->element;
  if (failed(verifyUnsigned(*this, RankedTensorType::get({1}, a->element), getIsUnsigned())))
    return failure();
  std::optional<DType> operands = getIsUnsigned() ? DType::U8 : dtypeOfMemory(a->element);
  return verifyLayouts(*this, operands, dtypeOfMemory(acc->element), {a->rows, b->columns, a->columns});
}

void MmaOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<BufferType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand, SharedMemory::get());
}

namespace {
/// mma(transpose(x), b) -> mma(x, b) {trans_a}, and likewise for b: the flag is free, the transpose is a
/// copy.
struct TransposeIntoMma : OpRewritePattern<MmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MmaOp op, PatternRewriter &rewriter) const override {
    auto a = op.getA().getDefiningOp<TransposeOp>(), b = op.getB().getDefiningOp<TransposeOp>();
    if (!a && !b) return rewriter.notifyMatchFailure(op, "no operand is a transpose");
    rewriter.modifyOpInPlace(op, [&] {
      if (a) op.getAMutable().assign(a.getInput());
      if (a) op.setTransA(!op.getTransA());
      if (b) op.getBMutable().assign(b.getInput());
      if (b) op.setTransB(!op.getTransB());
    });
    return success();
  }
};
} // namespace

void MmaOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TransposeIntoMma>(context);
}

LogicalResult SortOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType()),
       to = cast<RankedTensorType>(getResult().getType());
  if (failed(verifyAxis(*this, from, getAxis()))) return failure();
  SmallVector<int64_t> shape(from.getShape());
  shape[getAxis()] = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(shape[getAxis()])));
  if (to == from.clone(shape)) return success();
  return emitOpError() << "gives " << from.clone(shape) << ", not " << to;
}

LogicalResult RandOp::verify() {
  Type offset = getOffset().getType(), result = getResult().getType();
  if (isTile(offset) == isTile(result) && shapeOf(offset) == shapeOf(result)) return success();
  return emitOpError() << "an offset of type " << offset << " does not give " << result;
}
