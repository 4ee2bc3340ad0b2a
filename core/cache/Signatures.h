// Signatures as bytes, for the cache. Thread-safe.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera::cache {

std::string writeSignatures(const std::vector<Signature> &);
/// False, with `out` in any state, when the bytes are not what writeSignatures makes.
[[nodiscard]] bool readSignatures(std::string_view bytes, std::vector<Signature> &out);

} // namespace tessera::cache
