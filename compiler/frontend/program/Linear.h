// Integer expressions as linear forms over interned atoms: what `stop - start` of a slice is simplified with.
#pragma once
#include "numerics/DType.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera::frontend {

/// constant + sum of coefficient * atom. Arithmetic that would overflow gives nothing. The form of an integer
/// narrower than 64 bits describes it modulo its width, since each operation on it wraps.
struct Linear {
  std::map<int, int64_t> terms; // atom -> coefficient, never 0
  int64_t constant = 0;

  bool isConstant() const { return terms.empty(); }
  bool operator==(const Linear &) const = default;
  /// Text that is equal for equal forms.
  std::string key() const;
};

std::optional<Linear> add(const Linear &, const Linear &);
std::optional<Linear> subtract(const Linear &, const Linear &);
std::optional<Linear> scale(const Linear &, int64_t);

/// An unknown. Two atoms are the same value exactly when they are the same atom; a variable that is assigned
/// again gets a new one.
class AtomTable {
public:
  /// `dims`: the symbolic dims its value is computed from; `fixed`: it depends on nothing else; `type`: an
  /// integer dtype that holds its value.
  int intern(const std::string &key, std::set<std::string> dims, bool fixed, DType type = DType::I64);
  /// An atom like no other.
  int fresh(DType type) { return intern("#" + std::to_string(atoms_.size()), {}, false, type); }

  const std::set<std::string> &dims(int atom) const { return atoms_[static_cast<size_t>(atom)].dims; }
  bool fixed(int atom) const { return atoms_[static_cast<size_t>(atom)].fixed; }

  /// The atom for `op` applied to two forms (a product, quotient ...): equal operands give the equal atom.
  /// Nothing when the operands are too long to be worth it.
  std::optional<Linear> apply(const char *op, const Linear &a, const Linear &b);

  /// The form, in 64 bits, of the integer of dtype `type` that `form` describes modulo its width. Nothing
  /// when the form is too long to be worth it.
  std::optional<Linear> exact(const Linear &form, DType type);

  static Linear of(int atom) { return Linear{{{atom, 1}}, 0}; }

private:
  struct Atom {
    std::set<std::string> dims;
    bool fixed;
    DType type;
  };
  std::optional<Linear> combine(const std::string &op, const std::vector<const Linear *> &, DType type);
  std::map<std::string, int> index_;
  std::vector<Atom> atoms_;
};

} // namespace tessera::frontend
