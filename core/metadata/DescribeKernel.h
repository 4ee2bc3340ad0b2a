// What a backend has to know of a kernel, derived from its metadata: the runtime and the conformance kit give
// the same descriptor. Part of tessera-metadata.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <tessera/backend.hpp>

namespace tessera {

/// All but the symbol, of a kernel whose metadata document is `yaml`, in an image of `format` (TSR_IMAGE_*).
KernelSpec describeKernel(const KernelMetadata &metadata, std::string yaml, uint32_t format);

} // namespace tessera
