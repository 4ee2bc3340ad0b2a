// What a GPU vendor adds to the shared lowering: its operations for thread coordinates and barriers, how a
// kernel is marked, and how LLVM's output becomes an image that the vendor's driver loads.
#pragma once
#include "compiler/codegen/gpu/GpuTarget.h"
#include "compiler/layout/BlockReads.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>
#include <optional>
#include <string>

namespace tessera::gpu {

/// The attribute of a lowered kernel with markKernel's `residentBlocks`.
inline constexpr llvm::StringLiteral kResidentBlocks = "resident_blocks";

/// Functions of f32 that GPUs have instructions for.
enum class Approximation { Exp2, Log2, Inverse, Sqrt, InverseSqrt, Tanh };

/// The coordinates that a thread can read.
enum class Id { Thread, Block, GridSize };

/// One constant object per vendor, shared by all threads.
class Vendor : public codegen::TargetBackend {
public:
  /// Its GPUs, oldest first.
  virtual llvm::ArrayRef<Architecture> architectures() const = 0;
  /// The format of emitObject's result.
  virtual ImageFormat format() const = 0;
  /// LLVM's name of the machine; the row names the processor and its features.
  virtual llvm::StringRef triple() const = 0;

  /// Emits the coordinate along `dim` (0 to 2) as i32 or i64, known to be in [0, bound).
  virtual mlir::Value emitId(mlir::ImplicitLocOpBuilder &, Id, unsigned dim, int64_t bound) const = 0;
  /// Emits a barrier for every thread of the block: all of them see memory written before it.
  virtual void emitBarrier(mlir::ImplicitLocOpBuilder &) const = 0;
  /// Are permutations of bytes cheaper than the accesses that they save?
  virtual bool permutesBytes() const { return false; }
  /// Emits the word of four bytes of two words: 0 to 3 are those of `low`, 4 to 7 those of `high`.
  virtual mlir::Value emitBytes(mlir::ImplicitLocOpBuilder &, mlir::Value low, mlir::Value high,
                                std::array<int64_t, 4> bytes) const;
  /// Emits an instruction after which the warp is issued before others that did not ask for it, or not.
  virtual void emitPriority(mlir::ImplicitLocOpBuilder &, bool /*isHigh*/) const {
    llvm_unreachable("the vendor's rows have no raisesPriority");
  }
  /// Emits C += A * B for one instruction of the row's `products`, on the elements that one lane holds: `a`
  /// and `b` are vectors in the order of the instruction's registers (i16 for bf16), `c` are single elements.
  /// Returns the new ones.
  virtual llvm::SmallVector<mlir::Value> emitProduct(mlir::ImplicitLocOpBuilder &, const layout::Fragment &,
                                                     DType, mlir::Value a, mlir::Value b,
                                                     mlir::ValueRange c) const {
    llvm_unreachable("the vendor has no matrix instructions");
  }
  /// If the row has it (readsBlocks): a matrix in global memory; all but the address (i64) are i32. Rows are
  /// `width` bytes long and `pitch` bytes apart.
  struct GlobalMatrix {
    mlir::Value address, width, height, pitch;
  };
  /// Emits the read of a block whose first element is at `column`, in the read's units, and `row`, both i32
  /// and the same for all lanes. Elements outside of the matrix are zero. Returns the operand as emitProduct
  /// takes it, or as words of its registers.
  virtual mlir::Value emitBlockRead(mlir::ImplicitLocOpBuilder &, const layout::BlockRead &,
                                    const GlobalMatrix &, mlir::Value column, mlir::Value row) const {
    llvm_unreachable("the vendor reads no blocks");
  }
  /// Of a matrix in shared memory as an instruction reads it: its descriptor (i64), and whether the
  /// instruction finds it transposed, with rows along k.
  struct SharedMatrix {
    mlir::Value descriptor;
    bool isAlongK; // neighbours in memory are neighbours along k
  };
  // If the row has instructions that read operands in shared memory (Fragment::readsShared), which the warps
  // of a group execute together and beside other work:
  /// Emits the instruction's descriptor of a matrix at `address`, a pointer to shared memory, in panels of
  /// `panelBytes`. Rows of a panel are in groups of 8, `groupBytes` apart; panels that one instruction reads
  /// are `panelStep` bytes apart.
  virtual mlir::Value emitDescriptor(mlir::ImplicitLocOpBuilder &, const layout::Fragment &,
                                     mlir::Value address, int64_t panelBytes, int64_t panelStep,
                                     int64_t groupBytes) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  /// Emits the start of C += A * B, or of C = A * B unless it `adds`, where C is a struct of what one lane
  /// holds, and returns the new one. It may be used by further products at once, by anything else after
  /// emitProductWait.
  virtual mlir::Value emitSharedProduct(mlir::ImplicitLocOpBuilder &, const layout::Fragment &, DType,
                                        SharedMatrix, SharedMatrix, mlir::Value, bool adds) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  /// The same with A in registers (Fragment::isInRegisters): `a` is what one lane holds of it, as for
  /// emitProduct.
  virtual mlir::Value emitHeldProduct(mlir::ImplicitLocOpBuilder &, const layout::Fragment &, DType,
                                      mlir::Value a, SharedMatrix, mlir::Value, bool adds) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  /// Emits what goes before the first of several products; what ends a group of them; and a wait for all
  /// groups but the last `pending`.
  virtual void emitProductFence(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  virtual void emitProductCommit(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  virtual void emitProductWait(mlir::ImplicitLocOpBuilder &, int64_t pending) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  // If such instructions have their sums in tensor memory (Fragment::hasTensorMemory), whose addresses are
  // i32 with the lane in the upper half and the column in the lower one:
  /// Emits its allocation, a power of two of columns from 32 on, whose address goes to `place` in shared
  /// memory; no other one follows in the block. And its end. One warp executes both.
  virtual void emitTensorAlloc(mlir::ImplicitLocOpBuilder &, mlir::Value place, int64_t columns) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  virtual void emitTensorFree(mlir::ImplicitLocOpBuilder &, mlir::Value memory, int64_t columns) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  /// Emits the start of C = A * B, or C += A * B if `adds` (i1), by one thread; and what lets all products
  /// that the thread has started arrive in a word of emitInitArrivals when they are done.
  virtual void emitTensorProduct(mlir::ImplicitLocOpBuilder &, const layout::Fragment &, DType, SharedMatrix,
                                 SharedMatrix, mlir::Value sums, mlir::Value adds) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  virtual void emitTensorCommit(mlir::ImplicitLocOpBuilder &, mlir::Value word) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  /// Emits the load of what the lane holds of `count` columns (a power of two from 8 on) of the instruction's
  /// sums; returns one i32 each, which may be used after the wait.
  virtual llvm::SmallVector<mlir::Value> emitTensorLoad(mlir::ImplicitLocOpBuilder &,
                                                        const layout::Fragment &, mlir::Value from,
                                                        int64_t count) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  virtual void emitTensorLoadWait(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  /// Emits what orders accesses to tensor memory: those of the thread so far before what threads meet in, or
  /// after it those that follow.
  virtual void emitTensorFence(mlir::ImplicitLocOpBuilder &, bool isAfterMeeting) const {
    llvm_unreachable("the vendor has no tensor memory");
  }
  /// Emits what makes the thread's stores to shared memory visible to such products after the next barrier.
  virtual void emitSharedFence(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor reads no operands in shared memory");
  }
  /// Returns an i32 that all lanes of a warp have in common as a value that the compiler knows to be so.
  virtual mlir::Value emitUniform(mlir::ImplicitLocOpBuilder &, mlir::Value value) const { return value; }
  /// Does LLVM have one instruction that rounds f32 to bf16?
  virtual bool roundsToBf16(const Architecture &) const { return false; }
  /// Emits the vendor's approximation of a function of `x`, an f32, within the bounds of docs/numerics.md.
  /// Returns null if there is no instruction, which only Tanh may lack.
  virtual mlir::Value emitApproximation(mlir::ImplicitLocOpBuilder &, Approximation, mlir::Value x) const = 0;
  /// Does a step of Newton's method after its Inverse give the quotient rounded to nearest, if
  /// 1 <= |x| < 2^100 or x is NaN?
  virtual bool refinesInverse() const { return false; }
  /// Emits the load of `count` (1, 2 or 4) matrices of 8 x 8 elements of 16 bits from shared memory, if the
  /// row of the architecture has it (loadsMatrices). Lane 8 * i + r has the address of row r of matrix i. Of
  /// each matrix lane l gets the elements 2 * (l mod 4) and the next one of row l / 4, or of column l / 4 if
  /// `transposed`, as one i32.
  virtual llvm::SmallVector<mlir::Value> emitLoadMatrix(mlir::ImplicitLocOpBuilder &, mlir::Value address,
                                                        int count, bool transposed) const {
    llvm_unreachable("the vendor loads no matrices");
  }
  /// If it has shuffles: emits the exchange of i32 words within a warp, all of whose lanes reach it. Returns
  /// the word of lane `lane`.
  virtual bool hasShuffles() const { return false; }
  virtual mlir::Value emitShuffle(mlir::ImplicitLocOpBuilder &, mlir::Value word, mlir::Value lane) const {
    llvm_unreachable("the vendor has no shuffles");
  }
  /// If the row has them (copiesAsync): emits the copy of `bytes` (4, 8 or 16) from global to shared memory,
  /// both at multiples of it, of which only the first `copied` (i32; null: all) are read and the others
  /// become zeros; ends the group of this thread's copies; waits for all groups of this thread but the last
  /// `pending`.
  virtual void emitCopy(mlir::ImplicitLocOpBuilder &, mlir::Value to, mlir::Value from, int64_t bytes,
                        mlir::Value copied) const {
    llvm_unreachable("the vendor has no asynchronous copies");
  }
  virtual void emitCopyCommit(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor has no asynchronous copies");
  }
  virtual void emitCopyWait(mlir::ImplicitLocOpBuilder &, int64_t pending) const {
    llvm_unreachable("the vendor has no asynchronous copies");
  }
  /// If the row has them (copiesBoxes): copies of boxes of a tensor, whose bytes arrive in words of 8 bytes
  /// of shared memory. One thread emits the first three. Prepares words, whose phases end after as many
  /// arrivals as `counts` has for each, and the arrival of all bytes; adds bytes to expect, and arrives
  /// itself; starts a copy to `to`, in shared memory, at `coordinates` (i32, innermost first) of the tensor
  /// that `map` describes; waits for the end of a phase whose number modulo 2 is `parity` (i32). If `ranks`
  /// is not 0, the bytes are copied to, and arrive in, the same place of each block of the cluster whose bit
  /// it has.
  virtual void emitInitArrivals(mlir::ImplicitLocOpBuilder &, mlir::ValueRange words,
                                llvm::ArrayRef<int64_t> counts) const {
    llvm_unreachable("the vendor copies no boxes");
  }
  virtual void emitExpectBytes(mlir::ImplicitLocOpBuilder &, mlir::Value word, int64_t bytes) const {
    llvm_unreachable("the vendor copies no boxes");
  }
  virtual void emitCopyBox(mlir::ImplicitLocOpBuilder &, mlir::Value to, mlir::Value map,
                           mlir::ValueRange coordinates, mlir::Value word, int64_t ranks) const {
    llvm_unreachable("the vendor copies no boxes");
  }
  virtual void emitAwaitBytes(mlir::ImplicitLocOpBuilder &, mlir::Value word, mlir::Value parity) const {
    llvm_unreachable("the vendor copies no boxes");
  }
  /// Stores of boxes, from shared memory. Stores four matrices as emitLoadMatrix has them, of which each lane
  /// has one i32; starts the store of the box at `from` to `coordinates` of the tensor that `map` describes,
  /// for one thread; waits until all stores of this thread but the last `pending` have read shared memory.
  /// emitSharedFence and a barrier come between what is written to memory and the store.
  virtual void emitStoreMatrix(mlir::ImplicitLocOpBuilder &, mlir::Value address,
                               mlir::ValueRange words) const {
    llvm_unreachable("the vendor stores no boxes");
  }
  virtual void emitStoreBox(mlir::ImplicitLocOpBuilder &, mlir::Value map, mlir::ValueRange coordinates,
                            mlir::Value from) const {
    llvm_unreachable("the vendor stores no boxes");
  }
  virtual void emitAwaitStores(mlir::ImplicitLocOpBuilder &, int64_t pending) const {
    llvm_unreachable("the vendor stores no boxes");
  }
  /// If the row has registers to divide: warps with roles. The thread arrives in a word; waits for the lanes
  /// of its warp; arrives in barrier `number` (i32, 1 to 15) of `threads` threads of the block and,
  /// if it `waits`, waits for all of them and sees memory that they have written before; gives each thread of
  /// its group of warps `count` registers, of `atEntry` that all threads begin with. With `rank` (i32) it
  /// arrives in the same word of that block of the cluster.
  virtual void emitArrive(mlir::ImplicitLocOpBuilder &, mlir::Value word, mlir::Value rank) const {
    llvm_unreachable("the vendor has no roles of warps");
  }
  /// If the row has clusters (mostInCluster): marks `function` as a kernel whose blocks form clusters of so
  /// many, in the order of their numbers; waits for every thread of the cluster, all of which see memory
  /// written before.
  virtual void markCluster(mlir::Operation *function, int64_t blocks) const {
    llvm_unreachable("the vendor has no clusters");
  }
  virtual void emitClusterBarrier(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor has no clusters");
  }
  virtual void emitWarpBarrier(mlir::ImplicitLocOpBuilder &) const {
    llvm_unreachable("the vendor has no roles of warps");
  }
  virtual void emitNamedBarrier(mlir::ImplicitLocOpBuilder &, mlir::Value number, int64_t threads,
                                bool waits) const {
    llvm_unreachable("the vendor has no roles of warps");
  }
  virtual void emitSetRegisters(mlir::ImplicitLocOpBuilder &, int64_t count, int64_t atEntry) const {
    llvm_unreachable("the vendor has no roles of warps");
  }
  /// Marks `function` as a kernel that is launched with blocks of `block` threads (x, y, z). If
  /// `residentBlocks` is not 0, registers are to be used so that as many blocks fit a unit at once.
  virtual void markKernel(mlir::LLVM::LLVMFuncOp function, llvm::ArrayRef<int32_t> block,
                          int64_t residentBlocks, const Architecture &) const = 0;
  /// Can atomic updates of elements of `type` be compiled: with operator `kind`, or by compare-and-swap if it
  /// is empty?
  virtual bool hasAtomic(std::optional<mlir::LLVM::AtomicBinOp> kind, mlir::Type type) const { return true; }

  /// Compiles functions and globals of the LLVM dialect to text for people (PTX, AMDGCN assembly, SPIR-V
  /// assembly), or to the image that the driver loads; that consumes the module. On failure returns
  /// E_BACKEND.
  virtual Expected<std::string> emitAssembly(mlir::ModuleOp, const Architecture &) const = 0;
  virtual Expected<std::string> emitObject(mlir::OwningOpRef<mlir::ModuleOp>, const Architecture &) const = 0;

  // The same for every vendor:
  std::vector<std::string> targetNames() const final;
  std::string targets() const final;
  Expected<std::unique_ptr<const codegen::Target>> parse(llvm::StringRef architecture) const final;
  void registerPasses() const final;
};

} // namespace tessera::gpu
