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

/// The part of a kernel that warps of their own execute to copy ahead of a loop. What their copies start
/// from is computed in both parts.
class CopyRole {
public:
  /// Returns why a loop cannot have such warps, which need these values, or an empty text.
  static std::string whyNot(KernelOp kernel, mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Value> needed);

  /// Begins the roles at `at`, in the body of the kernel.
  CopyRole(KernelOp kernel, schedule::BlockAttr roles, mlir::OpBuilder at);

  /// At the end of the part that copies.
  mlir::OpBuilder &builder() { return b_; }
  /// The value there, of one that is defined in the kernel's body.
  mlir::Value valueOf(mlir::Value);
  /// The buffer of the ring that a program begins with and its phase, in the part that copies and in the one
  /// that computes: those after the block's program before, if the grid is persistent.
  llvm::ArrayRef<mlir::Value> copyStart() const { return copy_.start; }
  llvm::ArrayRef<mlir::Value> mathStart() const { return math_.start; }
  /// Moves the rest of the kernel but `shared`, which both parts use, into the part that computes. A program
  /// ends with these buffers and phases.
  void finish(llvm::ArrayRef<mlir::Operation *> shared, mlir::ValueRange copyEnd, mlir::ValueRange mathEnd);

private:
  struct Part {
    mlir::Block *body;
    mlir::scf::ForOp programs; // null: the block runs one
    llvm::SmallVector<mlir::Value> start;
  };
  static Part begin(mlir::Region &, bool isPersistent, mlir::Location);

  KernelOp kernel_;
  RolesOp roles_;
  Part copy_, math_;
  mlir::OpBuilder b_;
  mlir::IRMapping map_;
};

/// Returns the roles for a kernel with as many warps that compute and sums of each thread, on a unit with so
/// many registers of 32 bits; null if it is better without.
schedule::BlockAttr usualRoles(mlir::MLIRContext *, int64_t mathWarps, int64_t sums, int64_t registers,
                               bool isPersistent);

/// Returns why a unit with so many registers, or a kernel with as many warps and sums of each thread, cannot
/// have these roles, or an empty text.
std::string whyNotOnUnit(schedule::BlockAttr roles, int64_t warps, int64_t sums, int64_t registers);

} // namespace tessera::tile
