#include "core/plugin/Profiles.h"
#include "core/config/Config.h"
#include "core/config/Names.h"
#include "core/log/Log.h"
#include "core/plugin/Registry.h"
#include "core/support/NearestName.h"
#include <algorithm>
#include <cctype>
#include <tessera/thunk.hpp>

namespace tessera {
namespace {

constexpr uint32_t kMostProfiles = 256; // per plugin, in case its list does not end

/// Adds the plugin's profiles. If two plugins offer the same name, the first one keeps it.
void add(const Plugin &plugin, std::vector<Profile> &out) {
  const auto api = thunk::copyIn(plugin.info.numerics);
  auto warn = [&](const std::string &text) {
    log(TSR_LOG_WARNING, "W_PLUGIN", "plugin " + plugin.name + ": " + text);
  };
  for (uint32_t i = 0;; ++i) {
    tsr_numerics_profile_t row{};
    row.struct_size = sizeof row;
    thunk::Text why; // tables of plugin.hpp do not throw, but hand-written ones may
    const int32_t status = thunk::guard(why, [&](std::string &) { return api.profile(i, &row); });
    if (status == TSR_ENOTFOUND) return;
    if (status != TSR_SUCCESS)
      return warn("its numerics profile " + std::to_string(i) + " failed with status " +
                  std::to_string(status) + (why.str().empty() ? "" : ": " + why.str()) +
                  "; it and those after it are left out");
    if (i == kMostProfiles)
      return warn("it lists more than " + std::to_string(kMostProfiles) +
                  " numerics profiles; the others are left out");
    const std::string name = row.name ? row.name : "";
    const char *wrong = nullptr;
    if (!isProfileName(name))
      wrong = "is not a valid name: 1 to 64 of a-z, 0-9, - and _, beginning with a letter";
    else if (std::any_of(out.begin(), out.end(), [&](const Profile &p) { return p.name == name; }))
      wrong = "is already defined by another plugin";
    if (wrong) {
      warn("numerics profile '" + name + "' " + wrong + "; it is left out");
      continue;
    }
    out.push_back(
        {name,
         plugin.name,
         {row.contraction != 0, row.reassociation != 0, row.approximate != 0, row.reduced_multiply != 0,
          row.unordered_atomics != 0, row.fixed_reductions != 0, row.frozen_tunables != 0}});
  }
}

/// Returns every profile. `failed` collects the errors of plugins that cannot be used.
std::vector<Profile> allProfiles(std::string &failed) {
  std::vector<Profile> out;
  for (const Candidate &c : surveyPlugins(TSR_PLUGIN_NUMERICS, /*probe=*/false)) {
    std::string why;
    if (c.error) {
      why = c.error.render(c.path);
    } else if (auto plugin = loadPlugin(TSR_PLUGIN_NUMERICS, c.name, why)) {
      add(*plugin, out);
      continue;
    }
    if ((c.kinds() & TSR_PLUGIN_NUMERICS) || c.path.find("/libtessera-numerics-") != std::string::npos)
      failed += "; " + why;
  }
  return out;
}

} // namespace

Expected<Profile> chooseProfile(const std::string &asked) {
  std::string name = asked, from = "numerics";
  if (name.empty()) {
    if (std::string wrong = configError(); !wrong.empty()) return Error{"E_CONFIG", wrong, ""};
    Setting found = setting("TESSERA_NUMERICS");
    name = std::move(found.value);
    from = std::move(found.from);
  }
  if (name.empty()) name = "standard";
  // reserved names: plugins cannot define them, so none is loaded
  if (const NumericsPermissions *permits = builtinProfile(name)) return Profile{name, "profiles", *permits};
  std::string failed, list;
  const std::vector<Profile> all = allProfiles(failed);
  std::vector<std::string_view> names;
  for (const Profile &p : all) {
    if (p.name == name) return p;
    names.push_back(p.name);
    list += (list.empty() ? "" : ", ") + p.name;
  }
  Error error{"E_NUMERICS_UNKNOWN",
              from + " '" + name + "': there is no such profile; available: " + list + failed, ""};
  for (char &c : name)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (auto near = nearestName(name, names); !near.empty())
    error.hint = "did you mean " + std::string(near) + "?";
  return error;
}

} // namespace tessera
