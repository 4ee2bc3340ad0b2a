// The groups of checks, one file each.
#pragma once
#include "tools/tsr-conformance/Check.h"

namespace tessera::kit {

extern const Group kAbi, kPurity, kProbe, kLifecycle, kMemory, kStreams, kEvents, kCopies, kFill, kLaunch,
    kGraph, kActivities, kCollectives, kMapper, kProfiles, kCodegen;

} // namespace tessera::kit
