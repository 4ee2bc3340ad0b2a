// Parameters of kernels and of graph functions as attributes.
#pragma once
#include "compiler/frontend/program/Program.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/schedule/IR/KernelFrame.h"
#include "mlir/IR/Builders.h"

namespace tessera::graph {

/// Returns the indices into `params` in the order of the arguments (decision D15): tensors, results, scalars;
/// before them the hidden tensor of print and assert_.
llvm::SmallVector<int> argumentOrder(const std::vector<frontend::Param> &params);

/// Returns `none` for a scalar.
tile::Access accessOf(const frontend::Param &);

tile::ParamAttr describe(mlir::OpBuilder &, const frontend::Param &);

/// ["...", ...]
mlir::ArrayAttr describeLines(mlir::OpBuilder &, const std::vector<std::string> &);

/// {says = "...", value = "M - 2"}: what a launch refuses where the value is negative.
mlir::DictionaryAttr describeCheck(mlir::OpBuilder &, mlir::StringRef value, mlir::StringRef says);

TensorType tensorType(mlir::MLIRContext *, const std::vector<frontend::Dim> &, DType);

} // namespace tessera::graph
