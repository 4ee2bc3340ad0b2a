// What a compilation leaves allocated in its process: nothing that adds up.
#include "core/service/BuildId.h"
#include "core/service/CompilerService.h"
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>

using namespace tessera;

namespace {

size_t allocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Kernels that share no name, constant or location.
std::string kernelNumber(int i) {
  std::string text = std::string(size_t(i), '\n') + R"(import tessera as ts
@ts.kernel
def k#(x#: ts.Tensor["n", ts.f32], y#: ts.Tensor["n", ts.f32]):
    for i# in ts.tile.parallel(0, n, 64):
        y#[i#:i#+64] = ts.tile.exp(x#[i#:i#+64] * #.5) + #.25
)";
  for (size_t at; (at = text.find('#')) != std::string::npos;)
    text.replace(at, 1, std::to_string(1000 + i));
  return text;
}

void compileKernel(int i) {
  std::string bundle;
  std::vector<Diagnostic> diags;
  ASSERT_EQ(tesseraCompilerService(TESSERA_BUILD_ID)->compile(kernelNumber(i), {}, bundle, diags),
            CompileStatus::Ok);
}

TEST(Growth, DifferentKernelsLeaveNothingAllocated) {
  constexpr int kUses = 16, kMore = 4 * kUses; // after so many a context of MLIR is not used again
  int next = 0;
  while (next < 3 * kUses) // what is made once for the process, and contexts that were idle before
    compileKernel(next++);
  const size_t before = allocatedBytes();
  for (const int end = next + kMore; next < end;)
    compileKernel(next++);
  // Caches of the allocator and of threads vary by a few thousand bytes in all.
  EXPECT_LT(allocatedBytes(), before + kMore * 256);
}

} // namespace
