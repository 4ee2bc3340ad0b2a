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
[[maybe_unused]] constexpr bool kHasTwoByTwo = TESSERA_A == t || TESSERA_B == n; // the other is a dot
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
  using Least = TwoByTwo<T, TESSERA_A, TESSERA_B>;
  using Shared = SharedVectors<T, TESSERA_A>;
#ifdef __AVX512F__
  using Tiny = Flat<T, TESSERA_A, TESSERA_B>;
#endif
  bool isSkinny = false;
  const bool isDone = runOneOf(
      *p,
      candidate<Way::Dot, TESSERA_A == n>([&] { return Dots::canCompute(*p); },
                                          [&] { return !p->isChain && Dots::takes(*p); },
                                          [&] { runWith(Dots(x)); }),
      candidate<Way::Row, TESSERA_B == n>([&] { return p->rows == 1; },
                                          // The sums of short rows are in registers.
                                          [&] { return p->rows == 1 && !Block::takes(*p); },
                                          [&] { runWith(Row<T, TESSERA_A>(x)); }),
      candidate<Way::Columns, TESSERA_A == t>([&] { return FewColumns::canCompute(*p); },
                                              [&] { return FewColumns::takes(*p); },
                                              [&] { runWith(FewColumns(x)); }),
      candidate<Way::TwoByTwo, kHasTwoByTwo>([&] { return Least::takes(*p); },
                                             [&] { return Least::takes(*p); },
                                             [&] {
                                               if constexpr (kHasTwoByTwo) Least::run(*p, begin, end);
                                             }),
      candidate<Way::Shared, TESSERA_B == n>([&] { return Shared::takes(*p); },
                                             [&] { return Shared::takes(*p); },
                                             [&] { Shared(x).run(begin, end); }),
#ifdef __AVX512F__
      candidate<Way::Flat>([&] { return Tiny::canCompute(*p); }, [&] { return Tiny::takes(*p, end - begin); },
                           [&] { Tiny(x).run(begin, end); }),
#endif
      candidate<Way::Small, TESSERA_B == n>([&] { return Block::canCompute(*p); },
                                            [&] { return Block::takes(*p); },
                                            [&] { Block(x, kKernels).run(begin, end); }),
      candidate<Way::Skinny, TESSERA_B == n>([&] { return FewRows::canCompute(*p); },
                                             [&] { return FewRows::takes(*p); }, [&] { isSkinny = true; }));
  if (isDone && !isSkinny) return;
  FewRows skinny(x);
  Panels<T, TESSERA_A, TESSERA_B> panels(x, kKernels);
  x.forRuns(begin, end, [&](const Run &run) {
    TESSERA_B == n && isSkinny && (p->way == Way::Skinny || FewRows::takes(*p, run)) ? skinny.run(run)
                                                                                     : panels.run(run);
  });
}

} // namespace tessera::cpu::product
