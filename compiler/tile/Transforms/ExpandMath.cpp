#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandCasts.h"
#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera::tile {
namespace {

using Emit = Value (*)(OpBuilder &, Location, Value);

/// The sequence for a function of one argument, or null.
Emit emitterOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Emit>(op)
      .Case<math::ExpOp>([](auto) { return emitExp; })
      .Case<math::Exp2Op>([](auto) { return emitExp2; })
      .Case<math::LogOp>([](auto) { return emitLog; })
      .Case<math::Log2Op>([](auto) { return emitLog2; })
      .Case<math::RsqrtOp>([](auto) { return emitRsqrt; })
      .Case<math::TanhOp>([](auto) { return emitTanh; })
      .Case<math::ErfOp>([](auto) { return emitErf; })
      .Case<math::SinOp>([](auto) { return emitSin; })
      .Case<math::CosOp>([](auto) { return emitCos; })
      .Default(Emit(nullptr));
}

/// f16 and bf16 of the builtin types to f32 and back; other types pass.
Value widen(OpBuilder &b, Location loc, Value v) {
  MathBuilder m(b, loc, v);
  Type element = MathBuilder::elementOf(v);
  if (element.isF16()) return emitCast(b, loc, v, DType::F16, DType::F32);
  if (element.isBF16()) return emitCast(b, loc, m.bitcast(v, m.i(16)), DType::BF16, DType::F32);
  return v;
}

Value narrow(OpBuilder &b, Location loc, Value v, Type element) {
  if (MathBuilder::elementOf(v) == element) return v;
  MathBuilder m(b, loc, v);
  if (element.isF16()) return emitCast(b, loc, v, DType::F32, DType::F16);
  return m.bitcast(emitCast(b, loc, v, DType::F32, DType::BF16), m.like(element));
}

/// What replaces `op`, or null where it stays.
Value expand(Operation *op) {
  if (op->getNumResults() != 1 || isa<TensorType>(op->getResult(0).getType())) return {};
  OpBuilder b(op);
  Location loc = op->getLoc();
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (auto power = dyn_cast<math::IPowIOp>(op)) return emitIntPow(b, loc, power.getLhs(), power.getRhs());
  if (!element.isF16() && !element.isBF16() && !element.isF32() && !element.isF64()) return {};
  if (auto power = dyn_cast<math::PowFOp>(op))
    return narrow(b, loc, emitPow(b, loc, widen(b, loc, power.getLhs()), widen(b, loc, power.getRhs())),
                  element);
  if (Emit emit = emitterOf(op))
    return narrow(b, loc, emit(b, loc, widen(b, loc, op->getOperand(0))), element);
  return {};
}

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)

  StringRef getArgument() const override { return "tile-expand-math"; }
  StringRef getDescription() const override { return "Replace elementary functions by fixed FMA sequences"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    SmallVector<Operation *> candidates;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_present<math::MathDialect>(op->getDialect())) candidates.push_back(op);
    });
    for (Operation *op : candidates)
      if (Value replacement = expand(op)) {
        op->getResult(0).replaceAllUsesWith(replacement);
        op->erase();
      }
  }
};

} // namespace

std::unique_ptr<Pass> createExpandMathPass() { return std::make_unique<ExpandMathPass>(); }

} // namespace tessera::tile
