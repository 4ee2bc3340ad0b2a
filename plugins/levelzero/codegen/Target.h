// Intel GPUs: OpenCL's built-in functions, SPIR-V, which the driver compiles.
#pragma once
#include "compiler/target/gpu/Vendor.h"

namespace tessera::levelzero {

const gpu::Vendor &vendor();

} // namespace tessera::levelzero
