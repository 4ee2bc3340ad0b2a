// The compiler's own kernels with one barrier or wait for copies removed or weakened: the checker finds each
// barrier that separates accesses of different lanes, and each wait that is too short for a copy.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Mutants.h"
#include <algorithm>

using namespace mlir;

namespace tessera::emulation {
namespace {

bool isBarrier(Operation *op) {
  const StringRef name = op->getName().getStringRef();
  if (auto call = dyn_cast<LLVM::CallOp>(op)) return call.getCallee() == "_Z7barrierj";
  return name == "nvvm.barrier" || name == "rocdl.s.barrier";
}

/// Runs the sample without barrier `without` (-1: all are there).
Outcome runWithout(const Sample &sample, int without) {
  return run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &out) {
    std::vector<Operation *> barriers;
    kernel.walk([&](Operation *op) {
      if (isBarrier(op)) barriers.push_back(op);
    });
    out.barriers = int(barriers.size());
    if (without >= 0) barriers[size_t(without)]->erase();
  });
}

class Mutants : public testing::TestWithParam<Sample> {};

TEST_P(Mutants, AMissingBarrierIsARace) {
  const Sample &sample = GetParam();
  const Outcome whole = runWithout(sample, -1);
  ASSERT_EQ(whole.error, "");
  ASSERT_GE(whole.barriers, 1);
  int found = 0;
  std::string others;
  for (int i = 0; i < whole.barriers; ++i) {
    const Outcome mutant = runWithout(sample, i);
    if (mutant.error.empty()) {
      others += (others.empty() ? ", not number " : ", ") + std::to_string(i);
      continue;
    }
    ++found;
    EXPECT_NE(mutant.error.find("[E_EMU_RACE] " + sample.name + ".py:"), std::string::npos) << mutant.error;
  }
  EXPECT_LE(whole.barriers - found, sample.needless) << found << " of " << whole.barriers << others;
  RecordProperty("barriers", whole.barriers);
  RecordProperty("found", found);
  std::printf("%s on %s:%s: %d of %d%s\n", sample.name.c_str(), sample.vendor.c_str(), sample.arch.c_str(),
              found, whole.barriers, others.c_str());
}

Sample softmax(const char *vendor, const char *arch, int needless) { // 20 rows of 70 columns
  return {"softmax", vendor, arch, {20 * 70 * 4, 20 * 70 * 4}, {20, 70}, needless};
}
/// Rows that two of the eight warps share, in two steps of 512 columns.
Sample sharedRows(const char *vendor, const char *arch) {
  constexpr uint64_t rows = 6, columns = 600;
  return {"softmax",       vendor, arch, {rows * columns * 4, rows * columns * 4},
          {rows, columns}, 0,      "",   {{"ROWS", 4}, {"COLS", 512}}};
}

/// A row of the sample is in one warp, which keeps what it needs of it in registers.
TEST(Rows, OfOneWarpNeedNoBarrier) {
  for (const Sample &sample : {softmax("ptx", "sm_80", 0), softmax("rocm", "gfx1100", 0)}) {
    const Outcome whole = runWithout(sample, -1);
    EXPECT_EQ(whole.error, "");
    EXPECT_EQ(whole.barriers, 0) << sample.vendor;
  }
}

Sample gemm(const char *vendor, const char *arch, int needless) { // C (70 x 65) += A (70 x 40) * B (40 x 65)
  return {"gemm", vendor, arch, {70 * 40 * 2, 40 * 65 * 2, 70 * 65 * 4}, {70, 40, 65}, needless};
}

/// A loop of 7 steps with a ring of 3 buffers: rows are at multiples of 16 bytes, so that all copies are
/// asynchronous, and the tensors end inside of a tile.
const Sample kRing = {"gemm", "ptx", "sm_80", {70 * 200 * 2, 200 * 72 * 2, 70 * 72 * 4}, {70, 200, 72}};

TEST(Rings, TheLoopWaitsForNoMoreThanItsStep) {
  std::vector<uint32_t> pending;
  int commits = 0, barriersInLoop = 0;
  const Outcome whole = run(kRing, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](Operation *op) {
      if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
        pending.push_back(wait.getN());
        barriersInLoop += wait->getNextNode() && isBarrier(wait->getNextNode());
      }
      commits += isa<NVVM::CpAsyncCommitGroupOp>(op);
    });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(pending, std::vector<uint32_t>{1});
  EXPECT_EQ(barriersInLoop, 1);
  EXPECT_EQ(commits, 3); // two steps ahead, and one in each step
}

TEST(Rings, AWaitForOneStepLessIsFound) {
  const Outcome mutant = run(kRing, [](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([](NVVM::CpAsyncWaitGroupOp wait) { wait.setN(wait.getN() + 1); });
  });
  EXPECT_NE(mutant.error.find("[E_EMU_NOT_AWAITED] gemm.py:"), std::string::npos) << mutant.error;
}

TEST(Rings, AMissingWaitIsFound) {
  const Outcome mutant = run(kRing, [](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([](NVVM::CpAsyncWaitGroupOp wait) { wait.erase(); });
  });
  EXPECT_NE(mutant.error.find("[E_EMU_NOT_AWAITED] gemm.py:"), std::string::npos) << mutant.error;
}

TEST(Rings, AMissingEndOfAGroupIsFound) {
  for (size_t without = 0; without < 3; ++without) {
    const Outcome mutant = run(kRing, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
      std::vector<Operation *> commits;
      kernel.walk([&](NVVM::CpAsyncCommitGroupOp commit) { commits.push_back(commit); });
      commits.at(without)->erase();
    });
    EXPECT_NE(mutant.error.find("[E_EMU_NOT_AWAITED] gemm.py:"), std::string::npos)
        << without << mutant.error;
  }
}

/// Without it a thread copies into the buffer that a slower one still reads.
TEST(Rings, AMissingBarrierOfTheLoopIsFound) {
  const Outcome mutant = run(kRing, [](LLVM::LLVMFuncOp kernel, Outcome &) {
    Operation *barrier = nullptr;
    kernel.walk([&](NVVM::CpAsyncWaitGroupOp wait) { barrier = wait->getNextNode(); });
    barrier->erase();
  });
  EXPECT_NE(mutant.error.find("gemm.py:"), std::string::npos) << mutant.error;
}

/// A row of integers that all threads scan together, in two steps.
Sample sharedScan(const char *vendor, const char *arch) {
  constexpr uint64_t columns = 4000;
  Sample out{"shared_scan", vendor, arch, {2 * columns * 4, 2 * columns * 4}, {2, columns}};
  out.source = R"(import tessera as ts
@ts.kernel
def shared_scan(X: ts.Tensor["M", "N", ts.i32], Y: ts.Tensor["M", "N", ts.i32]):
    for m in ts.tile.parallel(0, M):
        Y[m, 0:4096] = ts.tile.cumsum(X[m, 0:4096], axis=0)
)";
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    Samples, Mutants,
    testing::Values(sharedRows("ptx", "sm_80"), sharedRows("rocm", "gfx1100"), softmax("levelzero", "pvc", 1),
                    gemm("ptx", "sm_80", 0), gemm("ptx", "sm_90a", 0), gemm("rocm", "gfx1100", 0),
                    gemm("levelzero", "pvc", 0), gemm("ptx", "sm_89", 0),
                    // The zeros are separated from the sums by the loop's barriers, unless it has no step.
                    gemm("ptx", "sm_75", 1), gemm("rocm", "gfx90a", 0), gemm("rocm", "gfx942", 0),
                    gemm("levelzero", "acm-g10", 0), sharedRows("ptx", "sm_90a"),
                    softmax("levelzero", "acm-g10", 1), sharedScan("ptx", "sm_90a"),
                    sharedScan("rocm", "gfx1100"), sharedScan("rocm", "gfx942"),
                    sharedScan("levelzero", "pvc")),
    [](const auto &info) {
      std::string name = info.param.name + "_" + info.param.arch;
      std::ranges::replace(name, '-', '_');
      return name;
    });

} // namespace
} // namespace tessera::emulation
