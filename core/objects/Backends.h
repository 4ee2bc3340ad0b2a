// Which backends there are, and which one a context gets (decision D18).
#pragma once
#include "core/plugin/Registry.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/backend.hpp>

namespace tessera {

/// Who has one uses the backend; its plugin is not unregistered meanwhile.
using BackendRef = std::shared_ptr<Backend>;

struct Selection {
  BackendRef backend;
  const char *reason = ""; // what decided, for the log
};

/// Chooses: `requested`, else what setSelectedBackend named, else TESSERA_BACKEND, else the usable one of the
/// highest priority and then score; the CPU is always there. A name that cannot be had is an error and
/// nothing else is tried.
tsr_status_t selectBackend(const char *requested, Selection &out, std::string &why);

/// The same, and refuses a `device` the backend does not have. Keeps the last error on failure.
tsr_status_t selectDevice(const char *requested, int32_t device, Selection &out);

/// From now on `name` stands before TESSERA_BACKEND; null: no longer. Changes nothing when it fails.
tsr_status_t setSelectedBackend(const char *name, std::string &why);

/// One line of the table of backends. The texts stand for ever.
struct BackendRow {
  const char *name, *description, *reason; // reason: why it cannot be used, or ""
  BackendRef backend;                      // null: cannot be used
};
/// The four Tessera knows, then every other that was found. Probes what has not been probed. nullopt past the
/// last of the `count` rows, of which there are fewer only when a plugin was unregistered.
std::optional<BackendRow> backendRow(size_t index, size_t &count);

/// Takes in a plugin of the program's own; the automatic choice is made anew.
tsr_status_t addPlugin(tsr_plugin_query_fn query, std::string &why);
/// Destroys its backend, calls its shutdown and forgets it. TSR_ENOTFOUND: no such plugin was added;
/// TSR_EINVAL: it is in use, and nothing happens. A selection of it by setSelectedBackend ends.
tsr_status_t removePlugin(const std::string &name, std::string &why);

/// The load report: what `tsr backends` shows, as JSON (docs/plugins.md). With `probe`, backends that have
/// not been asked for their devices are; with `all`, every one that may run is asked now, and that is what
/// the report says of it, beside why it is not used.
std::string loadReport(bool probe, bool all = false);

} // namespace tessera
