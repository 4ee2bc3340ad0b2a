// What an AMD code object says about its kernels (LLVM's AMDGPU user guide, Code Object Metadata).
#pragma once
#include "tests/shims/common/Emulated.h"
#include <vector>

namespace tessera::shim {

struct HsacoModule {
  std::string processor; // "gfx90a"
  size_t bytes = 0;      // of the ELF file
  std::vector<OwnKernel> kernels;
};
/// `image` is as long as its header says. Returns false with `why` filled if it is no code object.
bool readHsaco(const char *image, HsacoModule &out, std::string &why);

} // namespace tessera::shim
