// The body of a product of narrow elements by AMX: TESSERA_KIND is how they are packed (Operands.h),
// TESSERA_FAMILY is that of the micro-kernels. TESSERA_FEW computes products of few rows or columns
// (FewBody.cpp); without it there is no other body.
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/TileBlocks.h"
#include "plugins/cpu/codegen/products/bodies/Words.h"

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
#ifdef TESSERA_FEW
extern "C" void few(void *, int64_t, int64_t, void *, void *) __asm__(TESSERA_SYMBOL(TESSERA_FEW));
#endif

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  if (begin >= end) return; // extents may be 0
  const TileConfiguration whole;
  Context<T, Kind::In> x(*p, scratch);
  using Blocks = TileBlocks<T>;
  WordPanels<Kind, TESSERA_A, TESSERA_B, Blocks> panels(x, Blocks(kKernels));
  auto pack = [&](const Run &run) { panels.run(run); };
#ifdef TESSERA_FEW
  if (p->way == Way::ByExtents ? !fillsTiles(*p) : p->way != Way::Panels)
    return few(&x, begin, end, reinterpret_cast<void *>(x.caller<decltype(pack)>()), &pack);
#else
  runOneOf(*p); // there is no other way
#endif
  x.forRuns(begin, end, pack);
}

} // namespace tessera::cpu::product
