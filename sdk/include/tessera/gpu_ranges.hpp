// The ranges of a vendor's profiler, which shows those of range_push between kernels and copies.
#pragma once
#include <concepts>
#include <tessera/driver.hpp>

namespace tessera::gpu {

/// A driver class names the library, and its functions that begin and end a range of the calling thread.
template <class D>
concept HasVendorRanges = requires {
  { D::rangeLibrary() } -> std::same_as<Driver>;
  { D::kPushRange } -> std::convertible_to<const char *>;
  { D::kPopRange } -> std::convertible_to<const char *>;
};

/// Constant after the first use, which loads the library. Most machines have none; then there is nothing to
/// show ranges to, and both functions are null.
template <class D> class VendorRanges {
public:
  static void push(const char *name) {
    if (const auto &own = get(); own.push_) (void)own.push_(name);
  }
  static void pop() {
    if (const auto &own = get(); own.pop_) (void)own.pop_();
  }

private:
  VendorRanges() {
    if constexpr (HasVendorRanges<D>) {
      Driver library = D::rangeLibrary();
      if (!library.has(push_, D::kPushRange) || !library.has(pop_, D::kPopRange))
        push_ = nullptr, pop_ = nullptr;
    }
  }
  static const VendorRanges &get() {
    static const VendorRanges own;
    return own;
  }

  int (*push_)(const char *) = nullptr;
  int (*pop_)() = nullptr;
};

} // namespace tessera::gpu
