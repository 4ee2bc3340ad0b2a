// One body: TESSERA_T is the element type, TESSERA_A and TESSERA_B are n or t, for operands as they are or
// transposed. The build compiles this file once for each combination and instruction level.
#include "plugins/cpu/codegen/products/bodies/Narrow.h"
#include "plugins/cpu/codegen/products/bodies/Panels.h"
#include "plugins/cpu/codegen/products/bodies/Skinny.h"
#include "plugins/cpu/codegen/products/bodies/Small.h"

namespace tessera::cpu::product {
namespace {

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
using T = TESSERA_T;
[[maybe_unused]] constexpr bool n = false, t = true;

// tsr.mk.DTYPE.A.ROWSxVECTORS
#define KERNEL(ROWS, VECTORS)                                                                                \
  extern "C" [[gnu::visibility("hidden")]] void kernel##ROWS##x##VECTORS(                                    \
      int64_t, const T *, int64_t, const T *, int64_t, T *, int64_t, int64_t,                                \
      int64_t) __asm__("tsr.mk." TEXT(TESSERA_DTYPE) "." TEXT(TESSERA_A) "." #ROWS "x" #VECTORS);
#define ROWS_TO_6(X, VECTORS)                                                                                \
  X(1, VECTORS) X(2, VECTORS) X(3, VECTORS) X(4, VECTORS) X(5, VECTORS) X(6, VECTORS)
#define ROWS_TO_8(X, VECTORS) ROWS_TO_6(X, VECTORS) X(7, VECTORS) X(8, VECTORS)
#define ROWS_TO_16(X, VECTORS)                                                                               \
  ROWS_TO_8(X, VECTORS)                                                                                      \
  X(9, VECTORS)                                                                                              \
  X(10, VECTORS) X(11, VECTORS) X(12, VECTORS) X(13, VECTORS) X(14, VECTORS) X(15, VECTORS) X(16, VECTORS)
#define NAME(ROWS, VECTORS) kernel##ROWS##x##VECTORS,
#ifdef __AVX512F__
ROWS_TO_16(KERNEL, 1);
ROWS_TO_8(KERNEL, 2);
ROWS_TO_6(KERNEL, 3);
ROWS_TO_6(KERNEL, 4);
constexpr MicroKernels<T> kKernels = {
    {ROWS_TO_16(NAME, 1)}, {ROWS_TO_8(NAME, 2)}, {ROWS_TO_6(NAME, 3)}, {ROWS_TO_6(NAME, 4)}};
#else
ROWS_TO_6(KERNEL, 1);
ROWS_TO_6(KERNEL, 2);
constexpr MicroKernels<T> kKernels = {{ROWS_TO_6(NAME, 1)}, {ROWS_TO_6(NAME, 2)}};
#endif

} // namespace

extern "C" [[gnu::visibility("default")]] void
body(const Problem *, int64_t, int64_t,
     uint8_t *) __asm__("tsr.p." TEXT(TESSERA_DTYPE) "." TEXT(TESSERA_A) TEXT(TESSERA_B));

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  if (begin >= end) return; // extents may be 0
  Context<T> x(*p, scratch);
  auto runWith = [&](auto &&body) {
    forRuns(*p, begin, end, [&](const Run &run) {
      x.enter(run.batch);
      body.run(run);
    });
  };
  if (TESSERA_A == n && Dot<T>::takes(*p, TESSERA_B)) return runWith(Dot<T>(x));
  if (TESSERA_B == n && p->rows == 1) return runWith(Row<T, TESSERA_A>(x));
  if (TESSERA_B == n && Small<T, TESSERA_A>::takes(*p))
    return Small<T, TESSERA_A>(x, kKernels).run(begin, end);
  const bool isSkinny = TESSERA_B == n && Skinny<T, TESSERA_A>::takes(*p);
  Skinny<T, TESSERA_A> skinny(x);
  Panels<T, TESSERA_A, TESSERA_B> panels(x, kKernels);
  forRuns(*p, begin, end, [&](const Run &run) {
    x.enter(run.batch);
    isSkinny &&Skinny<T, TESSERA_A>::takes(*p, run) ? skinny.run(run) : panels.run(run);
  });
}

} // namespace tessera::cpu::product
