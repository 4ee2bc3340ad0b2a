// One body: TESSERA_T is the element type, TESSERA_A and TESSERA_B are n or t, for operands as they are or
// transposed. The build compiles this file once for each combination and instruction level.
#include "plugins/cpu/codegen/products/bodies/Narrow.h"
#include "plugins/cpu/codegen/products/bodies/Panels.h"
#include "plugins/cpu/codegen/products/bodies/Skinny.h"

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
#ifdef __AVX512F__
#define FOR_VECTORS(ROW, X) X(ROW, 1) X(ROW, 2) X(ROW, 3) X(ROW, 4)
#define NAMES(ROW) {kernel##ROW##x1, kernel##ROW##x2, kernel##ROW##x3, kernel##ROW##x4}
#else
#define FOR_VECTORS(ROW, X) X(ROW, 1) X(ROW, 2)
#define NAMES(ROW) {kernel##ROW##x1, kernel##ROW##x2}
#endif
#define FOR_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define DECLARE(ROW) FOR_VECTORS(ROW, KERNEL)
FOR_ROWS(DECLARE)
constexpr MicroKernels<T> kKernels = {NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6)};

} // namespace

extern "C" [[gnu::visibility("default")]] void
body(const Problem *, int64_t, int64_t,
     uint8_t *) __asm__("tsr.p." TEXT(TESSERA_DTYPE) "." TEXT(TESSERA_A) TEXT(TESSERA_B));

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  Context<T> x(*p, scratch);
  auto runWith = [&](auto &&body) {
    forRuns(*p, begin, end, [&](const Run &run) {
      x.enter(run.batch);
      body.run(run);
    });
  };
  if (TESSERA_A == n && Dot<T>::takes(*p, TESSERA_B)) return runWith(Dot<T>(x));
  if (TESSERA_B == n && p->rows == 1) return runWith(Row<T, TESSERA_A>(x));
  if (TESSERA_B == n && Skinny<T, TESSERA_A>::takes(*p)) return runWith(Skinny<T, TESSERA_A>(x));
  runWith(Panels<T, TESSERA_A, TESSERA_B>(x, kKernels));
}

} // namespace tessera::cpu::product
