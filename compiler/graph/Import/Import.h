// Imports the frontend's typed program as IR: phase 0, before any pass.
#pragma once
#include "compiler/frontend/program/GraphProgram.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace tessera::graph {

/// Returns a module with the kernel as `schedule.kernel @name`, whose decisions are open, and with
/// `graph.func @name.host`, which launches it. Loads the dialects it needs. Operations have the locations of
/// the source, with `fileName` as the file. `numerics` is the name of the profile.
///
/// Integers of the language are i64 scalars; memory operations take them through arith.index_cast. Guards
/// cover what arith leaves undefined: integer division by zero gives 0, and a shift by the width or more
/// gives what repeated shifts by one would. Returns null if the program contains something that has no IR;
/// the diagnostics then went to the context.
mlir::OwningOpRef<mlir::ModuleOp> importKernel(mlir::MLIRContext &, const frontend::Kernel &,
                                               const std::string &fileName, const std::string &numerics);

/// Returns a module with the function as `graph.func @name`, and the user's kernels that it launches as
/// `schedule.kernel`. Losses are expanded; every other op of the language is an op of the dialect. A scalar
/// computed from scalars is a tensor of rank 0. Returns null as importKernel does.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(mlir::MLIRContext &, const frontend::GraphFunction &,
                                              const std::string &fileName, const std::string &numerics);

} // namespace tessera::graph
