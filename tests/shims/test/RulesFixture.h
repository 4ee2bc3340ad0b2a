// The driver's interface with the shim behind it, called directly, and what it must report.
#pragma once
#include "tests/shims/test/Shim.h"
#include SHIM_VENDOR
#include <gmock/gmock.h>
#include <vector>

namespace tessera {

using shim::Vendor;
using testing::HasSubstr;
using testing::StartsWith;

inline uint64_t address(const void *p) { return reinterpret_cast<uint64_t>(p); }

class RulesTest : public testing::Test {
protected:
  void SetUp() override {
    Driver library({Vendor::kLibrary});
    ASSERT_TRUE(api.find(library)) << library.why();
    shim.configure("devices=2");
    ASSERT_EQ(api.init(0), 0);
    api.open();
    ASSERT_EQ(api.streamCreate(&stream, 1), 0);
    ASSERT_EQ(api.allocateBytes(&block, 4096), 0);
  }
  void TearDown() override {
    api.streamSynchronize(stream);
    api.streamDestroy(stream);
    if (block) api.releaseBytes(block);
    api.close();
    EXPECT_EQ(shim.leaks(), "");
  }
  Vendor::Driver::Function load(const char *name) {
    const std::string image = shim::contentsOf(Vendor::kImage);
    EXPECT_EQ(api.load(&module, image), 0);
    Vendor::Driver::Function out = nullptr;
    EXPECT_EQ(api.moduleFunction(&out, module, name), 0);
    return out;
  }
  int launchWith(Vendor::Driver::Function function, unsigned threads, unsigned shared,
                 std::vector<uint64_t> values, size_t bytes, unsigned blocksAlongY = 1) {
    return api.launchWith(stream, function, threads, shared, values.data(), bytes, blocksAlongY);
  }
  void *at(size_t offset) const { return static_cast<char *>(block) + offset; }
  /// The only breach so far is one of this rule.
  void broke(const char *rule) {
    const std::string found = shim.breaches();
    EXPECT_THAT(found, StartsWith(std::string(rule) + ": "));
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }

  const shim::Shim shim{Vendor::kLibrary};
  Vendor::Api api;
  Vendor::Driver::Stream stream = nullptr;
  Vendor::Driver::Module module = nullptr;
  void *block = nullptr;
  unsigned char host[4096] = {};
};

} // namespace tessera
