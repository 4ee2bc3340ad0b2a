// Boost.DLL is used in this file only, through the overloads that report errors instead of throwing.
#define BOOST_DLL_USE_STD_FS
#include "core/plugin/Loading.h"
#include "core/plugin/Inspect.h"
#include "core/plugin/PluginBackend.h"
#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <tessera/thunk.hpp>

namespace tessera {
namespace {

constexpr const char *kQuery = "tsrPluginQuery";

std::string number(uint32_t n) { return std::to_string(n); }

template <class Table>
PluginError checkTable(const Table *table, uint32_t bit, uint32_t kinds, uint32_t major, const char *what) {
  if (!(kinds & bit)) return {};
  if (!table)
    return {refusal::kSlot, std::string("it declares kind ") + what + " but has no table for it", ""};
  if (table->version_major != major)
    return {refusal::kInterface,
            std::string("its ") + what + " interface is " + number(table->version_major) + "." +
                number(table->version_minor) + ", this runtime's is " + number(major),
            table->version_major > major ? "upgrade libtessera1" : "rebuild the plugin"};
  return {};
}

} // namespace

PluginError checkTables(const tsr_plugin_info_t &info) {
  const uint32_t k = info.kinds;
  for (PluginError e :
       {checkTable(info.backend, TSR_PLUGIN_BACKEND, k, TSR_BACKEND_API_MAJOR, "backend"),
        checkTable(info.mapper, TSR_PLUGIN_MAPPER, k, TSR_MAPPER_API_MAJOR, "mapper"),
        checkTable(info.collective, TSR_PLUGIN_COLLECTIVE, k, TSR_COLLECTIVE_API_MAJOR, "collective"),
        checkTable(info.numerics, TSR_PLUGIN_NUMERICS, k, TSR_NUMERICS_API_MAJOR, "numerics"),
        checkTable(info.codegen, TSR_PLUGIN_CODEGEN, k, TSR_CODEGEN_API_MAJOR, "codegen")})
    if (e) return e;
  std::string missing;
  auto need = [&](bool there, const char *name) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  if (k & TSR_PLUGIN_BACKEND) {
    missing = missingSlots(thunk::copyIn(info.backend));
    need(info.probe, "probe");
  }
  if (k & TSR_PLUGIN_MAPPER) {
    const auto api = thunk::copyIn(info.mapper);
    need(api.create, "create"), need(api.destroy, "destroy");
  }
  if (k & TSR_PLUGIN_COLLECTIVE) {
    const auto api = thunk::copyIn(info.collective);
    need(api.comm_create, "comm_create"), need(api.comm_destroy, "comm_destroy");
    need(api.comm_info, "comm_info"), need(api.run, "run");
  }
  if (k & TSR_PLUGIN_NUMERICS) need(thunk::copyIn(info.numerics).profile, "profile");
  if (k & TSR_PLUGIN_CODEGEN) {
    const auto api = thunk::copyIn(info.codegen);
    need(api.target, "target"), need(api.compile, "compile");
  }
  if (!missing.empty()) return {refusal::kSlot, "required slots are missing: " + missing, ""};
  return {};
}

bool askPlugin(tsr_plugin_query_fn query, Plugin &out, PluginError &error) {
  // The guard bytes after the struct reveal a plugin that writes past its end.
  struct {
    tsr_plugin_info_t info;
    unsigned char guard[256];
  } given;
  std::memset(&given, 0, sizeof given);
  std::memset(given.guard, 0xa5, sizeof given.guard);
  given.info.struct_size = sizeof given.info;
  thunk::Text why; // a hand-written query may throw
  const int32_t status = thunk::guard(why, [&](std::string &) { return query(&pluginHost(), &given.info); });
  for (unsigned char byte : given.guard)
    if (byte != 0xa5) {
      error = {refusal::kQuery, "its query wrote past the end of tsr_plugin_info_t", ""};
      return false;
    }
  if (status != TSR_SUCCESS) {
    error = {refusal::kQuery,
             "its query returned status " + std::to_string(status) +
                 (why.str().empty() ? "" : ": " + why.str()),
             ""};
    return false;
  }
  // All fields of the oldest contract must be present; fields added since may be missing.
  constexpr uint64_t least = offsetof(tsr_plugin_info_t, numerics) + sizeof(tsr_plugin_info_t::numerics);
  if (given.info.struct_size < least || given.info.struct_size > sizeof given.info) {
    error = {refusal::kQuery,
             "its query returned a struct_size of " + std::to_string(given.info.struct_size) +
                 " bytes, expected " + std::to_string(least) +
                 (least < sizeof given.info ? " to " + std::to_string(sizeof given.info) : ""),
             "set struct_size to the size that was filled, as thunk::copyOut() does"};
    return false;
  }
  if (!given.info.name || !given.info.version) {
    error = {refusal::kQuery, "its query did not set the name or the version", ""};
    return false;
  }
  out.info = given.info;
  for (const char **s : {&out.info.description, &out.info.features_required, &out.info.features_optional,
                         &out.info.compiler_abi})
    if (!*s) *s = "";
  out.name = out.info.name;
  out.version = out.info.version;
  return true;
}

bool queryPlugin(tsr_plugin_query_fn query, Plugin &out, PluginError &error) {
  if (!askPlugin(query, out, error)) return false;
  error = checkTables(out.info);
  return !error;
}

std::unique_ptr<Plugin> loadPluginFile(const std::string &path, const Manifest &manifest,
                                       PluginError &error) {
  namespace dll = boost::dll;
  // Never unmapped: the plugin's threads and destructors may outlive every user.
  const auto mode =
      static_cast<dll::load_mode::type>(static_cast<unsigned>(dll::load_mode::rtld_now) |
                                        static_cast<unsigned>(dll::load_mode::rtld_local) | RTLD_NODELETE);
  std::error_code failed;
  dll::shared_library object(path, failed, mode);
  if (failed) { // dlerror() is more specific than the error code
    void *again = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char *why = again ? nullptr : dlerror();
    error = {refusal::kLoad, "it cannot be loaded: " + (why ? std::string(why) : failed.message()),
             "install what it needs (ldd " + path + ")"};
    return nullptr;
  }
  if (!object.has(kQuery)) {
    error = {refusal::kNoExport, std::string("it does not export ") + kQuery,
             "write TSR_PLUGIN(...) in one of its sources"};
    return nullptr;
  }
  std::string extra;
  for (const std::string &name : exportedSymbols(static_cast<const link_map *>(object.native())))
    if (name != kQuery) extra += (extra.empty() ? "" : ", ") + name;
  if (!extra.empty()) {
    if (extra.size() > 200) extra = extra.substr(0, 200) + "...";
    error = {refusal::kExtraExport, std::string("it exports more than ") + kQuery + ": " + extra,
             "link it with tessera_add_plugin(), which hides the rest"};
    return nullptr;
  }
  auto plugin = std::make_unique<Plugin>();
  plugin->path = path;
  auto query = reinterpret_cast<tsr_plugin_query_fn>(dlsym(object.native(), kQuery));
  if (!queryPlugin(query, *plugin, error)) return nullptr;
  if ((error = compareWithNote(manifest, plugin->info))) return nullptr;
  return plugin;
}

} // namespace tessera
