// The common parts of schedule.kernel and tile.kernel: the assembly of a function-like kernel, and the rules
// of `params`.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tessera::tile {

/// For handwritten parsers, after the last attribute: checks that the attributes an op declares have their
/// declared type. One of another type would be dropped silently.
mlir::ParseResult checkAttributes(mlir::OpAsmParser &, const mlir::OperationState &, llvm::SMLoc where);

/// Parses `@name(args) [grid [...]] [attributes {...}] { body }`, with the inherent attribute `grid` when
/// `withGrid`.
mlir::ParseResult parseKernel(mlir::OpAsmParser &, mlir::OperationState &, bool withGrid);
/// `grid` is null for a kernel without one.
void printKernel(mlir::OpAsmPrinter &, mlir::FunctionOpInterface, mlir::ArrayAttr grid);

/// Names the arguments after their parameters.
void nameArguments(mlir::Region &, mlir::ArrayAttr params, mlir::OpAsmSetValueNameFn);

/// Checks the `params` attribute (an array of ParamAttr) against the arguments: one entry each in the order
/// tensors, results, scalars, dims; types that match dtype and dims; an argument for every symbolic dim.
mlir::LogicalResult verifyParams(mlir::FunctionOpInterface, mlir::ArrayAttr params);

/// Returns the parameters (an array of ParamAttr) of a tile.kernel or schedule.kernel; null for any other
/// operation.
mlir::ArrayAttr paramsOf(mlir::Operation *);

/// Returns the argument of the kernel's dim `name`; null if there is none.
mlir::BlockArgument findDim(mlir::FunctionOpInterface, mlir::ArrayAttr params, llvm::StringRef name);

} // namespace tessera::tile
