#include "compiler/frontend/program/Linear.h"
#include "numerics/Casts.h"

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

int AtomTable::intern(const std::string &key, std::set<std::string> dims, bool fixed, DType type) {
  auto [it, isNew] = index_.try_emplace(key, static_cast<int>(atoms_.size()));
  if (isNew) atoms_.push_back({std::move(dims), fixed, type});
  return it->second;
}

/// Returns the atom for `op` applied to some forms.
std::optional<Linear> AtomTable::combine(const std::string &op, const std::vector<const Linear *> &forms,
                                         DType type) {
  constexpr size_t kMaxTerms = 32;
  std::set<std::string> all;
  bool isFixed = true;
  size_t terms = 0;
  std::string key;
  for (const Linear *form : forms) {
    terms += form->terms.size();
    for (auto [atom, c] : form->terms) {
      all.insert(dims(atom).begin(), dims(atom).end());
      isFixed &= fixed(atom);
    }
  }
  if (terms > kMaxTerms) return std::nullopt;
  for (const Linear *form : forms)
    key += (key.empty() ? "" : ",") + form->key();
  return of(intern(op + "(" + key + ")", std::move(all), isFixed, type));
}

std::optional<Linear> AtomTable::apply(const char *op, const Linear &a, const Linear &b) {
  // The operands of a commutative operation are put into one order.
  bool isSwapped = std::string(op) == "mul" && b.key() < a.key();
  return combine(op, {isSwapped ? &b : &a, isSwapped ? &a : &b}, DType::I64);
}

std::optional<Linear> AtomTable::exact(const Linear &form, DType type) {
  if (type == DType::I64) return form;
  if (form.isConstant()) {
    auto bits = static_cast<uint64_t>(form.constant);
    return Linear{{}, static_cast<int64_t>(castBits(castBits(bits, DType::I64, type), type, DType::I64))};
  }
  auto [atom, coefficient] = *form.terms.begin();
  bool isAtom = form.terms.size() == 1 && coefficient == 1 && form.constant == 0;
  if (isAtom && atoms_[static_cast<size_t>(atom)].type == type) return form;
  return combine(name(type), {&form}, type);
}

} // namespace tessera::frontend
