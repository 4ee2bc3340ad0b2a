#include "mapper/host/Spec.h"

namespace tessera::mapping {
namespace {

constexpr size_t kMaxLength = 4096;

bool isBlank(char c) { return c == ' ' || c == '\t'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isOfName(char c) { return isLetter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

Piece trimmed(std::string_view text, size_t at) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1), ++at;
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return {std::string(text), at};
}

} // namespace

bool parseSpec(const Piece &piece, Spec &out, SpecError &error) {
  auto wrong = [&](std::string what, size_t at) {
    error = {std::move(what), piece.at + at};
    return false;
  };
  const std::string &text = piece.text;
  if (text.size() > kMaxLength)
    return wrong("the text is longer than " + std::to_string(kMaxLength) + " characters", kMaxLength);
  size_t begin = 0;
  while (begin < text.size() && isBlank(text[begin]))
    ++begin;
  size_t end = begin;
  while (end < text.size() && isOfName(text[end]))
    ++end;
  if (end == begin || !isLetter(text[begin])) return wrong("expected the name of a mapper", begin);
  out.name = {text.substr(begin, end - begin), piece.at + begin};
  out.arguments = {"", piece.at + end};
  size_t i = end;
  while (i < text.size() && isBlank(text[i]))
    ++i;
  if (i == text.size()) return true;
  if (text[i] != '(') return wrong("expected '(' or the end", i);
  std::vector<size_t> open;
  for (size_t j = i; j < text.size(); ++j) {
    if (static_cast<unsigned char>(text[j]) < ' ' && text[j] != '\t') return wrong("a control character", j);
    if (text[j] == '(') open.push_back(j);
    if (text[j] != ')') continue;
    open.pop_back();
    if (!open.empty()) continue;
    out.arguments = trimmed(std::string_view(text).substr(i + 1, j - i - 1), piece.at + i + 1);
    for (++j; j < text.size(); ++j)
      if (!isBlank(text[j])) return wrong("expected the end after ')'", j);
    return true;
  }
  return wrong("expected ')' for the '(' at column " + std::to_string(piece.at + open.back() + 1),
               text.size());
}

std::vector<Piece> splitArguments(const Piece &arguments) {
  std::vector<Piece> out;
  if (arguments.text.empty()) return out;
  std::string_view text = arguments.text;
  size_t depth = 0, begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth)) continue;
    out.push_back(trimmed(text.substr(begin, i - begin), arguments.at + begin));
    begin = i + 1;
  }
  return out;
}

std::string show(std::string_view whole, const SpecError &error) {
  std::string line;
  for (char c : whole.substr(0, 256))
    line += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  std::string out = "column " + std::to_string(error.at + 1) + ": " + error.what + "\n  " + line;
  return out + "\n  " + std::string(std::min<size_t>(error.at, 256), ' ') + "^";
}

} // namespace tessera::mapping
