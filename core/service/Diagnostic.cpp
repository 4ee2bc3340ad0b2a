#include "core/service/CompilerService.h"
#include <algorithm>
#include <vector>

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

/// Returns the length of the well-formed UTF-8 sequence at `i`, or 0.
size_t sequenceLength(const std::string &s, size_t i) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  unsigned first = byte(i), second = byte(i + 1);
  if (first < 0x80) return 1;
  size_t n = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (size_t k = 1; k < n; ++k)
    if ((byte(i + k) >> 6) != 2) return 0;
  // Rejects overlong forms, surrogates and values past U+10FFFF.
  bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
             (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : n;
}

/// Makes text safe for terminals and logs: each control character (except tabs and line ends) and each byte
/// that is not UTF-8 becomes '?'. Each byte is replaced by one byte, so columns do not change.
std::string printable(std::string s) {
  for (size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    size_t n = sequenceLength(s, i);
    if (n == 0 || (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F) s[i] = '?';
    i += std::max<size_t>(n, 1);
  }
  return s;
}

/// Returns the byte offsets of the code points of `s`, followed by its size.
std::vector<size_t> codePoints(const std::string &s) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < s.size(); ++i)
    if ((static_cast<unsigned char>(s[i]) >> 6) != 2) starts.push_back(i);
  starts.push_back(s.size());
  return starts;
}

/// Returns the source line and its caret line. Columns count code points. Tabs are repeated, so that the
/// caret is under its character whatever the tab width. A very long line is cut to a window around the caret.
std::string sourceAndCaret(const Diagnostic &d, const char *mark, const char *off) {
  constexpr size_t kWindow = 160;
  std::vector<size_t> at = codePoints(d.sourceLine);
  size_t length = at.size() - 1;
  size_t first = std::min<size_t>(d.col ? d.col - 1 : 0, length);
  size_t last = std::clamp<size_t>(d.endCol ? d.endCol - 1 : 0, first + 1, std::max(length, first + 1));
  size_t from = length > kWindow && first > kWindow / 2 ? first - kWindow / 2 : 0;
  size_t to = std::min(length, from + kWindow);
  last = std::min(last, std::max(to, first + 1));
  std::string out = "  " + d.sourceLine.substr(at[from], at[to] - at[from]) + "\n";
  // A column past the line's end has no caret.
  if (!d.col || d.col > length + 1) return out;
  out += "  ";
  for (size_t i = from; i < first; ++i)
    out += d.sourceLine[at[i]] == '\t' ? '\t' : ' ';
  return out + mark + '^' + std::string(last - first - 1, '~') + off + "\n";
}

} // namespace

void toFile(const std::vector<SourcePiece> &pieces, std::string &file, uint32_t &line) {
  auto after = std::ranges::upper_bound(pieces, line, {}, &SourcePiece::line);
  if (line == 0 || after == pieces.begin()) return;
  const SourcePiece &piece = *std::prev(after);
  file = piece.file;
  line = piece.fileLine + (line - piece.line);
}

std::string render(const Diagnostic &raw, bool colour) {
  Diagnostic d = raw;
  for (std::string *text : {&d.message, &d.hint, &d.file, &d.sourceLine})
    *text = printable(std::move(*text));
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
  if (d.line && !d.sourceLine.empty()) out += sourceAndCaret(d, green, off);
  if (!d.hint.empty()) out += "  hint: " + d.hint + "\n";
  return out;
}

} // namespace tessera
