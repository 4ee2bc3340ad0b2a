// Reads the section `launch` of the metadata document, and lists of variants.
#include "core/metadata/MetadataYaml.h"
#include "core/metadata/Variants.h"

namespace tessera {
namespace {

using namespace yaml;
using Kind = MetadataParam::Kind;

constexpr size_t kMaxMappedRank = 5; // tsr_be_tensor_map_t

void readTensorMaps(const YAML::Node &list, KernelMetadata &m) {
  const std::string key = "launch.tensor_maps";
  for (const YAML::Node &node : asList(list, key)) {
    checkMap(node, key, {"param", "box", "swizzle"});
    MetadataTensorMap map{
        asText(node["param"], key + ".param"), {}, asInt(node["swizzle"], key + ".swizzle", 1)};
    const auto of = std::ranges::find(m.params, map.param, &MetadataParam::name);
    if (of == m.params.end() || !isTensorLike(of->kind))
      reject(node["param"], key, map.param + " is no tensor");
    if (of->dims.empty() || of->dims.size() > kMaxMappedRank)
      reject(node["param"], key, map.param + " has " + std::to_string(of->dims.size()) + " axes, not 1 to 5");
    auto isKnown = [&](const std::string &size) {
      return isNumber(size) || std::ranges::any_of(m.params, [&](const MetadataParam &p) {
               return p.kind == Kind::Dim && p.name == size;
             });
    };
    if (!std::ranges::all_of(of->dims, isKnown) || !std::ranges::all_of(of->strides, isKnown))
      reject(node["param"], key, map.param + " has an extent or stride that is neither a dim nor a number");
    if (!of->strides.empty() && of->strides.back() != "1")
      reject(node["param"], key,
             "neighbours along the last axis of " + map.param + " are no neighbours in memory");
    for (const YAML::Node &extent : asList(node["box"], key + ".box"))
      if (map.box.push_back(asInt(extent, key + ".box", 1)); map.box.back() > 256)
        reject(extent, key + ".box", "a box has at most 256 elements along an axis");
    if (map.box.size() != of->dims.size())
      reject(node["box"], key + ".box", "it has not as many axes as " + map.param);
    if (map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
      reject(node["swizzle"], key + ".swizzle", "expected 32, 64 or 128");
    m.tensorMaps.push_back(std::move(map));
  }
}

/// A condition is a list of guards, or {zero: [EXPRESSION], aligned: {TENSOR: BYTES}}.
std::vector<std::string> readWhen(const YAML::Node &node, const std::string &key) {
  if (!node.IsMap()) return asTexts(node, key);
  checkMap(node, key, {"zero", "aligned"});
  std::vector<std::string> out;
  for (const std::string &expr : asTexts(node["zero"], key + ".zero"))
    out.push_back(expr + " == 0");
  for (const auto &[tensor, bytes] : asInts(node["aligned"], key + ".aligned"))
    out.push_back("aligned(" + tensor + ", " + std::to_string(bytes) + ")");
  return out;
}

void checkVariants(const YAML::Node &list, const std::string &key, const KernelMetadata &m) {
  if (auto table = VariantTable::of(m); !table) reject(list, key, "[E_VARIANT] " + table.error().message);
}

MetadataVariant readLaunchVariant(const YAML::Node &node, const std::string &key) {
  checkMap(node, key, {"name", "entry", "when", "body", "order", "cost", "params", "pinned"});
  if (!node["name"]) reject(node, key, "an entry has no name");
  MetadataVariant v;
  auto read = [&](const char *name, std::string &out) {
    if (node[name]) out = asText(node[name], key + "." + name);
  };
  read("name", v.name);
  read("entry", v.entry);
  read("body", v.body);
  read("order", v.order);
  read("cost", v.cost);
  if (!isEntryName(v.name)) reject(node["name"], key + ".name", "'" + v.name + "' is not a name");
  if (node["entry"] && !isEntryName(v.entry))
    reject(node["entry"], key + ".entry", "'" + v.entry + "' is not a name");
  if (node["when"]) v.when = readWhen(node["when"], key + ".when");
  if (node["params"]) {
    checkMap(node["params"], key + ".params", {});
    for (const auto &entry : node["params"])
      v.params.emplace_back(entry.first.Scalar(), asText(entry.second, key + ".params"));
  }
  if (node["pinned"]) {
    const std::string text = asText(node["pinned"], key + ".pinned");
    if (text != "true" && text != "false") reject(node["pinned"], key + ".pinned", "expected true or false");
    v.isPinned = text == "true";
  }
  if (v.isPinned && v.when.empty()) reject(node["pinned"], key + ".pinned", "it has no condition");
  return v;
}

} // namespace

void yaml::readLaunch(const YAML::Node &node, KernelMetadata &m) {
  checkMap(node, "launch",
           {"axes", "block", "checks", "cluster", "forced_body", "lanes_per_program", "may_wait",
            "persistent", "shares_operands", "tensor_maps", "variants"});
  m.axes = asTexts(node["axes"], "launch.axes");
  std::vector<std::string> names;
  for (const MetadataParam &p : m.params)
    if (p.kind == Kind::Dim || (p.kind == Kind::Scalar && isInt(p.dtype))) names.push_back(p.name);
  for (const std::string &axis : m.axes) {
    IndexExpr expr;
    std::string why;
    if (!IndexExpr::parse(axis, names, expr, why))
      reject(node["axes"], "launch.axes", "'" + axis + "': " + why);
  }
  m.checks = readChecks(node["checks"], "launch.checks", names);
  auto readThree = [&](const char *key, int64_t (&out)[3]) {
    const YAML::Node three = node[key];
    if (!three) return;
    const std::string path = std::string("launch.") + key;
    if (!three.IsSequence() || three.size() != 3) reject(three, path, "expected three integers");
    for (size_t i = 0; i < 3; ++i)
      if ((out[i] = asInt(three[i], path, 1)) > UINT32_MAX)
        reject(three[i], path, "no launch has " + std::to_string(out[i]) + " of them");
  };
  readThree("block", m.block);
  readThree("cluster", m.cluster);
  readTensorMaps(node["tensor_maps"], m);
  if (node["lanes_per_program"])
    m.lanesPerProgram = asInt(node["lanes_per_program"], "launch.lanes_per_program", 1);
  auto readFlag = [&](const char *key, bool &out) {
    if (!node[key]) return;
    const std::string path = std::string("launch.") + key, text = asText(node[key], path.c_str());
    if (text != "true" && text != "false")
      reject(node[key], path, "expected true or false, found '" + text + "'");
    out = text == "true";
  };
  readFlag("may_wait", m.mayWait);
  readFlag("shares_operands", m.sharesOperands);
  readFlag("persistent", m.isPersistent);
  if (node["forced_body"]) m.forcedBody = asText(node["forced_body"], "launch.forced_body");
}

void yaml::readVariants(const YAML::Node &list, KernelMetadata &m) {
  for (const YAML::Node &node : asList(list, "variants")) {
    checkMap(node, "variants", {"entry", "when"});
    for (const char *key : {"entry", "when"})
      if (!node[key]) reject(node, "variants", std::string("an entry has no ") + key);
    MetadataVariant v{asText(node["entry"], "variants.entry"), readWhen(node["when"], "variants.when")};
    if (!isEntryName(v.entry)) reject(node["entry"], "variants.entry", "'" + v.entry + "' is not a name");
    if (v.when.empty()) reject(node["when"], "variants.when", "a variant has at least one condition");
    m.variants.push_back(std::move(v));
    checkVariants(node["when"], "variants.when", m);
  }
}

void yaml::readLaunchVariants(const YAML::Node &list, KernelMetadata &m) {
  const std::string key = "launch.variants";
  if (!list) return;
  if (!m.variants.empty()) reject(list, key, "[E_VARIANT] the document has variants outside of launch, too");
  for (const YAML::Node &node : asList(list, key)) {
    MetadataVariant v = readLaunchVariant(node, key);
    if (!m.variants.empty() && m.variants.back().when.empty())
      reject(node, key, "[E_VARIANT] it follows " + m.variants.back().name + ", which has no condition");
    for (const MetadataVariant &other : m.variants)
      if (other.name == v.name) reject(node, key, "[E_VARIANT] the name " + v.name + " occurs twice");
    m.variants.push_back(std::move(v));
  }
  if (m.variants.empty() || !m.variants.back().when.empty())
    reject(list, key, "[E_VARIANT] the last has a condition, so that sizes are left without a variant");
  checkVariants(list, key, m);
}

} // namespace tessera
