// Reads and writes the section `plan` of a metadata document.
#include "core/metadata/HostPlan.h"
#include "core/metadata/MetadataYaml.h"
#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace tessera::yaml {
namespace {

using Kind = MetadataParam::Kind;

constexpr size_t kMaxSteps = 1 << 16; // also limits buffers and checks, as does the document's size

/// Reads a plan. Tracks the names that the plan may use and which of its buffers the steps have used.
class PlanReader {
public:
  explicit PlanReader(const KernelMetadata &function) {
    for (const MetadataParam &p : function.params) {
      if (p.kind != Kind::Dim) params_.emplace(p.name, p.kind);
      if (p.kind == Kind::Dim || (p.kind == Kind::Scalar && isInt(p.dtype))) integers_.push_back(p.name);
    }
  }

  HostPlan read(const YAML::Node &node) {
    checkMap(node, "plan", {"buffers", "checks", "steps"});
    if (!node["steps"]) reject(node, "plan", "steps are missing");
    HostPlan plan;
    if (node["buffers"])
      for (const YAML::Node &entry : asList(node["buffers"], "plan.buffers", kMaxSteps))
        plan.buffers.push_back(readBuffer(entry));
    plan.checks = readChecks(node["checks"], "plan.checks", integers_);
    for (const YAML::Node &entry : asList(node["steps"], "plan.steps", kMaxSteps))
      plan.steps.push_back(readStep(entry, "plan.steps[" + std::to_string(plan.steps.size()) + "]"));
    for (const PlanBuffer &b : plan.buffers)
      if (!used_[b.name]) reject(node["buffers"], "plan.buffers." + b.name, "no step uses the buffer");
    return plan;
  }

private:
  PlanBuffer readBuffer(const YAML::Node &node) {
    checkMap(node, "plan.buffers", {"name", "dtype", "dims"});
    if (!node["name"]) reject(node, "plan.buffers", "an entry has no name");
    PlanBuffer b;
    b.name = asText(node["name"], "plan.buffers.name");
    std::string key = "plan.buffers." + b.name;
    if (!isIdentifier(b.name)) reject(node["name"], key, "not a name");
    if (params_.contains(b.name) || std::find(integers_.begin(), integers_.end(), b.name) != integers_.end())
      reject(node["name"], key, "a parameter has this name");
    if (!used_.emplace(b.name, false).second) reject(node["name"], key, "name occurs twice");
    if (!node["dtype"]) reject(node, key, "dtype is missing");
    b.dtype = asDType(node["dtype"], key + ".dtype");
    if (!node["dims"]) reject(node, key, "dims are missing");
    b.dims = asTexts(node["dims"], key + ".dims");
    for (const std::string &dim : b.dims)
      if (std::string why; !isExpression(dim, why))
        reject(node["dims"], key + ".dims", "'" + dim + "': " + why);
    return b;
  }

  PlanStep readStep(const YAML::Node &node, const std::string &key) {
    checkMap(node, key, {"kernel", "call", "args"});
    PlanStep step;
    step.isLibraryCall = static_cast<bool>(node["call"]);
    if (step.isLibraryCall && node["kernel"]) reject(node, key, "a step has either kernel or call");
    const std::string what = step.isLibraryCall ? "call" : "kernel";
    for (const std::string &name : {what, std::string("args")})
      if (!node[name]) reject(node, key, name + " is missing");
    step.kernel = asText(node[what], key + "." + what);
    if (!isEntryName(step.kernel))
      reject(node[what], key + "." + what, "'" + step.kernel + "' is not a name");
    for (const YAML::Node &entry : asList(node["args"], key + ".args")) {
      std::string arg = asText(entry, key + ".args"), why;
      if (auto buffer = used_.find(arg); buffer != used_.end())
        buffer->second = true;
      else if (!params_.contains(arg) && !isLiteral(arg) && !isExpression(arg, why))
        reject(entry, key + ".args",
               "'" + arg + "' is not a parameter, buffer or literal; as an expression: " + why);
      step.args.push_back(std::move(arg));
    }
    return step;
  }

  bool isExpression(const std::string &text, std::string &why) const {
    IndexExpr expr;
    return IndexExpr::parse(text, integers_, expr, why);
  }

  static bool isLiteral(const std::string &text) {
    if (text == "true" || text == "false" || text == ".inf" || text == "-.inf" || text == ".nan") return true;
    double value;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  std::unordered_map<std::string, Kind> params_; // all parameters except dims
  std::vector<std::string> integers_;            // names allowed in expressions
  std::unordered_map<std::string, bool> used_;   // by buffer name
};

} // namespace

HostPlan readPlan(const YAML::Node &node, const KernelMetadata &function) {
  return PlanReader(function).read(node);
}

std::vector<PlanCheck> readChecks(const YAML::Node &list, const std::string &key,
                                  const std::vector<std::string> &integers) {
  std::vector<PlanCheck> checks;
  if (!list) return checks;
  for (const YAML::Node &node : asList(list, key, kMaxSteps)) {
    checkMap(node, key, {"value", "says"});
    for (const char *name : {"value", "says"})
      if (!node[name]) reject(node, key, std::string(name) + " is missing");
    PlanCheck c{asText(node["value"], key + ".value"), asText(node["says"], key + ".says")};
    IndexExpr expr;
    if (std::string why; !IndexExpr::parse(c.value, integers, expr, why))
      reject(node["value"], key + ".value", "'" + c.value + "': " + why);
    checks.push_back(std::move(c));
  }
  return checks;
}

void writeChecks(YAML::Emitter &out, const std::vector<PlanCheck> &checks) {
  if (checks.empty()) return;
  out << YAML::Key << "checks" << YAML::Value << YAML::BeginSeq;
  for (const PlanCheck &c : checks)
    out << YAML::Flow << YAML::BeginMap << YAML::Key << "value" << YAML::Value << c.value << YAML::Key
        << "says" << YAML::Value << c.says << YAML::EndMap;
  out << YAML::EndSeq;
}

void writePlan(YAML::Emitter &out, const HostPlan &plan) {
  out << YAML::BeginMap << YAML::Key << "buffers" << YAML::Value << YAML::BeginSeq;
  for (const PlanBuffer &b : plan.buffers)
    out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << b.name << YAML::Key
        << "dtype" << YAML::Value << name(b.dtype) << YAML::Key << "dims" << YAML::Value << YAML::Flow
        << b.dims << YAML::EndMap;
  out << YAML::EndSeq;
  writeChecks(out, plan.checks);
  out << YAML::Key << "steps" << YAML::Value << YAML::BeginSeq;
  for (const PlanStep &step : plan.steps)
    out << YAML::Flow << YAML::BeginMap << YAML::Key << (step.isLibraryCall ? "call" : "kernel")
        << YAML::Value << step.kernel << YAML::Key << "args" << YAML::Value << YAML::Flow << step.args
        << YAML::EndMap;
  out << YAML::EndSeq << YAML::EndMap;
}

} // namespace tessera::yaml
