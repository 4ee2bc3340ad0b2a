// Mutants of kernels whose blocks form clusters, which share the copies of a factor.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Mutants.h"

using namespace mlir;

namespace tessera::emulation {
namespace {

/// Programs of five steps with a ring of 4 buffers. Two programs below each other share B, two beside each
/// other A.
Sample sampleOf(uint64_t rows, uint64_t columns, const std::string &decision) {
  return {"gemm",
          "ptx",
          "sm_90a",
          {rows * 136 * 2, 136 * columns * 2, rows * columns * 4},
          {rows, 136, columns},
          0,
          "gemm.cluster",
          {},
          "#schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 104 registers], " + decision +
              ">"};
}
const Sample kRows = sampleOf(100, 64, "cluster = [2, 1]"), kColumns = sampleOf(40, 128, "cluster = [1, 2]"),
             kMany = sampleOf(380, 64,
                              "cluster = [2, 1], persistent"); // three clusters, of which two run at once

template <typename Op> std::string without(int one, const Sample &sample = kRows) {
  return mutantOf<Op>([](Op op) { op.erase(); }, one, sample);
}

TEST(Clusters, TheKernelItselfIsClean) {
  int shared = 0, own = 0, barriers = 0, maps = 0;
  const Outcome whole = run(kRows, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk(
        [&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp op) { ++(op.getMulticastMask() ? shared : own); });
    kernel.walk([&](NVVM::ClusterWaitOp) { ++barriers; });
    kernel.walk([&](NVVM::MapaOp) { ++maps; });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(shared, 1);
  EXPECT_EQ(own, 1);
  EXPECT_EQ(barriers, 2); // after the words are prepared, and before the end
  EXPECT_EQ(maps, 1);
  for (const Sample &sample : {kColumns, kMany, sampleOf(40, 504, "cluster = [1, 8]"),
                               sampleOf(64, 248, "cluster = [1, 4], persistent")})
    EXPECT_EQ(run(sample, [](LLVM::LLVMFuncOp, Outcome &) {}).error, "") << sample.block;
}

TEST(Clusters, EachSynchronizationIsNeeded) {
  for (const Sample &sample : {kRows, kColumns, kMany}) {
    // The barriers of the cluster.
    for (auto [number, code] : {std::pair(0, "E_EMU_RACE"), {1, "E_EMU_NOT_AWAITED"}}) {
      const std::string found = run(sample, [number](LLVM::LLVMFuncOp kernel, Outcome &) {
                                  SmallVector<Operation *> arrivals, waits;
                                  kernel.walk([&](NVVM::ClusterArriveOp op) { arrivals.push_back(op); });
                                  kernel.walk([&](NVVM::ClusterWaitOp op) { waits.push_back(op); });
                                  arrivals[size_t(number)]->erase(), waits[size_t(number)]->erase();
                                }).error;
      EXPECT_NE(found.find(code), std::string::npos) << found;
    }
    EXPECT_FOUND("E_EMU_RACE", without<NVVM::ClusterWaitOp>(0, sample));
    EXPECT_FOUND("E_EMU_OPERANDS", without<NVVM::ClusterArriveOp>(1, sample));
    // A buffer is free when both programs have read it.
    EXPECT_FOUND("E_EMU_OPERANDS", without<NVVM::MBarrierTryWaitParityOp>(0, sample));
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::MBarrierTryWaitParityOp>(1, sample));
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveOp>(0, sample));
    EXPECT_FOUND("E_EMU_RACE", without<NVVM::SyncWarpOp>(0, sample));
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveExpectTxOp>(0, sample));
  }
  EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveOp>(1, kMany));
}

TEST(Clusters, EachNumberIsRight) {
  auto ofCopy = [](int32_t mask) {
    return mutantOf<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
        [mask](auto copy) {
          if (!copy.getMulticastMask()) return;
          OpBuilder b(copy);
          copy.getMulticastMaskMutable().assign(
              LLVM::ConstantOp::create(b, copy.getLoc(), b.getI16Type(), b.getI16IntegerAttr(int16_t(mask))));
        },
        -1, kRows);
  };
  EXPECT_FOUND("E_EMU_DEADLOCK", ofCopy(1));
  EXPECT_FOUND("E_EMU_DEADLOCK", ofCopy(2));
  EXPECT_FOUND("E_EMU_BOUNDS", ofCopy(7)); // a block that the cluster does not have
  for (auto [rank, code] : {std::pair(0, "E_EMU_DEADLOCK"), {2, "E_EMU_BOUNDS"}})
    EXPECT_FOUND(code,
                 mutantOf<NVVM::MapaOp>(
                     [rank](auto map) { map.getBMutable().assign(constantBefore(map, rank)); }, -1, kRows));
  for (auto [count, code] :
       {std::pair(4, "E_EMU_NOT_AWAITED"), {9, "E_EMU_DEADLOCK"}}) // in place of eight warps
    EXPECT_FOUND(code, mutantOf<NVVM::MBarrierInitOp>(
                           [count](auto init) {
                             auto known = init.getCount().template getDefiningOp<LLVM::ConstantOp>();
                             if (cast<IntegerAttr>(known.getValue()).getInt() == 8)
                               init.getCountMutable().assign(constantBefore(init, count));
                           },
                           -1, kRows));
}

TEST(Clusters, OtherGridsAreRefused) {
  const std::string found =
      run(sampleOf(150, 64, "cluster = [2, 1]"), [](LLVM::LLVMFuncOp, Outcome &) {}).error;
  EXPECT_NE(found.find("M = 150"), std::string::npos) << found;
}

} // namespace
} // namespace tessera::emulation
