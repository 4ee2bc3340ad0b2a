#include "compiler/frontend/diagnostics/SourceText.h"

namespace tessera::frontend {

SourceText::SourceText(std::string text, std::string fileName)
    : text_(std::move(text)), fileName_(std::move(fileName)) {
  starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n') continue;
    if (text_[i] == '\n' || text_[i] == '\r') starts_.push_back(i + 1);
  }
}

/// Returns the length of the well-formed UTF-8 sequence at `i`, or 0.
static size_t sequenceLength(std::string_view s, size_t i) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  unsigned char first = byte(i);
  size_t n = first < 0x80 ? 1 : (first >> 5) == 6 ? 2 : (first >> 4) == 14 ? 3 : (first >> 3) == 30 ? 4 : 0;
  if (n == 0 || i + n > s.size()) return 0;
  for (size_t k = 1; k < n; ++k)
    if ((byte(i + k) >> 6) != 2) return 0;
  // Overlong forms, surrogates and code points above U+10FFFF.
  unsigned char second = n > 1 ? byte(i + 1) : 0;
  if (first == 0xC0 || first == 0xC1 || first > 0xF4) return 0;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return n;
}

uint32_t SourceText::firstBrokenLine() const {
  uint32_t number = 1;
  for (size_t i = 0; i < text_.size();) {
    size_t n = text_[i] == '\0' ? 0 : sequenceLength(text_, i);
    while (number < starts_.size() && starts_[number] <= i)
      ++number;
    if (n == 0) return number;
    i += n;
  }
  return 0;
}

std::string SourceText::line(uint32_t number) const {
  if (number == 0 || number > starts_.size()) return {};
  size_t begin = starts_[number - 1];
  size_t end = number < starts_.size() ? starts_[number] : text_.size();
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r'))
    --end;
  std::string out;
  for (size_t i = begin; i < end;) {
    auto c = static_cast<unsigned char>(text_[i]);
    size_t n = sequenceLength(text_, i);
    if (n == 0 || (c < 0x20 && c != '\t') || c == 0x7f) {
      // A stray continuation byte is not counted as a column: see Lexer::advance.
      if (n != 0 || (c >> 6) != 2) out += '?';
      ++i;
      continue;
    }
    out.append(text_, i, n);
    i += n;
  }
  return out;
}

} // namespace tessera::frontend
