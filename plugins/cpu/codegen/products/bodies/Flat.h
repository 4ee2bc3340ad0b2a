// `flat`: products so tiny that two vectors hold each operand, in batches or as groups of rows of a tall
// product. Lanes are all elements of C: each step of k permutes A and B to the lanes that they are multiplied
// in. The order is that of panels.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#ifdef __AVX512F__
#include <immintrin.h>
#include <type_traits>

namespace tessera::cpu::product {
namespace {

template <class T, bool TransposedA, bool TransposedB> class Flat {
  static constexpr int64_t kLane = kLanes<T>, kMost = 2 * kLane; // elements of an operand
  /// With fewer groups of rows, of one vector of C or of two, the table takes longer than it saves; with
  /// fewer rows in a group, register blocks are as fast.
  static constexpr int64_t kGroupsWorthTable[] = {2, 16}, kRowsOfGroup = 6;

public:
  static bool takes(const Problem &p, int64_t programs) {
    if (!canCompute(p)) return false;
    const int64_t group = rowsOfGroup(p), groups = kGroupsWorthTable[group * p.columns > kLane];
    return programs * least(p.rows, p.blockRows) >= groups * group;
  }
  static bool canCompute(const Problem &p) {
    if (!p.c || p.depth == 0 || p.columns > p.blockColumns || p.depth * p.columns > kMost) return false;
    if (p.strideA != (TransposedA ? p.rows : p.depth) || p.strideB != (TransposedB ? p.depth : p.columns) ||
        p.strideC != p.columns)
      return false;
    const int64_t group = rowsOfGroup(p);
    return TransposedA ? group >= p.rows && p.rows <= p.blockRows : group >= least(p.rows, kRowsOfGroup);
  }

  explicit Flat(Context<T> &x) : x_(x), p_(x.p), group_(rowsOfGroup(x.p)), table_(x.panel) {
    // For each step of k and vector of C, which elements of A and of B its lanes multiply.
    Index *to = reinterpret_cast<Index *>(table_);
    const int64_t vectors = ceilDiv(group_ * p_.columns, kLane);
    for (int64_t e = 0; e < vectors * kLane; ++e) {
      const int64_t r = e / p_.columns < group_ ? e / p_.columns : 0, c = e % p_.columns;
      for (int64_t k = 0; k < p_.depth; ++k) {
        Index *lane = to + (k * vectors + e / kLane) * 2 * kLane + e % kLane;
        lane[0] = Index(TransposedA ? k * p_.rows + r : r * p_.depth + k);
        lane[kLane] = Index(TransposedB ? c * p_.depth + k : k * p_.columns + c);
      }
    }
  }

  void run(int64_t begin, int64_t end) {
    if (group_ * p_.columns > kLane)
      walk<2>(begin, end);
    else
      walk<1>(begin, end);
  }

private:
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  static int64_t rowsOfGroup(const Problem &p) {
    return least(p.rows, kMost / most(1, most(p.depth, p.columns)));
  }

  template <int Vectors> void walk(int64_t begin, int64_t end) {
    // A copy, which the loop over products keeps in registers: no other function gets its address.
    x_.forTinyRuns(begin, end, [flat = *this](const Run &run) {
      const int64_t r = run.rowBlock * flat.p_.blockRows;
      flat.template groups<Vectors>(r, least(flat.p_.rows, r + run.rowBlocks * flat.p_.blockRows));
    });
  }

  template <int Vectors> void groups(int64_t r, int64_t end) const {
    const Pair b = pair(x_.b, p_.depth * p_.columns);
    for (; r < end; r += group_) {
      const int64_t rows = least(group_, end - r), count = rows * p_.columns;
      const Pair a = pair(x_.a + r * p_.depth, rows * p_.depth);
      Vector<T> sums[Vectors] = {};
      const T *table = table_;
      for (int64_t k = 0; k < p_.depth; ++k)
        for (int v = 0; v < Vectors; ++v, table += 2 * kLane)
          sums[v] = multiplyAdd(permute(a, table), permute(b, table + kLane), sums[v]);
      for (int v = 0; v < Vectors; ++v)
        storeFirst(x_.c + r * p_.columns + v * kLane, sums[v], most(0, count - v * kLane));
    }
  }

  struct Pair {
    Vector<T> first, second;
  };
  static Pair pair(const T *from, int64_t count) {
    return {loadFirst<Vector<T>>(from, count), loadFirst<Vector<T>>(from + kLane, most(0, count - kLane))};
  }
  static Vector<T> permute(const Pair &x, const T *table) {
    const __m512i at = _mm512_loadu_si512(table);
    if constexpr (sizeof(T) == 4)
      return _mm512_permutex2var_ps(x.first, at, x.second);
    else
      return _mm512_permutex2var_pd(x.first, at, x.second);
  }

  Context<T> &x_;
  const Problem &p_;
  int64_t group_; // rows that are computed at once
  T *table_;
};

} // namespace
} // namespace tessera::cpu::product
#endif
