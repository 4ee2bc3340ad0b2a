// NVIDIA GPUs: NVVM operations, PTX text. The driver assembles PTX itself, so that is also the object; ptxas
// is never needed.
#pragma once
#include "compiler/target/gpu/Vendor.h"

namespace tessera::ptx {

const gpu::Vendor &vendor();

} // namespace tessera::ptx
