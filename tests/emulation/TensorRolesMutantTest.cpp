// Mutants of a product with sums in tensor memory whose copies, products and stores have warps of their own.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Mutants.h"

using namespace mlir;

namespace tessera::emulation {
namespace {

/// Sixteen programs on four blocks, of three steps with a ring of four buffers.
Sample sampleOf(int64_t sets) {
  return {"gemm",
          "ptx",
          "sm_100a",
          {200 * 72 * 2, 72 * 200 * 2, 200 * 200 * 4},
          {200, 72, 200},
          0,
          "gemm.tma",
          {},
          "#schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], " +
              (sets > 1 ? "sums = " + std::to_string(sets) + ", " : std::string()) + "persistent>"};
}
const Sample kTwo = sampleOf(2);

template <typename Op> std::string without(int one, const Sample &sample = kTwo) {
  return mutantOf<Op>([](Op op) { op.erase(); }, one, sample);
}

// The waits, in the order of the text: for a free buffer, for a free set of sums, for bytes, for sums.
constexpr int kFree = 0, kUnused = 1, kBytes = 2, kDone = 3;

TEST(TensorRoles, TheKernelItselfIsClean) {
  int waits = 0, commits = 0, arrivals = 0;
  const Outcome whole = run(kTwo, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::MBarrierTryWaitParityOp) { ++waits; });
    kernel.walk([&](NVVM::Tcgen05CommitOp) { ++commits; });
    kernel.walk([&](NVVM::MBarrierArriveOp) { ++arrivals; });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(waits, 4);
  EXPECT_EQ(commits, 2);      // of a buffer, and of all sums
  EXPECT_EQ(arrivals, 1);     // of sums that are loaded
  for (int64_t sets : {1, 3}) // 64 columns each
    EXPECT_EQ(run(sampleOf(sets), [](LLVM::LLVMFuncOp, Outcome &) {}).error, "") << sets;
}

TEST(TensorRoles, EachWaitAndArrivalIsNeeded) {
  for (const auto &[sets, overwritten] : {std::pair(2, "E_EMU_RACE"), std::pair(1, "E_EMU_NOT_AWAITED")}) {
    const Sample sample = sampleOf(sets);
    EXPECT_FOUND("E_EMU_OPERANDS", without<NVVM::MBarrierTryWaitParityOp>(kFree, sample));
    EXPECT_FOUND(overwritten, without<NVVM::MBarrierTryWaitParityOp>(kUnused, sample));
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::MBarrierTryWaitParityOp>(kBytes, sample));
    EXPECT_FOUND("E_EMU_UNINITIALIZED", without<NVVM::MBarrierTryWaitParityOp>(kDone, sample));
    for (int commit : {0, 1})
      EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::Tcgen05CommitOp>(commit, sample));
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveOp>(0, sample));
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveExpectTxOp>(0, sample));
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::Tcgen05WaitOp>(0, sample));
    EXPECT_FOUND("E_EMU_RACE", without<NVVM::SyncWarpOp>(0, sample)); // before the arrival for sums
  }
  EXPECT_FOUND("E_EMU_ALLOCATION", without<NVVM::Tcgen05DeallocOp>(0));
}

TEST(TensorRoles, EachFenceIsNeeded) {
  int fences = 0;
  (void)run(kTwo, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::Tcgen05FenceOp) { ++fences; });
  });
  EXPECT_EQ(fences, 4); // of products, before and after loads, and of the end
  for (int fence = 0; fence < fences; ++fence)
    EXPECT_FOUND("E_EMU_FENCE", without<NVVM::Tcgen05FenceOp>(fence));
}

TEST(TensorRoles, EachNumberIsRight) {
  auto withPhase = [](int wait, int32_t phase) {
    return mutantOf<NVVM::MBarrierTryWaitParityOp>(
        [&](auto op) { op.getPhaseMutable().assign(constantBefore(op, phase)); }, wait, kTwo);
  };
  EXPECT_FOUND("E_EMU_DEADLOCK", withPhase(kUnused, 0));    // of sets that nobody has used yet
  EXPECT_FOUND("E_EMU_UNINITIALIZED", withPhase(kDone, 1)); // the first products have not started
  auto withStores = [](int32_t count) {                     // in place of four warps
    return mutantOf<NVVM::MBarrierInitOp>(
        [&](auto op) {
          auto known = op.getCount().template getDefiningOp<LLVM::ConstantOp>();
          if (cast<IntegerAttr>(known.getValue()).getInt() == 4)
            op.getCountMutable().assign(constantBefore(op, count));
        },
        -1, kTwo);
  };
  EXPECT_FOUND("E_EMU_RACE", withStores(3));
  EXPECT_FOUND("E_EMU_DEADLOCK", withStores(5));
  // Those who store meet after each program, and before tensor memory is freed.
  EXPECT_FOUND("E_EMU_RACE", run(kTwo, [](LLVM::LLVMFuncOp kernel, Outcome &) {
                               SmallVector<NVVM::BarrierOp> ofRole;
                               kernel.walk([&](NVVM::BarrierOp op) {
                                 if (op.getNumberOfThreads()) ofRole.push_back(op);
                               });
                               for (NVVM::BarrierOp op : ofRole)
                                 op.erase();
                             }).error);
}

} // namespace
} // namespace tessera::emulation
