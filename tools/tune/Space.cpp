#include "tools/tune/Space.h"
#include <charconv>
#include <fmt/format.h>

namespace tessera::tune {

Expected<std::vector<Configuration>> configurationsOf(const Signature &s) {
  if (s.tunables.empty())
    return Error{"E_TUNE_EMPTY", fmt::format("{} has no tunables", s.kernel),
                 "declare them: @ts.kernel.autotune(space=dict(BLOCK=[64, 128]))"};
  std::vector<Configuration> out(1);
  for (const auto &[name, space] : s.tunables) {
    if (out.size() * space.size() > kMostConfigurations)
      return Error{
          "E_TUNE_SPACE",
          fmt::format("the space of {} has more than {} configurations", s.kernel, kMostConfigurations),
          "declare fewer values"};
    std::vector<Configuration> longer;
    for (const Configuration &c : out)
      for (int64_t value : space) {
        longer.push_back(c);
        longer.back().values.emplace_back(name, value);
      }
    out = std::move(longer);
  }
  return out;
}

std::string textOf(const NamedValues &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

NamedValues valuesOf(std::string_view text) {
  NamedValues out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    int64_t value = 0;
    const char *end = word.data() + word.size();
    if (auto [rest, error] = std::from_chars(word.data() + equals + 1, end, value);
        error != std::errc() || rest != end)
      return {};
    out.emplace_back(word.substr(0, equals), value);
  }
  return out;
}

} // namespace tessera::tune
