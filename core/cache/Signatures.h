// Serializes signatures and definitions for the cache. Thread-safe.
#pragma once
#include "core/service/CompilerService.h"

namespace tessera::cache {

std::string writeSignatures(const std::vector<Signature> &);
/// The same for a definition.
std::string writeDefinition(const Definition &);
[[nodiscard]] bool readDefinition(std::string_view bytes, Definition &out);

/// Parses the output of writeSignatures. Returns false for any other bytes; `out` is then unspecified.
[[nodiscard]] bool readSignatures(std::string_view bytes, std::vector<Signature> &out);

} // namespace tessera::cache
