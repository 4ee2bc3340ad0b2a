// The GPU code generators this compiler was built with.
#pragma once
#include "compiler/target/gpu/Vendor.h"

namespace tessera {

llvm::ArrayRef<const gpu::Vendor *> gpuVendors();

/// The generator of `kind` ("ptx"); null when there is none.
const gpu::Vendor *findVendor(llvm::StringRef kind);

/// Makes the pipeline `gpu-to-target{target=ptx:sm_90}` (thread programs to Target IR) known by name to tools
/// that read pipelines.
void registerGpuPipelines();

} // namespace tessera
