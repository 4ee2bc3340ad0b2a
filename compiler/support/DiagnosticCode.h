// The stable code and the hint of what a pass found wrong with the program, carried by its diagnostic.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <string>

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

/// What the programmer can do; travels as a note, beside those that MLIR attaches.
inline void setHint(mlir::InFlightDiagnostic &diagnostic, const llvm::Twine &hint) {
  diagnostic.attachNote() << "hint: " << hint;
}

/// Empty when no hint was set.
inline std::string hintOf(mlir::Diagnostic &diagnostic) {
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    const std::string text = note.str();
    if (llvm::StringRef hint = text; hint.consume_front("hint: ")) return hint.str();
  }
  return {};
}

} // namespace tessera
