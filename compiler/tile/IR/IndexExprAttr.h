// The syntax of index expressions in operations and types, and their rule: they name integers of the kernel.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/OpImplementation.h"

namespace tessera::tile {

// Directives of assembly formats: an expression is its text ("ceildiv(M, 64)").
mlir::ParseResult parseIndexExpr(mlir::AsmParser &, IndexExprAttr &);
void printIndexExpr(mlir::AsmPrinter &, mlir::Operation *, IndexExprAttr);
/// An array is ["0", "M - 1"].
mlir::ParseResult parseIndexExprs(mlir::AsmParser &, mlir::ArrayAttr &,
                                  mlir::AsmParser::Delimiter = mlir::AsmParser::Delimiter::Square);
void printIndexExprs(mlir::AsmPrinter &, mlir::Operation *, mlir::ArrayAttr);

/// For each argument of a kernel with these `params` the name that an index expression has for it; "" if it
/// is no integer.
std::vector<std::string> indexNames(mlir::TypeRange arguments, mlir::ArrayAttr params);

/// Checks that the expressions use the names only.
mlir::LogicalResult verifyIndexExprs(mlir::Operation *, llvm::ArrayRef<mlir::Attribute> exprs,
                                     const std::vector<std::string> &names);

} // namespace tessera::tile
