// Mutants of attention whose copies are started by warps of their own.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Mutants.h"

using namespace mlir;

namespace tessera::emulation {
namespace {

const char *const kSource = R"(import tessera as ts


@ts.kernel
def gemm(Q: ts.Tensor["Sq", 64, ts.bf16], K: ts.Tensor["Sk", 64, ts.bf16], V: ts.Tensor["Sk", 64, ts.bf16], O: ts.Tensor["Sq", 64, ts.bf16]):
    smem_q = ts.tile.alloc_shared((64, 64), ts.bf16)
    smem_k = ts.tile.alloc_shared((64, 64), ts.bf16)
    smem_v = ts.tile.alloc_shared((64, 64), ts.bf16)
    for q in ts.tile.parallel(0, Sq, 64):
        acc = ts.tile.zeros((64, 64), ts.f32)
        m = ts.tile.full((64,), -float('inf'), ts.f32)
        l = ts.tile.zeros((64,), ts.f32)
        ts.tile.cp_async(smem_q, Q[q:q+64, :])
        for k in ts.tile.range(0, Sk, 64, stages=2):
            ts.tile.barrier()
            ts.tile.cp_async(smem_k, K[k:k+64, :])
            ts.tile.cp_async(smem_v, V[k:k+64, :])
            ts.tile.barrier()
            scores = ts.tile.mma(smem_q, smem_k.T) * 0.125
            next = ts.tile.maximum(m, ts.tile.row_max(scores))
            alpha = ts.tile.exp(m - next)
            p = ts.tile.exp(scores - next[:, None])
            l = alpha * l + ts.tile.row_sum(p)
            acc = alpha[:, None] * acc + ts.tile.mma(ts.tile.cast(p, ts.bf16), smem_v)
            m = next
        O[q:q+64, :] = ts.tile.cast(acc / l[:, None], ts.bf16)
)";

/// Three steps, with a ring of two buffers.
Sample sampleOf(uint64_t queries, const std::string &more) {
  return {"gemm",
          "ptx",
          "sm_90a",
          {queries * 128, 130 * 128, 130 * 128, queries * 128},
          {queries, 130},
          0,
          "gemm.tma",
          {},
          "#schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 184 registers]" + more + ">",
          kSource};
}
const Sample kOne = sampleOf(50, ""), kMany = sampleOf(300, ", persistent"); // five programs on four blocks

template <typename Op> std::string without(int one, const Sample &sample) {
  return mutantOf<Op>([](Op op) { op.erase(); }, one, sample);
}

TEST(Attention, TheKernelItselfIsClean) {
  int copies = 0, arrivals = 0, queries = 0;
  const Outcome whole = run(kOne, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp) { ++copies; });
    kernel.walk([&](NVVM::MBarrierArriveOp) { ++arrivals; });
    kernel.walk([&](NVVM::CpAsyncWaitGroupOp) { ++queries; });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(copies, 2); // of keys and values, in one loop
  EXPECT_EQ(arrivals, 1);
  EXPECT_GE(queries, 1); // whose copy is awaited before the loop
  EXPECT_EQ(run(kMany, [](LLVM::LLVMFuncOp, Outcome &) {}).error, "");
}

TEST(Attention, EachSynchronizationIsNeeded) {
  for (const Sample &sample : {kOne, kMany}) {
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::CpAsyncWaitGroupOp>(0, sample));
    EXPECT_FOUND("E_EMU_RACE", without<NVVM::BarrierOp>(0, sample)); // after the words are prepared
    EXPECT_FOUND("E_EMU_RACE", without<NVVM::BarrierOp>(1, sample)); // after the queries are copied
    EXPECT_FOUND("E_EMU_OPERANDS", without<NVVM::MBarrierTryWaitParityOp>(0, sample));
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::MBarrierTryWaitParityOp>(1, sample));
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveOp>(0, sample));
    EXPECT_FOUND("E_EMU_RACE", without<NVVM::SyncWarpOp>(0, sample));
    for (int product : {0, 1})
      EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::WgmmaWaitGroupSyncOp>(product, sample));
  }
}

/// Queries that are copied under a condition, or in a loop of their own, are awaited before the loop, too.
TEST(Attention, QueriesInBranchesAreAwaited) {
  const std::string copy = "        ts.tile.cp_async(smem_q, Q[q:q+64, :])\n";
  for (const char *head : {"        if Sq > 10:\n", "        for z in ts.tile.range(0, Sq, 1000):\n"})
    for (Sample sample : {kOne, kMany}) {
      const size_t at = sample.source.find(copy);
      ASSERT_NE(at, std::string::npos);
      sample.source.replace(at, copy.size(), head + ("    " + copy));
      EXPECT_EQ(run(sample, [](LLVM::LLVMFuncOp, Outcome &) {}).error, "") << head;
    }
}

/// The next program's queries are copied where all have read this one's.
TEST(Attention, ThreadsMeetBetweenPrograms) {
  EXPECT_FOUND("E_EMU_RACE", run(kMany, [](LLVM::LLVMFuncOp kernel, Outcome &) {
                               SmallVector<Operation *> barriers;
                               kernel.walk([&](NVVM::BarrierOp op) { barriers.push_back(op); });
                               for (Operation *op : ArrayRef(barriers).drop_front(2)) // after the loop
                                 op->erase();
                             }).error);
}

/// The same with two groups of four warps that take turns.
Sample pingpongOf(uint64_t queries, const std::string &more) {
  Sample sample = sampleOf(queries, more);
  for (const auto &[from, to] :
       {std::pair("(64, 64), ts.bf16)\n    smem_k", "(128, 64), ts.bf16)\n    smem_k"),
        std::pair("parallel(0, Sq, 64)", "parallel(0, Sq, 128)"),
        std::pair("zeros((64, 64)", "zeros((128, 64)"), std::pair("full((64,)", "full((128,)"),
        std::pair("zeros((64,)", "zeros((128,)"), std::pair("Q[q:q+64", "Q[q:q+128"),
        std::pair("O[q:q+64", "O[q:q+128")}) {
    const size_t at = sample.source.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    sample.source.replace(at, std::string(from).size(), to);
  }
  const std::string decorator = "@ts.kernel\n";
  sample.source.replace(sample.source.find(decorator), decorator.size(),
                        "@ts.kernel.autotune(space=dict(num_warps=[8]))\n");
  sample.tunables = {{"num_warps", 8}};
  sample.dims[1] = 70; // two steps
  sample.block =
      "#schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], pingpong" + more +
      ">";
  return sample;
}

/// Barriers of two groups of four warps whose number differs between groups, and arrivals in them.
SmallVector<NVVM::BarrierOp> turns(LLVM::LLVMFuncOp kernel) {
  SmallVector<NVVM::BarrierOp> all;
  kernel.walk([&](NVVM::BarrierOp op) {
    if (op.getBarrierId() && !op.getBarrierId().getDefiningOp<LLVM::ConstantOp>()) all.push_back(op);
  });
  return all;
}
SmallVector<LLVM::CallIntrinsicOp> passes(LLVM::LLVMFuncOp kernel) {
  SmallVector<LLVM::CallIntrinsicOp> all;
  kernel.walk([&](LLVM::CallIntrinsicOp op) {
    if (op.getIntrin().contains("barrier.cta.arrive")) all.push_back(op);
  });
  return all;
}

TEST(Pingpong, GroupsTakeTurns) {
  for (const Sample &sample : {pingpongOf(40, ""), pingpongOf(520, ", persistent")}) {
    size_t waits = 0, arrivals = 0;
    const Outcome whole = run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
      waits = turns(kernel).size(), arrivals = passes(kernel).size();
    });
    EXPECT_EQ(whole.error, "");
    EXPECT_EQ(waits, 2u); // before the loop, and between the products of a step; the last one has a constant
    EXPECT_EQ(arrivals, 3u); // before everything, in a step, and after the loop
  }
}

TEST(Pingpong, EachWaitAndArrivalIsNeeded) {
  const Sample sample = pingpongOf(40, "");
  for (int one : {0, 1, 2})
    EXPECT_FOUND("E_EMU_DEADLOCK", run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
                                     passes(kernel)[size_t(one)].erase();
                                   }).error);
  for (int one : {0, 1})
    EXPECT_FOUND("E_EMU_OPERANDS", run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
                                     turns(kernel)[size_t(one)].erase();
                                   }).error);
  // The last turn goes back to the first group.
  EXPECT_FOUND("E_EMU_NOT_AWAITED", run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
                                      NVVM::BarrierOp last;
                                      kernel.walk([&](NVVM::BarrierOp op) { last = op; });
                                      last.erase();
                                    }).error);
}

TEST(Pingpong, EachNumberIsRight) {
  const Sample sample = pingpongOf(40, "");
  // A group that passes the turn to itself, in a step and after the loop.
  for (const auto &[one, code] : {std::pair(1, "E_EMU_OPERANDS"), std::pair(2, "E_EMU_DEADLOCK")})
    EXPECT_FOUND(code, run(sample, [one = one](LLVM::LLVMFuncOp kernel, Outcome &) {
                         passes(kernel)[size_t(one)].getArgsMutable()[0].assign(
                             turns(kernel).front().getBarrierId());
                       }).error);
  // The turn begins with the second group, or with none.
  EXPECT_FOUND("E_EMU_DEADLOCK", run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
                                   auto first = passes(kernel).front();
                                   first.getArgsMutable()[0].assign(constantBefore(first, 5));
                                 }).error);
  for (int one : {0, 1}) {
    EXPECT_FOUND("E_EMU_OPERANDS", run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
                                     NVVM::BarrierOp wait = turns(kernel)[size_t(one)];
                                     wait.getNumberOfThreadsMutable().assign(constantBefore(wait, 384));
                                   }).error);
  }
}

} // namespace
} // namespace tessera::emulation
