#include "compiler/tile/Transforms/ExpandMathBuilder.h"
#include "compiler/tile/Transforms/Passes.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tessera {
#define GEN_PASS_DEF_TILEEXPANDHALF
#include "compiler/tile/Transforms/Passes.h.inc"
} // namespace tessera

namespace tessera::tile {
namespace {

using IP = MathBuilder::IP;

constexpr int kDropped = 23 - 10; // mantissa bits of an f32 that an f16 does not have
constexpr int64_t kSign = 0x8000, kInfinity = 0x7c00;

uint32_t bitsOf(float x) { return llvm::bit_cast<uint32_t>(x); }

/// Places exponent and mantissa at their positions in an f32; a multiplication corrects the bias, also for
/// denormals.
Value extend(MathBuilder &m, Value half) {
  Value bits = m.extu(m.bitcast(half, m.i(16)), m.i(32));
  Value magnitude = m.andi(bits, kSign - 1);
  Value placed = m.shl(magnitude, kDropped);
  Value finite = m.bitcast(m.mul(m.bitcast(placed, m.f32()), 0x1p112), m.i(32));
  Value special = m.ori(placed, bitsOf(std::numeric_limits<float>::infinity()));
  special = m.select(m.icmp(IP::ugt, magnitude, kInfinity), m.ori(special, 0x400000), special);
  Value word = m.select(m.icmp(IP::uge, magnitude, kInfinity), special, finite);
  return m.bitcast(m.ori(word, m.shl(m.andi(bits, kSign), 16)), m.f32());
}

Value truncate(MathBuilder &m, Value v) {
  Value word = m.bitcast(v, m.i(32));
  Value magnitude = m.andi(word, 0x7fffffff);
  Value clamped = m.minu(magnitude, bitsOf(0x1p16f)); // the position of infinity
  // Normal results: adding half of the last place, minus one if that place is even, rounds by the carry.
  Value odd = m.andi(m.shru(clamped, kDropped), 1);
  Value rounded = m.addi(m.addi(clamped, (1 << (kDropped - 1)) - 1), odd);
  Value normal = m.subi(m.shru(rounded, kDropped), int64_t(112) << 10);
  // Denormal results: the ulp of 0.5 is the smallest denormal, so that the sum's own rounding counts them.
  Value count = m.subi(m.bitcast(m.add(m.bitcast(clamped, m.f32()), 0.5), m.i(32)), bitsOf(0.5f));
  Value code = m.select(m.icmp(IP::ult, clamped, bitsOf(0x1p-14f)), count, normal);
  Value quiet = m.ori(m.andi(m.shru(magnitude, kDropped), 0x3ff), 0x7e00);
  code = m.select(m.icmp(IP::ugt, magnitude, bitsOf(std::numeric_limits<float>::infinity())), quiet, code);
  code = m.ori(code, m.andi(m.shru(word, 16), kSign));
  return m.bitcast(m.trunci(code, m.i(16)), m.f16());
}

struct ExpandHalfPass : impl::TileExpandHalfBase<ExpandHalfPass> {
  void runOnOperation() final {
    getOperation()->walk([](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op)) return;
      Value from = op->getOperand(0), to = op->getResult(0);
      OpBuilder b(op);
      MathBuilder m(b, op->getLoc(), from);
      Value replacement;
      if (MathBuilder::elementOf(from).isF16()) {
        replacement = extend(m, from);
        if (MathBuilder::elementOf(to).isF64()) replacement = m.extf(replacement, m.f64());
      } else if (MathBuilder::elementOf(to).isF16() && MathBuilder::elementOf(from).isF32()) {
        replacement = truncate(m, from);
      } else {
        return;
      }
      to.replaceAllUsesWith(replacement);
      op->erase();
    });
  }
};

} // namespace

} // namespace tessera::tile
