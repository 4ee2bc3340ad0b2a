// Roles of the warps of a thread block (tile.roles): some start the copies of a kernel's loop, the others
// compute.
#pragma once
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/TileDialect.h"
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
  /// Moves the rest of the kernel but `shared`, which both parts use, into the part that computes.
  void finish(llvm::ArrayRef<mlir::Operation *> shared);

private:
  KernelOp kernel_;
  RolesOp roles_;
  mlir::OpBuilder b_;
  mlir::IRMapping map_;
};

/// Returns the roles for a kernel with as many warps that compute and sums of each thread, on a unit with so
/// many registers of 32 bits; null if it is better without.
schedule::BlockAttr usualRoles(mlir::MLIRContext *, int64_t mathWarps, int64_t sums, int64_t registers);

/// Returns why a unit with so many registers, or a kernel with as many warps and sums of each thread, cannot
/// have these roles, or an empty text.
std::string whyNotOnUnit(schedule::BlockAttr roles, int64_t warps, int64_t sums, int64_t registers);

} // namespace tessera::tile
