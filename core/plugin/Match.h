// Does a plugin fit this runtime, this processor and this machine? From its manifest and from /sys and /dev
// alone: nothing of the plugin runs.
#pragma once
#include "core/plugin/Manifest.h"
#include <tessera/plugin.h>

namespace tessera {

/// Where the machine describes itself; tests bring their own tree.
struct MachineRoot {
  std::string sys = "/sys", dev = ""; // before "/dev/..." of the manifest
};

/// Contract version, features, kind of sanitizer, architecture and instruction set (with what the operating
/// system saves of the registers).
PluginError matchRuntime(const PluginFile &file, const tsr_host_info_t &host);

/// The part of it that any plugin must pass, wherever it came from: contract version, features, compiler.
PluginError matchContract(const Manifest &manifest, const tsr_host_info_t &host);

/// PCI vendors, device nodes, kernel driver.
PluginError matchHardware(const Manifest &manifest, const MachineRoot &root = {});

/// Vendors ("10de") of the display and accelerator controllers on the PCI bus.
std::vector<std::string> gpuVendors(const MachineRoot &root = {});

/// Version of a kernel module ("driver_module" of a manifest), of its release where it has none, "" when it
/// is not there.
std::string moduleVersion(const std::string &name, const MachineRoot &root = {});

/// Compares dotted numbers: negative, 0 or positive.
int compareVersions(std::string_view a, std::string_view b);

} // namespace tessera
