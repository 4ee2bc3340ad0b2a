#include "mapper/host/Question.h"
#include <cstdio>

namespace tessera::mapping {
namespace {

/// Appends " key=value". Names come from programs: unescaped blanks and '=' could make two different
/// questions look the same.
std::string field(const char *key, std::string_view value) {
  std::string out = std::string(" ") + key + "=";
  for (char c : value)
    if (c == ' ' || c == '=' || c == '\\' || static_cast<unsigned char>(c) < ' ') {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    } else {
      out += c;
    }
  return out;
}

Question make(const char *call, std::string about, std::vector<std::string> legal, bool hasDefault) {
  return {call, about.substr(1), std::move(legal), hasDefault};
}

} // namespace

Question question(const Mapper::Region &region, const Mapper::Mesh &mesh) {
  std::string shape, axes;
  for (int64_t extent : region.shape)
    shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  for (const auto &[name, size] : mesh.axes)
    axes += (axes.empty() ? "" : ",") + name + ":" + std::to_string(size);
  return make("place",
              field("region", region.name) + field("axis", region.axis) + field("dtype", region.dtype) +
                  field("shape", shape) + field("mesh", axes),
              mesh.places(), false);
}

Question question(const Mapper::CollectiveCall &c) {
  return make("choose_collective",
              field("kind", c.kind) + field("bytes", std::to_string(c.bytes)) +
                  field("ranks", std::to_string(c.ranks)) + field("topology", c.topology),
              c.algorithms, false);
}

Question question(const Mapper::VariantCall &c) {
  std::string about = field("op", c.op) + field("arch", c.arch) + field("dtype", c.dtype);
  for (const auto &[name, value] : c.dims)
    about += field(name.c_str(), value < 0 ? "?" : std::to_string(value));
  return make("choose_variant", std::move(about), c.variants, true);
}

std::string list(const std::vector<std::string> &names) {
  std::string out;
  for (const std::string &name : names)
    out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "nothing" : out;
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text.substr(0, 80))
    if (auto byte = static_cast<unsigned char>(c); byte < ' ' || byte > '~') {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", byte);
      out += hex;
    } else {
      out += c;
    }
  return out + (text.size() > 80 ? "...'" : "'");
}

} // namespace tessera::mapping
