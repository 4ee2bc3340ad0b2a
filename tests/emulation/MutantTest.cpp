// The compiler's own kernels with one synchronisation removed or weakened: the checker finds each barrier
// that separates accesses of different lanes, and each wait that is too short for a copy.
#include "compiler/pipeline/Compilation.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/emulation/Emulate.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;

namespace tessera::emulation {
namespace {

bool isBarrier(Operation *op) {
  const StringRef name = op->getName().getStringRef();
  if (auto call = dyn_cast<LLVM::CallOp>(op)) return call.getCallee() == "_Z7barrierj";
  return name == "nvvm.barrier" || name == "rocdl.s.barrier";
}

struct Outcome {
  int barriers = 0;
  std::string error;
};

/// A sample's kernel with the arguments of a launch.
struct Sample {
  std::string name, vendor, arch;
  std::vector<uint64_t> tensors; // bytes of each
  std::vector<uint64_t> dims;
  int needless =
      0; // barriers that separate nothing: a neighbour does, or the accesses are of one warp or lane
  std::string kernel = ""; // a variant of the sample's; "": the sample's
  std::vector<std::pair<std::string, int64_t>> tunables = {};
  std::string block = "";  // schedule.block of its kernel
  std::string source = ""; // its text; "": that of the sample
};

/// Runs the sample after `mutate` has changed its Target IR.
Outcome run(const Sample &sample, llvm::function_ref<void(LLVM::LLVMFuncOp, Outcome &)> mutate) {
  std::ifstream file(std::string(TESSERA_SAMPLES_DIR) + "/" + sample.name + "/" + sample.name + ".py");
  std::stringstream source;
  if (sample.source.empty())
    source << file.rdbuf();
  else
    source << sample.source;
  CompileOptions options;
  options.fileName = sample.name + ".py";
  options.targets = {sample.vendor + ":" + sample.arch};
  options.tunables = sample.tunables;
  std::vector<Diagnostic> diags;
  Compilation compilation(options, diags);
  Outcome out;
  if (compilation.begin(source.str()) != CompileStatus::Ok ||
      compilation.advance(Level::Schedule) != CompileStatus::Ok)
    return out.error = diags.empty() ? "not compiled" : diags.front().message, out;
  if (!sample.block.empty())
    compilation.module().walk([&](schedule::KernelOp kernel) {
      kernel->setAttr(schedule::kBlock, parseAttribute(sample.block, kernel->getContext()));
    });
  if (compilation.advance(Level::Target) != CompileStatus::Ok)
    return out.error = diags.empty() ? "not compiled" : diags.front().message, out;
  // The kernel alone is mutated.
  const std::string entry = "tsr_kernel_" + (sample.kernel.empty() ? sample.name : sample.name + "$tma");
  compilation.module().walk([&](LLVM::LLVMFuncOp function) {
    if (function.getName() == entry) mutate(function, out);
  });
  const std::string name = sample.vendor + ":emulated:" + sample.arch + "+check";
  const std::string bundle = bundleOf(compilation.module(), name, out.error);
  if (!out.error.empty()) return out;
  Device device(name);
  std::vector<uint64_t> arguments;
  for (uint64_t bytes : sample.tensors) {
    void *tensor = nullptr;
    EXPECT_EQ(tsrAlloc(device.handle, bytes, TSR_MEM_DEVICE, &tensor), TSR_SUCCESS);
    EXPECT_EQ(tsrMemset(device.handle, tensor, 0, bytes), TSR_SUCCESS);
    arguments.push_back(reinterpret_cast<uint64_t>(tensor));
  }
  arguments.insert(arguments.end(), sample.dims.begin(), sample.dims.end());
  out.error = launch(device, bundle, arguments, sample.kernel.empty() ? sample.name : sample.kernel);
  for (size_t i = 0; i < sample.tensors.size(); ++i)
    EXPECT_EQ(tsrFree(device.handle, reinterpret_cast<void *>(arguments[i])), TSR_SUCCESS);
  return out;
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
  for (int i = 0; i < whole.barriers; ++i) {
    const Outcome mutant = runWithout(sample, i);
    if (mutant.error.empty()) continue;
    ++found;
    EXPECT_NE(mutant.error.find("[E_EMU_RACE] " + sample.name + ".py:"), std::string::npos) << mutant.error;
  }
  EXPECT_LE(whole.barriers - found, sample.needless) << found << " of " << whole.barriers;
  RecordProperty("barriers", whole.barriers);
  RecordProperty("found", found);
  std::printf("%s on %s: %d of %d\n", sample.name.c_str(), sample.vendor.c_str(), found, whole.barriers);
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

/// The same loop with a ring of 4 buffers that copies of boxes fill.
const Sample kBoxes = {"gemm",        "ptx", "sm_90a",  {70 * 200 * 2, 200 * 72 * 2, 70 * 72 * 4},
                       {70, 200, 72}, 0,     "gemm.tma"};

/// Runs the loop after `mutate` has changed each operation of this kind, or only number `one`.
template <typename Op>
std::string mutant(llvm::function_ref<void(Op)> mutate, int one = -1, const Sample &sample = kBoxes) {
  int changed = 0;
  const Outcome out = run(sample, [&](LLVM::LLVMFuncOp kernel, Outcome &) {
    std::vector<Op> ops;
    kernel.walk([&](Op op) { ops.push_back(op); });
    for (auto [i, op] : llvm::enumerate(ops))
      if (one < 0 || int(i) == one) mutate(op), ++changed;
  });
  EXPECT_GT(changed, 0);
  return out.error;
}
template <typename Op> std::string without(int one = -1, const Sample &sample = kBoxes) {
  return mutant<Op>([](Op op) { op.erase(); }, one, sample);
}
Value constantBefore(Operation *op, int32_t value) {
  OpBuilder b(op);
  return LLVM::ConstantOp::create(b, op->getLoc(), b.getI32Type(), value);
}
auto expecting(int32_t more) {
  return [more](NVVM::MBarrierArriveExpectTxOp op) {
    auto bytes = op.getTxcount().getDefiningOp<LLVM::ConstantOp>();
    op.getTxcountMutable().assign(
        constantBefore(op, int32_t(cast<IntegerAttr>(bytes.getValue()).getInt()) + more));
  };
}

#define EXPECT_FOUND(code, error)                                                                            \
  {                                                                                                          \
    const std::string found = error;                                                                         \
    EXPECT_NE(found.find("[" code "] gemm.py:"), std::string::npos) << found;                                \
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

INSTANTIATE_TEST_SUITE_P(Samples, Mutants,
                         testing::Values(sharedRows("ptx", "sm_80"), sharedRows("rocm", "gfx1100"),
                                         softmax("levelzero", "pvc", 1), gemm("ptx", "sm_80", 0),
                                         gemm("ptx", "sm_90a", 0), gemm("rocm", "gfx1100", 1),
                                         gemm("levelzero", "pvc", 1)),
                         [](const auto &info) { return info.param.name + "_" + info.param.arch; });

} // namespace
} // namespace tessera::emulation
