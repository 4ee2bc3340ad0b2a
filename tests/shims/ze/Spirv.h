// What a SPIR-V module says about its kernels (SPIR-V specification, Binary Form).
#pragma once
#include "tests/shims/common/Emulated.h"
#include <span>
#include <vector>

namespace tessera::shim {

struct SpirvModule {
  uint32_t version = 0; // 0x10200 for 1.2
  std::vector<OwnKernel> kernels;
};
/// Returns false with `why` filled if it is no SPIR-V.
bool readSpirv(std::string_view image, SpirvModule &out, std::string &why);

} // namespace tessera::shim
