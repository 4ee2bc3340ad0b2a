// Wraps a C table of plugin.h as a C++ mapper.
#pragma once
#include "core/plugin/Registry.h"
#include <memory>
#include <string>
#include <tessera/mapper.hpp>

namespace tessera::mapping {

/// Checks the table (version, required slots) and wraps `mapper`; takes ownership of it on success. Fills
/// `why` and returns null on failure. The hooks of the result throw Failure; a missing slot chooses nothing.
std::unique_ptr<Mapper> wrap(const tsr_mapper_api_t *api, tsr_mp_mapper_t *mapper, std::string &why);

/// Makes a mapper with the table's `create`. Fills `status` and `why` and returns null on failure. The mapper
/// keeps `plugin`, which provides the table, alive; null: the program provides the table.
std::unique_ptr<Mapper> make(const tsr_mapper_api_t *api, const std::string &arguments, tsr_status_t &status,
                             std::string &why, PluginRef plugin = nullptr);

} // namespace tessera::mapping
