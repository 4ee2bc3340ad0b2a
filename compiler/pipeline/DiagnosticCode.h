// The stable code of what a pass found wrong with the program, carried by its diagnostic.
#pragma once
#include "mlir/IR/Diagnostics.h"

namespace tessera {

/// `code` ("E_DIM_NOT_STATIC") lives as long as the process. An error without one is a defect of the
/// compiler.
inline void setCode(mlir::InFlightDiagnostic &diagnostic, const char *code) {
  diagnostic.getUnderlyingDiagnostic()->getMetadata().emplace_back(llvm::StringRef(code));
}

/// Empty when no code was set.
inline llvm::StringRef codeOf(mlir::Diagnostic &diagnostic) {
  for (const mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::String)
      return argument.getAsString();
  return {};
}

} // namespace tessera
