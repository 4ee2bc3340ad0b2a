// Arbitrary bytes as a whole document, as the plan of a function, and as an expression. An accepted document
// must be unchanged by writing and reading.
#include "core/metadata/KernelMetadata.h"
#include <cstdlib>

using namespace tessera;

namespace {

const std::string kFunction = R"yaml(name: f
target: cpu
numerics: standard
params:
  - {name: x, kind: tensor, dtype: f32, dims: [M, "B*H"], access: read}
  - {name: y, kind: result, dtype: f32, dims: [], access: write}
  - {name: s, kind: scalar, dtype: f32}
  - {name: n, kind: scalar, dtype: i32}
  - {name: M, kind: dim}
  - {name: "B*H", kind: dim}
plan:
)yaml";

void readTwice(std::string_view text) {
  KernelMetadata m, again;
  std::string why;
  if (!KernelMetadata::fromYaml(text, m, why)) {
    if (why.empty()) abort();
  } else if (!KernelMetadata::fromYaml(m.toYaml(), again, why) || again.toYaml() != m.toYaml()) {
    abort();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  readTwice(text);
  readTwice(kFunction + std::string(text));
  IndexExpr expr;
  std::string why;
  if (IndexExpr::parse(text, {"M", "N", "B*H"}, expr, why)) {
    const int64_t slots[] = {INT64_MIN, -1, 7};
    int64_t out;
    (void)expr.evaluate(slots, out);
  }
  if (Expected<IndexExpr> parsed = IndexExpr::parse(text); parsed && !parsed->checkText()) {
    Expected<IndexExpr> again = IndexExpr::parse(parsed->text());
    if (!again || *again != *parsed) abort();
  }
  return 0;
}
