// What schedule.kernel and tile.kernel share: the assembly of a function-like kernel and the rules of
// `params`.
#pragma once
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "numerics/DType.h"

namespace tessera::tile {

/// For parsers written by hand, behind the last attribute: those an op declares have the type it declares.
/// One of another type would be dropped without a word.
mlir::ParseResult checkAttributes(mlir::OpAsmParser &, const mlir::OperationState &, llvm::SMLoc where);

/// Parses `@name(args) [grid [...]] [attributes {...}] { body }`. `grid` is an inherent attribute when
/// `withGrid`.
mlir::ParseResult parseKernel(mlir::OpAsmParser &, mlir::OperationState &, bool withGrid);
void printKernel(mlir::OpAsmPrinter &, mlir::FunctionOpInterface, bool withGrid);

/// Names the arguments after their parameters.
void nameArguments(mlir::Region &, mlir::ArrayAttr params, mlir::OpAsmSetValueNameFn);

/// Checks a scalar's default: an integer or float that its dtype holds without rounding, or none.
mlir::LogicalResult verifyDefault(mlir::Operation *, mlir::DictionaryAttr param, DType dtype);

/// Checks the `params` attribute against the arguments: one entry each, decision order tensors, results,
/// scalars, dims; types that match dtype and dims; every symbolic dim an argument.
mlir::LogicalResult verifyParams(mlir::FunctionOpInterface, mlir::ArrayAttr params);

/// The argument of the kernel's dim `name`; null when there is none.
mlir::BlockArgument findDim(mlir::FunctionOpInterface, mlir::ArrayAttr params, llvm::StringRef name);

} // namespace tessera::tile
