#include "tools/tsr/Products.h"
#include <fmt/format.h>

namespace tessera::cli {

std::string textOf(const MetadataProduct &p) {
  // Those of AMX, which no processor has had that this release was tested on (docs/decisions/0129).
  return fmt::format("{}, {} into {}{}{}", p.instruction, name(p.in), name(p.acc),
                     p.at.empty() ? "" : ", " + p.at,
                     p.usesTileRegisters() ? " (compiled, assembly checked, not executed on hardware)" : "");
}

Json jsonOf(const std::vector<MetadataProduct> &products) {
  Json out = Json::array();
  for (const MetadataProduct &p : products) {
    Json one = {{"instruction", p.instruction}, {"in", name(p.in)}, {"acc", name(p.acc)}};
    if (!p.at.empty()) one["at"] = p.at;
    out.push_back(std::move(one));
  }
  return out;
}

} // namespace tessera::cli
