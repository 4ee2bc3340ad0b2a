// Makes text from outside (a file's name, a query, a plugin's message) safe for terminals and logs.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

enum class Lines : uint8_t { Escape, Keep };

/// Returns `text` with every control character replaced by \xNN. This includes U+0080 to U+009F, which
/// terminals interpret as well. Lines::Keep leaves line ends and tabs, for text of several lines.
inline std::string escaped(std::string_view text, Lines lines = Lines::Escape) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  auto hex = [&](unsigned char c) { out += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]}; };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == 0xc2 && next >= 0x80 && next < 0xa0)
      hex(c), hex(next), ++i;
    else if ((c < 0x20 && !(lines == Lines::Keep && (c == '\n' || c == '\t'))) || c == 0x7f)
      hex(c);
    else
      out += text[i];
  }
  return out;
}

} // namespace tessera
