// Roles of the warps of a thread block (tile.roles): some start the copies of a kernel's loop, the others
// compute.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include <string>

namespace tessera::tile {

inline constexpr int64_t kWarpLanes = 32; // where warps may have roles

/// The parts of a kernel that the warps of a block execute beside each other. What copies, and products that
/// warps of their own start, start from is computed in each part.
class BlockParts {
public:
  /// Returns why warps cannot execute what is ahead of a loop, which needs these values, or an empty text.
  static std::string whyNot(KernelOp kernel, mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Value> needed);

  /// Begins the roles at `at`, in the body of the kernel.
  BlockParts(KernelOp kernel, schedule::BlockAttr roles, mlir::OpBuilder at);

  struct Part {
    explicit Part(KernelOp kernel) : kernel(kernel), b(kernel.getContext()) {}
    /// The value in this part, of one that is defined in the kernel's body.
    mlir::Value valueOf(mlir::Value);

    KernelOp kernel;
    mlir::Block *body = nullptr;
    mlir::scf::ForOp programs = {}; // null: the block runs one
    /// The buffer of the ring that a program begins with and its phase: those after the block's program
    /// before, if the grid is persistent. Of products with sums in tensor memory the set of sums and its
    /// phase, after the others where products are started, alone where sums are stored.
    llvm::SmallVector<mlir::Value> start;
    mlir::OpBuilder b; // at the end of the part
    mlir::IRMapping map;
  };
  Part copy, multiply, math; // the second one has no body if there is none

  /// Moves the rest of the kernel but `shared`, which all parts use, into the part that computes. A program
  /// ends with these buffers and phases.
  void finish(llvm::ArrayRef<mlir::Operation *> shared, mlir::ValueRange copyEnd,
              mlir::ValueRange multiplyEnd, mlir::ValueRange mathEnd);

private:
  KernelOp kernel_;
  RolesOp roles_;
};

/// Returns the roles for a kernel with as many warps that compute and sums of each thread, on a unit with so
/// many registers of 32 bits; null if it is better without.
schedule::BlockAttr usualRoles(mlir::MLIRContext *, int64_t mathWarps, int64_t sums, int64_t registers,
                               bool isPingpong, bool isPersistent);

/// Returns why a unit with so many registers, or a kernel with as many warps and sums of each thread, cannot
/// have these roles, or an empty text.
std::string whyNotOnUnit(schedule::BlockAttr roles, int64_t warps, int64_t sums, int64_t registers);

} // namespace tessera::tile
