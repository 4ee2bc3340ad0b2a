#include "compiler/frontend/Linear.h"

namespace tessera::frontend {

std::string Linear::key() const {
  std::string out;
  for (auto [atom, c] : terms)
    out += std::to_string(c) + "*" + std::to_string(atom) + "+";
  return out + std::to_string(constant);
}

static std::optional<Linear> addScaled(const Linear &a, const Linear &b, int64_t factor) {
  Linear out = a;
  int64_t product;
  if (__builtin_mul_overflow(b.constant, factor, &product) ||
      __builtin_add_overflow(out.constant, product, &out.constant))
    return std::nullopt;
  for (auto [atom, c] : b.terms) {
    int64_t &mine = out.terms[atom];
    if (__builtin_mul_overflow(c, factor, &product) || __builtin_add_overflow(mine, product, &mine))
      return std::nullopt;
    if (mine == 0) out.terms.erase(atom);
  }
  return out;
}

std::optional<Linear> add(const Linear &a, const Linear &b) { return addScaled(a, b, 1); }
std::optional<Linear> subtract(const Linear &a, const Linear &b) { return addScaled(a, b, -1); }
std::optional<Linear> scale(const Linear &a, int64_t factor) { return addScaled({}, a, factor); }

int AtomTable::intern(const std::string &key, std::set<std::string> dims, bool fixed) {
  auto [it, isNew] = index_.try_emplace(key, static_cast<int>(atoms_.size()));
  if (isNew) atoms_.push_back({std::move(dims), fixed});
  return it->second;
}

std::optional<Linear> AtomTable::apply(const char *op, const Linear &a, const Linear &b) {
  constexpr size_t kMaxTerms = 32;
  if (a.terms.size() + b.terms.size() > kMaxTerms) return std::nullopt;
  std::set<std::string> all;
  bool isFixed = true;
  for (const Linear *side : {&a, &b})
    for (auto [atom, c] : side->terms) {
      all.insert(dims(atom).begin(), dims(atom).end());
      isFixed &= fixed(atom);
    }
  std::string left = a.key(), right = b.key();
  // The commutative one in one order.
  if (std::string(op) == "mul" && right < left) std::swap(left, right);
  return of(intern(std::string(op) + "(" + left + "," + right + ")", std::move(all), isFixed));
}

} // namespace tessera::frontend
