#include "core/metadata/Guard.h"
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/MachineConstants.h"
#include <algorithm>

namespace tessera {
namespace {

using Code = IndexExpr::Code;

Error syntaxError(std::string_view text, const std::string &reason) {
  return {"E_SYNTAX", "'" + std::string(text) + "': " + reason, ""};
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

bool isName(std::string_view text) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && isLetter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

/// The slot of an expression that is one; nullopt for any other.
std::optional<size_t> slotOf(const IndexExpr &expr) {
  std::optional<size_t> slot;
  int nodes = 0;
  expr.forEach([&](Code code, int64_t value) {
    ++nodes;
    if (code == Code::Slot) slot = static_cast<size_t>(value);
  });
  return nodes == 1 ? slot : std::nullopt;
}

} // namespace

VariantScope VariantScope::of(const KernelMetadata &m) {
  VariantScope scope;
  for (const MetadataParam &p : m.params) {
    const bool isInteger =
        p.kind == MetadataParam::Kind::Dim || (p.kind == MetadataParam::Kind::Scalar && isInt(p.dtype));
    if (p.kind == MetadataParam::Kind::Tensor || p.kind == MetadataParam::Kind::Result)
      scope.tensors.push_back({p.name, scope.integers.size(), p.strides.empty() ? "1" : p.strides.back()});
    scope.integers.push_back(isInteger ? p.name : "");
  }
  scope.addMachineConstants();
  return scope;
}

void VariantScope::addMachineConstants() {
  parameters = integers.size();
  for (std::string_view name : kMachineConstants) // a parameter hides a constant of its name
    integers.push_back(std::ranges::find(integers, name) == integers.end() ? std::string(name) : "");
}

bool readsSlot(const IndexExpr &expr, size_t slot) {
  bool found = false;
  expr.forEach(
      [&](Code code, int64_t value) { found |= code == Code::Slot && value == static_cast<int64_t>(slot); });
  return found;
}

MaybeError checkDivisors(const IndexExpr &expr) {
  bool isZero = false, dividesByZero = false; // is the last node the constant 0?
  expr.forEach([&](Code code, int64_t value) {
    const bool divides = code == Code::FloorDiv || code == Code::Mod || code == Code::CeilDiv;
    dividesByZero |= divides && isZero;
    isZero = code == Code::Const && value == 0;
  });
  if (!dividesByZero) return std::nullopt;
  return Error{"E_SYNTAX", "divides by zero", ""};
}

std::string describeUnbound(const Error &found, const std::vector<std::string> &names,
                            const std::string &where) {
  std::string list;
  for (const std::string &name : names)
    if (!name.empty()) list += (list.empty() ? "" : ", ") + name;
  return found.message + "; the names are " + list + "; in " + where +
         (found.hint.empty() ? "" : ": " + found.hint);
}

std::vector<std::string> namesOf(const std::vector<IndexExpr> &exprs) {
  std::vector<std::string> names;
  for (const IndexExpr &expr : exprs)
    names.push_back(expr.text());
  names.insert(names.end(), kMachineConstants.begin(), kMachineConstants.end());
  return names;
}

Expected<IndexExpr> replace(const IndexExpr &expr, std::vector<IndexExpr> from, std::vector<IndexExpr> to) {
  for (std::string_view name : kMachineConstants) {
    from.push_back(IndexExpr::symbol(name));
    to.push_back(from.back());
  }
  Expected<IndexExpr> bound = expr.bind(from);
  if (!bound) return bound;
  std::vector<IndexExpr> stack;
  bound->forEach([&](Code code, int64_t value) {
    if (code == Code::Const) {
      stack.push_back(IndexExpr::constant(value));
    } else if (code == Code::Slot) {
      stack.push_back(to[static_cast<size_t>(value)]);
    } else if (code == Code::Neg) {
      stack.back() = IndexExpr::negate(std::move(stack.back()));
    } else {
      const IndexExpr right = std::move(stack.back());
      stack.pop_back();
      IndexExpr joined = IndexExpr::binary(code, std::move(stack.back()), right);
      int64_t folded = 0;
      if (joined.symbols().empty() && joined.evaluate(nullptr, folded)) joined = IndexExpr::constant(folded);
      stack.back() = std::move(joined);
    }
  });
  return std::move(stack.back());
}

Expected<Guard> Guard::parseCall(std::string_view name, std::string_view arguments) {
  Guard guard;
  const size_t comma = arguments.find(',');
  guard.tensor_ = trim(arguments.substr(0, comma));
  guard.right_ = IndexExpr::constant(1);
  const std::string text = std::string(name) + "(" + std::string(arguments) + ")";
  if (!isName(guard.tensor_)) return syntaxError(text, "expected the name of a tensor");
  if (name == "unit_stride") {
    guard.kind_ = Kind::UnitStride;
    if (comma != std::string_view::npos) return syntaxError(text, "unit_stride takes one tensor");
    return guard;
  }
  guard.kind_ = Kind::Aligned;
  Expected<IndexExpr> bytes =
      IndexExpr::parse(comma == std::string_view::npos ? "" : arguments.substr(comma + 1));
  const std::optional<int64_t> value = bytes ? bytes->asConstant() : std::nullopt;
  if (!value || *value < 1 || *value > 4096 || (*value & (*value - 1)) != 0)
    return syntaxError(text, "expected a power of two of at most 4096 bytes");
  guard.right_ = std::move(*bytes);
  return guard;
}

Expected<Guard> Guard::parse(std::string_view text) {
  const std::string_view trimmed = trim(text);
  for (std::string_view name : {"aligned", "unit_stride"})
    if (trimmed.starts_with(name) && trim(trimmed.substr(name.size())).starts_with("(") &&
        trimmed.ends_with(")")) {
      const std::string_view call = trim(trimmed.substr(name.size()));
      return parseCall(name, call.substr(1, call.size() - 2));
    }
  // those of two characters first
  constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
      {"==", Comparison::Equal},        {"!=", Comparison::NotEqual}, {"<=", Comparison::LessEqual},
      {">=", Comparison::GreaterEqual}, {"<", Comparison::Less},      {">", Comparison::Greater}};
  for (const auto &[sign, comparison] : kComparisons) {
    const size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    Guard guard;
    guard.comparison_ = comparison;
    for (auto [side, part] : {std::pair{&guard.left_, text.substr(0, at)},
                              std::pair{&guard.right_, text.substr(at + sign.size())}}) {
      // Columns are those of the whole text.
      const std::string padded =
          std::string(static_cast<size_t>(part.data() - text.data()), ' ') + std::string(part);
      Expected<IndexExpr> expr = IndexExpr::parse(padded);
      if (!expr) return syntaxError(text, expr.error().message);
      if (MaybeError error = checkDivisors(*expr)) return syntaxError(text, error->message);
      *side = std::move(*expr);
    }
    return guard;
  }
  return syntaxError(text, "expected a comparison such as N == 64");
}

Expected<Guard> Guard::parse(std::string_view text, const std::vector<std::string> &names) {
  Expected<Guard> guard = parse(text);
  if (!guard) return guard;
  return guard->bind({names, {}, names.size()});
}

Expected<std::vector<Guard>> Guard::parseAll(std::string_view text) {
  constexpr std::string_view kAnd = " and ";
  std::vector<Guard> out;
  for (;;) {
    const size_t at = text.find(kAnd);
    Expected<Guard> guard = parse(text.substr(0, at));
    if (!guard) return guard.error();
    out.push_back(std::move(*guard));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + kAnd.size());
  }
}

std::string Guard::text() const {
  constexpr std::string_view kSigns[] = {" == ", " != ", " <= ", " >= ", " < ", " > "};
  switch (kind_) {
  case Kind::Aligned:
    return "aligned(" + tensor_ + ", " + right_.text() + ")";
  case Kind::UnitStride:
    return "unit_stride(" + tensor_ + ")";
  case Kind::Comparison:
    break;
  }
  return left_.text() + std::string(kSigns[static_cast<size_t>(comparison_)]) + right_.text();
}

Expected<Guard> Guard::bind(const VariantScope &scope) const {
  auto refuse = [&](const std::string &reason) { return syntaxError(text(), reason); };
  Guard out = *this;
  if (kind_ == Kind::Comparison) {
    for (auto [from, to] : {std::pair{&left_, &out.left_}, std::pair{&right_, &out.right_}}) {
      Expected<IndexExpr> bound = from->bind(scope.integers);
      if (!bound)
        return Error{"E_SYNTAX", describeUnbound(bound.error(), scope.integers, "'" + text() + "'")};
      *to = std::move(*bound);
    }
    return out;
  }
  const auto tensor = std::ranges::find(scope.tensors, tensor_, &VariantScope::Tensor::name);
  if (tensor == scope.tensors.end()) return refuse("unknown tensor '" + tensor_ + "'");
  std::vector<std::string> names = scope.integers;
  if (kind_ == Kind::Aligned) names[tensor->slot] = tensor_;
  std::string reason;
  if (!IndexExpr::parse(kind_ == Kind::Aligned ? tensor_ : tensor->innerStride, names, out.left_, reason))
    return refuse(reason);
  return out;
}

Expected<Guard> Guard::replace(const std::vector<IndexExpr> &from, const std::vector<IndexExpr> &to) const {
  Guard out = *this;
  if (kind_ != Kind::Comparison) return out;
  for (IndexExpr *side : {&out.left_, &out.right_}) {
    Expected<IndexExpr> replaced = tessera::replace(*side, from, to);
    if (!replaced)
      return Error{"E_SYNTAX", describeUnbound(replaced.error(), namesOf(from), "'" + text() + "'")};
    *side = std::move(*replaced);
  }
  return out;
}

bool Guard::compare(Comparison comparison, int64_t a, int64_t b) {
  switch (comparison) {
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

std::optional<bool> Guard::asConstant() const {
  const std::optional<int64_t> a = left_.asConstant(), b = right_.asConstant();
  if (kind_ != Kind::Comparison || !a || !b) return std::nullopt;
  return compare(comparison_, *a, *b);
}

bool Guard::holds(const int64_t *slots) const {
  int64_t a = 0, b = 0;
  if (!left_.evaluate(slots, a) || !right_.evaluate(slots, b)) return false;
  if (kind_ == Kind::Aligned) return (static_cast<uint64_t>(a) & static_cast<uint64_t>(b - 1)) == 0;
  return compare(comparison_, a, b);
}

std::optional<std::pair<size_t, int64_t>> Guard::asValue() const {
  const std::optional<size_t> slot = slotOf(left_);
  const std::optional<int64_t> value = right_.asConstant();
  if (kind_ != Kind::Comparison || comparison_ != Comparison::Equal || !slot || !value) return std::nullopt;
  return std::pair(*slot, *value);
}

bool Guard::reads(size_t slot) const { return readsSlot(left_, slot) || readsSlot(right_, slot); }

bool Guard::isOfDims(const VariantScope &scope) const {
  if (kind_ == Kind::Aligned) return false;
  for (size_t slot = scope.parameters; slot < scope.integers.size(); ++slot)
    if (reads(slot)) return false;
  return true;
}

std::optional<std::pair<size_t, int64_t>> Guard::alignment() const {
  if (kind_ != Kind::Aligned) return std::nullopt;
  return std::pair(*slotOf(left_), *right_.asConstant());
}

std::string textOf(const std::vector<Guard> &condition) {
  std::string text;
  for (const Guard &guard : condition)
    text += (text.empty() ? "" : " and ") + guard.text();
  return text;
}

} // namespace tessera
