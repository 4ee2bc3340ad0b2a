// Any bytes: a document that is accepted must survive being written and read again.
#include "core/KernelMetadata.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace tessera;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  KernelMetadata m;
  std::string why;
  if (KernelMetadata::fromYaml(text, m, why)) {
    KernelMetadata again;
    if (!KernelMetadata::fromYaml(m.toYaml(), again, why) || again.toYaml() != m.toYaml()) abort();
  } else if (why.empty()) {
    abort();
  }
  IndexExpr expr;
  if (IndexExpr::parse(text, {"M", "N", "B*H"}, expr, why)) {
    const int64_t slots[] = {INT64_MIN, -1, 7};
    int64_t out;
    (void)expr.evaluate(slots, out);
  }
  return 0;
}
