// AMD GPUs: ROCDL operations, AMDGCN machine code, linked in this process to the shared object (HSACO) that
// the driver loads.
#pragma once
#include "compiler/target/gpu/Vendor.h"

namespace tessera::rocm {

const gpu::Vendor &vendor();

} // namespace tessera::rocm
