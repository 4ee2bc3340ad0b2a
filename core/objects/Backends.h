// The registered backends, and the choice of a context's backend (decision D18).
#pragma once
#include "core/plugin/Registry.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/backend.hpp>

namespace tessera {

/// Keeps the backend alive: its plugin cannot be unregistered while a reference exists.
using BackendRef = std::shared_ptr<Backend>;

struct Selection {
  BackendRef backend;
  const char *reason = ""; // what decided the choice, for the log
};

/// Chooses `requested`, else the backend set by setSelectedBackend, else TESSERA_BACKEND, else the usable
/// backend with the highest priority and then score; the CPU is always available. When a named backend is
/// unusable, that is an error: no other backend is tried.
tsr_status_t selectBackend(const char *requested, Selection &out, std::string &why);

/// Also refuses a `device` that the backend does not have. Sets the last error on failure.
tsr_status_t selectDevice(const char *requested, int32_t device, Selection &out);

/// Makes `name` precede TESSERA_BACKEND; null removes the selection. Has no effect when it fails.
tsr_status_t setSelectedBackend(const char *name, std::string &why);

/// One row of the table of backends. The texts live as long as the process.
struct BackendRow {
  const char *name, *description, *reason; // reason: why it cannot be used, or ""
  BackendRef backend;                      // null: unusable
};
/// Row `index`: first the four backends Tessera knows, then every other backend found. Probes those not
/// probed yet. Returns nullopt past the last row; there are fewer than `count` rows only after a plugin was
/// unregistered.
std::optional<BackendRow> backendRow(size_t index, size_t &count);

/// Registers a plugin of the program. The automatic choice is made again.
tsr_status_t addPlugin(tsr_plugin_query_fn query, std::string &why);
/// Destroys the plugin's backend, calls its shutdown and removes it. TSR_ENOTFOUND: no such plugin was
/// registered. TSR_EINVAL: it is in use; nothing changes. Clears a selection of it by setSelectedBackend.
tsr_status_t removePlugin(const std::string &name, std::string &why);

/// The load report, which `tsr backends` prints, as JSON (docs/plugins.md). With `probe`, backends that have
/// not been asked for their devices are asked; with `all`, every backend that may run is asked again, and the
/// report shows these answers next to the reason why a backend is not used.
std::string loadReport(bool probe, bool all = false);

} // namespace tessera
