#include "core/metadata/OrderClass.h"
#include <algorithm>
#include <array>

namespace tessera {
namespace {
constexpr std::array<std::string_view, 8> kNames = {"exact", "chain", "leaves", "lanes64",
                                                    "dot",   "split", "tiles",  "extents"};
}

std::optional<OrderClass::Kind> OrderClass::kindOf(std::string_view name) {
  const auto *it = std::ranges::find(kNames, name);
  return it == kNames.end() ? std::nullopt : std::optional(static_cast<Kind>(it - kNames.begin()));
}

std::string_view OrderClass::nameOf(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

Expected<OrderClass> OrderClass::parse(std::string_view text) {
  const size_t open = std::min(text.find('('), text.size());
  const std::optional<Kind> kind = kindOf(text.substr(0, open));
  auto refuse = [&](const std::string &reason) {
    return Error{"E_SYNTAX", "order '" + std::string(text) + "': " + reason, ""};
  };
  if (!kind) return refuse("expected exact, chain, leaves, lanes64, dot, extents, split(N) or tiles(N)");
  OrderClass out{*kind, std::nullopt};
  if (hasCount(*kind) != (open < text.size()))
    return refuse(hasCount(*kind) ? "it needs a number in parentheses" : "it has no number");
  if (!hasCount(*kind)) return out;
  if (!text.ends_with(')')) return refuse("expected ')' at the end");
  Expected<IndexExpr> count = IndexExpr::parse(text.substr(open + 1, text.size() - open - 2));
  if (!count) return refuse(count.error().message);
  out.count = std::move(*count);
  return out;
}

std::string OrderClass::text() const {
  return std::string(nameOf(kind)) + (count ? "(" + count->text() + ")" : "");
}

} // namespace tessera
