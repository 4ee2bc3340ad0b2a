// The time of a configuration as far as its metadata tells it. It orders configurations; measurements choose.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/MachineConstants.h"
#include "core/tuning/TunedKey.h"

namespace tessera::tune {

/// Estimates nanoseconds from the number of programs, their memory beside the caches, and `bytes`, those of
/// all arguments. -1: the grid has no value for these dims.
double predictNs(const KernelMetadata &, const NamedValues &dims, double bytes, const MachineConstants &);

} // namespace tessera::tune
