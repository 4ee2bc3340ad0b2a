// Boxes whose column a dim decides (N // 2): the variant's condition on it keeps the boxes, and without the
// condition the device would be given an illegal instruction, which the emulator reports.
#include "tests/emulation/Mutants.h"

namespace tessera::emulation {
namespace {

const char *const kHalf = R"(import tessera as ts

@ts.kernel
def f(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], C: ts.Tensor["M", "H", ts.f32]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, H, 64):
            acc = ts.tile.zeros((64, 64), ts.f32)
            for k in ts.tile.range(0, K, 32, stages=3):
                acc += ts.tile.mma(A[m:m+64, k:k+32], B[k:k+32, N // 2 + n:N // 2 + n + 64])
            C[m:m+64, n:n+64] = acc
)";

/// Runs the variant that copies boxes, whatever its conditions.
std::string runBoxes(uint64_t n) {
  constexpr uint64_t m = 70, k = 64;
  const uint64_t half = n / 2;
  Sample sample{"f", "ptx", "sm_90a", {m * k * 2, k * n * 2, m * half * 4}, {m, k, n, half}};
  sample.source = kHalf;
  sample.kernel = "f.tma";
  return run(sample, [](mlir::LLVM::LLVMFuncOp, Outcome &) {}).error;
}

TEST(BoxColumns, HalfOfARowBeginsAtABox) { EXPECT_EQ(runBoxes(144), ""); }

TEST(BoxColumns, WithoutTheConditionAnotherHalfIsIllegal) {
  const std::string error = runBoxes(136); // its rows are multiples of 16 bytes, their halves are not
  EXPECT_NE(error.find("[E_EMU_ALIGNMENT] f.py:"), std::string::npos) << error;
}

} // namespace
} // namespace tessera::emulation
