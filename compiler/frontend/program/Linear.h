// Integer expressions as linear forms over interned atoms, with which `stop - start` of a slice is
// simplified.
#pragma once
#include "numerics/DType.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera::frontend {

/// constant + sum of coefficient * atom. Arithmetic that would overflow returns nothing. The form of an
/// integer narrower than 64 bits is correct modulo its width, since each operation on the integer wraps.
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

/// The table of unknowns. Two atoms have the same value exactly if they are the same atom; a variable that is
/// assigned again gets a new one.
class AtomTable {
public:
  /// `dims` are the symbolic dims that its value is computed from; `fixed` says that it depends on nothing
  /// else; `type` is an integer dtype that can hold its value.
  int intern(const std::string &key, std::set<std::string> dims, bool fixed, DType type = DType::I64);
  /// Returns an atom that differs from all others.
  int fresh(DType type) { return intern("#" + std::to_string(atoms_.size()), {}, false, type); }

  const std::set<std::string> &dims(int atom) const { return atoms_[static_cast<size_t>(atom)].dims; }
  bool fixed(int atom) const { return atoms_[static_cast<size_t>(atom)].fixed; }

  /// Returns the atom for `op` (a product, a quotient ...) applied to two forms: equal operands give the
  /// equal atom. Returns nothing if the operands are too long.
  std::optional<Linear> apply(const char *op, const Linear &a, const Linear &b);

  /// Returns the form, in 64 bits, of the integer of dtype `type` that `form` describes modulo its width.
  /// Returns nothing if the form is too long.
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
