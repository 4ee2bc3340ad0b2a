// Numerics profiles in the IR. A kernel or graph function names its profile (`numerics = "exact"`); the
// module says what the profile permits, so that the text alone tells:
//
//   module attributes {tessera.numerics = {exact = ["contraction", "unordered_atomics"]}} {
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "numerics/NumericsProfile.h"

namespace tessera {

inline constexpr llvm::StringLiteral kProfiles = "tessera.numerics";

/// Writes what profile `name` permits to the module; it is the module's only one.
void setProfile(mlir::ModuleOp module, llvm::StringRef name, const NumericsPermissions &permits);

/// The profile that `kernel` (of any level) names: what it permits by the module, or because it is built in;
/// nullopt when neither says.
std::optional<NumericsPermissions> permitsOf(mlir::Operation *kernel);
/// What code that a profile permits beyond `standard` may do to the program's float operations: none unless
/// it permits reassociation. `standard` permits contraction, too, but its bits do not depend on the target.
mlir::arith::FastMathFlags relaxationsOf(const NumericsPermissions &);
/// The name itself.
llvm::StringRef profileOf(mlir::Operation *kernel);

/// Reports a table of profiles that a person has made unsound: a wrong shape, unknown permissions, a built-in
/// name with other permissions than its own.
mlir::LogicalResult checkProfileTable(mlir::ModuleOp module);

} // namespace tessera
