// Products of narrow elements of few rows or columns, whose operands are read where they are: TESSERA_KIND is
// how elements are widened (Operands.h). Bodies that pack operands call it; it has their loop over runs, too,
// of which each image then has one.
#include "plugins/cpu/codegen/products/bodies/Few.h"
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/Operands.h"
#include "plugins/cpu/codegen/products/bodies/SharedVectors.h"
#include "plugins/cpu/codegen/products/bodies/Skinny.h"
#include "plugins/cpu/codegen/products/bodies/TwoByTwo.h"

namespace tessera::cpu::product {
namespace {

using Kind = TESSERA_KIND;
using T = Kind::T;
[[maybe_unused]] constexpr bool n = false, t = true;
[[maybe_unused]] constexpr bool kHasTwoByTwo = TESSERA_A == t || TESSERA_B == n; // the other is a dot
/// With more rows, packing B takes less time than it saves: vectors of words multiply integers much faster.
constexpr int64_t kMostFewRows = __is_same(T, int32_t) ? 4 : 8;
/// The same holds for half as many if words have several elements and B has at most so many bytes. More are
/// in memory, from which the rows of a panel are fetched slowly.
constexpr int64_t kBytesInCache = int64_t{12} << 20;
int64_t mostFewRows(const Problem &p) {
  const bool isInCache = p.columns * p.depth * int64_t(sizeof(Kind::In)) <= kBytesInCache;
  return Kind::kGroup > 1 && isInCache ? kMostFewRows / 2 : kMostFewRows;
}
/// Does Skinny take the problem? With 16 registers, packing a B of floats that a near cache holds takes
/// longer than it saves, too. Skinny copies its sums in the end, which few steps of k do not outweigh.
template <class FewRows> bool takesFewRows(const Problem &p) {
  if constexpr (kMaxVectors == 2 && Kind::kGroup == 1)
    return FewRows::canCompute(p) && p.rows <= (p.depth < 64 ? 3 : FewRows::takes(p) ? 12 : 8);
  return p.rows <= mostFewRows(p) && FewRows::takes(p);
}

} // namespace

/// Computes programs [begin, end) of a product of a Context. If extents and layout say that they are for the
/// calling body, calls it (Context::Call) for each run instead. It only chooses: what it calls takes the
/// time.
extern "C" void few(void *context, int64_t begin, int64_t end, void *call,
                    void *each) __asm__(TESSERA_SYMBOL(TESSERA_DTYPE));

extern "C" __attribute__((minsize)) void few(void *context, int64_t begin, int64_t end, void *call,
                                             void *each) {
  using Product = Context<T, Kind::In>;
  Product &x = *static_cast<Product *>(context);
  const Problem *p = &x.p;
  auto runWith = [&](auto &&body) { x.forRuns(begin, end, [&](const Run &run) { body.run(run); }); };
  using Dots = Dot<T, TESSERA_B, Kind::In, InLanes<T, Kind::Widen, Kind::kGroup>>;
  using FewRows = Skinny<T, TESSERA_A, Kind::In, Kind::Widen>;
#ifdef __AVX512F__
  using Least = TwoByTwo<T, TESSERA_A, TESSERA_B, Kind::In, Kind::Widen>;
  using Shared = SharedVectors<T, TESSERA_A, Kind::In, Kind::Widen>;
#endif
  /// Dots of words, if this kind of elements has them.
  const bool hasOwn = [&]<class K>() {
    if constexpr (requires { typename K::Dots; })
      return TESSERA_A == n && Dot<T, TESSERA_B, typename K::In, typename K::Dots>::takes(*p);
    return false;
  }.template operator()<Kind>();
  auto runOwn = [&]<class K>() {
    if constexpr (requires { typename K::Dots; })
      runWith(Dot<T, TESSERA_B, typename K::In, typename K::Dots>(x));
  };
  const bool isDone = runOneOf(
      *p,
      candidate<Way::Dot, TESSERA_A == n>([&] { return hasOwn; }, [&] { return hasOwn; },
                                          [&] { runOwn.template operator()<Kind>(); }),
      candidate<Way::Dot, TESSERA_A == n>([&] { return Dots::canCompute(*p); },
                                          [&] { return !p->isChain && Dots::takes(*p); },
                                          [&] { runWith(Dots(x)); }),
#ifdef __AVX512F__
      candidate<Way::TwoByTwo, kHasTwoByTwo>([&] { return Least::takes(*p); },
                                             [&] { return Least::takes(*p); },
                                             [&] {
                                               if constexpr (kHasTwoByTwo) Least::run(*p, begin, end);
                                             }),
      candidate<Way::Shared, TESSERA_B == n>([&] { return Shared::takes(*p); },
                                             [&] { return Shared::takes(*p); },
                                             [&] { Shared(x).run(begin, end); }),
#endif
      candidate<Way::Row, TESSERA_B == n>([&] { return p->rows == 1; }, [&] { return p->rows == 1; },
                                          [&] { runWith(Row<T, TESSERA_A, Kind::In, Kind::Widen>(x)); }),
      candidate<Way::Skinny, TESSERA_B == n>([&] { return FewRows::canCompute(*p); },
                                             [&] { return takesFewRows<FewRows>(*p); },
                                             [&] { runWith(FewRows(x)); }));
  if (isDone) return;
  x.splitIntoRuns(begin, end, reinterpret_cast<Product::Call>(call), each);
}

} // namespace tessera::cpu::product
