#include "compiler/codegen/emit/HostFeatures.h"
#include "core/support/HostCpu.h"
#include "llvm/TargetParser/Host.h"

namespace tessera::emit {

std::string hostFeatures() {
  std::string out;
  for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
    // LLVM does not ask the system.
    const bool isRefused =
        feature.second && feature.first().starts_with("amx-") && !firstMissing({"amx-tile"}).empty();
    if (!out.empty()) out += ',';
    out += (feature.second && !isRefused ? "+" : "-") + feature.first().str();
  }
  return out;
}

} // namespace tessera::emit
