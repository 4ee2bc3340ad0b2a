// The one way compiled code comes in: a bundle, compiled just now, cached or shipped.
#pragma once
#include "core/objects/Modules.h"

namespace tessera {

/// Makes a module of the bundle's best image for the context's device: the one made for this very processor,
/// else the one that asks for most of what it has; else, where the bundle holds IR and the compiler is
/// installed, compiles that. `name` is how errors call the bundle; the log gets what the compiler says and a
/// note per fallback the kernels take.
tsr_status_t loadBundle(tsr_context_t context, std::string_view bytes, const std::string &name, Log log,
                        tsr_module_t *module);

/// The same for one raw image with the metadata documents of its kernels.
tsr_status_t loadImage(tsr_context_t context, const BundleImage &image, const std::string &name,
                       tsr_module_t *module);

} // namespace tessera
