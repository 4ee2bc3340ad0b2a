// Emits the elementwise operations of a group as expressions of tiles.
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;
using graph::UnaryKind;

TypedValue GroupProgram::value(OpOperand &operand) {
  Value v = operand.get();
  if (auto constant = v.getDefiningOp<arith::ConstantOp>()) {
    DType dtype = dtypeOf(v.getType());
    if (auto real = dyn_cast<FloatAttr>(constant.getValue())) return b_.real(real.getValueAsDouble(), dtype);
    // bool is i1, which is signed to MLIR
    APInt bits = cast<IntegerAttr>(constant.getValue()).getValue();
    return b_.integer(dtype == DType::Bool ? static_cast<int64_t>(bits.getZExtValue()) : bits.getSExtValue(),
                      dtype);
  }
  if (space_.holds(v)) return value(v);
  if (isa<Tensor>(v.getType())) return load(operand);
  return params_[v];
}

/// Emits a value once per pass over the reduced axis, or once per program if it does not vary within one.
TypedValue GroupProgram::value(Value v) {
  bool varies = space_.varies(v);
  auto &known = varies ? varyingValues_ : fixedValues_;
  if (auto it = known.find(v); it != known.end()) return it->second;
  OpBuilder::InsertionGuard guard(builder_);
  builder_.restoreInsertionPoint(varies ? varying_ : fixed_);
  b_.at(v.getLoc());
  TypedValue computed = compute(v.getDefiningOp());
  known[v] = computed;
  return computed;
}

TypedValue GroupProgram::compute(Operation *op) {
  if (auto o = dyn_cast<graph::UnaryOp>(op)) return unary(o);
  if (auto o = dyn_cast<graph::BinaryOp>(op)) return binary(o);
  if (auto o = dyn_cast<graph::SelectOp>(op)) return select(o);
  if (auto o = dyn_cast<graph::IotaOp>(op)) return iota(o);
  if (auto o = dyn_cast<graph::GatherOp>(op)) return gather(o);
  if (auto o = dyn_cast<graph::SliceOp>(op); o && o.getSteps()) return strided(o);
  if (auto o = dyn_cast<graph::PadOp>(op)) return pad(o);
  TypedValue x = value(op->getOpOperand(0)); // cast, broadcast, transpose, slice
  x = b_.cast(x, dtypeOf(op->getResult(0).getType()));
  return x.isTile() ? x : b_.broadcast(x, Shape(tileRank(), 1));
}

void GroupProgram::match(std::initializer_list<TypedValue *> operands) {
  Shape shape(tileRank(), 1);
  for (TypedValue *x : operands)
    if (x->isTile())
      for (auto [extent, own] : llvm::zip_equal(shape, x->shape()))
        extent = std::max(extent, own);
  for (TypedValue *x : operands)
    *x = b_.broadcast(*x, shape);
}

TypedValue GroupProgram::unary(graph::UnaryOp op) {
  TypedValue x = value(op->getOpOperand(0));
  DType dtype = x.dtype;
  switch (op.getKind()) {
  case UnaryKind::Neg:
    return b_.neg(x);
  case UnaryKind::Abs:
    return b_.abs(x);
  case UnaryKind::Not:
    return isFloat(dtype) ? refuse(op, x) : b_.invert(x);
#define TSR_FLOAT_FUNCTION(id, name, text)                                                                   \
  case UnaryKind::id:                                                                                        \
    return b_.function<tile::id##Op>(x);
#define TSR_EXACT_FUNCTION(id, mathOp, name, text)                                                           \
  case UnaryKind::id:                                                                                        \
    return b_.function<math::mathOp>(x);
#include "compiler/ops/Functions.def"
  case UnaryKind::Relu:
    return b_.binary(BinaryKind::Maximum, x, b_.full(0, dtype, x.shape()));
  case UnaryKind::Silu:
  case UnaryKind::Gelu:
  case UnaryKind::GeluTanh:
    break;
  }
  // Formulas: narrow floats compute in f32 and round once.
  x = b_.cast(x, info(dtype).bits < 32 ? DType::F32 : dtype);
  TypedValue y = op.getKind() == UnaryKind::Silu ? b_.mul(x, b_.function<tile::SigmoidOp>(x))
                                                 : gelu(x, op.getKind() == UnaryKind::GeluTanh);
  return b_.cast(y, dtype);
}

/// The language does not define it: reports the first error of a group.
TypedValue GroupProgram::refuse(Operation *op, const TypedValue &x) {
  if (!failed_)
    emitError(op->getLoc()) << "TSR_UNIMPLEMENTED: this operation on dtype " << tessera::name(x.dtype);
  failed_ = true;
  return x;
}

/// 0.5 x (1 + erf(x / sqrt 2)), or with tanh(z), z = sqrt(2 / pi) (x + 0.044715 x^3), for the erf (Hendrycks
/// and Gimpel, arXiv:1606.08415): that is x sigmoid(2 z), which loses nothing where tanh(z) is close to -1.
TypedValue GroupProgram::gelu(const TypedValue &x, bool byTanh) {
  auto times = [&](const TypedValue &y, double c) { return b_.mul(y, b_.full(c, x.dtype, x.shape())); };
  if (byTanh) {
    TypedValue cube = b_.mul(b_.mul(x, x), x);
    TypedValue inner = b_.add(x, times(cube, 0.044715));
    return b_.mul(x, b_.function<tile::SigmoidOp>(times(inner, 2 * std::sqrt(2 * std::numbers::inv_pi))));
  }
  TypedValue bent = b_.function<tile::ErfOp>(times(x, 1 / std::numbers::sqrt2));
  return b_.mul(times(x, 0.5), b_.add(bent, b_.full(1, x.dtype, x.shape())));
}

TypedValue GroupProgram::binary(graph::BinaryOp op) {
  TypedValue lhs = value(op->getOpOperand(0)), rhs = value(op->getOpOperand(1));
  // A constant of u8 looks like one of i8; the dtype comes from the tensor beside it.
  if (!isa<Tensor>(op.getLhs().getType())) lhs.dtype = rhs.dtype;
  if (!isa<Tensor>(op.getRhs().getType())) rhs.dtype = lhs.dtype;
  match({&lhs, &rhs});
  BinaryKind kind = op.getKind();
  bool isBitwise = kind >= BinaryKind::And && kind <= BinaryKind::Shr;
  if (isFloat(lhs.dtype) ? isBitwise : kind == BinaryKind::Div) return refuse(op, lhs);
  return b_.binary(kind, lhs, rhs);
}

TypedValue GroupProgram::select(graph::SelectOp op) {
  TypedValue condition = value(op->getOpOperand(0)), x = value(op->getOpOperand(1)),
             y = value(op->getOpOperand(2));
  DType dtype = dtypeOf(op.getType());
  for (TypedValue *side : {&x, &y})
    if (!side->isTile()) side->dtype = dtype;
  match({&condition, &x, &y});
  return b_.select(condition, x, y);
}

TypedValue GroupProgram::iota(graph::IotaOp op) {
  int64_t axis = space_.axesOf(op.getResult())[op.getAxis()];
  DType dtype = dtypeOf(op.getType());
  if (axis == GroupSpace::kFixed) return b_.full(0, dtype, Shape(tileRank(), 1));
  if (!isTileAxis(axis)) return b_.broadcast(b_.cast(start(axis), dtype), Shape(tileRank(), 1));
  TypedValue line = b_.cast(b_.arange(start(axis), tileExtent(axis)), dtype);
  if (tileRank() == 1) return line;
  return b_.expandDims(line, axis == rows_ ? 1 : 0);
}

} // namespace tessera::schedule
