#include "compiler/frontend/diagnostics/Diagnostics.h"
#include "compiler/frontend/diagnostics/DiagnosticCodes.h"
#include <algorithm>
#include <array>

namespace tessera::frontend {

static constexpr DiagnosticInfo kTable[] = {
#define TSR_DIAGNOSTIC(code, title, explanation) {#code, title, explanation},
#include "compiler/frontend/diagnostics/DiagnosticCodes.def"
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
  // A range of several lines is underlined to the end of its first line.
  d.endCol = loc.endLine == loc.line ? std::max(loc.endCol, loc.col + 1) : UINT32_MAX;
  if (d.endCol == UINT32_MAX) {
    uint32_t width = 0;
    for (unsigned char c : d.sourceLine)
      width += (c >> 6) != 2;
    d.endCol = std::max(width + 1, loc.col + 1);
  }
  diagnostics_.push_back(std::move(d));
}

std::string DiagnosticSink::textOf(Range range) const {
  std::string out;
  uint32_t column = 0;
  for (const char c : source_.line(range.line)) {
    column += (static_cast<unsigned char>(c) >> 6) != 2; // of UTF-8, columns count characters
    if (column >= range.col && (range.endLine != range.line || column < range.endCol)) out += c;
  }
  return out;
}

void DiagnosticSink::merge(DiagnosticSink &&other) {
  std::ranges::move(other.diagnostics_, std::back_inserter(diagnostics_));
  seen_.merge(other.seen_);
  other.diagnostics_.clear();
}

bool DiagnosticSink::has(Code code) const {
  return std::ranges::any_of(seen_, [&](const auto &s) { return std::get<0>(s) == code; });
}

std::vector<uint32_t> DiagnosticSink::lines() const {
  std::vector<uint32_t> out;
  for (const Diagnostic &d : diagnostics_)
    out.push_back(d.line);
  return out;
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
