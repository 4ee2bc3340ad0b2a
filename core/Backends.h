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

/// Chooses: `requested`, else TESSERA_BACKEND, else the first available. A name that cannot be had is an
/// error and nothing else is tried.
tsr_status_t selectBackend(const char *requested, Backend *&out, std::string &why);

} // namespace tessera
