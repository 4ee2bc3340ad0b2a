// Bundles: the compiled code of one source for any number of targets, as bytes. Freshly compiled, cached and
// shipped code have the same form. The layout is defined in sdk/schema/bundle.fbs, and its rules in
// docs/bundles.md.
//
// Static library tessera-bundle, used by the runtime, the compiler and the tools. All functions may be called
// from any thread; the objects are values. Only std::bad_alloc is thrown.
#pragma once
#include "core/bundle/ImageFormat.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Version of the format and of what its images expect of the runtime. A reader accepts its own major version
/// with any minor version up to its own.
inline constexpr uint16_t kBundleAbiMajor = 1, kBundleAbiMinor = 0;

enum class EntryKind : uint8_t { Kernel, Function };
const char *name(EntryKind kind); // "kernel"

struct BundleEntry {
  std::string name; // a kernel's symbol in the image, or a function's name
  EntryKind kind = EntryKind::Kernel;
  std::string metadata; // YAML; see core/metadata/KernelMetadata.h
};

struct BundleImage {
  std::string target; // "cpu:x86-64-v3"
  std::vector<std::string>
      features; // CPU: required processor features ("avx2") of sdk/schema/cpu_features.def
  ImageFormat format = ImageFormat::Elf;
  std::string data;
  std::string hash; // of data, as 32 hexadecimal digits; computed by writeBundle
  std::vector<BundleEntry> entries;
};

struct BundleIr {
  std::string level, entry, text; // "graph", the name of the entry, MLIR
};

struct Bundle {
  uint16_t abiMajor = kBundleAbiMajor, abiMinor = kBundleAbiMinor;
  std::string producer, sourceName, decisions;
  std::vector<BundleImage> images;
  std::vector<BundleIr> ir;
};

struct BundleError {
  std::string code;    // E_BUNDLE_...
  std::string message; // what is wrong, where, and what was expected
  std::string hint;    // how to fix it
  std::string text() const { return "[" + code + "] " + message + (hint.empty() ? "" : "; " + hint); }
};

/// Returns whether the bytes have a bundle's file identifier. Nothing else is checked.
bool isBundle(std::string_view bytes);

/// Serializes a bundle. Returns false with E_BUNDLE_CORRUPT if the contents break a rule that readBundle
/// checks.
[[nodiscard]] bool writeBundle(const Bundle &bundle, std::string &bytes, BundleError &error);

/// Reads a bundle from untrusted bytes. Checks structure, version, checksum, hashes, names and limits before
/// it uses anything else. On failure returns false with E_BUNDLE_FORMAT, E_BUNDLE_TRUNCATED, E_BUNDLE_CORRUPT
/// or E_BUNDLE_VERSION. `name` appears in the message.
[[nodiscard]] bool readBundle(std::string_view bytes, const std::string &name, Bundle &bundle,
                              BundleError &error);

/// Recomputes the checksum of a structurally valid bundle. Returns false if the structure is not valid.
/// Fuzzers and tests use it to reach the checks after the checksum.
bool resealBundle(std::string &bytes);

/// Returns XXH3-128 of `bytes` as 32 hexadecimal digits.
std::string contentHash(std::string_view bytes);

} // namespace tessera
