// How many random cases a test tries: an eighth where a sanitizer makes each of them slow.
#pragma once

namespace tessera::layout {

constexpr int trials(int count) {
#if __has_feature(address_sanitizer)
  return count / 8;
#else
  return count;
#endif
}

} // namespace tessera::layout
