// Elementwise operations of a group as expressions of tiles.
#include "compiler/schedule/Transforms/GroupProgram.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;
using graph::UnaryKind;

ExprPtr GroupProgram::value(OpOperand &operand) {
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
  ExprPtr e = b_.make(Op::ParamRef, ProgramBuilder::scalar(dtypeOf(v.getType())));
  e->param = params_[v];
  return e;
}

/// Computed once per pass, or once per program when it does not vary within one.
ExprPtr GroupProgram::value(Value v) {
  bool varies = space_.varies(v);
  auto &known = varies ? varyingValues_ : fixedValues_;
  if (auto it = known.find(v); it != known.end()) return b_.var(it->second);
  frontend::Block *before = b_.into(varies ? varying_ : fixed_);
  b_.at(v.getLoc());
  SymbolId id = b_.assign("v", compute(v.getDefiningOp()));
  b_.into(before);
  known[v] = id;
  return b_.var(id);
}

ExprPtr GroupProgram::compute(Operation *op) {
  if (auto o = dyn_cast<graph::UnaryOp>(op)) return unary(o);
  if (auto o = dyn_cast<graph::BinaryOp>(op)) return binary(o);
  if (auto o = dyn_cast<graph::SelectOp>(op)) return select(o);
  if (auto o = dyn_cast<graph::IotaOp>(op)) return iota(o);
  ExprPtr x = value(op->getOpOperand(0)); // cast, broadcast, transpose, slice
  x = b_.cast(std::move(x), dtypeOf(op->getResult(0).getType()));
  return x->type.kind == frontend::Type::Tile ? std::move(x)
                                              : b_.broadcast(std::move(x), Shape(tileRank(), 1));
}

void GroupProgram::match(std::initializer_list<ExprPtr *> operands) {
  Shape shape(tileRank(), 1);
  for (ExprPtr *e : operands)
    if ((*e)->type.kind == frontend::Type::Tile)
      for (size_t d = 0; d < shape.size(); ++d)
        shape[d] = std::max(shape[d], (*e)->type.shape[d]);
  for (ExprPtr *e : operands)
    *e = b_.broadcast(std::move(*e), shape);
}

ExprPtr GroupProgram::unary(graph::UnaryOp op) {
  ExprPtr x = value(op->getOpOperand(0));
  frontend::Type type = x->type;
  DType dtype = type.dtype;
  auto plain = [&](Op code) { return b_.make(code, type, std::move(x)); };
  switch (op.getKind()) {
  case UnaryKind::Neg:
    return plain(Op::Neg);
  case UnaryKind::Abs:
    return plain(Op::Abs);
  case UnaryKind::Not:
    return plain(Op::Invert);
  case UnaryKind::Exp:
    return plain(Op::Exp);
  case UnaryKind::Exp2:
    return plain(Op::Exp2);
  case UnaryKind::Log:
    return plain(Op::Log);
  case UnaryKind::Log2:
    return plain(Op::Log2);
  case UnaryKind::Sqrt:
    return plain(Op::Sqrt);
  case UnaryKind::Rsqrt:
    return plain(Op::Rsqrt);
  case UnaryKind::Tanh:
    return plain(Op::Tanh);
  case UnaryKind::Sigmoid:
    return plain(Op::Sigmoid);
  case UnaryKind::Erf:
    return plain(Op::Erf);
  case UnaryKind::Sin:
    return plain(Op::Sin);
  case UnaryKind::Cos:
    return plain(Op::Cos);
  case UnaryKind::Relu:
    return b_.binary(Op::Maximum, std::move(x), b_.full(0, dtype, type.shape));
  case UnaryKind::Silu:
  case UnaryKind::Gelu:
  case UnaryKind::GeluTanh:
    break;
  }
  // Formulas: narrow floats compute in f32 and round once.
  DType wide = info(dtype).bits < 32 ? DType::F32 : dtype;
  SymbolId id = b_.assign("x", b_.cast(std::move(x), wide));
  ExprPtr y;
  if (op.getKind() == UnaryKind::Silu) {
    frontend::Type wideType = b_.kernel().symbols[static_cast<size_t>(id)].type;
    y = b_.binary(Op::Mul, b_.var(id), b_.make(Op::Sigmoid, wideType, b_.var(id)));
  } else {
    y = gelu(b_.var(id), op.getKind() == UnaryKind::GeluTanh);
  }
  return b_.cast(std::move(y), dtype);
}

/// 0.5 x (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) for the erf (Hendrycks and
/// Gimpel, arXiv:1606.08415). `x` is a variable.
ExprPtr GroupProgram::gelu(ExprPtr x, bool byTanh) {
  DType dtype = x->type.dtype;
  Shape shape = x->type.shape;
  SymbolId id = x->symbol;
  auto constant = [&](double c) { return b_.full(c, dtype, shape); };
  auto mul = [&](ExprPtr a, ExprPtr c) { return b_.binary(Op::Mul, std::move(a), std::move(c)); };
  ExprPtr argument;
  if (byTanh) {
    ExprPtr cube = mul(mul(b_.var(id), b_.var(id)), b_.var(id));
    ExprPtr inner = b_.binary(Op::Add, b_.var(id), mul(std::move(cube), constant(0.044715)));
    argument = mul(std::move(inner), constant(std::sqrt(2 * std::numbers::inv_pi)));
  } else {
    argument = mul(b_.var(id), constant(1 / std::numbers::sqrt2));
  }
  frontend::Type type = argument->type;
  ExprPtr bent = b_.make(byTanh ? Op::Tanh : Op::Erf, type, std::move(argument));
  ExprPtr gate = b_.binary(Op::Add, std::move(bent), constant(1));
  return mul(mul(std::move(x), constant(0.5)), std::move(gate));
}

ExprPtr GroupProgram::binary(graph::BinaryOp op) {
  static constexpr Op codes[] = {Op::Add,     Op::Sub,     Op::Mul, Op::Div, Op::FloorDiv, Op::Mod, Op::Pow,
                                 Op::Minimum, Op::Maximum, Op::And, Op::Or,  Op::Xor,      Op::Shl, Op::Shr,
                                 Op::Lt,      Op::Le,      Op::Gt,  Op::Ge,  Op::Eq,       Op::Ne};
  ExprPtr lhs = value(op->getOpOperand(0)), rhs = value(op->getOpOperand(1));
  // A scalar of u8 looks like i8; the tensor beside it knows better.
  for (auto [mine, other, v] : {std::tuple(&lhs, &rhs, op.getLhs()), std::tuple(&rhs, &lhs, op.getRhs())})
    if (!isa<Tensor>(v.getType())) (*mine)->type.dtype = (*other)->type.dtype;
  match({&lhs, &rhs});
  Op code = codes[static_cast<size_t>(op.getKind())];
  return op.getKind() >= BinaryKind::Lt ? b_.compare(code, std::move(lhs), std::move(rhs))
                                        : b_.binary(code, std::move(lhs), std::move(rhs));
}

ExprPtr GroupProgram::select(graph::SelectOp op) {
  ExprPtr c = value(op->getOpOperand(0)), a = value(op->getOpOperand(1)), b = value(op->getOpOperand(2));
  DType dtype = dtypeOf(op.getType());
  for (ExprPtr *e : {&a, &b})
    if ((*e)->type.kind == frontend::Type::Scalar) (*e)->type.dtype = dtype;
  match({&c, &a, &b});
  frontend::Type type = a->type;
  return b_.make(Op::Select, std::move(type), std::move(c), std::move(a), std::move(b));
}

ExprPtr GroupProgram::iota(graph::IotaOp op) {
  int64_t axis = space_.axesOf(op.getResult())[op.getAxis()];
  DType dtype = dtypeOf(op.getType());
  if (axis == GroupSpace::kFixed) return b_.full(0, dtype, Shape(tileRank(), 1));
  if (!isTileAxis(axis)) return b_.broadcast(b_.cast(start(axis), dtype), Shape(tileRank(), 1));
  ExprPtr line = b_.cast(b_.arange(start(axis), tileExtent(axis)), dtype);
  if (tileRank() == 1) return line;
  return b_.expandDims(std::move(line), axis == rows_ ? 1 : 0);
}

} // namespace tessera::schedule
