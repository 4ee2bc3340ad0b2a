// Rules for a bundle's contents beyond the schema.
#pragma once
#include "core/bundle/Bundle.h"

namespace tessera {

inline constexpr size_t kMaxBundleBytes = size_t{1} << 30; // FlatBuffers offsets are limited to 2 GiB
inline constexpr size_t kMaxImages = 1024, kMaxEntries = 65536, kMaxNameBytes = 1024,
                        kMaxDocumentBytes = size_t{16} << 20;

/// Checks limits, names and duplicates. Returns "" if all rules hold, else what is wrong and where.
std::string brokenRule(const Bundle &bundle);

} // namespace tessera
