// Copies that bypass the caches, for results that are larger than the caches and not read again soon.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::inprocess {

/// Like memcpy, but with `stream` does not read the target's cache lines first. finishStreaming() must be
/// called before another thread is notified of the result.
inline void copyBytes(void *target, const void *source, size_t bytes, bool stream) {
#if defined(__x86_64__)
  if (stream) {
    auto *to = static_cast<char *>(target);
    auto *from = static_cast<const char *>(source);
    size_t head = -reinterpret_cast<uintptr_t>(to) & 63;
    if (head > bytes) head = bytes;
    std::memcpy(to, from, head);
    size_t at = head;
    for (; at + 64 <= bytes; at += 64)
      for (size_t i = 0; i < 64; i += 16)
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at + i)));
    std::memcpy(to + at, from + at, bytes - at);
    return;
  }
#endif
  if (target != source) std::memcpy(target, source, bytes);
}

inline void finishStreaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

} // namespace tessera::inprocess
