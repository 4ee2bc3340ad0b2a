// One body: TESSERA_T is the element type, TESSERA_A and TESSERA_B are n or t, for operands as they are or
// transposed. The build compiles this file once for each combination and instruction level.
#include "plugins/cpu/codegen/products/bodies/Few.h"
#include "plugins/cpu/codegen/products/bodies/Flat.h"
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/Panels.h"
#include "plugins/cpu/codegen/products/bodies/SharedVectors.h"
#include "plugins/cpu/codegen/products/bodies/Skinny.h"
#include "plugins/cpu/codegen/products/bodies/Small.h"
#include "plugins/cpu/codegen/products/bodies/TwoByTwo.h"

namespace tessera::cpu::product {
namespace {

using T = TESSERA_T;
[[maybe_unused]] constexpr bool n = false, t = true;
TESSERA_KERNELS(kKernels, TESSERA_TEXT(TESSERA_DTYPE) "." TESSERA_TEXT(TESSERA_A))

} // namespace

extern "C" [[gnu::visibility("default")]] void body(const Problem *, int64_t, int64_t,
                                                    uint8_t *) __asm__(TESSERA_SYMBOL(TESSERA_DTYPE));

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  if (begin >= end) return; // extents may be 0
  Context<T> x(*p, scratch);
  auto runWith = [&](auto &&body) { x.forRuns(begin, end, [&](const Run &run) { body.run(run); }); };
  using Dots = Dot<T, TESSERA_B>;
  using FewColumns = Columns<T, TESSERA_B>;
  using Block = Small<T, TESSERA_A>;
  using FewRows = Skinny<T, TESSERA_A>;
#ifdef __AVX512F__
  using Least = TwoByTwo<T, TESSERA_A, TESSERA_B>;
  using Shared = SharedVectors<T, TESSERA_A>;
  using Tiny = Flat<T, TESSERA_A, TESSERA_B>;
#endif
  auto canCompute = [&] {
    switch (p->way) {
    case Way::ByExtents:
      return false;
    case Way::Dot:
      return TESSERA_A == n && Dots::canCompute(*p);
    case Way::Row:
      return TESSERA_B == n && p->rows == 1;
    case Way::Columns:
      return TESSERA_A == t && FewColumns::takes(*p);
#ifdef __AVX512F__
    case Way::TwoByTwo:
      return (TESSERA_A == t || TESSERA_B == n) && Least::takes(*p);
    case Way::Shared:
      return TESSERA_B == n && Shared::takes(*p);
    case Way::Flat:
      return Tiny::canCompute(*p);
#else
    case Way::TwoByTwo:
    case Way::Shared:
    case Way::Flat:
      return false;
#endif
    case Way::Small:
      return TESSERA_B == n && Block::canCompute(*p);
    case Way::Skinny:
      return TESSERA_B == n && FewRows::canCompute(*p);
    case Way::Panels:
      return true;
    }
    return false;
  };
  const WayChoice way(*p, p->way != Way::ByExtents && canCompute());
  if (TESSERA_A == n && way.takes(Way::Dot, Dots::takes(*p))) return runWith(Dots(x));
  // A batch of rows of a few elements is for blocks, which begin with the next one while they end the last.
  if (TESSERA_B == n && way.takes(Way::Row, p->rows == 1 && !(end - begin > 1 && Block::takes(*p))))
    return runWith(Row<T, TESSERA_A>(x));
  if (TESSERA_A == t && way.takes(Way::Columns, FewColumns::takes(*p))) return runWith(FewColumns(x));
#ifdef __AVX512F__
  if constexpr (TESSERA_A == t || TESSERA_B == n) // the other is a dot
    if (way.takes(Way::TwoByTwo, Least::takes(*p))) return Least::run(*p, begin, end);
  if (TESSERA_B == n && way.takes(Way::Shared, Shared::takes(*p))) return Shared(x).run(begin, end);
  if (way.takes(Way::Flat, Tiny::takes(*p, end - begin))) return Tiny(x).run(begin, end);
#endif
  if (TESSERA_B == n && way.takes(Way::Small, Block::takes(*p))) return Block(x, kKernels).run(begin, end);
  const bool isSkinny = TESSERA_B == n && way.takes(Way::Skinny, FewRows::takes(*p));
  FewRows skinny(x);
  Panels<T, TESSERA_A, TESSERA_B> panels(x, kKernels);
  x.forRuns(begin, end, [&](const Run &run) {
    isSkinny && (way.isForced() || FewRows::takes(*p, run)) ? skinny.run(run) : panels.run(run);
  });
}

} // namespace tessera::cpu::product
