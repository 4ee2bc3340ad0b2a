// The typed program of the frontend as IR: phase 0, before any pass.
#pragma once
#include "compiler/frontend/program/GraphProgram.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace tessera::graph {

/// A module with the kernel as `schedule.kernel @name`, its decisions open, and `graph.func @name.host` that
/// launches it. Loads the dialects it needs. Operations carry the source's places, with `fileName` as their
/// file. `numerics` is the name of the profile.
///
/// Language integers are i64 scalars; memory operations take them through arith.index_cast. What arith leaves
/// undefined is guarded: integer division by zero gives 0, shifts by the width or more give what shifting one
/// by one would. Null when the program holds something that has no IR; diagnostics then went to the context.
mlir::OwningOpRef<mlir::ModuleOp> importKernel(mlir::MLIRContext &, const frontend::Kernel &,
                                               const std::string &fileName, const std::string &numerics);

/// A module with the function as `graph.func @name` and the user's kernels it launches as `schedule.kernel`.
/// Losses are spelled out; every other op of the language is one of the dialect. What scalars are computed
/// from scalars are tensors of rank 0. Null as above.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(mlir::MLIRContext &, const frontend::GraphFunction &,
                                              const std::string &fileName, const std::string &numerics);

} // namespace tessera::graph
