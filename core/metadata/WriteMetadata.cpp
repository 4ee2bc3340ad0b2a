// Writes the kernel metadata document, except its plan (HostPlan.cpp).
#include "core/metadata/MetadataYaml.h"
#include "core/metadata/Reports.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera {
namespace {

using namespace yaml;
using Kind = MetadataParam::Kind;

// Numbers are formatted here rather than by yaml-cpp, whose streams use std::locale::global ("4.096").
std::string numberText(int64_t value) { return std::to_string(value); }

std::string numberText(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  char buffer[64]; // the shortest text that parses to the same value
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

std::string numberText(const Number &value) {
  return std::visit([](auto number) { return numberText(number); }, value);
}

void writeParam(YAML::Emitter &out, const MetadataParam &p) {
  auto row = std::find_if(std::begin(kKinds), std::end(kKinds), [&](auto &r) { return r.second == p.kind; });
  out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << p.name << YAML::Key << "kind"
      << YAML::Value << std::string(row->first);
  if (p.kind != Kind::Dim) out << YAML::Key << "dtype" << YAML::Value << tessera::name(p.dtype);
  if (isTensorLike(p.kind)) {
    out << YAML::Key << "dims" << YAML::Value << YAML::Flow << p.dims;
    if (!p.strides.empty()) out << YAML::Key << "strides" << YAML::Value << YAML::Flow << p.strides;
    out << YAML::Key << "access" << YAML::Value
        << (p.reads && p.writes ? "readwrite"
            : p.writes          ? "write"
                                : "read");
  }
  if (p.defaultValue) out << YAML::Key << "default" << YAML::Value << numberText(*p.defaultValue);
  if (p.limits)
    out << YAML::Key << "limits" << YAML::Value << YAML::Flow << YAML::BeginSeq << numberText(p.limits->first)
        << numberText(p.limits->second) << YAML::EndSeq;
  out << YAML::EndMap;
}

void writeInts(YAML::Emitter &out, const char *key,
               const std::vector<std::pair<std::string, int64_t>> &entries) {
  out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginMap;
  for (auto &[name, value] : entries)
    out << YAML::Key << name << YAML::Value << numberText(value);
  out << YAML::EndMap;
}

void writeReport(YAML::Emitter &out, const MetadataReport &r) {
  std::vector<std::string> types;
  for (const MetadataReport::Value &v : r.values)
    types.push_back(reports::typeText(v));
  out << YAML::Flow << YAML::BeginMap << YAML::Key << "kind" << YAML::Value
      << (r.isAssert ? "assert" : "print") << YAML::Key << "of" << YAML::Value
      << (r.isOfLane ? "lane" : "program") << YAML::Key << "at" << YAML::Value << YAML::DoubleQuoted
      << r.place << YAML::Key << "text" << YAML::Value << YAML::DoubleQuoted << r.text;
  if (!types.empty()) {
    out << YAML::Key << "values" << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const std::string &type : types)
      out << YAML::DoubleQuoted << type;
    out << YAML::EndSeq;
  }
  out << YAML::EndMap;
}

/// Do the variants have the form of launch.variants, whose last has no condition?
bool areOfLaunch(const KernelMetadata &m) { return !m.variants.empty() && m.variants.back().when.empty(); }

void writeVariant(YAML::Emitter &out, const MetadataVariant &v) {
  auto write = [&](const char *key, const std::string &text) {
    if (!text.empty()) out << YAML::Key << key << YAML::Value << text;
  };
  out << YAML::Flow << YAML::BeginMap;
  write("name", v.name);
  write("entry", v.entry);
  if (!v.when.empty()) {
    out << YAML::Key << "when" << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const std::string &condition : v.when)
      out << YAML::DoubleQuoted << condition;
    out << YAML::EndSeq;
  }
  write("body", v.body);
  write("order", v.order);
  write("cost", v.cost);
  if (!v.params.empty()) {
    out << YAML::Key << "params" << YAML::Value << YAML::Flow << YAML::BeginMap;
    for (const auto &[name, value] : v.params)
      out << YAML::Key << name << YAML::Value << YAML::DoubleQuoted << value;
    out << YAML::EndMap;
  }
  if (v.isPinned) out << YAML::Key << "pinned" << YAML::Value << "true";
  out << YAML::EndMap;
}

void writeVariants(YAML::Emitter &out, const std::vector<MetadataVariant> &variants) {
  if (variants.empty()) return;
  out << YAML::Key << "variants" << YAML::Value << YAML::BeginSeq;
  for (const MetadataVariant &v : variants)
    writeVariant(out, v);
  out << YAML::EndSeq;
}

void writeProducts(YAML::Emitter &out, const std::vector<MetadataProduct> &products) {
  if (products.empty()) return;
  out << YAML::Key << "products" << YAML::Value << YAML::BeginSeq;
  for (const MetadataProduct &p : products) {
    out << YAML::Flow << YAML::BeginMap << YAML::Key << "instruction" << YAML::Value << p.instruction
        << YAML::Key << "in" << YAML::Value << tessera::name(p.in) << YAML::Key << "acc" << YAML::Value
        << tessera::name(p.acc);
    if (!p.at.empty()) out << YAML::Key << "at" << YAML::Value << YAML::DoubleQuoted << p.at;
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

/// Writes the sections that describe how a kernel runs.
void writeLaunch(YAML::Emitter &out, const KernelMetadata &m) {
  writeInts(out, "tile", m.tile);
  writeInts(out, "specialized", m.specialized);
  if (!areOfLaunch(m)) writeVariants(out, m.variants);
  writeProducts(out, m.products);
  std::vector<std::pair<std::string, int64_t>> resources = {{"smem_per_cta", m.sharedBytes}};
  if (m.dynamicSharedBytes) resources.emplace_back("dynamic_smem", m.dynamicSharedBytes);
  if (m.workspaceBytes) resources.emplace_back("workspace_per_program", m.workspaceBytes);
  resources.emplace_back("scratch_bytes", m.scratchBytes);
  resources.emplace_back("vector_bytes", m.vectorBytes);
  writeInts(out, "resources", resources);
  out << YAML::Key << "launch" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "axes" << YAML::Value << YAML::Flow << m.axes;
  writeChecks(out, m.checks);
  auto writeThree = [&](const char *key, const int64_t (&three)[3]) {
    out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq << numberText(three[0])
        << numberText(three[1]) << numberText(three[2]) << YAML::EndSeq;
  };
  writeThree("block", m.block);
  if (!isOne(m.cluster)) writeThree("cluster", m.cluster);
  out << YAML::Key << "lanes_per_program" << YAML::Value << numberText(m.lanesPerProgram);
  if (!m.mayWait) out << YAML::Key << "may_wait" << YAML::Value << "false";
  if (m.sharesOperands) out << YAML::Key << "shares_operands" << YAML::Value << "true";
  if (!m.forcedBody.empty()) out << YAML::Key << "forced_body" << YAML::Value << m.forcedBody;
  if (m.isPersistent) out << YAML::Key << "persistent" << YAML::Value << "true";
  if (!m.tensorMaps.empty()) {
    out << YAML::Key << "tensor_maps" << YAML::Value << YAML::BeginSeq;
    for (const MetadataTensorMap &map : m.tensorMaps)
      out << YAML::Flow << YAML::BeginMap << YAML::Key << "param" << YAML::Value << map.param << YAML::Key
          << "box" << YAML::Value << map.box << YAML::Key << "swizzle" << YAML::Value
          << numberText(map.swizzle) << YAML::EndMap;
    out << YAML::EndSeq;
  }
  if (areOfLaunch(m)) writeVariants(out, m.variants);
  out << YAML::EndMap;
  if (!m.reports.empty()) out << YAML::Key << "reports" << YAML::Value << YAML::BeginSeq;
  for (const MetadataReport &r : m.reports)
    writeReport(out, r);
  if (!m.reports.empty()) out << YAML::EndSeq;
  out << YAML::Key << "epilogue" << YAML::Value << YAML::Flow << m.epilogue;
}

void writeDecision(YAML::Emitter &out, const MetadataDecision &d) {
  out << YAML::Flow << YAML::BeginMap << YAML::Key << "op" << YAML::Value << d.op << YAML::Key << "step"
      << YAML::Value << numberText(d.step) << YAML::Key << "choice" << YAML::Value << d.choice;
  if (!d.legal.empty()) out << YAML::Key << "from" << YAML::Value << YAML::Flow << d.legal;
  out << YAML::Key << "by" << YAML::Value << d.by;
  if (d.predictedNs >= 0) out << YAML::Key << "predicted_ns" << YAML::Value << numberText(d.predictedNs);
  out << YAML::EndMap;
}

} // namespace

std::string KernelMetadata::toYaml() const {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value << name << YAML::Key << "target" << YAML::Value << target
      << YAML::Key << "numerics" << YAML::Value << numerics;
  if (permits) out << YAML::Key << "permits" << YAML::Value << YAML::Flow << permissionNames(*permits);
  out << YAML::Key << "params" << YAML::Value;
  out << YAML::BeginSeq;
  for (const MetadataParam &p : params)
    writeParam(out, p);
  out << YAML::EndSeq;
  if (plan) {
    writeInts(out, "specialized", specialized);
    writeVariants(out, variants);
    out << YAML::Key << "plan" << YAML::Value;
    writePlan(out, *plan);
    if (!decisions.empty()) {
      out << YAML::Key << "decisions" << YAML::Value << YAML::BeginSeq;
      for (const MetadataDecision &d : decisions)
        writeDecision(out, d);
      out << YAML::EndSeq;
    }
  } else {
    writeLaunch(out, *this);
  }
  out << YAML::Key << "fallbacks" << YAML::Value << YAML::Flow << fallbacks;
  out << YAML::EndMap;
  return std::string(out.c_str(), out.size()) + "\n";
}

} // namespace tessera
