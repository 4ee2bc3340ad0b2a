// A mapper behind the C table of plugin.h, as a C++ object.
#pragma once
#include "core/plugin/Registry.h"
#include <memory>
#include <string>
#include <tessera/mapper.hpp>

namespace tessera::mapping {

/// Checks the table (version, required slots) and wraps `mapper`, which it takes over on success. Null with
/// `why` filled. Hooks of the result throw MapperFailure; missing slots choose nothing.
std::unique_ptr<Mapper> wrap(const tsr_mapper_api_t *api, tsr_mp_mapper_t *mapper, std::string &why);

/// Makes a mapper with the table's `create`; null with status and `why` filled. It is one of the live
/// objects of `plugin`, whose table that is; null: the program's.
std::unique_ptr<Mapper> make(const tsr_mapper_api_t *api, const std::string &arguments, tsr_status_t &status,
                             std::string &why, PluginRef plugin = nullptr);

} // namespace tessera::mapping
