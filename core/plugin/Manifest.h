// A plugin's manifest, read from its file without loading it.
#pragma once
#include "core/plugin/PluginError.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The fields of sdk/schema/plugin.fbs.
struct Manifest {
  std::string name, version, description, compilerAbi, triplet, minDriver, driverModule, sanitizer;
  std::vector<std::string> kindNames, isa, pciVendors, deviceNodes, featuresRequired, featuresOptional,
      variants;
  uint32_t abiMajor = 0, builtMinor = 0, needsMinor = 0;
  uint32_t kinds = 0; // TSR_PLUGIN_*
  int32_t priority = 0;
};

/// Returns whether `name` can be a plugin's name, which is part of its file's name: 1 to 64 of a-z, 0-9, -
/// and _.
bool isPluginName(std::string_view name);

/// A manifest with the ELF facts of its file.
struct PluginFile {
  uint16_t machine = 0; // e_machine
  Manifest manifest;
};

/// The largest note that is read.
inline constexpr size_t kMaxNoteBytes = 64 * 1024;

/// Reads the note of the file open as `fd`. The file is untrusted: every field is checked, and only a few
/// kilobytes are read, whatever the file's size. The only side effect is on the file's offset.
PluginError readManifest(int fd, PluginFile &out);

/// Parses the note's payload, a size-prefixed FlatBuffer.
PluginError parseManifest(std::string_view payload, Manifest &out);

/// Returns the names of TSR_PLUGIN_* bits, as "backend, mapper".
std::string kindList(uint32_t kinds);
/// Returns the bit of a kind's name such as "backend", or 0 if there is no such kind.
uint32_t kindOf(std::string_view name);

} // namespace tessera
