// Numerics profiles in the IR. A kernel or graph function names its profile (`numerics = "exact"`), and the
// module says what the profile permits, so that the IR's text is complete:
//
//   module attributes {tessera.numerics = {exact = ["contraction", "unordered_atomics"]}} {
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "numerics/NumericsProfile.h"

namespace tessera {

inline constexpr llvm::StringLiteral kProfiles = "tessera.numerics";

/// Records in the module what profile `name` permits. A module has one such profile.
void setProfile(mlir::ModuleOp module, llvm::StringRef name, const NumericsPermissions &permits);

/// Returns what the profile of `kernel` (of any level) permits, by the module or because it is built in;
/// nullopt if it is neither in the module nor built in.
std::optional<NumericsPermissions> permitsOf(mlir::Operation *kernel);
/// Returns what code may do to the program's float operations because the profile permits more than
/// `standard`: none unless it permits reassociation. `standard` permits contraction, too, but its results do
/// not depend on the target.
mlir::arith::FastMathFlags relaxationsOf(const NumericsPermissions &);
/// Returns the name of the profile.
llvm::StringRef profileOf(mlir::Operation *kernel);

/// Reports a table of profiles that an edit has made invalid: a wrong shape, unknown permissions, or a
/// built-in name with other permissions than its own.
mlir::LogicalResult checkProfileTable(mlir::ModuleOp module);

} // namespace tessera
