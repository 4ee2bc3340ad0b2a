// What a PTX text says about its kernels (PTX ISA, sections State Spaces, Performance-Tuning Directives).
#pragma once
#include "tests/shims/common/Emulated.h"
#include <string_view>
#include <vector>

namespace tessera::shim {

struct PtxModule {
  int version = 0, target = 0; // 81 for 8.1; 80 for sm_80
  std::vector<OwnKernel> kernels;
};
/// Returns false with `why` filled if it is no PTX.
bool readPtx(std::string_view text, PtxModule &out, std::string &why);

} // namespace tessera::shim
