// Bundles that contain an image built by the C compiler (FixtureKernels.c).
#pragma once
#include "core/bundle/Bundle.h"
#include <fstream>
#include <iterator>

namespace tessera::test {

/// Returns the bytes of a file; empty if it cannot be read.
inline std::string fileBytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Metadata of a fixture kernel that writes 42 to its result.
inline std::string fixtureMetadata(const std::string &kernel) {
  return "{name: " + kernel +
         ", target: cpu, numerics: standard, params: [{name: out, kind: result, dtype: i64, dims: ['1'], "
         "access: write}], launch: {}, fallbacks: ['fp4 runs as fp6']}";
}

/// Returns an image with the named kernels.
inline BundleImage fixtureImage(const std::string &target, const std::vector<std::string> &kernels) {
  BundleImage image;
  image.target = target;
  image.data = fileBytes(TESSERA_FIXTURE_KERNELS);
  for (const std::string &kernel : kernels)
    image.entries.push_back({kernel, EntryKind::Kernel, fixtureMetadata(kernel)});
  return image;
}

} // namespace tessera::test
