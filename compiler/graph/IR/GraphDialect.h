// The graph dialect. See GraphOps.td for the conventions.
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/graph/IR/GraphDialect.h.inc"
#include "compiler/graph/IR/GraphEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/graph/IR/GraphTypes.h.inc"
#define GET_OP_CLASSES
#include "compiler/graph/IR/GraphOps.h.inc"

namespace tessera::graph {

/// Returns the dim of extent `expr`, an integer if it is a constant.
mlir::Attribute extentAttr(mlir::MLIRContext *, const IndexExpr &expr);
/// Returns ["M", 64], as types print it.
std::string extentsText(mlir::ArrayAttr dims);

/// Returns the value whose memory `v` uses: follows updates by launches and reshapes back to their origin.
mlir::Value storageOf(mlir::Value v);

/// Does the reduction search for the position of an extreme?
inline bool isPosition(ReduceKind kind) { return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin; }
/// The operation that combines two elements in a reduction; nullopt for a position. A mean adds, and then
/// divides.
std::optional<BinaryKind> combinationOf(ReduceKind);

/// The number of parts of so many elements that an axis has, as an extent.
mlir::Attribute partsOf(TensorType, int64_t axis, int64_t elements);
/// Checks an operation along one axis of `input` whose result has the same type.
llvm::LogicalResult verifyAlongAxis(mlir::Operation *op, TensorType input, int64_t axis, TensorType result);

} // namespace tessera::graph
