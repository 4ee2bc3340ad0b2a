// The bodies among which launches of a kernel choose: the attribute `tile.variants` of schedule.kernel and
// tile.kernel, an array of dictionaries with the parts of `launch.variants` in the kernel metadata.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace tessera::tile {

inline constexpr llvm::StringLiteral kVariants = "tile.variants";

/// In the policy of an i64 scalar that is a parameter of a body: array<i64: least, most>.
inline constexpr llvm::StringLiteral kLimits = "limits";

mlir::ArrayAttr describeVariants(mlir::MLIRContext *, const std::vector<MetadataVariant> &);
/// The variants of a kernel; empty if it has one body.
std::vector<MetadataVariant> variantsOf(mlir::Operation *kernel);
/// Has the attribute the form that describeVariants gives it?
bool isVariantList(mlir::Attribute);

} // namespace tessera::tile
