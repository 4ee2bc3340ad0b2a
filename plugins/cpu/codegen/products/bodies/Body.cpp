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
  if (TESSERA_A == n && Dots::takes(*p)) return runWith(Dots(x));
  if (TESSERA_B == n && p->rows == 1) return runWith(Row<T, TESSERA_A>(x));
  if (TESSERA_A == t && Columns<T, TESSERA_B>::takes(*p)) return runWith(Columns<T, TESSERA_B>(x));
#ifdef __AVX512F__
  using Least = TwoByTwo<T, TESSERA_A, TESSERA_B>;
  if constexpr (TESSERA_A == t || TESSERA_B == n) // the other is a dot
    if (Least::takes(*p)) return Least::run(*p, begin, end);
  using Shared = SharedVectors<T, TESSERA_A>;
  if (TESSERA_B == n && Shared::takes(*p)) return Shared(x).run(begin, end);
  using Tiny = Flat<T, TESSERA_A, TESSERA_B>;
  if (Tiny::takes(*p, end - begin)) return Tiny(x).run(begin, end);
#endif
  if (TESSERA_B == n && Small<T, TESSERA_A>::takes(*p))
    return Small<T, TESSERA_A>(x, kKernels).run(begin, end);
  const bool isSkinny = TESSERA_B == n && Skinny<T, TESSERA_A>::takes(*p);
  Skinny<T, TESSERA_A> skinny(x);
  Panels<T, TESSERA_A, TESSERA_B> panels(x, kKernels);
  x.forRuns(begin, end, [&](const Run &run) {
    isSkinny &&Skinny<T, TESSERA_A>::takes(*p, run) ? skinny.run(run) : panels.run(run);
  });
}

} // namespace tessera::cpu::product
