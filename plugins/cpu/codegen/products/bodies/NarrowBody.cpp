// The body of a product of narrow elements: TESSERA_KIND is how they are packed (Operands.h), TESSERA_FAMILY
// is that of the micro-kernels.
#include "plugins/cpu/codegen/products/bodies/Few.h"
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/SharedVectors.h"
#include "plugins/cpu/codegen/products/bodies/Skinny.h"
#include "plugins/cpu/codegen/products/bodies/TwoByTwo.h"
#include "plugins/cpu/codegen/products/bodies/Words.h"

namespace tessera::cpu::product {
namespace {

using Kind = TESSERA_KIND;
using T = Kind::T;
[[maybe_unused]] constexpr bool n = false, t = true;
/// With more rows, packing B takes less time than it saves: vectors of words multiply integers much faster.
constexpr int64_t kMostFewRows = __is_same(T, int32_t) ? 4 : 8;
TESSERA_KERNELS(kKernels, TESSERA_TEXT(TESSERA_FAMILY) "." TESSERA_TEXT(TESSERA_A))

} // namespace

extern "C" [[gnu::visibility("default")]] void body(const Problem *, int64_t, int64_t, uint8_t *) __asm__(
    "tsr.p." TESSERA_TEXT(TESSERA_DTYPE) "." TESSERA_TEXT(TESSERA_A) TESSERA_TEXT(TESSERA_B));

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  if (begin >= end) return; // extents may be 0
  Context<T, Kind::In> x(*p, scratch);
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
  using Blocks = RegisterBlocks<T, TESSERA_A>;
  runWith(WordPanels<Kind, TESSERA_A, TESSERA_B, Blocks>(x, Blocks(kKernels)));
}

} // namespace tessera::cpu::product
