// Reads and writes the caller's structs. Their size identifies the header version the caller was built with.
#pragma once
#include "core/log/LastError.h"
#include <algorithm>
#include <cstring>

namespace tessera {

/// No struct of any version is larger. A larger size means that the field is uninitialised.
inline constexpr size_t kMaxStructBytes = 4096;

inline bool isStructSize(size_t size) { return size >= sizeof(size_t) && size <= kMaxStructBytes; }

/// Copies the caller's options over the defaults in `out`. If `options` is null, the defaults stay. Fields
/// that this library does not know must be 0.
template <class T> tsr_status_t readOptions(const T *options, T &out, const std::string &what = "options") {
  if (!options) return TSR_SUCCESS;
  size_t size = options->struct_size;
  if (!isStructSize(size)) return fail(TSR_EINVAL, what + ": struct_size is not set");
  auto bytes = reinterpret_cast<const unsigned char *>(options);
  if (size > sizeof(T) &&
      std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char b) { return b != 0; }))
    return fail(TSR_UNIMPLEMENTED, what + ": a field of a newer version is set");
  std::memcpy(&out, options, std::min(size, sizeof(T)));
  return TSR_SUCCESS;
}

/// Writes as much of `value` as the caller's struct can hold.
template <class T> tsr_status_t writeInfo(T value, T *info) {
  if (!info) return fail(TSR_EINVAL, "info is NULL");
  size_t size = info->struct_size;
  if (!isStructSize(size)) return fail(TSR_EINVAL, "info: struct_size is not set");
  value.struct_size = size;
  std::memcpy(static_cast<void *>(info), &value, std::min(size, sizeof(T)));
  return TSR_SUCCESS;
}

inline tsr_status_t requireOut(const void *pointer, const char *name) {
  return pointer ? TSR_SUCCESS : fail(TSR_EINVAL, std::string(name) + " is NULL");
}

} // namespace tessera
