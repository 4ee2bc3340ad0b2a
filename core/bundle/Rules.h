// What a bundle's contents must obey beyond the schema.
#pragma once
#include "core/bundle/Bundle.h"

namespace tessera {

inline constexpr size_t kMaxBundleBytes = size_t{1} << 30; // FlatBuffers' offsets end at 2 GiB
inline constexpr size_t kMaxImages = 1024, kMaxEntries = 65536, kMaxNameBytes = 1024,
                        kMaxDocumentBytes = size_t{16} << 20;

/// Limits, names, duplicates. Empty when all is well, else what is wrong and where.
std::string brokenRule(const Bundle &bundle);

} // namespace tessera
