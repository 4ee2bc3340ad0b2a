// Code for the CPU: a shared object in memory, or functions that are in the process already.
#pragma once
#include <tessera/backend.hpp>

namespace tessera::cpu {

/// Null with `why` filled: another machine's or a GPU's code, or damage.
std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why);

} // namespace tessera::cpu
