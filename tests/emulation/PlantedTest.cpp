// Kernels in Target IR with one fault each, which the checker must find with the right code and lines; and
// kernels without a fault, about which it must say nothing.
//
// The body of a case gets %t (i32, the lane), %tl (the same as i64), %b (i32, the block), %s (shared memory
// of 2048 bytes), %at (16 times the lane's number in its warp), %x (256 f32 of the
// device), %n (i64) and the constants %c0, %c1, %c4, %c32, %c255 and %f1. The comments A and B mark the lines
// that the report must name.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "tests/emulation/Emulate.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

using namespace mlir;

namespace tessera::emulation {
namespace {

struct Case {
  const char *name;
  const char *code; // of the report; "": none
  const char *body;
  int64_t blocks = 1;
};

const char *const kHead = R"(target.module @ptx attributes {cpu = "sm_80", triple = "nvptx64-nvidia-cuda"} {
llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<2048 x i8>
llvm.func @tsr_kernel_k(%x: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>} {
%c0 = llvm.mlir.constant(0 : i32) : i32
%c1 = llvm.mlir.constant(1 : i32) : i32
%c32 = llvm.mlir.constant(32 : i32) : i32
%c255 = llvm.mlir.constant(255 : i32) : i32
%lanes = llvm.mlir.constant(31 : i32) : i32
%all = llvm.mlir.constant(-1 : i32) : i32
%f1 = llvm.mlir.constant(1.0 : f32) : f32
%t = nvvm.read.ptx.sreg.tid.x : i32
%b = nvvm.read.ptx.sreg.ctaid.x : i32
%tl = llvm.zext %t : i32 to i64
%s = llvm.mlir.addressof @shared : !llvm.ptr<3>
%own = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
%mine = llvm.getelementptr %x[%tl] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%next = llvm.add %t, %c1 : i32
%wrapped = llvm.and %next, %c255 : i32
%other = llvm.getelementptr %s[%wrapped] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
%isFirst = llvm.icmp "eq" %t, %c0 : i32
%c4 = llvm.mlir.constant(4 : i32) : i32
%line = llvm.and %t, %lanes : i32
%at = llvm.shl %line, %c4 : i32
%isLow = llvm.icmp "ult" %t, %c32 : i32
)";
const char *const kTail = R"(
llvm.return
}
target.kernel_info "k" entry @tsr_kernel_k metadata "name: k\0Atarget: ptx:sm_80\0Anumerics: standard\0Aparams:\0A  - {name: x, kind: tensor, dtype: f32, dims: [n], access: readwrite}\0A  - {name: n, kind: dim}\0Aresources: {smem_per_cta: 2048, scratch_bytes: 0, vector_bytes: 0}\0Alaunch:\0A  axes: [\"BLOCKS\"]\0A  block: [256, 1, 1]\0A"
})";

const Case kCases[] = {
    {"MissingBarrier", "E_EMU_RACE", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3> // A
%v = llvm.load %other : !llvm.ptr<3> -> f32 // B
)"},
    {"MissingBarrierBeforeOverwrite", "E_EMU_RACE", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.barrier
%v = llvm.load %other : !llvm.ptr<3> -> f32 // A
llvm.store %v, %own : f32, !llvm.ptr<3> // B
)"},
    {"TwoWriters", "E_EMU_RACE", R"(
llvm.store %f1, %s : f32, !llvm.ptr<3> // A B
)"},
    {"TwoWritersOfATensor", "E_EMU_RACE", R"(
%half = llvm.lshr %t, %c1 : i32
%h = llvm.zext %half : i32 to i64
%p = llvm.getelementptr %x[%h] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
llvm.store %f1, %p : f32, !llvm.ptr<1> // A B
)"},
    {"BlocksWriteOneElement", "E_EMU_RACE", R"(
llvm.store %f1, %mine : f32, !llvm.ptr<1> // A B
)",
     2},
    {"AtomicBesideAWrite", "E_EMU_RACE", R"(
llvm.cond_br %isFirst, ^store, ^add
^store:
llvm.store %c0, %s : i32, !llvm.ptr<3> // A
llvm.br ^end
^add:
%old = llvm.atomicrmw add %s, %c1 monotonic : !llvm.ptr<3>, i32 // B
llvm.br ^end
^end:
)"},
    {"MessageWithoutRelease", "E_EMU_RACE", R"(
llvm.cond_br %isFirst, ^init, ^wait
^init:
%flag = llvm.getelementptr %s[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
llvm.store %f1, %s : f32, !llvm.ptr<3> // A
%set = llvm.atomicrmw xchg %x, %c1 monotonic : !llvm.ptr<1>, i32
llvm.br ^end
^wait:
%is = llvm.load %x atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%ready = llvm.icmp "eq" %is, %c1 : i32
llvm.cond_br %ready, ^read, ^wait
^read:
%v = llvm.load %s : !llvm.ptr<3> -> f32 // B
llvm.br ^end
^end:
)"},
    {"ChainWithoutAcquire", "E_EMU_RACE", R"(
llvm.cond_br %isFirst, ^ticket, ^end
^ticket:
%data = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%one = llvm.getelementptr %x[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%two = llvm.getelementptr %x[12] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%turn = llvm.atomicrmw add %x, %c1 monotonic : !llvm.ptr<1>, i32
%isZero = llvm.icmp "eq" %turn, %c0 : i32
llvm.cond_br %isZero, ^write, ^others
^write:
llvm.store %f1, %data : f32, !llvm.ptr<1> // A
%a = llvm.atomicrmw xchg %one, %c1 release : !llvm.ptr<1>, i32
llvm.br ^end
^others:
%isOne = llvm.icmp "eq" %turn, %c1 : i32
llvm.cond_br %isOne, ^pass, ^read
^pass:
%first = llvm.load %one atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%second = llvm.atomicrmw xchg %two, %c1 release : !llvm.ptr<1>, i32
llvm.br ^end
^read:
%r = llvm.load %two atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%v = llvm.load %data : !llvm.ptr<1> -> f32 // B
llvm.br ^end
^end:
)",
     3},
    {"FenceOfABlock", "E_EMU_RACE", R"(
llvm.cond_br %isFirst, ^ticket, ^end
^ticket:
%data = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%flag = llvm.getelementptr %x[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%turn = llvm.atomicrmw add %x, %c1 monotonic : !llvm.ptr<1>, i32
%isZero = llvm.icmp "eq" %turn, %c0 : i32
llvm.cond_br %isZero, ^write, ^read
^write:
llvm.store %f1, %data : f32, !llvm.ptr<1> // A
llvm.fence syncscope("block") release
%a = llvm.atomicrmw xchg %flag, %c1 monotonic : !llvm.ptr<1>, i32
llvm.br ^end
^read:
%r = llvm.load %flag atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
llvm.fence syncscope("device") acquire
%v = llvm.load %data : !llvm.ptr<1> -> f32 // B
llvm.br ^end
^end:
)",
     2},
    {"AtomicsOfABlock", "E_EMU_RACE", R"(
%v = llvm.atomicrmw add %x, %c1 syncscope("block") monotonic : !llvm.ptr<1>, i32 // A B
)",
     2},
    {"Uninitialised", "E_EMU_UNINITIALIZED", R"(
%v = llvm.load %own : !llvm.ptr<3> -> f32 // A
)"},
    {"PastSharedMemory", "E_EMU_BOUNDS", R"(
%q = llvm.getelementptr %own[1028] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
llvm.store %f1, %q : f32, !llvm.ptr<3> // A
)"},
    {"BeforeSharedMemory", "E_EMU_BOUNDS", R"(
%p = llvm.getelementptr %own[-4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
llvm.store %f1, %p : f32, !llvm.ptr<3> // A
)"},
    {"PastATensor", "E_EMU_BOUNDS", R"(
%p = llvm.getelementptr %mine[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%v = llvm.load %p : !llvm.ptr<1> -> f32 // A
)"},
    {"MisalignedVector", "E_EMU_ALIGNMENT", R"(
%p = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%v = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32> // A
)"},
    {"BarrierOfSome", "E_EMU_DIVERGENCE", R"(
llvm.cond_br %isFirst, ^end, ^meet
^meet:
nvvm.barrier // A
llvm.br ^end
^end:
)"},
    {"ArrivalThatIsAwaited", "", R"(
%c64 = llvm.mlir.constant(64 : i32) : i32
%c63 = llvm.mlir.constant(63 : i32) : i32
%isPair = llvm.icmp "ult" %t, %c64 : i32
%mirror = llvm.sub %c63, %t : i32
%from = llvm.getelementptr %s[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
llvm.cond_br %isLow, ^write, ^others
^write:
llvm.store %f1, %own : f32, !llvm.ptr<3>
llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4, %c64) : (i32, i32) -> ()
llvm.br ^end
^others:
llvm.cond_br %isPair, ^read, ^end
^read:
nvvm.barrier id = %c4 number_of_threads = %c64
%v = llvm.load %from : !llvm.ptr<3> -> f32
llvm.br ^end
^end:
)"},
    {"WriteAfterAnArrival", "E_EMU_RACE", R"(
%c64 = llvm.mlir.constant(64 : i32) : i32
%c63 = llvm.mlir.constant(63 : i32) : i32
%isPair = llvm.icmp "ult" %t, %c64 : i32
%mirror = llvm.sub %c63, %t : i32
%from = llvm.getelementptr %s[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
llvm.cond_br %isLow, ^write, ^others
^write:
llvm.store %f1, %own : f32, !llvm.ptr<3>
llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4, %c64) : (i32, i32) -> ()
llvm.store %f1, %own : f32, !llvm.ptr<3> // A
llvm.br ^end
^others:
llvm.cond_br %isPair, ^read, ^end
^read:
nvvm.barrier id = %c4 number_of_threads = %c64
%v = llvm.load %from : !llvm.ptr<3> -> f32 // B
llvm.br ^end
^end:
)"},
    {"ArrivalForNobody", "E_EMU_NOT_AWAITED", R"(
%c64 = llvm.mlir.constant(64 : i32) : i32
llvm.cond_br %isLow, ^arrive, ^end
^arrive:
llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4, %c64) : (i32, i32) -> () // A
llvm.br ^end
^end:
)"},
    {"ArrivalTwice", "E_EMU_OPERANDS", R"(
%c64 = llvm.mlir.constant(64 : i32) : i32
llvm.cond_br %isLow, ^arrive, ^end
^arrive:
llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4, %c64) : (i32, i32) -> ()
llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4, %c64) : (i32, i32) -> () // A
llvm.br ^end
^end:
)"},
    {"ArrivalAmongFewer", "E_EMU_OPERANDS", R"(
%c64 = llvm.mlir.constant(64 : i32) : i32
llvm.cond_br %isLow, ^arrive, ^wait
^arrive:
llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%c4, %c64) : (i32, i32) -> ()
llvm.br ^end
^wait:
%c256 = llvm.mlir.constant(256 : i32) : i32
nvvm.barrier id = %c4 number_of_threads = %c256
llvm.br ^end
^end:
)"},
    {"WaitForNobody", "E_EMU_DEADLOCK", R"(
%c64 = llvm.mlir.constant(64 : i32) : i32
llvm.cond_br %isLow, ^wait, ^end
^wait:
nvvm.barrier id = %c4 number_of_threads = %c64 // A
llvm.br ^end
^end:
)"},
    {"DifferentBarriers", "E_EMU_DIVERGENCE", R"(
llvm.cond_br %isFirst, ^one, ^two
^one:
nvvm.barrier // A
llvm.br ^end
^two:
nvvm.barrier // B
llvm.br ^end
^end:
)"},
    {"ShuffleOfSome", "E_EMU_DIVERGENCE", R"(
llvm.cond_br %isFirst, ^end, ^meet
^meet:
%v = nvvm.shfl.sync bfly %all, %t, %c1, %c255 : i32 -> i32 // A
llvm.br ^end
^end:
)"},
    {"ShuffleAgainstBarrier", "E_EMU_DEADLOCK", R"(
llvm.cond_br %isFirst, ^one, ^two
^one:
nvvm.barrier // A
llvm.br ^end
^two:
%v = nvvm.shfl.sync bfly %all, %t, %c1, %c255 : i32 -> i32 // B
nvvm.barrier
llvm.br ^end
^end:
)"},
    {"WarpBarrierTooNarrow", "E_EMU_RACE", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3> // A
nvvm.bar.warp.sync %all : i32
%v = llvm.load %other : !llvm.ptr<3> -> f32 // B
)"},

    {"MatrixNotWritten", "E_EMU_UNINITIALIZED", R"(
%row = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%m = nvvm.ldmatrix %row {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)> // A
)"},
    {"MatrixWithoutBarrier", "E_EMU_RACE", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3> // A
%row = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%m = nvvm.ldmatrix %row {num = 2 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)> // B
)"},
    {"MatrixOverwritten", "E_EMU_RACE", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.barrier
%row = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%m = nvvm.ldmatrix %row {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32 // A
llvm.store %f1, %own : f32, !llvm.ptr<3> // B
)"},
    {"MatrixMisaligned", "E_EMU_ALIGNMENT", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.barrier
%row = llvm.getelementptr %own[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%m = nvvm.ldmatrix %row {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32 // A
)"},
    {"MatrixPastSharedMemory", "E_EMU_BOUNDS", R"(
%row = llvm.getelementptr %s[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%m = nvvm.ldmatrix %row {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32 // A
)"},
    {"ProductOfSome", "E_EMU_DIVERGENCE", R"(
llvm.cond_br %isFirst, ^end, ^meet
^meet:
%p = nvvm.mma.sync A[%t, %t, %t, %t] B[%t, %t] C[%f1, %f1, %f1, %f1] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)> // A
llvm.br ^end
^end:
)"},

    {"CopyNotAwaited", "E_EMU_NOT_AWAITED", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // A
nvvm.cp.async.commit.group
nvvm.barrier
%v = llvm.load %own : !llvm.ptr<3> -> f32 // B
)"},
    {"CopyOfNoGroup", "E_EMU_NOT_AWAITED", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // A
nvvm.cp.async.wait.group 0
nvvm.barrier
%v = llvm.load %own : !llvm.ptr<3> -> f32 // B
)"},
    {"CopyAwaitedTooWeakly", "E_EMU_NOT_AWAITED", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // A
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 1
nvvm.barrier
%v = llvm.load %own : !llvm.ptr<3> -> f32 // B
)"},
    {"CopyOverwritten", "E_EMU_NOT_AWAITED", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // A
nvvm.cp.async.commit.group
llvm.store %f1, %own : f32, !llvm.ptr<3> // B
nvvm.cp.async.wait.group 0
)"},
    {"CopyWithoutBarrier", "E_EMU_RACE", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // A
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 0
%v = llvm.load %other : !llvm.ptr<3> -> f32 // B
)"},
    {"CopyIntoWhatIsRead", "E_EMU_RACE", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.barrier
%v = llvm.load %other : !llvm.ptr<3> -> f32 // A
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // B
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 0
)"},
    {"CopyMisaligned", "E_EMU_ALIGNMENT", R"(
%to = llvm.getelementptr %own[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
nvvm.cp.async.shared.global %to, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1> // A
)"},
    {"CleanCopy", "", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 0
nvvm.barrier
%v = llvm.load %other : !llvm.ptr<3> -> f32
)"},
    {"CleanRing", "", R"(
nvvm.cp.async.shared.global %own, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group
%far = llvm.getelementptr %own[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
nvvm.cp.async.shared.global %far, %mine, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 1
%v = llvm.load %own : !llvm.ptr<3> -> f32
nvvm.cp.async.wait.group 0
%w = llvm.load %far : !llvm.ptr<3> -> f32
)"},

    {"CleanMatrix", "", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.barrier
%row = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%m = nvvm.ldmatrix %row {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
nvvm.barrier
llvm.store %f1, %own : f32, !llvm.ptr<3>
)"},
    {"CleanBarrier", "", R"(
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.barrier
%v = llvm.load %other : !llvm.ptr<3> -> f32
nvvm.barrier
llvm.store %v, %own : f32, !llvm.ptr<3>
)"},
    {"CleanBytes", "", R"(
%byte = llvm.getelementptr %s[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%v = llvm.trunc %t : i32 to i8
llvm.store %v, %byte : i8, !llvm.ptr<3>
%w = llvm.load %byte : !llvm.ptr<3> -> i8
)"},
    {"CleanMessage", "", R"(
llvm.cond_br %isFirst, ^init, ^wait
^init:
llvm.store %f1, %s : f32, !llvm.ptr<3>
%set = llvm.atomicrmw xchg %x, %c1 release : !llvm.ptr<1>, i32
llvm.br ^end
^wait:
%is = llvm.load %x atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%ready = llvm.icmp "eq" %is, %c1 : i32
llvm.cond_br %ready, ^read, ^wait
^read:
%v = llvm.load %s : !llvm.ptr<3> -> f32
llvm.br ^end
^end:
)"},
    {"CleanFences", "", R"(
llvm.cond_br %isFirst, ^init, ^wait
^init:
llvm.store %f1, %s : f32, !llvm.ptr<3>
llvm.fence release
%set = llvm.atomicrmw xchg %x, %c1 monotonic : !llvm.ptr<1>, i32
llvm.br ^end
^wait:
%is = llvm.load %x atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
llvm.fence acquire
%ready = llvm.icmp "eq" %is, %c1 : i32
llvm.cond_br %ready, ^read, ^wait
^read:
%v = llvm.load %s : !llvm.ptr<3> -> f32
llvm.br ^end
^end:
)"},
    {"CleanChain", "", R"(
llvm.cond_br %isFirst, ^ticket, ^end
^ticket:
%data = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%one = llvm.getelementptr %x[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%two = llvm.getelementptr %x[12] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%turn = llvm.atomicrmw add %x, %c1 monotonic : !llvm.ptr<1>, i32
%isZero = llvm.icmp "eq" %turn, %c0 : i32
llvm.cond_br %isZero, ^write, ^others
^write:
llvm.store %f1, %data : f32, !llvm.ptr<1>
%a = llvm.atomicrmw xchg %one, %c1 release : !llvm.ptr<1>, i32
llvm.br ^end
^others:
%isOne = llvm.icmp "eq" %turn, %c1 : i32
llvm.cond_br %isOne, ^pass, ^read
^pass:
%first = llvm.load %one atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%second = llvm.atomicrmw xchg %two, %c1 release : !llvm.ptr<1>, i32
llvm.br ^end
^read:
%r = llvm.load %two atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%v = llvm.load %data : !llvm.ptr<1> -> f32
llvm.br ^end
^end:
)",
     3},
    {"CleanFenceOfTheDevice", "", R"(
llvm.cond_br %isFirst, ^ticket, ^end
^ticket:
%data = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%flag = llvm.getelementptr %x[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%turn = llvm.atomicrmw add %x, %c1 monotonic : !llvm.ptr<1>, i32
%isZero = llvm.icmp "eq" %turn, %c0 : i32
llvm.cond_br %isZero, ^write, ^read
^write:
llvm.store %f1, %data : f32, !llvm.ptr<1>
llvm.fence syncscope("device") release
%a = llvm.atomicrmw xchg %flag, %c1 monotonic : !llvm.ptr<1>, i32
llvm.br ^end
^read:
%r = llvm.load %flag atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
llvm.fence syncscope("device") acquire
%v = llvm.load %data : !llvm.ptr<1> -> f32
llvm.br ^end
^end:
)",
     2},
    {"CleanAtomicsOfABlock", "", R"(
%v = llvm.atomicrmw add %x, %c1 syncscope("block") monotonic : !llvm.ptr<1>, i32
)"},
    {"CleanAtomics", "", R"(
%v = llvm.atomicrmw add %x, %c1 monotonic : !llvm.ptr<1>, i32
)",
     3},
    {"CleanWarpBarrier", "", R"(
llvm.cond_br %isLow, ^warp, ^end
^warp:
llvm.store %f1, %own : f32, !llvm.ptr<3>
nvvm.bar.warp.sync %all : i32
%c31 = llvm.mlir.constant(31 : i32) : i32
%near = llvm.and %next, %c31 : i32
%p = llvm.getelementptr %s[%near] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
%v = llvm.load %p : !llvm.ptr<3> -> f32
llvm.br ^end
^end:
)"},
};

/// The line of `mark` in a comment of the text; 0: there is none.
int lineOf(const std::string &text, const std::string &mark) {
  int line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const std::string one = text.substr(at, text.find('\n', at) - at);
    if (const size_t comment = one.find("//"); comment != one.npos && one.find(mark, comment) != one.npos)
      return line;
    at += one.size() + 1;
  }
  return 0;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

class Planted : public testing::TestWithParam<Case> {
protected:
  /// The error of a launch of the program with the schedule.
  static std::string run(const std::string &program, const std::string &schedule) {
    DialectRegistry registry;
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, target::TargetDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(program, ParserConfig(&context), "planted.mlir");
    if (!module) return "the program does not parse";
    std::string why;
    const std::string bundle = bundleOf(*module, "ptx:emulated:sm_80+check", why);
    if (!why.empty()) return why;
    Device device("ptx:emulated:sm_80+check+" + schedule);
    void *x = nullptr;
    EXPECT_EQ(tsrAlloc(device.handle, 256 * sizeof(float), TSR_MEM_DEVICE, &x), TSR_SUCCESS);
    EXPECT_EQ(tsrMemset(device.handle, x, 0, 256 * sizeof(float)), TSR_SUCCESS);
    std::string found = launch(device, bundle, {reinterpret_cast<uint64_t>(x), 256});
    EXPECT_EQ(tsrFree(device.handle, x), TSR_SUCCESS);
    return found;
  }
};

TEST_P(Planted, IsFoundAtItsLines) {
  const Case &c = GetParam();
  const std::string program =
      replaced(std::string(kHead) + c.body + kTail, "BLOCKS", std::to_string(c.blocks));
  for (const char *schedule : {"ascending", "descending", "random=7+early"}) {
    const std::string found = run(program, schedule);
    if (!*c.code) {
      EXPECT_EQ(found, "") << schedule;
      continue;
    }
    EXPECT_NE(found.find(std::string("[") + c.code + "] "), found.npos) << schedule << ": " << found;
    for (const char *mark : {"A", "B"})
      if (const int line = lineOf(program, mark))
        EXPECT_NE(found.find("planted.mlir:" + std::to_string(line) + ":"), found.npos)
            << schedule << ": line " << line << " of " << mark << " in " << found;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Planted, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

/// Of eight blocks, which two host threads run, block 0 fails when block 1 waits for it.
TEST(Emulated, AFaultEndsBlocksThatWait) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "blocks run one after another";
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, target::TargetDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  const std::string body = R"(
%flag = llvm.getelementptr %x[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
%isZero = llvm.icmp "eq" %b, %c0 : i32
llvm.cond_br %isZero, ^await, ^start
^await:
%state = llvm.load %flag atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%started = llvm.icmp "eq" %state, %c1 : i32
llvm.cond_br %started, ^fail, ^await
^fail:
llvm.cond_br %isFirst, ^end, ^meet
^meet:
nvvm.barrier
llvm.br ^end
^start:
%o = llvm.atomicrmw xchg %flag, %c1 monotonic : !llvm.ptr<1>, i32
llvm.br ^wait
^wait:
%v = llvm.load %x atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
%done = llvm.icmp "eq" %v, %c1 : i32
llvm.cond_br %done, ^end, ^wait
^end:
)";
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(replaced(std::string(kHead) + body + kTail, "BLOCKS", "8"), &context);
  ASSERT_TRUE(module);
  std::string why;
  const std::string bundle = bundleOf(*module, "ptx:emulated:sm_80", why);
  ASSERT_EQ(why, "");
  Device device("ptx:emulated:sm_80");
  void *x = nullptr;
  ASSERT_EQ(tsrAlloc(device.handle, 256 * sizeof(float), TSR_MEM_DEVICE, &x), TSR_SUCCESS);
  ASSERT_EQ(tsrMemset(device.handle, x, 0, 256 * sizeof(float)), TSR_SUCCESS);
  const std::string found = launch(device, bundle, {reinterpret_cast<uint64_t>(x), 256});
  EXPECT_NE(found.find("[E_EMU_DIVERGENCE] "), found.npos) << found;
  EXPECT_EQ(tsrFree(device.handle, x), TSR_SUCCESS);
}

TEST(Emulated, ABlockOfTooManyThreadsIsRefused) {
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, target::TargetDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  for (const auto &[block, refusal] :
       {std::pair("[1024, 1, 1]", ""),
        std::pair("[512, 3, 1]", "kernel k needs 1536 threads in a block, ptx:emulated:sm_80 has 1024")}) {
    std::string program = replaced(std::string(kHead) + kTail, "BLOCKS", "1");
    program = replaced(program, "block: [256, 1, 1]", std::string("block: ") + block);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
    ASSERT_TRUE(module);
    std::string why;
    const std::string bundle = bundleOf(*module, "ptx:emulated:sm_80", why);
    ASSERT_EQ(why, "");
    Device device("ptx:emulated:sm_80");
    void *x = nullptr;
    ASSERT_EQ(tsrAlloc(device.handle, 256 * sizeof(float), TSR_MEM_DEVICE, &x), TSR_SUCCESS);
    const std::string found = launch(device, bundle, {reinterpret_cast<uint64_t>(x), 256});
    if (*refusal)
      EXPECT_NE(found.find(refusal), found.npos) << found;
    else
      EXPECT_EQ(found, "");
    EXPECT_EQ(tsrFree(device.handle, x), TSR_SUCCESS);
  }
}

TEST(Emulated, UnknownOperationsAreRefusedByName) {
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, target::TargetDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  const std::string program = std::string(kHead) + "nvvm.cluster.arrive.relaxed" + kTail;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  ASSERT_TRUE(module);
  std::string why;
  EXPECT_EQ(bundleOf(*module, "ptx:emulated:sm_80", why), "");
  EXPECT_EQ(why, "the emulator does not execute nvvm.cluster.arrive.relaxed (TSR_UNIMPLEMENTED)");
}

} // namespace
} // namespace tessera::emulation
