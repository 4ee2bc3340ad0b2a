// A loop whose copies into shared memory run some steps ahead of it (tile-pipeline-loops has the forms).
#pragma once
#include "compiler/tile/Transforms/BlockRoles.h"
#include "compiler/tile/Transforms/LaunchConditions.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <string>
#include <utility>

namespace tessera::tile {

inline constexpr int64_t kRingAlign = 1024; // of a ring that this pass adds: what swizzled bulk copies need
inline constexpr int64_t kArrivalsWord = 8; // bytes of a word that counts arrivals

/// A copy of each step: a tile.cp_async, or a tile.load of a factor, which becomes one.
struct StepCopy {
  mlir::Operation *op;
  mlir::Value view;
  mlir::ValueRange starts;
  mlir::DenseI64ArrayAttr extents;
  bool inBounds;
  BufferType buffer;        // of one step
  AllocSharedOp alloc = {}; // of a tile.cp_async
  bool isShared = false;    // all programs of a cluster copy the same

  int64_t align() { return alloc ? int64_t(alloc.getAlign()) : kRingAlign; }
  int64_t bytes() { return llvm::alignTo(buffer.getSizeInBytes(), align()); }
};

/// Not thread-safe; lives for one loop.
class Pipelining {
public:
  Pipelining(mlir::scf::ForOp loop, KernelOp kernel) : loop_(loop), kernel_(kernel) {}

  /// Finds the copies of the loop. Returns why the loop cannot be pipelined, or an empty text.
  std::string analyse();
  /// Returns why the copies that analyse() has found cannot be those of boxes, or an empty text.
  std::string whyNotBoxes();
  void useBoxes(bool uses) { usesBoxes_ = uses; }
  /// Is the body one product that reads shared memory and adds to its own sums, beside copies and scalars?
  /// Such a product runs until the next one has started.
  bool onlyAddsToSums();
  /// Returns why warps of their own cannot start these copies, or an empty text.
  std::string whyNotRoles();
  /// Returns why programs of such clusters cannot share copies, or an empty text. Finds those that they
  /// share.
  std::string whyNotCluster(schedule::BlockAttr roles);
  /// Are the sums of all products of the loop in tensor memory?
  bool sumsInTensorMemory();
  /// Returns why warps of their own cannot start its products, of a kernel that so many warps compute, or an
  /// empty text.
  std::string whyNotTensorRoles(schedule::BlockAttr roles, int64_t warps);
  /// Returns why groups of warps cannot take turns in the loop's steps, or an empty text.
  std::string whyNotPingpong();
  void useRoles(schedule::BlockAttr roles) { roles_ = roles; }
  /// Returns why a block cannot run several programs of the kernel, or an empty text.
  std::string whyNotPersistent();
  /// Registers of a lane that the sums of the loop's products take. whyNotRoles() has no objection.
  int64_t sumsOfLane();
  /// Under which boxes begin at columns that they can begin at. whyNotBoxes() has no objection.
  const LaunchConditions &columnConditions() const { return columns_; }
  /// The tensors that are copied.
  llvm::SmallVector<mlir::Value> views() {
    return llvm::map_to_vector(copies_, [](const StepCopy &copy) { return copy.view; });
  }

  /// The operations whose memory the rings replace.
  llvm::SmallVector<mlir::Operation *> replaced() {
    return llvm::map_to_vector(
        copies_, [](StepCopy &copy) { return copy.alloc ? copy.alloc.getOperation() : copy.op; });
  }
  /// Bytes that `stages` stages take.
  int64_t bytesOf(int64_t stages) {
    int64_t bytes = 0;
    for (StepCopy &copy : copies_)
      bytes += copy.bytes() * stages;
    // With words for copies that have arrived and, if warps have roles, for buffers that are free.
    return usesBoxes_ ? bytes + llvm::alignTo(2 * stages * kArrivalsWord, kRingAlign) : bytes;
  }

  void apply(int64_t stages);

private:
  /// The programs of a cluster free the buffers of all of them.
  bool hasCluster() const { return roles_ && roles_.programsOfCluster() > 1; }
  std::string analyseCopy(CpAsyncOp);
  bool isFactor(LoadOp);
  bool isKnownAhead(mlir::Value);
  bool dependsOnAxis(mlir::Value, int64_t axis);
  bool copiesBefore();
  /// The first product of a step that uses what other operations have computed from one before it, and the
  /// one before it; null: there are none.
  std::pair<MmaOp, MmaOp> productsOfTurn();
  void emitCopies(mlir::OpBuilder &b, mlir::IRMapping map, mlir::Value slot);
  void emitCopiesIf(mlir::OpBuilder &b, mlir::Value inRange, mlir::Value variable, mlir::Value slot);
  /// Returns the buffer and the phase that the copies end with.
  mlir::ValueRange emitCopyRole(BlockParts::Part &, int64_t stages);
  llvm::SmallVector<mlir::Value> emitMultiplyRole(BlockParts::Part &, int64_t stages, mlir::Value done,
                                                  mlir::Value unused);
  /// The same as apply() for products with sums in tensor memory that warps of their own start.
  void applyTensorRoles(int64_t stages);
  void allocateRings(mlir::OpBuilder &b, int64_t stages);
  /// Words that count arrivals.
  mlir::Value allocateWords(mlir::OpBuilder &b, int64_t count);
  std::pair<mlir::Value, mlir::Value> advance(mlir::OpBuilder &b, mlir::Value slot, mlir::Value phase,
                                              int64_t stages);

  mlir::scf::ForOp loop_;
  KernelOp kernel_;
  llvm::SmallVector<StepCopy> copies_;
  llvm::SetVector<mlir::Operation *> indices_; // that compute where the copies start
  llvm::SmallVector<mlir::Value> rings_;       // by copy
  bool usesBoxes_ = false;
  LaunchConditions columns_;
  mlir::Value arrivals_, free_; // of boxes, and of warps that have read a buffer: a word for each stage
  schedule::BlockAttr roles_;
};

} // namespace tessera::tile
