#include "tools/tsr/Examples.h"
#include <algorithm>

namespace tessera::cli {

namespace {
constexpr CodeExample kExamples[] = {
#include "ExampleRows.inc" // generated from explain/ by CMake
};
} // namespace

std::span<const CodeExample> codeExamples() { return kExamples; }

const CodeExample *exampleOf(std::string_view code) {
  const auto *found = std::ranges::find(kExamples, code, &CodeExample::code);
  return found == std::end(kExamples) ? nullptr : found;
}

} // namespace tessera::cli
