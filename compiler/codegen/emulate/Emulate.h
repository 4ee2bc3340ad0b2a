// The emulator's side of a compilation: Target IR of a GPU as code for this machine's processor.
#pragma once
#include "core/support/Expected.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <string>

namespace tessera::emulate {

#define GEN_PASS_DECL
#include "compiler/codegen/emulate/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/codegen/emulate/Passes.h.inc"

/// Compiles what target-emulate made to assembly text for people, or to the shared object that the emulator
/// loads. The code is the same on every x86-64 processor that has AVX2 and FMA. On failure returns E_BACKEND.
Expected<std::string> emitHostAssembly(mlir::ModuleOp);
Expected<std::string> emitHostImage(mlir::ModuleOp);

} // namespace tessera::emulate
