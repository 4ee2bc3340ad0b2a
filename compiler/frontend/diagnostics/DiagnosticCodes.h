// The codes of the frontend's diagnostics, from DiagnosticCodes.def.
#pragma once
#include <span>
#include <string_view>

namespace tessera::frontend {

struct DiagnosticInfo {
  const char *code;        // "E_UNDEFINED_NAME"
  const char *title;       // one short line
  const char *explanation; // what it means and how to fix it, for `tsr explain`
};

/// Null if there is no such code.
const DiagnosticInfo *findDiagnostic(std::string_view code);
std::span<const DiagnosticInfo> allDiagnostics();

} // namespace tessera::frontend
