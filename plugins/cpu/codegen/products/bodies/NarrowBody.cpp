// The body of a product of narrow elements: TESSERA_KIND is how they are packed (Operands.h), TESSERA_FAMILY
// is that of the micro-kernels.
#include "plugins/cpu/codegen/products/bodies/Kernels.h"
#include "plugins/cpu/codegen/products/bodies/Words.h"

namespace tessera::cpu::product {
namespace {

using Kind = TESSERA_KIND;
using T = Kind::T;
[[maybe_unused]] constexpr bool n = false, t = true;
TESSERA_KERNELS(kKernels, TESSERA_TEXT(TESSERA_FAMILY) "." TESSERA_TEXT(TESSERA_A))

} // namespace

extern "C" [[gnu::visibility("default")]] void body(const Problem *, int64_t, int64_t,
                                                    uint8_t *) __asm__(TESSERA_SYMBOL(TESSERA_DTYPE));
// FewBody.cpp
extern "C" void few(void *, int64_t, int64_t, void *, void *) __asm__(TESSERA_SYMBOL(TESSERA_DTYPE.few));

extern "C" void body(const Problem *p, int64_t begin, int64_t end, uint8_t *scratch) {
  if (begin >= end) return; // extents may be 0
  Context<T, Kind::In> x(*p, scratch);
  using Blocks = RegisterBlocks<T, TESSERA_A>;
  WordPanels<Kind, TESSERA_A, TESSERA_B, Blocks> panels(x, Blocks(kKernels));
  auto pack = [&](const Run &run) { panels.run(run); };
  few(&x, begin, end, reinterpret_cast<void *>(x.caller<decltype(pack)>()), &pack);
}

} // namespace tessera::cpu::product
