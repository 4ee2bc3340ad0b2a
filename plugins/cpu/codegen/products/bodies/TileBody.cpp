// The body of a product of narrow elements by AMX: TESSERA_KIND is how they are packed (Operands.h),
// TESSERA_FAMILY is that of the micro-kernels. TESSERA_SMALL is the body of products that leave most of a
// tile empty; without it there is no other.
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/TileBlocks.h"
#include "plugins/cpu/codegen/products/bodies/Words.h"

#define TESSERA_SYMBOL(DTYPE) "tsr.p." TESSERA_TEXT(DTYPE) "." TESSERA_TEXT(TESSERA_A) TESSERA_TEXT(TESSERA_B)

namespace tessera::cpu::product {
namespace {

using Kind = TESSERA_KIND;
using T = Kind::T;
[[maybe_unused]] constexpr bool n = false, t = true;
TESSERA_TILE_KERNELS(kKernels, TESSERA_TEXT(TESSERA_FAMILY) ".n")

/// A step of a tile takes 16 cycles, whatever part of its rows, columns and words of k are used.
[[maybe_unused]] bool fillsTiles(const Problem &p) {
  return p.rows > kTileRows / 2 && p.columns > kTileRows / 2 && p.depth >= kTileRows / 2 * Kind::kGroup;
}

} // namespace

extern "C" [[gnu::visibility("default")]] void body(const Problem *, int64_t, int64_t,
                                                    uint8_t *) __asm__(TESSERA_SYMBOL(TESSERA_DTYPE));
#ifdef TESSERA_SMALL
extern "C" void small(const Problem *, int64_t, int64_t, uint8_t *) __asm__(TESSERA_SYMBOL(TESSERA_SMALL));
#endif

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  if (begin >= end) return; // extents may be 0
#ifdef TESSERA_SMALL
  if (!fillsTiles(*p)) return small(p, begin, end, scratch);
#endif
  const TileConfiguration whole;
  Context<T, Kind::In> x(*p, scratch);
  using Blocks = TileBlocks<T>;
  WordPanels<Kind, TESSERA_A, TESSERA_B, Blocks> panels(x, Blocks(kKernels));
  x.forRuns(begin, end, [&](const Run &run) { panels.run(run); });
}

} // namespace tessera::cpu::product
