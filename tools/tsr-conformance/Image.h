// The check of code the command line gives.
#pragma once
#include "tools/tsr-conformance/Subject.h"

namespace tessera::kit {

/// Launches the kernel of --image, whose metadata names it saxpy (samples/saxpy), over several sizes and
/// holds the result against the CPU's. Skips without --image.
void launchImage(Subject &);

} // namespace tessera::kit
