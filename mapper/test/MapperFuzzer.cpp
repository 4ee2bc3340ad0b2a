// Arbitrary bytes as a spec and as a file of decisions, which must be unchanged by writing and reading.
#include "mapper/host/DecisionFile.h"
#include "mapper/host/Spec.h"
#include <cstdlib>

using namespace tessera::mapping;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  Spec spec;
  SpecError error;
  if (parseSpec({text, 0}, spec, error)) {
    for (const Piece &piece : splitArguments(spec.arguments))
      if (piece.at > size || text.compare(piece.at, piece.text.size(), piece.text) != 0) abort();
  } else if (error.what.empty() || error.at > size || show(text, error).empty()) {
    abort();
  }
  auto decisions = readDecisions(text);
  if (!decisions) {
    if (decisions.error().message.empty()) abort();
    return 0;
  }
  const std::string written = writeDecisions(*decisions);
  auto again = readDecisions(written);
  if (!again || writeDecisions(*again) != written) abort();
  return 0;
}
