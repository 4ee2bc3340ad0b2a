// A plugin's manifest, read from its file without loading it.
#pragma once
#include "core/plugin/PluginError.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Fields as in sdk/schema/plugin.fbs.
struct Manifest {
  std::string name, version, description, compilerAbi, triplet, minDriver, driverModule, sanitizer;
  std::vector<std::string> kindNames, isa, pciVendors, deviceNodes, featuresRequired, featuresOptional;
  uint32_t abiMajor = 0, builtMinor = 0, needsMinor = 0;
  uint32_t kinds = 0; // TSR_PLUGIN_*
  int32_t priority = 0;
};

/// Whether it may be a plugin's name, and so a part of a file's name: 1 to 64 of a-z, 0-9, - and _.
bool isPluginName(std::string_view name);

/// The ELF facts that go with it.
struct PluginFile {
  uint16_t machine = 0; // e_machine
  Manifest manifest;
};

/// Largest note that is read.
inline constexpr size_t kMaxNoteBytes = 64 * 1024;

/// Reads the note of the file open as `fd`. The file is hostile: nothing in it is trusted, a few kilobytes of
/// it are read, whatever its size. Pure but for the file's offset.
PluginError readManifest(int fd, PluginFile &out);

/// The same of the note's payload alone: a size-prefixed FlatBuffer.
PluginError parseManifest(std::string_view payload, Manifest &out);

/// "backend, mapper" of TSR_PLUGIN_* bits.
std::string kindList(uint32_t kinds);
/// Bit of "backend" …; 0 for no such kind.
uint32_t kindOf(std::string_view name);

} // namespace tessera
