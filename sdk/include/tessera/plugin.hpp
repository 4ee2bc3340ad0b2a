// Plugins in C++: derive from Backend (backend.hpp) and write, in one source of a target made by CMake's
// tessera_add_plugin(),
//
//   TSR_PLUGIN(MyBackend);
//
// The rest comes from plugin.json. docs/plugins.md lists the rules; the C tables are in plugin.h.
#pragma once
#include <tessera/backend_thunks.hpp>
#include <tessera/plugin.h>
#include <tessera/thunk.hpp>
#if __has_include("tessera_manifest.h")
#include "tessera_manifest.h" // written by tessera_add_plugin
#endif

/// The object's one export: its name and versions from the manifest, its tables from the classes given, each
/// of which has a `tessera::thunk::offer` for what it derives from.
#define TSR_PLUGIN(...)                                                                                      \
  extern "C" __attribute__((visibility("default"))) int32_t tsrPluginQuery(const tsr_host_info_t *,          \
                                                                           tsr_plugin_info_t *info) {        \
    tsr_plugin_info_t out = {};                                                                              \
    out.abi_major = TSR_PLUGIN_ABI_MAJOR;                                                                    \
    out.built_minor = TSR_PLUGIN_ABI_MINOR;                                                                  \
    out.needs_minor = TSR_MANIFEST_NEEDS_MINOR;                                                              \
    out.kinds = TSR_MANIFEST_KINDS;                                                                          \
    out.name = TSR_MANIFEST_NAME;                                                                            \
    out.version = TSR_MANIFEST_VERSION;                                                                      \
    out.description = TSR_MANIFEST_DESCRIPTION;                                                              \
    out.features_required = TSR_MANIFEST_FEATURES_REQUIRED;                                                  \
    out.features_optional = TSR_MANIFEST_FEATURES_OPTIONAL;                                                  \
    out.compiler_abi = TSR_MANIFEST_COMPILER_ABI;                                                            \
    tessera::thunk::offerAll<__VA_ARGS__>(out);                                                              \
    tessera::thunk::copyOut(info, out);                                                                      \
    return TSR_SUCCESS;                                                                                      \
  }                                                                                                          \
  static_assert(true, "so that a semicolon may follow")
