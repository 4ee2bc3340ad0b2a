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
/// With more rows, packing B takes less time than it saves: vectors of words multiply integers much faster.
constexpr int64_t kMostFewRows = __is_same(T, int32_t) ? 4 : 8;

} // namespace

/// Computes programs [begin, end) of a product of a Context. If extents and layout say that they are for the
/// calling body, calls it (Context::Call) for each run instead.
extern "C" void few(void *context, int64_t begin, int64_t end, void *call,
                    void *each) __asm__(TESSERA_SYMBOL(TESSERA_DTYPE));

extern "C" void few(void *context, int64_t begin, int64_t end, void *call, void *each) {
  using Product = Context<T, Kind::In>;
  Product &x = *static_cast<Product *>(context);
  const Problem *p = &x.p;
  auto runWith = [&](auto &&body) { x.forRuns(begin, end, [&](const Run &run) { body.run(run); }); };
  const bool isDone = [&]<class K>() {
    if constexpr (requires { typename K::Dots; }) {
      using Own = Dot<T, TESSERA_B, typename K::In, typename K::Dots>;
      if (TESSERA_A == n && Own::takes(*p)) return runWith(Own(x)), true;
    }
    return false;
  }.template operator()<Kind>();
  if (isDone) return;
  using Dots = Dot<T, TESSERA_B, Kind::In, InLanes<T, Kind::Widen>>;
  if (TESSERA_A == n && Dots::takes(*p)) return runWith(Dots(x));
#ifdef __AVX512F__
  using Least = TwoByTwo<T, TESSERA_A, TESSERA_B, Kind::In, Kind::Widen>;
  if constexpr (TESSERA_A == t || TESSERA_B == n) // the other is a dot
    if (Least::takes(*p)) return Least::run(*p, begin, end);
  using Shared = SharedVectors<T, TESSERA_A, Kind::In, Kind::Widen>;
  if (TESSERA_B == n && Shared::takes(*p)) return Shared(x).run(begin, end);
#endif
  if (TESSERA_B == n && p->rows == 1) return runWith(Row<T, TESSERA_A, Kind::In, Kind::Widen>(x));
  using FewRows = Skinny<T, TESSERA_A, Kind::In, Kind::Widen>;
  if (TESSERA_B == n && p->rows <= kMostFewRows && FewRows::takes(*p)) return runWith(FewRows(x));
  x.splitIntoRuns(begin, end, reinterpret_cast<Product::Call>(call), each);
}

} // namespace tessera::cpu::product
