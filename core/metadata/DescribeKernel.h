// Derives the kernel descriptor that a backend needs from the kernel's metadata. Used by the runtime and the
// conformance kit, so that both pass the same descriptor. Part of tessera-metadata.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <tessera/backend.hpp>

namespace tessera {

/// Returns the descriptor of a kernel, without its symbol. `yaml` is its metadata document and `format`
/// (TSR_IMAGE_*) the format of its image.
KernelSpec describeKernel(const KernelMetadata &metadata, std::string yaml, uint32_t format);

} // namespace tessera
