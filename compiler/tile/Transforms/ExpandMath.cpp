#include "compiler/tile/IR/TileFunctions.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "numerics/functions/Approximate.h"
#include "numerics/functions/Hyperbolic.h"
#include "numerics/functions/Inverse.h"
#include "numerics/functions/Pow.h"
#include "numerics/functions/Roots.h"
#include "numerics/functions/Trig.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera {
#define GEN_PASS_DEF_TILEEXPANDMATH
#include "compiler/tile/Transforms/Passes.h.inc"
} // namespace tessera

namespace tessera::tile {
namespace {

using IP = MathBuilder::IP;

/// Casts f16 and bf16 of the builtin types to f32 and back; other types are not changed.
Value widen(MathBuilder &m, Value v) {
  Type element = MathBuilder::elementOf(v);
  if (element.isF16()) return emitCast(m.b, m.loc, v, DType::F16, DType::F32);
  if (element.isBF16()) return emitCast(m.b, m.loc, m.bitcast(v, m.i(16)), DType::BF16, DType::F32);
  return v;
}

Value narrow(MathBuilder &m, Value v, Type element) {
  if (MathBuilder::elementOf(v) == element) return v;
  if (element.isF16()) return emitCast(m.b, m.loc, v, DType::F32, DType::F16);
  return m.bitcast(emitCast(m.b, m.loc, v, DType::F32, DType::BF16), m.like(element));
}

/// Integer power with wrap-around. `x` and `n` are signless integers of the same type, scalar or vector. A
/// negative exponent yields the integer part of 1 / x**-n: 0, or +-1 for x = +-1; 0 for x = 0.
Value integerPower(MathBuilder &m, Value x, Value n) {
  const int bits = int(MathBuilder::elementOf(x).getIntOrFloatBitWidth());
  Value one = m.iconst(1, x);
  // Square and multiply over all bits of the exponent; the result of a negative exponent is replaced below.
  Value first = arith::ConstantIndexOp::create(m.b, m.loc, 0);
  Value count = arith::ConstantIndexOp::create(m.b, m.loc, bits - 1);
  Value step = arith::ConstantIndexOp::create(m.b, m.loc, 1);
  auto loop = scf::ForOp::create(m.b, m.loc, first, count, step, ValueRange{one, x, n});
  {
    OpBuilder::InsertionGuard guard(m.b);
    m.b.setInsertionPointToStart(loop.getBody());
    Value result = loop.getRegionIterArg(0), square = loop.getRegionIterArg(1),
          rest = loop.getRegionIterArg(2);
    Value isSet = m.icmp(IP::ne, m.andi(rest, 1), 0);
    result = m.select(isSet, m.muli(result, square), result);
    scf::YieldOp::create(m.b, m.loc, ValueRange{result, m.muli(square, square), m.shru(rest, 1)});
  }
  // x^-n: 1 for x = 1, +-1 for x = -1, else zero.
  Value zero = m.iconst(0, x);
  Value sign = m.select(m.icmp(IP::ne, m.andi(n, 1), 0), m.iconst(-1, x), one);
  Value inverse = m.select(m.icmp(IP::eq, x, -1), sign, zero);
  inverse = m.select(m.icmp(IP::eq, x, 1), one, inverse);
  return m.select(m.icmp(IP::slt, n, 0), inverse, loop.getResult(0));
}

/// Returns what approximates a function of f32, or null. Quotients have the flag `arcp` if they are the
/// program's (tile-relax-arithmetic).
Value approximationOf(MathBuilder &m, Operation *op, Value x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ExpOp>([&](auto) { return functions::nearExp(m, x); })
      .Case<Exp2Op>([&](auto) { return m.nearExp2(x); })
      .Case<LogOp>([&](auto) { return functions::nearLog(m, x); })
      .Case<Log2Op>([&](auto) { return m.nearLog2(x); })
      .Case<RsqrtOp>([&](auto) { return m.nearRsqrt(x); })
      .Case<TanhOp>([&](auto) { return m.nearTanh(x); })
      .Case<SigmoidOp>([&](auto) { return functions::nearSigmoid(m, x); })
      .Case<ErfOp>([&](auto) { return functions::nearErf(m, x); })
      .Case<math::SqrtOp>([&](auto) { return m.nearSqrt(x); })
      .Case<arith::DivFOp>([&](arith::DivFOp of) { return m.mul(x, m.nearInverse(of.getRhs())); })
      .Default(Value());
}

/// Returns the sequence of a function, or null.
Value functionOf(MathBuilder &m, Operation *op, bool approximates) {
  Value x = widen(m, op->getOperand(0));
  if (approximates && !m.isF64(x))
    if (Value near = approximationOf(m, op, x)) return near;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ExpOp>([&](auto) { return functions::exp(m, x); })
      .Case<Exp2Op>([&](auto) { return functions::exp2(m, x); })
      .Case<LogOp>([&](auto) { return functions::log(m, x); })
      .Case<Log2Op>([&](auto) { return functions::log2(m, x); })
      .Case<RsqrtOp>([&](auto) { return functions::rsqrt(m, x); })
      .Case<TanhOp>([&](auto) { return functions::tanh(m, x); })
      .Case<SigmoidOp>([&](auto) { return functions::sigmoid(m, x); })
      .Case<ErfOp>([&](auto) { return functions::erf(m, x); })
      .Case<SinOp>([&](auto) { return functions::sin(m, x); })
      .Case<CosOp>([&](auto) { return functions::cos(m, x); })
      .Case<TanOp>([&](auto) { return functions::tan(m, x); })
      .Case<AsinOp>([&](auto) { return functions::asin(m, x); })
      .Case<AcosOp>([&](auto) { return functions::acos(m, x); })
      .Case<AtanOp>([&](auto) { return functions::atan(m, x); })
      .Case<SinhOp>([&](auto) { return functions::sinh(m, x); })
      .Case<CoshOp>([&](auto) { return functions::cosh(m, x); })
      .Case<AsinhOp>([&](auto) { return functions::asinh(m, x); })
      .Case<AcoshOp>([&](auto) { return functions::acosh(m, x); })
      .Case<AtanhOp>([&](auto) { return functions::atanh(m, x); })
      .Case<Expm1Op>([&](auto) { return functions::expm1(m, x); })
      .Case<Log1pOp>([&](auto) { return functions::log1p(m, x); })
      .Case<Log10Op>([&](auto) { return functions::log10(m, x); })
      .Case<CbrtOp>([&](auto) { return functions::cbrt(m, x); })
      .Case<ErfcOp>([&](auto) { return functions::erfc(m, x); })
      .Case<Atan2Op>([&](Atan2Op angle) { return functions::atan2(m, x, widen(m, angle.getRhs())); })
      .Case<HypotOp>([&](HypotOp root) { return functions::hypot(m, x, widen(m, root.getRhs())); })
      .Case<CopySignOp>([&](CopySignOp copy) { return m.copySign(m.abs(x), widen(m, copy.getRhs())); })
      .Case<PowOp>([&](PowOp power) { return functions::pow(m, x, widen(m, power.getExponent())); })
      .Default(Value());
}

/// Returns the replacement of `op`, or null if it is kept.
Value expand(Operation *op, bool approximates) {
  if (op->getNumResults() != 1 || isa<TensorType>(op->getResult(0).getType())) return {};
  OpBuilder b(op);
  MathBuilder m(b, op->getLoc(), op->getResult(0));
  if (auto power = dyn_cast<math::IPowIOp>(op)) return integerPower(m, power.getLhs(), power.getRhs());
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!isFunction(op) && approximates && element.isF32()) return approximationOf(m, op, op->getOperand(0));
  if (!isFunction(op) || !(element.isF16() || element.isBF16() || element.isF32() || element.isF64()))
    return {};
  return narrow(m, functionOf(m, op, approximates), element);
}

struct ExpandMathPass : impl::TileExpandMathBase<ExpandMathPass> {
  void runOnOperation() final {
    SmallVector<std::pair<Operation *, bool>> candidates;
    getOperation()->walk([&](Operation *op) {
      auto function = op->getParentOfType<FunctionOpInterface>();
      const bool approximates = function && function->hasAttr(kApproximates);
      auto quotient = dyn_cast<arith::DivFOp>(op);
      const bool isArithmetic =
          isa<math::SqrtOp>(op) ||
          (quotient && bitEnumContainsAll(quotient.getFastmath(), arith::FastMathFlags::arcp));
      if (isFunction(op) || isa<math::IPowIOp>(op) || (approximates && isArithmetic))
        candidates.emplace_back(op, approximates);
    });
    for (auto [op, approximates] : candidates)
      if (Value replacement = expand(op, approximates)) {
        op->getResult(0).replaceAllUsesWith(replacement);
        op->erase();
      }
  }
};

} // namespace

} // namespace tessera::tile
