// Code for the CPU: a shared object in memory, or functions that are already in the process.
#pragma once
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Loads the image. Fills `why` and returns null when it is damaged, or code for a GPU or another machine.
std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why);

/// Reports of kernels go to the host's log from now on. Without a host there are none.
void setHost(const tsr_host_info_t *host);

} // namespace tessera::cpu
