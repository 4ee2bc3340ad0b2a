// The check of the image that the command line names.
#pragma once
#include "tools/tsr-conformance/Subject.h"

namespace tessera::kit {

/// Launches the kernel of --image, whose metadata names it saxpy (samples/saxpy), over several sizes and
/// compares the results with the CPU's. Skips when --image is not given.
void launchImage(Subject &);

} // namespace tessera::kit
