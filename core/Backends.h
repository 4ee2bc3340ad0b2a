// Which backends there are, and which one a context gets (decision D18).
#pragma once
#include <string>
#include <string_view>
#include <tessera/backend.hpp>

namespace tessera {

struct BackendEntry {
  const char *name, *description;
  Backend *(*get)();  // null: no runtime half is installed
  const char *reason; // why it cannot be used, or ""
};

/// Rows in order of preference among equals; ends with the CPU, which is always there.
const BackendEntry *backendTable(size_t &count);

struct Selection {
  Backend *backend = nullptr;
  const char *reason = ""; // what decided, for the log
};

/// Chooses: `requested`, else what setSelectedBackend named, else TESSERA_BACKEND, else the first available.
/// A name that cannot be had is an error and nothing else is tried.
tsr_status_t selectBackend(const char *requested, Selection &out, std::string &why);

/// The same, and refuses a `device` the backend does not have. Keeps the last error on failure.
tsr_status_t selectDevice(const char *requested, int32_t device, Selection &out);

/// From now on `name` stands before TESSERA_BACKEND; null: no longer. Changes nothing when it fails.
tsr_status_t setSelectedBackend(const char *name, std::string &why);

} // namespace tessera
