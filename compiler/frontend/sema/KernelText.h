// The text of a kernel that a graph function's operation launches (Elaborator::graphLaunchOwn).
#pragma once
#include <concepts>
#include <string>
#include <vector>

namespace tessera::frontend {

/// Collects the lines of a text.
class KernelText {
public:
  /// Adds a line of strings and integers, indented by `depth` steps.
  template <typename... Parts> KernelText &line(int depth, const Parts &...parts) {
    text_.append(static_cast<size_t>(2 * depth), ' ');
    (append(parts), ...);
    text_ += '\n';
    return *this;
  }
  const std::string &str() const { return text_; }

private:
  void append(const std::string &s) { text_ += s; }
  void append(const char *s) { text_ += s; }
  template <std::integral T> void append(T n) { text_ += std::to_string(n); }
  std::string text_;
};

inline std::string joinedText(const std::vector<std::string> &parts, const char *between) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : between) + part;
  return out;
}

} // namespace tessera::frontend
