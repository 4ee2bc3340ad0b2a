// Contents for tensors that no file gives, where a kernel is measured.
#pragma once
#include "tools/tsr/Bind.h"

namespace tessera::cli {

/// Gives each tensor without a file contents: one that is read random ones from a fixed seed, and one that is
/// only written bits that are all set, NaN or -1. Returns false when memory runs out.
[[nodiscard]] bool fillArguments(Binding &);

} // namespace tessera::cli
