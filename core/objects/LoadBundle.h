// Loads compiled code. Every bundle comes in here, whether just compiled, cached or shipped.
#pragma once
#include "core/objects/Modules.h"

namespace tessera {

/// Makes a module of the bundle's best image for the context's device: the image made for this processor,
/// else the image that uses most of the device's features, else, where the bundle holds IR and the compiler
/// is installed, an image compiled from the IR. `name` is what errors call the bundle. The log receives the
/// compiler's messages and one note per fallback of the kernels.
tsr_status_t loadBundle(tsr_context_t context, std::string_view bytes, const std::string &name, Log log,
                        tsr_module_t *module);

/// The same for one raw image and the metadata documents of its kernels.
tsr_status_t loadImage(tsr_context_t context, const BundleImage &image, const std::string &name,
                       tsr_module_t *module);

} // namespace tessera
