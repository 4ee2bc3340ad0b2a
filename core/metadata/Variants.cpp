#include "core/metadata/Variants.h"
#include "core/metadata/KernelMetadata.h"
#include <algorithm>

namespace tessera {
namespace {

/// The slot of an expression that is one; nullopt for any other.
std::optional<size_t> slotOf(const IndexExpr &expr) {
  std::optional<size_t> slot;
  int nodes = 0;
  expr.forEach([&](IndexExpr::Code code, int64_t value) {
    ++nodes;
    if (code == IndexExpr::Code::Slot) slot = static_cast<size_t>(value);
  });
  return nodes == 1 ? slot : std::nullopt;
}

} // namespace

Expected<Guard> Guard::parse(std::string_view text, const std::vector<std::string> &names) {
  // those of two characters first
  constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
      {"==", Comparison::Equal},        {"!=", Comparison::NotEqual}, {"<=", Comparison::LessEqual},
      {">=", Comparison::GreaterEqual}, {"<", Comparison::Less},      {">", Comparison::Greater}};
  for (const auto &[sign, comparison] : kComparisons) {
    const size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    Guard guard;
    guard.comparison_ = comparison;
    std::string reason;
    if (IndexExpr::parse(text.substr(0, at), names, guard.left_, reason) &&
        IndexExpr::parse(text.substr(at + sign.size()), names, guard.right_, reason))
      return guard;
    return Error{"E_SYNTAX", "'" + std::string(text) + "': " + reason, ""};
  }
  return Error{"E_SYNTAX", "'" + std::string(text) + "': expected a comparison such as N == 64", ""};
}

bool Guard::holds(const int64_t *slots) const {
  int64_t a = 0, b = 0;
  if (!left_.evaluate(slots, a) || !right_.evaluate(slots, b)) return false;
  switch (comparison_) {
  case Comparison::Equal:
    return a == b;
  case Comparison::NotEqual:
    return a != b;
  case Comparison::LessEqual:
    return a <= b;
  case Comparison::GreaterEqual:
    return a >= b;
  case Comparison::Less:
    return a < b;
  case Comparison::Greater:
    return a > b;
  }
  return false;
}

std::optional<std::pair<size_t, int64_t>> Guard::asValue() const {
  const std::optional<size_t> slot = slotOf(left_);
  const std::optional<int64_t> value = right_.asConstant();
  if (comparison_ != Comparison::Equal || !slot || !value) return std::nullopt;
  return std::pair(*slot, *value);
}

Expected<VariantGuards> VariantGuards::of(const KernelMetadata &m) {
  std::vector<std::string> names;
  for (const MetadataParam &p : m.params) {
    const bool isInteger =
        p.kind == MetadataParam::Kind::Dim || (p.kind == MetadataParam::Kind::Scalar && isInt(p.dtype));
    names.push_back(isInteger ? p.name : "");
  }
  VariantGuards guards;
  for (const MetadataVariant &variant : m.variants) {
    std::vector<Guard> &when = guards.variants_.emplace_back();
    for (const std::string &text : variant.when) {
      Expected<Guard> guard = Guard::parse(text, names);
      if (!guard) return guard.error();
      when.push_back(std::move(*guard));
    }
  }
  return guards;
}

std::optional<size_t> VariantGuards::choose(const int64_t *slots) const {
  for (size_t i = 0; i < variants_.size(); ++i)
    if (std::ranges::all_of(variants_[i], [&](const Guard &guard) { return guard.holds(slots); })) return i;
  return std::nullopt;
}

bool VariantGuards::fixes(size_t variant, size_t slot, int64_t value) const {
  return std::ranges::any_of(variants_[variant], [&](const Guard &guard) {
    return guard.asValue() == std::optional(std::pair(slot, value));
  });
}

} // namespace tessera
