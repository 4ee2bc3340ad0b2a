#include "core/metadata/Variants.h"
#include "core/metadata/KernelMetadata.h"
#include <algorithm>

namespace tessera {
namespace {

Error variantError(const std::string &text) { return {"E_VARIANT", text, ""}; }

std::string describe(const MetadataVariant &v) {
  return "variant " + (v.name.empty() ? v.entry : v.name) + ": ";
}

NumericsPermissions permissionsOf(const KernelMetadata &m) {
  if (m.permits) return *m.permits;
  const NumericsPermissions *builtin = builtinProfile(m.numerics);
  return builtin ? *builtin : NumericsPermissions{};
}

/// `what` of the variant: "the cost".
Expected<IndexExpr> parseBound(const std::string &text, const VariantScope &scope, const std::string &what) {
  Expected<IndexExpr> expr = IndexExpr::parse(text);
  if (!expr) return Error{"", expr.error().message + "; in " + what};
  if (MaybeError error = checkDivisors(*expr)) return Error{"", error->message + "; in " + what};
  Expected<IndexExpr> bound = expr->bind(scope.integers);
  if (!bound) return Error{"", describeUnbound(bound.error(), scope.integers, what)};
  return bound;
}

bool isOfDims(const IndexExpr &expr, const VariantScope &scope) {
  for (size_t slot = scope.parameters; slot < scope.integers.size(); ++slot)
    if (readsSlot(expr, slot)) return false;
  return true;
}

} // namespace

bool isBodyParameter(const KernelMetadata &general, const std::string &param) {
  return std::ranges::find(general.params, param, &MetadataParam::name) == general.params.end();
}

Expected<VariantTable> VariantTable::of(const KernelMetadata &m) {
  VariantTable table;
  table.scope_ = VariantScope::of(m);
  // The lists of older documents have no such limit: each variant has a condition, and the first that holds
  // runs.
  const bool isOfLaunch = !m.variants.empty() && m.variants.back().when.empty();
  if (isOfLaunch && m.variants.size() > kMaxVariants)
    return variantError("there are " + std::to_string(m.variants.size()) + " variants; at most " +
                        std::to_string(kMaxVariants) + " are chosen from");
  std::vector<Class> classes;
  for (size_t i = 0; i < m.variants.size(); ++i)
    if (MaybeError error = table.add(m, i, classes))
      return variantError(describe(m.variants[i]) + error->message);
  const NumericsPermissions permits = permissionsOf(m);
  table.orderFollowsDims_ = !permits.unorderedAtomics;
  if (table.orderFollowsDims_)
    if (MaybeError error = table.checkOrders(classes, permits.fixedReductions))
      return variantError("numerics profile " + m.numerics + ": " + error->message);
  return table;
}

MaybeError VariantTable::add(const KernelMetadata &m, size_t number, std::vector<Class> &classes) {
  const MetadataVariant &v = m.variants[number];
  Variant out;
  out.isPinned = v.isPinned;
  for (const std::string &text : v.when) {
    Expected<Guard> guard = Guard::parse(text);
    if (!guard) return guard.error();
    Expected<Guard> bound = guard->bind(scope_);
    if (!bound) return bound.error();
    out.when.push_back(std::move(*bound));
  }
  if (!v.cost.empty()) {
    Expected<IndexExpr> cost = parseBound(v.cost, scope_, "its cost");
    if (!cost) return cost.error();
    out.cost = std::move(*cost);
  }
  if (v.params.size() > kMaxVariantParameters)
    return Error{"", "a body has at most " + std::to_string(kMaxVariantParameters) + " parameters"};
  for (const auto &[name, text] : v.params) {
    Expected<IndexExpr> value = parseBound(text, scope_, "its parameter " + name);
    if (!value) return value.error();
    out.given.emplace_back(name, std::move(*value));
  }
  if (!v.order.empty()) {
    Expected<OrderClass> order = OrderClass::parse(v.order);
    if (!order) return order.error();
    if (order->count) {
      Expected<IndexExpr> count = parseBound(order->count->text(), scope_, "its order");
      if (!count) return count.error();
      if (!isOfDims(*count, scope_)) return Error{"", "order '" + v.order + "' depends on the machine"};
    }
    const bool isExtents = order->kind == OrderClass::Kind::Extents;
    Class found{std::move(*order), isExtents ? v.body : ""};
    auto it = std::ranges::find(classes, found);
    out.orderClass = 1 + static_cast<size_t>(it - classes.begin());
    if (it == classes.end()) classes.push_back(std::move(found));
  }
  variants_.push_back(std::move(out));
  return std::nullopt;
}

/// Only conditions over dims may decide between order classes. A condition that the machine or an address
/// decides is harmless where the next variants have the same class up to one that lacks just that condition.
MaybeError VariantTable::checkOrders(const std::vector<Class> &classes, bool isFixed) const {
  if (isFixed) {
    const auto other = std::ranges::find_if_not(classes, &OrderClass::isFixed, &Class::order);
    if (other != classes.end())
      return Error{"", "order " + other->order.text() +
                           " is not permitted; the orders are exact, leaves and lanes64"};
    if (classes.size() > 1)
      return Error{"", "variants of the orders " + classes[0].order.text() + " and " +
                           classes[1].order.text() + " exclude each other"};
  }
  for (size_t i = 0; i < variants_.size(); ++i) {
    const std::vector<Guard> ofDims = guardsOfDims(variants_[i]);
    if (ofDims.size() < variants_[i].when.size() && !staysInClass(i, ofDims))
      return Error{"", "condition " + std::to_string(i + 1) +
                           " depends on the machine or an address and chooses between order classes"};
  }
  return std::nullopt;
}

std::vector<Guard> VariantTable::guardsOfDims(const Variant &v) const {
  std::vector<Guard> out;
  std::ranges::copy_if(v.when, std::back_inserter(out),
                       [&](const Guard &guard) { return guard.isOfDims(scope_); });
  return out;
}

/// If variant `number` does not apply although `ofDims` hold, is one of its own order class chosen? If it is
/// pinned, the last one is. Otherwise those after it are tried, up to one that applies wherever `ofDims`
/// hold.
bool VariantTable::staysInClass(size_t number, const std::vector<Guard> &ofDims) const {
  const Variant &v = variants_[number];
  if (v.isPinned) return variants_.back().orderClass == v.orderClass;
  for (size_t j = number + 1; j < variants_.size() && variants_[j].orderClass == v.orderClass; ++j) {
    const Variant &next = variants_[j];
    const bool isWeaker = std::ranges::all_of(
        next.when, [&](const Guard &guard) { return std::ranges::find(ofDims, guard) != ofDims.end(); });
    const bool hasValues =
        std::ranges::all_of(next.given, [&](const auto &given) { return isOfDims(given.second, scope_); });
    if (isWeaker && (hasValues || j + 1 == variants_.size())) return true;
  }
  return false;
}

MaybeError VariantTable::bindBody(size_t number, const KernelMetadata &general, const KernelMetadata &body) {
  Variant &v = variants_[number];
  v.parameters.clear();
  size_t used = 0;
  for (const MetadataParam &p : body.params) {
    if (!isBodyParameter(general, p.name)) continue;
    auto fault = [&](const std::string &text) { return variantError("parameter " + p.name + ": " + text); };
    if (p.kind != MetadataParam::Kind::Scalar || p.dtype != DType::I64)
      return fault("a parameter of a body is an i64 scalar");
    auto given = std::ranges::find(v.given, p.name, &std::pair<std::string, IndexExpr>::first);
    if (given == v.given.end()) return fault("the variant gives it no value");
    ++used;
    Parameter out{given->second};
    if (p.limits) std::tie(out.least, out.most) = *p.limits;
    int64_t value = 0;
    bool isConstant = true;
    out.value.forEach([&](IndexExpr::Code code, int64_t) { isConstant &= code != IndexExpr::Code::Slot; });
    if (isConstant && (!out.value.evaluate(nullptr, value) || value < out.least || value > out.most))
      return fault("found " + std::to_string(value) + ", the body takes " + std::to_string(out.least) +
                   " to " + std::to_string(out.most));
    // A value outside of the limits makes the variant not apply, like a condition.
    const bool isLast = number + 1 == variants_.size();
    if (orderFollowsDims_ && p.limits && !isLast && !isOfDims(out.value, scope_) &&
        !staysInClass(number, guardsOfDims(v)))
      return fault("its value depends on the machine and its limits choose between order classes");
    v.parameters.push_back(std::move(out));
  }
  if (used == v.given.size()) return std::nullopt;
  for (const auto &[name, value] : v.given)
    if (std::ranges::find(body.params, name, &MetadataParam::name) == body.params.end() ||
        !isBodyParameter(general, name))
      return variantError("the body has no parameter " + name);
  return std::nullopt;
}

bool VariantTable::applies(const Variant &v, const int64_t *slots, Choice &out) const {
  if (!std::ranges::all_of(v.when, [&](const Guard &guard) { return guard.holds(slots); })) return false;
  for (size_t i = 0; i < v.parameters.size(); ++i) {
    const Parameter &p = v.parameters[i];
    if (!p.value.evaluate(slots, out.parameters[i]) || out.parameters[i] < p.least ||
        out.parameters[i] > p.most)
      return false;
  }
  return true;
}

/// -1: it has no value.
int64_t VariantTable::costOf(const Variant &v, const int64_t *slots) {
  int64_t ns = 0;
  return v.cost && v.cost->evaluate(slots, ns) && ns >= 0 ? ns : -1;
}

std::optional<VariantTable::Choice> VariantTable::choose(const int64_t *slots) const {
  std::optional<Choice> first, best;
  bool missesPin = false, allHaveCosts = true;
  size_t orderClass = 0;
  auto make = [&](size_t i, Choice choice) {
    choice.variant = i;
    choice.predictedNs = costOf(variants_[i], slots);
    return choice;
  };
  for (size_t i = 0; i < variants_.size(); ++i) {
    if (!variants_[i].isPinned) continue;
    Choice choice;
    if (applies(variants_[i], slots, choice)) return make(i, choice);
    missesPin = true;
  }
  for (size_t i = 0; i < variants_.size(); ++i) {
    const Variant &v = variants_[i];
    if (missesPin && i + 1 < variants_.size()) continue; // the general one runs
    if (first && orderFollowsDims_ && v.orderClass != orderClass) continue;
    Choice choice;
    if (!applies(v, slots, choice)) continue;
    choice = make(i, choice);
    choice.missesPin = missesPin;
    allHaveCosts &= choice.predictedNs >= 0;
    if (!first) {
      orderClass = v.orderClass;
      first = best = choice;
    }
    if (!allHaveCosts) return first;
    if (choice.predictedNs < best->predictedNs) best = choice;
  }
  return best;
}

bool VariantTable::reads(size_t slot) const {
  return std::ranges::any_of(variants_, [&](const Variant &v) {
    return std::ranges::any_of(v.when, [&](const Guard &guard) { return guard.reads(slot); }) ||
           (v.cost && readsSlot(*v.cost, slot)) ||
           std::ranges::any_of(v.given, [&](const auto &given) { return readsSlot(given.second, slot); });
  });
}

std::vector<std::pair<size_t, int64_t>> VariantTable::alignments() const {
  std::vector<std::pair<size_t, int64_t>> out;
  for (const Variant &v : variants_)
    for (const Guard &guard : v.when)
      if (auto alignment = guard.alignment(); alignment && std::ranges::find(out, *alignment) == out.end())
        out.push_back(*alignment);
  return out;
}

bool VariantTable::fixes(size_t variant, size_t slot, int64_t value) const {
  return std::ranges::any_of(variants_[variant].when, [&](const Guard &guard) {
    return guard.asValue() == std::optional(std::pair(slot, value));
  });
}

} // namespace tessera
