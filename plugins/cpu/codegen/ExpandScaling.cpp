// cpu-expand-scaling: multiplies AVX-512 vectors by powers of two in one instruction.
//
//   %h = arith.shrui %w, 1                         %n = arith.subf %s, 1.5 * 2^23 + 254
//   %a = 2^(%h - 127)                              %r = vscalefps %m, %n
//   %b = 2^(%w - %h - 127)                    ->
//   %r = arith.mulf (arith.mulf %m, %a), %b
//
// where %w are the bits of %s = x + (1.5 * 2^23 + 254), whose low ones count. The functions of the language
// end in this sequence (`scaleTwice`, numerics/functions/Exp.h), which rounds once, as vscalef does, down to
// subnormal numbers. Must run after `tile-expand-math`, and for x86 only.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "plugins/cpu/codegen/Passes.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {
#define GEN_PASS_DEF_CPUEXPANDSCALING
#include "plugins/cpu/codegen/Passes.h.inc"

namespace {

bool isSplatOf(Value v, int64_t n) {
  DenseElementsAttr constant;
  return matchPattern(v, m_Constant(&constant)) && constant.isSplat() &&
         isa<IntegerType>(constant.getElementType()) && constant.getSplatValue<APInt>() == n;
}

/// Returns w if `v` is the float whose bits are w shifted into the exponent; else null.
Value shiftedExponent(Value v, int64_t mantissaBits) {
  auto bits = v.getDefiningOp<arith::BitcastOp>();
  auto shift = bits ? bits.getIn().getDefiningOp<arith::ShLIOp>() : arith::ShLIOp();
  return shift && isSplatOf(shift.getRhs(), mantissaBits) ? shift.getLhs() : Value();
}

struct ExpandScaling : impl::CpuExpandScalingBase<ExpandScaling> {
  void runOnOperation() final {
    getOperation()->walk([](arith::MulFOp op) { expand(op); });
  }

  static void expand(arith::MulFOp outer) {
    auto type = dyn_cast<VectorType>(outer.getType());
    if (!type || type.getRank() != 1 || type.isScalable()) return;
    const bool isSingle = type.getElementType().isF32();
    const int64_t lanes = isSingle ? 16 : 8, mantissaBits = isSingle ? 23 : 52;
    if (!(isSingle || type.getElementType().isF64()) ||
        (type.getDimSize(0) != lanes && type.getDimSize(0) != 2 * lanes))
      return;
    auto inner = outer.getLhs().getDefiningOp<arith::MulFOp>();
    if (!inner) return;
    Value half = shiftedExponent(inner.getRhs(), mantissaBits),
          rest = shiftedExponent(outer.getRhs(), mantissaBits);
    auto halving = half ? half.getDefiningOp<arith::ShRUIOp>() : arith::ShRUIOp();
    auto difference = rest ? rest.getDefiningOp<arith::SubIOp>() : arith::SubIOp();
    if (!halving || !difference || !isSplatOf(halving.getRhs(), 1) || difference.getRhs() != half ||
        difference.getLhs() != halving.getLhs())
      return;
    auto word = halving.getLhs().getDefiningOp<arith::BitcastOp>();
    Operation *sum = word ? word.getIn().getDefiningOp() : nullptr;
    if (!isa_and_nonnull<math::FmaOp, arith::AddFOp>(sum)) return;
    Value magic = sum->getOperands().back();
    DenseElementsAttr constant;
    if (!matchPattern(magic, m_Constant(&constant)) || !constant.isSplat() ||
        constant.getSplatValue<APFloat>().convertToDouble() != (isSingle ? 0x1.8p23 + 254 : 0x1.8p52 + 2046))
      return;
    OpBuilder b(outer);
    Location loc = outer.getLoc();
    Value count = arith::SubFOp::create(b, loc, sum->getResult(0), magic);
    outer.replaceAllUsesWith(scale(b, loc, inner.getLhs(), count, lanes));
    outer.erase();
  }

  static Value scale(OpBuilder &b, Location loc, Value x, Value count, int64_t lanes) {
    auto type = cast<VectorType>(x.getType());
    auto vector = VectorType::get({lanes}, type.getElementType());
    auto name = b.getStringAttr(lanes == 16 ? "llvm.x86.avx512.mask.scalef.ps.512"
                                            : "llvm.x86.avx512.mask.scalef.pd.512");
    auto number = [&](Type of, int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, loc, of, b.getIntegerAttr(of, value));
    };
    constexpr int64_t currentMode = 4; // that of MXCSR
    Value all = number(b.getIntegerType(static_cast<unsigned>(lanes)), -1),
          mode = number(b.getI32Type(), currentMode);
    auto scaled = [&](Value part, Value by) {
      Value values[] = {part, by, part, all, mode};
      return LLVM::CallIntrinsicOp::create(b, loc, vector, name, ValueRange(values)).getResult(0);
    };
    if (type == vector) return scaled(x, count);
    SmallVector<int64_t> low(static_cast<size_t>(lanes)), high(low), both(2 * low.size());
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), lanes);
    std::iota(both.begin(), both.end(), 0);
    auto part = [&](Value v, ArrayRef<int64_t> of) -> Value {
      return vector::ShuffleOp::create(b, loc, v, v, of);
    };
    Value first = scaled(part(x, low), part(count, low)), second = scaled(part(x, high), part(count, high));
    return vector::ShuffleOp::create(b, loc, first, second, both);
  }
};

} // namespace

} // namespace tessera::cpu
