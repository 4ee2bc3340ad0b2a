// Memory that detects accesses past its bounds: its end is followed by an inaccessible page, and a margin
// before its start holds a pattern.
#pragma once
#include "tools/tsr-conformance/Check.h"
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace tessera::kit {

class Guarded {
public:
  explicit Guarded(size_t size) : size_(size) {
    // The inaccessible page begins where the struct ends, or at most 7 bytes later; those bytes hold the
    // pattern.
    const size_t rounded = (size + 7) / 8 * 8;
    pages_ = (rounded + kMargin + kPage - 1) / kPage * kPage;
    base_ = static_cast<unsigned char *>(
        mmap(nullptr, pages_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(base_ + pages_, kPage, PROT_NONE);
    begin_ = base_ + pages_ - rounded;
    std::memset(base_, kPattern, pages_);
    std::memset(begin_, 0, size_);
  }
  ~Guarded() { munmap(base_, pages_ + kPage); }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;

  template <class T> T &as() { return *reinterpret_cast<T *>(begin_); }
  size_t size() const { return size_; }
  void fill(int byte) { std::memset(begin_, byte, size_); }
  /// Copies the first `bytes` of `value` and sets their struct_size to `bytes`.
  template <class T> void put(const T &value, uint64_t bytes) {
    std::memcpy(begin_, &value, bytes);
    std::memcpy(begin_, &bytes, sizeof bytes);
  }
  /// Fails when bytes around the memory were written. A write farther past the end has already ended the
  /// process.
  void expectUntouched(const char *who, const char *fix) const {
    for (const unsigned char *p = base_; p < base_ + pages_; ++p)
      if ((p < begin_ || p >= begin_ + size_) && *p != kPattern)
        throw Failure{std::string(who) + " writes only the " + std::to_string(size_) + " bytes given",
                      "a write at byte " + std::to_string(p - begin_), fix};
  }

private:
  static constexpr size_t kPage = 4096, kMargin = 64;
  static constexpr int kPattern = 0xC7;
  size_t size_, pages_;
  unsigned char *base_, *begin_;
};

} // namespace tessera::kit
