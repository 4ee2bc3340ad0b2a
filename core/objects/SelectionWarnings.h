// Warnings about settings that the choice of a backend did not use.
#pragma once
#include <string_view>

namespace tessera {

/// Logs, each text once per process, what has no effect (W_ENVIRONMENT): names in TESSERA_BACKENDS_DISABLE
/// that no backend has, and TESSERA_ARCH where neither `backend`, which was chosen, nor TESSERA_BACKEND is an
/// emulated one. Call it without locks held.
void warnAboutUnusedSettings(std::string_view backend);

} // namespace tessera
