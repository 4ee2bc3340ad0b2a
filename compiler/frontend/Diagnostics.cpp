#include "compiler/frontend/Diagnostics.h"
#include "compiler/frontend/Frontend.h"
#include <algorithm>
#include <array>

namespace tessera::frontend {

static constexpr DiagnosticInfo kTable[] = {
#define TSR_DIAGNOSTIC(code, title, explanation) {#code, title, explanation},
#include "compiler/frontend/DiagnosticCodes.def"
#undef TSR_DIAGNOSTIC
};

std::span<const DiagnosticInfo> allDiagnostics() { return kTable; }

const DiagnosticInfo *findDiagnostic(std::string_view code) {
  auto it = std::ranges::find_if(kTable, [&](const DiagnosticInfo &d) { return code == d.code; });
  return it == std::end(kTable) ? nullptr : it;
}

const char *codeName(Code code) { return kTable[static_cast<size_t>(code)].code; }

void DiagnosticSink::error(Code code, Range loc, std::string message, std::string hint) {
  if (diagnostics_.size() >= kLimit || !seen_.emplace(code, loc.line, loc.col).second) return;
  Diagnostic d;
  d.code = codeName(code);
  d.message = std::move(message);
  d.hint = std::move(hint);
  d.file = source_.fileName();
  d.line = loc.line;
  d.col = loc.col;
  d.sourceLine = source_.line(loc.line);
  // A range over several lines is underlined to the end of its first.
  d.endCol = loc.endLine == loc.line ? std::max(loc.endCol, loc.col + 1) : UINT32_MAX;
  if (d.endCol == UINT32_MAX) {
    uint32_t width = 0;
    for (unsigned char c : d.sourceLine)
      width += (c >> 6) != 2;
    d.endCol = std::max(width + 1, loc.col + 1);
  }
  diagnostics_.push_back(std::move(d));
}

bool DiagnosticSink::has(Code code) const {
  return std::ranges::any_of(seen_, [&](const auto &s) { return std::get<0>(s) == code; });
}

bool DiagnosticSink::onlyCode(Code code) const {
  return !seen_.empty() && std::ranges::all_of(seen_, [&](const auto &s) { return std::get<0>(s) == code; });
}

void DiagnosticSink::flush(std::vector<Diagnostic> &out) {
  std::ranges::sort(diagnostics_, {}, [](const Diagnostic &d) { return std::tie(d.line, d.col, d.code); });
  std::ranges::move(diagnostics_, std::back_inserter(out));
  diagnostics_.clear();
  seen_.clear();
}

} // namespace tessera::frontend

namespace tessera {

namespace {

/// Byte offsets of the code points of `s`, and its size.
std::vector<size_t> codePoints(const std::string &s) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < s.size(); ++i)
    if ((static_cast<unsigned char>(s[i]) >> 6) != 2) starts.push_back(i);
  starts.push_back(s.size());
  return starts;
}

/// The source line and its caret line. A very long line is cut to a window around the caret.
std::string renderSource(const Diagnostic &d, const char *mark, const char *plain) {
  constexpr size_t kWindow = 160;
  std::vector<size_t> at = codePoints(d.sourceLine);
  size_t length = at.size() - 1;
  size_t first = std::min<size_t>(d.col ? d.col - 1 : 0, length);
  size_t last = std::clamp<size_t>(d.endCol ? d.endCol - 1 : 0, first + 1, std::max(length, first + 1));
  size_t from = length > kWindow && first > kWindow / 2 ? first - kWindow / 2 : 0;
  size_t to = std::min(length, from + kWindow);
  last = std::min(last, std::max(to, first + 1));
  std::string carets;
  for (size_t i = from; i < first; ++i)
    carets += d.sourceLine[at[i]] == '\t' ? '\t' : ' ';
  carets += mark;
  carets += '^' + std::string(last - first - 1, '~') + plain;
  return "  " + d.sourceLine.substr(at[from], at[to] - at[from]) + "\n  " + carets + "\n";
}

} // namespace

std::string render(const Diagnostic &d, bool colour) {
  const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "",
             *green = colour ? "\033[32m" : "";
  const char *severity = "error", *hue = colour ? "\033[1;31m" : "";
  if (d.severity == Diagnostic::Severity::Warning) {
    severity = "warning";
    hue = colour ? "\033[1;35m" : "";
  } else if (d.severity == Diagnostic::Severity::Note) {
    severity = "note";
    hue = colour ? "\033[1;36m" : "";
  }
  std::string out = bold;
  if (!d.file.empty()) out += d.file + ":";
  if (d.line) out += std::to_string(d.line) + ":" + std::to_string(d.col) + ":";
  if (!d.file.empty() || d.line) out += " ";
  out += plain;
  out += hue + std::string(severity) + ": " + plain;
  if (!d.code.empty()) out += "[" + d.code + "] ";
  out += d.message + "\n";
  if (d.line) out += renderSource(d, green, plain);
  if (!d.hint.empty()) out += "  hint: " + d.hint + "\n";
  return out;
}

} // namespace tessera
