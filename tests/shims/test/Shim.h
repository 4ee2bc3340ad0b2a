// What the tests ask of a driver shim.
#pragma once
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

namespace tessera::shim {

/// The shim that is loaded as `library`. Ends the process if that is not a shim.
class Shim {
public:
  explicit Shim(const char *library) : object_(dlopen(library, RTLD_NOW)) {
    if (!object_ || !dlsym(object_, "tesseraShimTake")) ADD_FAILURE() << library << " is no shim", abort();
  }
  template <class F> F *find(const char *name) const {
    auto *out = reinterpret_cast<F *>(dlsym(object_, name));
    EXPECT_TRUE(out) << name;
    return out;
  }
  void configure(const char *text) const { find<void(const char *)>("tesseraShimConfigure")(text); }
  size_t events() const { return find<size_t()>("tesseraShimEvents")(); }
  /// The breaches since the last call, a line each: "rule: text".
  std::string breaches() const {
    std::string out(1 << 16, 0);
    find<void(char *, size_t)>("tesseraShimTake")(out.data(), out.size());
    return out.c_str();
  }
  std::string leaks() const {
    find<void()>("tesseraShimExpectNothingLeft")();
    return breaches();
  }

private:
  void *object_;
};

/// Reads a byte that a copy may still write, which is the point of the test: no race that ThreadSanitizer
/// should report.
[[gnu::noinline, clang::no_sanitize("thread")]] inline unsigned char peek(const volatile unsigned char *at) {
  return *at;
}

inline std::string contentsOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace tessera::shim
