// Bundles: compiled code of one source for any number of targets, as bytes. One form for code compiled just
// now, cached, or shipped. The layout is sdk/schema/bundle.fbs, its rules are in docs/bundles.md.
//
// Static library tessera-bundle, used by the runtime, the compiler and the tools. Everything may be called
// from any thread; the objects are values. Nothing throws but std::bad_alloc.
#pragma once
#include "core/bundle/ImageFormat.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Version of the format and of what its images expect of the runtime. A reader takes its own major with any
/// minor up to its own.
inline constexpr uint16_t kBundleAbiMajor = 1, kBundleAbiMinor = 0;

enum class EntryKind : uint8_t { Kernel, Function };
const char *name(EntryKind kind); // "kernel"

struct BundleEntry {
  std::string name; // of a kernel: its symbol in the image; of a function: its name
  EntryKind kind = EntryKind::Kernel;
  std::string metadata; // YAML; see core/metadata/KernelMetadata.h
};

struct BundleImage {
  std::string target; // "cpu:x86-64-v3"
  std::vector<std::string>
      features; // CPU: what the processor must have ("avx2"), of sdk/schema/cpu_features.def
  ImageFormat format = ImageFormat::Elf;
  std::string data;
  std::string hash; // of data, 32 hexadecimal digits; made by writeBundle
  std::vector<BundleEntry> entries;
};

struct BundleIr {
  std::string level, entry, text; // "graph", the entry's name, MLIR
};

struct Bundle {
  uint16_t abiMajor = kBundleAbiMajor, abiMinor = kBundleAbiMinor;
  std::string producer, sourceName, decisions;
  std::vector<BundleImage> images;
  std::vector<BundleIr> ir;
};

struct BundleError {
  std::string code;    // E_BUNDLE_...
  std::string message; // what, where, what was expected
  std::string hint;    // how to mend it
  std::string text() const { return "[" + code + "] " + message + (hint.empty() ? "" : "; " + hint); }
};

/// Do the bytes claim to be a bundle? Looks at the file identifier only.
bool isBundle(std::string_view bytes);

/// Serializes. False, with E_BUNDLE_CORRUPT, when the contents break a rule that readBundle checks.
[[nodiscard]] bool writeBundle(const Bundle &bundle, std::string &bytes, BundleError &error);

/// Reads any bytes. Nothing of them is used before structure, version, checksum, hashes, names and limits are
/// found right: E_BUNDLE_FORMAT, _TRUNCATED, _CORRUPT or _VERSION else. `name` stands in the message.
[[nodiscard]] bool readBundle(std::string_view bytes, const std::string &name, Bundle &bundle,
                              BundleError &error);

/// Makes the checksum of a structurally sound bundle right again; false when it is not sound. For fuzzers and
/// tests, which reach what lies behind the checksum this way.
bool resealBundle(std::string &bytes);

/// XXH3-128 of `bytes` as 32 hexadecimal digits.
std::string contentHash(std::string_view bytes);

} // namespace tessera
