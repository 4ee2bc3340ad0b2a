// Bundles as bytes: written bundles can be read, and damaged ones are never accepted as valid.
#include "core/bundle/Bundle.h"
#include "core/test/Fixture.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;

namespace {

/// A small bundle that uses every field.
Bundle sample() {
  Bundle b;
  b.producer = "0.1.0-abc";
  b.sourceName = "saxpy.py";
  b.decisions = "{}";
  BundleImage cpu;
  cpu.target = "cpu:x86-64-v3";
  cpu.features = {"avx2", "fma"};
  cpu.data = std::string("\x7f"
                         "ELF\0machine code",
                         18);
  cpu.entries = {{"saxpy", EntryKind::Kernel, "name: saxpy"}, {"mlp", EntryKind::Function, "name: mlp"}};
  BundleImage gpu;
  gpu.target = "ptx:sm_90";
  gpu.format = ImageFormat::Ptx;
  gpu.data = ".version 8.4";
  gpu.entries = {{"mlp.g0", EntryKind::Kernel, "name: mlp.g0"}};
  b.images = {cpu, gpu};
  b.ir = {{"graph", "saxpy", "module {}"}};
  return b;
}

std::string written(const Bundle &bundle) {
  std::string bytes;
  BundleError error;
  EXPECT_TRUE(writeBundle(bundle, bytes, error)) << error.text();
  return bytes;
}

BundleError refusal(std::string_view bytes) {
  Bundle bundle;
  BundleError error;
  EXPECT_FALSE(readBundle(bytes, "a.tsrb", bundle, error));
  EXPECT_FALSE(error.message.empty());
  return error;
}

bool says(const BundleError &error, const char *code, const char *text) {
  return error.code == code && error.message.find(text) != std::string::npos;
}

TEST(Bundle, ReadsBack) {
  Bundle in = sample(), out;
  BundleError error;
  ASSERT_TRUE(readBundle(written(in), "a.tsrb", out, error)) << error.text();
  EXPECT_EQ(out.producer, in.producer);
  EXPECT_EQ(out.sourceName, in.sourceName);
  EXPECT_EQ(out.decisions, in.decisions);
  ASSERT_EQ(out.images.size(), 2u);
  EXPECT_EQ(out.images[0].target, "cpu:x86-64-v3");
  EXPECT_EQ(out.images[0].features, in.images[0].features);
  EXPECT_EQ(out.images[0].data, in.images[0].data);
  EXPECT_EQ(out.images[0].hash, contentHash(in.images[0].data));
  ASSERT_EQ(out.images[0].entries.size(), 2u);
  EXPECT_EQ(out.images[0].entries[1].name, "mlp");
  EXPECT_EQ(out.images[0].entries[1].kind, EntryKind::Function);
  EXPECT_EQ(out.images[0].entries[1].metadata, "name: mlp");
  EXPECT_EQ(out.images[1].format, ImageFormat::Ptx);
  ASSERT_EQ(out.ir.size(), 1u);
  EXPECT_EQ(out.ir[0].text, "module {}");
}

TEST(Bundle, HashIsXxh3) { // XXH3_128bits of the empty input, from the xxHash specification
  EXPECT_EQ(contentHash(""), "99aa06d3014798d86001c324468d497f");
}

TEST(Bundle, TheSameContentsGiveTheSameBytes) { EXPECT_EQ(written(sample()), written(sample())); }

TEST(Bundle, MayBeAtAnyAddress) {
  std::string bytes = written(sample());
  for (size_t shift = 0; shift < 8; ++shift) {
    std::string moved = std::string(shift, '.') + bytes;
    Bundle out;
    BundleError error;
    EXPECT_TRUE(readBundle(std::string_view(moved).substr(shift), "a.tsrb", out, error)) << error.text();
  }
}

TEST(Bundle, EveryLengthButItsOwnIsRefused) {
  std::string bytes = written(sample());
  for (size_t n = 0; n < bytes.size(); ++n) {
    BundleError error = refusal(std::string_view(bytes).substr(0, n));
    EXPECT_EQ(error.code, n < 12 ? "E_BUNDLE_FORMAT" : "E_BUNDLE_TRUNCATED") << n;
  }
  EXPECT_TRUE(says(refusal(bytes + "x"), "E_BUNDLE_CORRUPT", "1 bytes follow"));
}

TEST(Bundle, EveryFlippedBitIsRefused) {
  std::string bytes = written(sample());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_EQ(refusal(bad).code.substr(0, 9), "E_BUNDLE_") << "byte " << i << " bit " << bit;
    }
}

/// The same with a valid checksum: accepted bundles obey the rules, and nothing crashes.
TEST(Bundle, EveryFlippedBitWithAValidChecksumIsRefusedOrValid) {
  std::string bytes = written(sample());
  int accepted = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      if (!resealBundle(bad)) continue;
      Bundle out;
      BundleError error;
      std::string again;
      if (!readBundle(bad, "a.tsrb", out, error)) continue;
      EXPECT_TRUE(writeBundle(out, again, error)) << error.text();
      ++accepted;
    }
  EXPECT_GT(accepted, 0); // names and documents may differ
}

TEST(Bundle, ErrorsNameTheCause) {
  EXPECT_TRUE(says(refusal(""), "E_BUNDLE_FORMAT", "a.tsrb: not a Tessera bundle"));
  EXPECT_TRUE(says(refusal("# a Python file, not a bundle"), "E_BUNDLE_FORMAT", "TSRB"));
  Bundle newer = sample();
  newer.abiMinor = kBundleAbiMinor + 1;
  EXPECT_TRUE(
      says(refusal(written(newer)), "E_BUNDLE_VERSION", "its ABI is 1.1, this library reads 1.0 to 1.0"));
  newer.abiMajor = 2;
  EXPECT_TRUE(says(refusal(written(newer)), "E_BUNDLE_VERSION", "its ABI is 2.1"));
  std::string bytes = written(sample());
  size_t at = bytes.find("machine code");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'M';
  EXPECT_TRUE(says(refusal(bytes), "E_BUNDLE_CORRUPT", "checksum"));
  ASSERT_TRUE(resealBundle(bytes));
  EXPECT_TRUE(says(refusal(bytes), "E_BUNDLE_CORRUPT", "the image for cpu:x86-64-v3 does not have its hash"));
}

TEST(Bundle, RulesApplyToWriters) {
  auto broken = [](auto change) {
    Bundle bundle = sample();
    change(bundle);
    std::string bytes = "untouched";
    BundleError error;
    EXPECT_FALSE(writeBundle(bundle, bytes, error));
    EXPECT_EQ(bytes, "untouched");
    EXPECT_EQ(error.code, "E_BUNDLE_CORRUPT");
    return error.message;
  };
  auto has = [](const std::string &text, const char *part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images.clear(), b.ir.clear(); }), "neither an image nor IR"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].target = "cpu"; }), "not of the form BACKEND:NAME"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].data.clear(); }), "has no data"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[1].entries.clear(); }), "has no entries"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].features = {"a b"}; }), "CPU feature"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].entries[0].name = "a\nb"; }), "an invalid name"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].entries[1].name = "saxpy"; }),
                  "two entries for cpu:x86-64-v3 are named saxpy"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].entries[0].metadata.assign((16 << 20) + 1, ' '); }),
                  "metadata of saxpy is 16777217, at most 16777216"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.decisions.assign((16 << 20) + 1, ' '); }), "decisions"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images.resize(1025, b.images[0]); }), "number of images"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.images[0].entries.resize(65537, b.images[0].entries[0]); }),
                  "number of entries"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.ir[0].level = "target"; }), "no known level"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.ir[0].entry = ""; }), "entry name"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.ir.push_back(b.ir[0]); }), "two graph IR texts of saxpy"));
  EXPECT_TRUE(has(broken([](Bundle &b) { b.ir.resize(65537, b.ir[0]); }), "number of IR texts"));
}

} // namespace
