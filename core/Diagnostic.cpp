#include "core/CompilerService.h"
#include <algorithm>

namespace tessera {
namespace {

const char *severityName(Diagnostic::Severity s) {
  switch (s) {
  case Diagnostic::Severity::Error:
    return "error";
  case Diagnostic::Severity::Warning:
    return "warning";
  case Diagnostic::Severity::Note:
    return "note";
  }
  return "error";
}

const char *severityColour(Diagnostic::Severity s) {
  switch (s) {
  case Diagnostic::Severity::Error:
    return "\033[1;31m";
  case Diagnostic::Severity::Warning:
    return "\033[1;35m";
  case Diagnostic::Severity::Note:
    return "\033[1;36m";
  }
  return "";
}

/// The line under the source line. Tabs are repeated and the continuation bytes of UTF-8 skipped, so that the
/// caret stands under its character whatever the tab width; columns count bytes.
std::string caretLine(const Diagnostic &d) {
  std::string out;
  size_t begin = d.col - 1;
  size_t end = std::max<size_t>(d.endCol > d.col ? d.endCol - 1 : d.col, begin + 1);
  end = std::max(begin + 1, std::min(end, d.sourceLine.size()));
  for (size_t i = 0; i < end; ++i) {
    char c = i < d.sourceLine.size() ? d.sourceLine[i] : ' ';
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    out += i == begin ? '^' : i > begin ? '~' : c == '\t' ? '\t' : ' ';
  }
  return out;
}

} // namespace

std::string render(const Diagnostic &d, bool colour) {
  const char *bold = colour ? "\033[1m" : "", *green = colour ? "\033[1;32m" : "",
             *off = colour ? "\033[0m" : "";
  std::string out = bold;
  if (!d.file.empty()) {
    out += d.file + ":";
    if (d.line) out += std::to_string(d.line) + ":" + std::to_string(d.col) + ":";
    out += " ";
  }
  out += colour ? severityColour(d.severity) : "";
  out += std::string(severityName(d.severity)) + ": " + off + bold;
  if (!d.code.empty()) out += "[" + d.code + "] ";
  out += d.message + off + "\n";
  if (d.line && !d.sourceLine.empty()) {
    out += "  " + d.sourceLine + "\n";
    // A column far past the line's end says nothing and would only make a long line of blanks.
    if (d.col && d.col <= d.sourceLine.size() + 1)
      out += std::string("  ") + green + caretLine(d) + off + "\n";
  }
  if (!d.hint.empty()) out += "  hint: " + d.hint + "\n";
  return out;
}

} // namespace tessera
