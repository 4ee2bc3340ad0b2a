// Checks whether a plugin fits this runtime, this processor and this machine. Uses only its manifest, /sys
// and /dev: no code of the plugin runs.
#pragma once
#include "core/plugin/Manifest.h"
#include <tessera/plugin.h>

namespace tessera {

/// The directories that describe the machine. Tests supply their own tree.
struct MachineRoot {
  std::string sys = "/sys", dev = ""; // `dev` is prepended to the manifest's "/dev/..."
};

/// Checks contract version, features, sanitizer, architecture and instruction set (including which registers
/// the operating system saves).
PluginError matchRuntime(const PluginFile &file, const tsr_host_info_t &host);

/// Checks only what applies to every plugin, whatever its origin: contract version, features, compiler.
PluginError matchContract(const Manifest &manifest, const tsr_host_info_t &host);

/// Checks PCI vendors, device nodes and the kernel driver.
PluginError matchHardware(const Manifest &manifest, const MachineRoot &root = {});

/// Returns the vendors (such as "10de") of the display and accelerator controllers on the PCI bus, sorted.
std::vector<std::string> gpuVendors(const MachineRoot &root = {});

/// Returns the version of a kernel module ("driver_module" of a manifest). Returns the kernel release if the
/// module has no version, and "" if it is not loaded.
std::string moduleVersion(const std::string &name, const MachineRoot &root = {});

/// Compares dotted version numbers. Returns a negative number, 0 or a positive number.
int compareVersions(std::string_view a, std::string_view b);

} // namespace tessera
