// The same of loops that copy boxes, of warps with roles, and of products whose sums are in tensor memory.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Mutants.h"

using namespace mlir;

namespace tessera::emulation {
namespace {

/// A loop of 7 steps with a ring of 4 buffers that copies of boxes fill.
const Sample kBoxes = {"gemm",        "ptx", "sm_90a",  {70 * 200 * 2, 200 * 72 * 2, 70 * 72 * 4},
                       {70, 200, 72}, 0,     "gemm.tma"};

template <typename Op>
std::string mutant(llvm::function_ref<void(Op)> mutate, int one = -1, const Sample &sample = kBoxes) {
  return mutantOf<Op>(mutate, one, sample);
}
template <typename Op> std::string without(int one = -1, const Sample &sample = kBoxes) {
  return mutant<Op>([](Op op) { op.erase(); }, one, sample);
}
auto expecting(int32_t more) {
  return [more](NVVM::MBarrierArriveExpectTxOp op) {
    auto bytes = op.getTxcount().getDefiningOp<LLVM::ConstantOp>();
    op.getTxcountMutable().assign(
        constantBefore(op, int32_t(cast<IntegerAttr>(bytes.getValue()).getInt()) + more));
  };
}

TEST(Boxes, TheKernelItselfIsClean) {
  int copies = 0, waits = 0;
  const Outcome whole = run(kBoxes, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp) { ++copies; });
    kernel.walk([&](NVVM::WgmmaWaitGroupSyncOp) { ++waits; });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(copies, 8); // of two tensors: three steps ahead, and one in each step
  EXPECT_EQ(waits, 2);  // for the product of the step before, and for the last one
}

TEST(Boxes, EachSynchronizationIsNeeded) {
  EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::MBarrierTryWaitParityOp>());
  EXPECT_FOUND("E_EMU_UNINITIALIZED", without<NVVM::MBarrierInitOp>(0));
  // The fence of the next barrier would do as well.
  EXPECT_FOUND("E_EMU_FENCE", run(kBoxes, [](LLVM::LLVMFuncOp kernel, Outcome &) {
                                kernel.walk([](NVVM::FenceMbarrierInitOp fence) { fence.erase(); });
                                kernel.walk([](NVVM::FenceProxyOp fence) { fence.erase(); });
                              }).error);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveExpectTxOp>(i));
    EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(2 * i));
  }
  // The barriers: after the words are prepared, and before a buffer is filled again.
  EXPECT_FOUND("E_EMU_RACE", without<NVVM::BarrierOp>(0));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::BarrierOp>(1));
}

TEST(Boxes, EachNumberIsRight) {
  EXPECT_FOUND("E_EMU_DEADLOCK", mutant<NVVM::MBarrierArriveExpectTxOp>(expecting(16)));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", mutant<NVVM::MBarrierArriveExpectTxOp>(expecting(-4096)));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", mutant<NVVM::MBarrierTryWaitParityOp>([](auto wait) {
                 wait.getPhaseMutable().assign(constantBefore(wait, 0)); // also in the second round
               }));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", mutant<NVVM::MBarrierTryWaitParityOp>([](auto wait) {
                 wait.getPhaseMutable().assign(constantBefore(wait, 1));
               }));
  EXPECT_FOUND("E_EMU_DEADLOCK", mutant<NVVM::MBarrierInitOp>([](auto init) {
                 init.getCountMutable().assign(constantBefore(init, 2));
               }));
  EXPECT_FOUND("E_EMU_NOT_AWAITED",
               mutant<NVVM::WgmmaWaitGroupSyncOp>([](auto wait) { wait.setGroup(wait.getGroup() + 1); }));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::WgmmaWaitGroupSyncOp>(1));
  EXPECT_FOUND("E_EMU_ALIGNMENT", mutant<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>([](auto copy) {
                 OpBuilder b(copy);
                 copy.getDstMemMutable().assign(
                     LLVM::GEPOp::create(b, copy.getLoc(), copy.getDstMem().getType(), b.getI8Type(),
                                         copy.getDstMem(), ArrayRef<LLVM::GEPArg>{16}));
               }));
}

/// The same loop, one program of it, whose copies are started by warps of their own.
const Sample kRoles = {
    "gemm",
    "ptx",
    "sm_90a",
    {40 * 200 * 2, 200 * 64 * 2, 40 * 64 * 4},
    {40, 200, 64},
    0,
    "gemm.tma",
    {},
    "#schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers]>"};

TEST(Roles, TheKernelItselfIsClean) {
  int copies = 0, waits = 0, arrivals = 0, sets = 0, barriersOfAll = 0;
  const Outcome whole = run(kRoles, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp) { ++copies; });
    kernel.walk([&](NVVM::MBarrierTryWaitParityOp) { ++waits; });
    kernel.walk([&](NVVM::MBarrierArriveOp) { ++arrivals; });
    kernel.walk([&](NVVM::SetMaxRegisterOp) { ++sets; });
    kernel.walk([&](NVVM::BarrierOp barrier) { barriersOfAll += !barrier.getNumberOfThreads(); });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(copies, 2); // in one loop
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(arrivals, 1);
  EXPECT_EQ(sets, 2);
  EXPECT_EQ(barriersOfAll, 1); // after the words are prepared
}

/// The waits are those of the copies for free buffers, and of the products for bytes.
TEST(Roles, EachSynchronizationIsNeeded) {
  EXPECT_FOUND("E_EMU_OPERANDS", without<NVVM::MBarrierTryWaitParityOp>(0, kRoles));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::MBarrierTryWaitParityOp>(1, kRoles));
  EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveOp>(0, kRoles));
  EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveExpectTxOp>(0, kRoles));
  EXPECT_FOUND("E_EMU_RACE", without<NVVM::BarrierOp>(0, kRoles));
  // Without it the lane that arrives does so before the others have awaited the product.
  EXPECT_FOUND("E_EMU_RACE", without<NVVM::SyncWarpOp>(0, kRoles));
}

TEST(Roles, EachNumberIsRight) {
  auto withPhase = [](int wait, int32_t phase) {
    return mutant<NVVM::MBarrierTryWaitParityOp>(
        [&](auto op) { op.getPhaseMutable().assign(constantBefore(op, phase)); }, wait, kRoles);
  };
  EXPECT_FOUND("E_EMU_DEADLOCK", withPhase(0, 0)); // of buffers that nobody has used yet
  EXPECT_FOUND("E_EMU_OPERANDS", withPhase(0, 1)); // also in the second round
  EXPECT_FOUND("E_EMU_NOT_AWAITED", withPhase(1, 0));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", withPhase(1, 1));
  auto withReaders = [](int32_t count) { // in place of four warps
    return mutant<NVVM::MBarrierInitOp>(
        [&](auto op) {
          auto known = op.getCount().template getDefiningOp<LLVM::ConstantOp>();
          if (cast<IntegerAttr>(known.getValue()).getInt() == 4)
            op.getCountMutable().assign(constantBefore(op, count));
        },
        -1, kRoles);
  };
  EXPECT_FOUND("E_EMU_RACE", withReaders(3));
  EXPECT_FOUND("E_EMU_DEADLOCK", withReaders(5));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", mutant<NVVM::WgmmaWaitGroupSyncOp>(
                                        [](auto wait) { wait.setGroup(wait.getGroup() + 1); }, -1, kRoles));
  // Registers that nobody has given back.
  EXPECT_FOUND("E_EMU_DEADLOCK", mutant<NVVM::SetMaxRegisterOp>(
                                     [](auto op) {
                                       if (op.getAction() == NVVM::SetMaxRegisterAction::increase)
                                         op.setRegCount(112);
                                     },
                                     -1, kRoles));
  // More than a unit has: 256 threads that start with 264.
  const std::string tooMany = run(kRoles, [](LLVM::LLVMFuncOp kernel, Outcome &) {
                                kernel->setAttr("nvvm.maxnreg", Builder(kernel).getI32IntegerAttr(264));
                              }).error;
  EXPECT_FOUND("E_EMU_OPERANDS", tooMany);
  EXPECT_NE(tooMany.find("needs 67584 registers, 264 for each of 256 threads; a unit has 65536"),
            std::string::npos)
      << tooMany;
}

/// Factors of fp8, of which wgmma adds 128 products; 256 are in a step. The result of each half is added.
const Sample kPromoted = {"gemm",
                          "ptx",
                          "sm_90a",
                          {64 * 512, 64 * 512, 64 * 64 * 4},
                          {64, 512, 64},
                          0,
                          "gemm.tma",
                          {},
                          "",
                          R"(import tessera as ts


@ts.kernel
def gemm(A: ts.Tensor["M", "K", ts.fp8_e4m3], B: ts.Tensor["N", "K", ts.fp8_e4m3], C: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((64, 64), ts.f32)
            for k in ts.tile.range(0, K, 256):
                acc = ts.tile.mma(A[m:m+64, k:k+256], B[n:n+64, k:k+256].T, acc)
            C[m:m+64, n:n+64] = acc
)"};

TEST(Promotion, EachSynchronizationIsNeeded) {
  int products = 0, starts = 0;
  const Outcome whole = run(kPromoted, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::WgmmaMmaAsyncOp op) {
      ++products;
      starts += op.getScaleD() == NVVM::WGMMAScaleOut::zero;
    });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(products, 8); // of 32 elements along k
  EXPECT_EQ(starts, 2);
  for (int half : {0, 1}) {
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::WgmmaWaitGroupSyncOp>(half, kPromoted));
    EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::WgmmaGroupSyncAlignedOp>(half, kPromoted));
    EXPECT_FOUND("E_EMU_FENCE", without<NVVM::WgmmaFenceAlignedOp>(half, kPromoted));
  }
}

/// Five programs of five steps, which the four blocks of an emulated device run: one block runs two.
const Sample kPersistent = {
    "gemm",
    "ptx",
    "sm_90a",
    {300 * 136 * 2, 136 * 64 * 2, 300 * 64 * 4},
    {300, 136, 64},
    0,
    "gemm.tma",
    {},
    "#schedule.block<roles = [copy: 4 warps, 24 registers, math: 4 warps, 104 registers], persistent>"};

TEST(Persistent, TheKernelItselfIsClean) {
  Sample one = kPersistent; // program
  one.tensors[0] = 64 * 136 * 2, one.tensors[2] = 64 * 64 * 4, one.dims[0] = 64;
  for (const Sample &sample : {kPersistent, one})
    EXPECT_EQ(run(sample, [](LLVM::LLVMFuncOp, Outcome &) {}).error, "");
}

/// A program's last buffer is released after its loop.
TEST(Persistent, EachSynchronizationIsNeeded) {
  EXPECT_FOUND("E_EMU_DEADLOCK", without<NVVM::MBarrierArriveOp>(1, kPersistent));
  EXPECT_FOUND("E_EMU_RACE", without<NVVM::SyncWarpOp>(1, kPersistent));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", without<NVVM::WgmmaWaitGroupSyncOp>(1, kPersistent));
}

/// The same loop with sums in tensor memory.
const Sample kTensors = {"gemm",        "ptx", "sm_100a", {70 * 200 * 2, 200 * 72 * 2, 70 * 72 * 4},
                         {70, 200, 72}, 0,     "gemm.tma"};
template <typename Op> std::string withoutTensor(int one = -1) { return without<Op>(one, kTensors); }

TEST(TensorMemory, TheKernelItselfIsClean) {
  int products = 0, commits = 0, waits = 0;
  const Outcome whole = run(kTensors, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    kernel.walk([&](NVVM::Tcgen05MMAOp) { ++products; });
    kernel.walk([&](NVVM::Tcgen05CommitOp) { ++commits; });
    kernel.walk([&](NVVM::MBarrierTryWaitParityOp) { ++waits; });
  });
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(products, 2); // of 32 elements along k
  EXPECT_EQ(commits, 1);
  EXPECT_EQ(waits, 3); // for the boxes, for the product of the step before, and for the last one
}

TEST(TensorMemory, EachSynchronizationIsNeeded) {
  EXPECT_FOUND("E_EMU_ALLOCATION", withoutTensor<NVVM::Tcgen05DeallocOp>());
  EXPECT_FOUND("E_EMU_DEADLOCK", withoutTensor<NVVM::Tcgen05CommitOp>());
  EXPECT_FOUND("E_EMU_NOT_AWAITED", withoutTensor<NVVM::Tcgen05WaitOp>());
  EXPECT_FOUND("E_EMU_NOT_AWAITED", withoutTensor<NVVM::MBarrierTryWaitParityOp>(1));
  EXPECT_FOUND("E_EMU_NOT_AWAITED", withoutTensor<NVVM::MBarrierTryWaitParityOp>(2));
  // Before the product, after the last wait, before the barrier, and before the memory is freed.
  for (int fence = 0; fence < 4; ++fence)
    EXPECT_FOUND("E_EMU_FENCE", withoutTensor<NVVM::Tcgen05FenceOp>(fence));
  // The barrier after the allocation. That of the loop only keeps threads from falling two phases behind, as
  // one thread starts products and copies; that after the loads has another one before the memory is freed.
  EXPECT_FOUND("E_EMU_UNINITIALIZED", withoutTensor<NVVM::BarrierOp>(0));
}

TEST(TensorMemory, EachNumberIsRight) {
  auto changed = [](auto of, auto &&mutate) {
    using Op = decltype(of);
    return mutant<Op>([&](Op op) { mutate(op); }, -1, kTensors);
  };
  EXPECT_FOUND("E_EMU_ALLOCATION", changed(NVVM::Tcgen05AllocOp(), [](auto alloc) {
                 alloc.getNColsMutable().assign(constantBefore(alloc, 32)); // 64 are used
               }));
  EXPECT_FOUND("E_EMU_ALLOCATION", changed(NVVM::Tcgen05DeallocOp(), [](auto free) {
                 OpBuilder b(free);
                 b.clone(*free); // twice
               }));
  EXPECT_FOUND("E_EMU_UNINITIALIZED", changed(NVVM::Tcgen05MMAOp(), [](auto product) {
                 OpBuilder b(product);
                 product.getEnableInputDMutable().assign(
                     LLVM::ConstantOp::create(b, product.getLoc(), b.getI1Type(), 1));
               }));
  EXPECT_FOUND("E_EMU_OPERANDS", changed(NVVM::Tcgen05MMAOp(), [](auto product) {
                 product.getIdescMutable().assign(constantBefore(product, 0));
               }));
  EXPECT_FOUND("E_EMU_OPERANDS", changed(NVVM::Tcgen05LdOp(), [](auto load) {
                 load.setShape(NVVM::Tcgen05LdStShape::SHAPE_32X32B);
               }));
}

} // namespace
} // namespace tessera::emulation
