// Whether strided tensors share memory. That is the question whether sum(stride * index) = distance has a
// solution within the extents, which a search with bounds decides at once for the strides that slices have.
#include "python/core/Code.h"
#include "python/core/Tensor.h"
#include <algorithm>
#include <numeric>

namespace tessera::python {
namespace {

struct Term {
  int64_t step, last; // of an index from 0 to `last`
};

/// The terms of a sum that the search may still choose, and how much it may still do.
struct Search {
  std::vector<Term> terms;       // steps descending
  std::vector<int64_t> most;     // by term: the greatest sum of it and those behind it
  std::vector<int64_t> divisors; // and the divisor of all of them
  int budget = 10000;

  void prepare() {
    std::ranges::sort(terms, std::greater<>(), &Term::step);
    size_t count = 0; // terms of one step are one term
    for (const Term &t : terms) {
      if (count && terms[count - 1].step == t.step)
        terms[count - 1].last += t.last;
      else
        terms[count++] = t;
    }
    terms.resize(count);
    most.assign(terms.size() + 1, 0);
    divisors.assign(terms.size() + 1, 0);
    for (size_t i = terms.size(); i-- > 0;) {
      most[i] = most[i + 1] + terms[i].step * terms[i].last;
      divisors[i] = std::gcd(divisors[i + 1], terms[i].step);
    }
  }

  /// Can the terms from `i` on be `sum`?
  bool reaches(int64_t sum, size_t i = 0) {
    if (--budget < 0) return true;
    if (sum < 0 || sum > most[i]) return false;
    if (sum == 0) return true;
    if (sum % divisors[i]) return false;
    const int64_t least = std::max<int64_t>((sum - most[i + 1] + terms[i].step - 1) / terms[i].step, 0);
    for (int64_t k = std::min(terms[i].last, sum / terms[i].step); k >= least; --k)
      if (reaches(sum - k * terms[i].step, i + 1)) return true;
    return false;
  }
};

/// The bytes from `data` to the first byte of the tensor: negative where strides are.
int64_t firstByte(const Tensor &t) {
  int64_t offset = 0;
  for (int d = 0; d < t.rank; ++d)
    if (t.strides[d] < 0) offset += (t.shape[d] - 1) * t.strides[d];
  return offset * static_cast<int64_t>(dtypeBytes(t.dtype));
}

void add(Search &search, const Tensor &t, int64_t unit) {
  const auto item = static_cast<int64_t>(dtypeBytes(t.dtype));
  for (int d = 0; d < t.rank; ++d)
    if (t.shape[d] > 1 && t.strides[d])
      search.terms.push_back({std::abs(t.strides[d]) * item / unit, t.shape[d] - 1});
  if (item > unit) search.terms.push_back({1, item / unit - 1});
}

} // namespace

bool Tensor::sharesMemory(const Tensor &other) const {
  if (!bytes || !other.bytes) return false;
  const auto begin = [](const Tensor &t) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.data)) + firstByte(t);
  };
  const int64_t distance = begin(other) - begin(*this);
  if (distance >= bytes || -distance >= other.bytes) return false;
  if (isContiguous && other.isContiguous) return true;
  // this[x] == other[y], where y counts from the last one: all terms have one sign then.
  const auto item = static_cast<int64_t>(dtypeBytes(dtype)),
             itemOther = static_cast<int64_t>(dtypeBytes(other.dtype));
  const int64_t unit = item == itemOther && distance % item == 0 ? item : 1;
  Search search;
  add(search, *this, unit);
  add(search, other, unit);
  search.prepare();
  return search.reaches((distance + other.bytes) / unit - 1);
}

bool Tensor::overlapsItself() const {
  std::vector<Term> terms;
  for (int d = 0; d < rank; ++d)
    if (shape[d] > 1) terms.push_back({std::abs(strides[d]), shape[d] - 1});
  std::ranges::sort(terms, std::less<>(), &Term::step);
  int64_t reached = 0; // by the smaller steps
  for (const Term &t : terms) {
    if (t.step <= reached) return true;
    reached += t.step * t.last;
  }
  return false;
}

} // namespace tessera::python
