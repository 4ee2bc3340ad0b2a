#include "tools/tsr-conformance/Groups.h"

namespace tessera::kit {

std::span<const Group *const> allGroups() {
  // Groups whose checks others depend on come first.
  static constexpr const Group *kAll[] = {
      &kAbi,  &kProbe,  &kPurity, &kLifecycle,  &kMemory,      &kStreams, &kEvents,   &kCopies,
      &kFill, &kLaunch, &kGraph,  &kActivities, &kCollectives, &kMapper,  &kProfiles, &kCodegen};
  return kAll;
}

const Check *findCheck(std::string_view id) {
  for (const Group *group : allGroups())
    for (const Check &check : group->checks)
      if (check.id == id) return &check;
  return nullptr;
}

} // namespace tessera::kit
