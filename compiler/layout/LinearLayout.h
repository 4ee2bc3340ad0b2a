// Linear maps over F2, the field of two elements: the algebra below every layout.
//
// A vector of F2^n is a word whose bit i is its coordinate i; addition is exclusive or. A layout maps the
// bits of a place (a register, a lane, a byte offset) to the bits of an index. It is given by its bases, the
// images of the single bits, so that questions about a layout (is it invertible, what does a warp touch,
// which lanes meet in a bank) are ranks of small bit matrices.
//
// Values; constant functions are thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::layout {

using Bits = uint64_t;
using BitsList = std::vector<Bits>;

/// The span of the vectors that were added, in echelon form. It remembers how each vector is combined from
/// the added ones; solve() and kernel() are for at most 64 of them.
class Span {
public:
  Span() = default;
  explicit Span(std::span<const Bits> vectors) { add(vectors); }

  /// Adds a vector. Returns false if the span contained it.
  bool add(Bits vector);
  void add(std::span<const Bits> vectors);

  size_t rank() const { return rows_.size(); }
  bool contains(Bits vector) const { return reduce(vector) == 0; }
  /// Returns the one vector of `vector` + span that is 0 at every leading bit of the span: a linear map.
  Bits reduce(Bits vector) const;
  /// Returns which of the added vectors add up to `vector` (bit i: the i-th one), preferring those added
  /// first; nullopt if the span does not contain it.
  std::optional<Bits> solve(Bits vector) const;
  /// Returns a basis of the combinations of added vectors that add up to 0.
  const BitsList &kernel() const { return kernel_; }

private:
  struct Row {
    Bits vector, combination;
  };
  Row eliminate(Row) const;

  std::vector<Row> rows_; // by descending leading bit
  BitsList kernel_;
  unsigned added_ = 0;
};

size_t rank(std::span<const Bits> vectors);
/// Returns those of `vectors` that are not combinations of earlier ones.
BitsList independent(std::span<const Bits> vectors);
/// Returns a basis of the intersection of two spans.
BitsList intersection(std::span<const Bits> a, std::span<const Bits> b);
BitsList concat(std::span<const Bits> a, std::span<const Bits> b);
/// Returns the image of `input` under the map with these bases.
Bits applyBases(std::span<const Bits> bases, Bits input);
/// Returns {1, 2, 4, ...}, `count` unit vectors from bit `first` on.
BitsList unitVectors(unsigned count, unsigned first = 0);

/// A linear map from F2^inputBits to F2^outputBits.
class LinearLayout {
public:
  /// Precondition: every base is below 2^outputBits; at most 64 bits on either side.
  LinearLayout(BitsList bases, unsigned outputBits);
  static LinearLayout identity(unsigned bits) { return {unitVectors(bits), bits}; }

  Bits operator()(Bits input) const { return applyBases(bases_, input); }
  const BitsList &bases() const { return bases_; }
  unsigned inputBits() const { return static_cast<unsigned>(bases_.size()); }
  unsigned outputBits() const { return outputBits_; }
  size_t rank() const { return layout::rank(bases_); }
  bool isOnto() const { return rank() == outputBits_; }
  bool isInjective() const { return rank() == inputBits(); }

  /// Returns x -> (*this)(inner(x)). Precondition: inner.outputBits() == inputBits().
  LinearLayout compose(const LinearLayout &inner) const;
  /// Returns the map of pairs: the low bits go through this map, the bits above them through `high`.
  LinearLayout product(const LinearLayout &high) const;
  /// Returns Q with low.product(Q) == *this, if it exists.
  std::optional<LinearLayout> divide(const LinearLayout &low) const;
  /// Returns the inverse of a bijection; nullopt if it is none.
  std::optional<LinearLayout> inverse() const;
  /// Returns R with compose(R) == identity, which takes each index to one of its places: the one that uses
  /// the lowest input bits. nullopt if the map is not onto.
  std::optional<LinearLayout> rightInverse() const;

  bool operator==(const LinearLayout &) const = default;

private:
  BitsList bases_;
  unsigned outputBits_;
};

} // namespace tessera::layout
