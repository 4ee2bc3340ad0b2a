#include "compiler/layout/LinearLayout.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::layout {

Span::Row Span::eliminate(Row row) const {
  for (const Row &pivot : rows_)
    if (row.vector & std::bit_floor(pivot.vector)) {
      row.vector ^= pivot.vector;
      row.combination ^= pivot.combination;
    }
  return row;
}

bool Span::add(Bits vector) {
  Row row = eliminate({vector, added_ < 64 ? Bits(1) << added_ : 0});
  ++added_;
  if (!row.vector) {
    kernel_.push_back(row.combination);
    return false;
  }
  auto below = std::ranges::find_if(rows_, [&](const Row &r) { return r.vector < row.vector; });
  rows_.insert(below, row);
  return true;
}

void Span::add(std::span<const Bits> vectors) {
  for (Bits v : vectors)
    add(v);
}

Bits Span::reduce(Bits vector) const { return eliminate({vector, 0}).vector; }

std::optional<Bits> Span::solve(Bits vector) const {
  assert(added_ <= 64 && "a combination is one word");
  Row row = eliminate({vector, 0});
  if (row.vector) return std::nullopt;
  return row.combination;
}

size_t rank(std::span<const Bits> vectors) {
  // Without the combinations, so that any number of vectors can be given.
  Bits pivots[64] = {};
  size_t rank = 0;
  for (Bits v : vectors)
    while (v) {
      Bits &pivot = pivots[std::bit_width(v) - 1];
      if (!pivot) {
        pivot = v;
        ++rank;
        break;
      }
      v ^= pivot;
    }
  return rank;
}

BitsList independent(std::span<const Bits> vectors) {
  Span span;
  BitsList kept;
  for (Bits v : vectors)
    if (span.add(v)) kept.push_back(v);
  return kept;
}

BitsList intersection(std::span<const Bits> a, std::span<const Bits> b) {
  BitsList left = independent(a), right = independent(b), common;
  // A combination of both bases that adds up to 0 has the same vector in both halves.
  const Bits leftHalf = (Bits(1) << left.size()) - 1;
  const Span both(concat(left, right));
  for (Bits combination : both.kernel())
    common.push_back(applyBases(left, combination & leftHalf));
  return common;
}

BitsList concat(std::span<const Bits> a, std::span<const Bits> b) {
  BitsList all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Bits applyBases(std::span<const Bits> bases, Bits input) {
  assert((bases.size() >= 64 || input >> bases.size() == 0) && "the input has bits without a base");
  Bits image = 0;
  for (; input; input &= input - 1)
    image ^= bases[std::countr_zero(input)];
  return image;
}

BitsList unitVectors(unsigned count, unsigned first) {
  BitsList vectors(count);
  for (unsigned i = 0; i < count; ++i)
    vectors[i] = Bits(1) << (first + i);
  return vectors;
}

LinearLayout::LinearLayout(BitsList bases, unsigned outputBits)
    : bases_(std::move(bases)), outputBits_(outputBits) {
  assert(bases_.size() <= 64 && outputBits <= 64);
  assert(std::ranges::all_of(bases_, [&](Bits b) { return unsigned(std::bit_width(b)) <= outputBits; }));
}

LinearLayout LinearLayout::compose(const LinearLayout &inner) const {
  assert(inner.outputBits() == inputBits());
  BitsList bases;
  for (Bits b : inner.bases())
    bases.push_back((*this)(b));
  return {std::move(bases), outputBits_};
}

LinearLayout LinearLayout::product(const LinearLayout &high) const {
  BitsList bases = bases_;
  for (Bits b : high.bases())
    bases.push_back(b << outputBits_);
  return {std::move(bases), outputBits_ + high.outputBits()};
}

std::optional<LinearLayout> LinearLayout::divide(const LinearLayout &low) const {
  if (low.inputBits() > inputBits() || low.outputBits() > outputBits_) return std::nullopt;
  if (!std::equal(low.bases().begin(), low.bases().end(), bases_.begin())) return std::nullopt;
  BitsList bases;
  for (size_t i = low.inputBits(); i < bases_.size(); ++i) {
    Bits high = low.outputBits() == 64 ? 0 : bases_[i] >> low.outputBits();
    if (high << (low.outputBits() & 63) != bases_[i]) return std::nullopt;
    bases.push_back(high);
  }
  return LinearLayout(std::move(bases), outputBits_ - low.outputBits());
}

std::optional<LinearLayout> LinearLayout::inverse() const {
  if (inputBits() != outputBits_) return std::nullopt;
  return rightInverse();
}

std::optional<LinearLayout> LinearLayout::rightInverse() const {
  Span span(bases_);
  if (span.rank() != outputBits_) return std::nullopt;
  BitsList bases;
  for (Bits unit : unitVectors(outputBits_))
    bases.push_back(*span.solve(unit));
  return LinearLayout(std::move(bases), inputBits());
}

} // namespace tessera::layout
