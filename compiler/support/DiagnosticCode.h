// The stable code and the hint that a pass attaches to a diagnostic about the program.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <string>

namespace tessera {

/// `code` ("E_DIM_NOT_STATIC") must live for the lifetime of the process. An error without a code is a defect
/// of the compiler.
inline void setCode(mlir::InFlightDiagnostic &diagnostic, const char *code) {
  diagnostic.getUnderlyingDiagnostic()->getMetadata().emplace_back(llvm::StringRef(code));
}

/// Empty if no code was set.
inline llvm::StringRef codeOf(mlir::Diagnostic &diagnostic) {
  for (const mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::String)
      return argument.getAsString();
  return {};
}

/// Adds what the programmer can do, as a note beside those that MLIR attaches.
inline void setHint(mlir::InFlightDiagnostic &diagnostic, const llvm::Twine &hint) {
  diagnostic.attachNote() << "hint: " << hint;
}

/// Empty if no hint was set.
inline std::string hintOf(mlir::Diagnostic &diagnostic) {
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    const std::string text = note.str();
    if (llvm::StringRef hint = text; hint.consume_front("hint: ")) return hint.str();
  }
  return {};
}

} // namespace tessera
