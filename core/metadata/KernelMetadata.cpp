// Reads the kernel metadata document, except its plan (HostPlan.cpp) and what describes launches
// (ReadLaunch.cpp).
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/MetadataYaml.h"
#include "core/metadata/Reports.h"
#include "core/metadata/Variants.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <new>

namespace tessera {
namespace {

using namespace yaml;

constexpr Bounds kBounds = {.bytes = 1 << 20, .nodes = 1 << 18};

// ---- Names ----

/// Returns whether the text is a symbol or a product that contains one: "M", "B*H", "2*B".
bool isDimName(std::string_view s) {
  bool anySymbol = false;
  for (;;) {
    size_t star = std::min(s.find('*'), s.size());
    std::string_view factor = s.substr(0, star);
    if (!isIdentifier(factor) && !isNumber(factor)) return false;
    anySymbol |= !isNumber(factor);
    if (star == s.size()) return anySymbol;
    s.remove_prefix(star + 1);
  }
}

/// Returns whether the text could name an instruction: "dpas.8x16x16".
bool isInstruction(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](unsigned char c) { return std::isalnum(c) || c == '.'; });
}

// ---- Sections ----

using Kind = MetadataParam::Kind;
std::pair<int64_t, int64_t> readLimits(const YAML::Node &node, const std::string &key, DType dtype) {
  if (dtype != DType::I64) reject(node, key, "only an i64 has limits");
  if (!node.IsSequence() || node.size() != 2) reject(node, key, "expected [least, most]");
  const std::pair limits{asInt(node[0], key, INT64_MIN), asInt(node[1], key, INT64_MIN)};
  if (limits.first > limits.second) reject(node, key, "the least is greater than the most");
  return limits;
}

MetadataParam readParam(const YAML::Node &node) {
  checkMap(node, "params", {"name", "kind", "dtype", "dims", "strides", "access", "default", "limits"});
  MetadataParam p;
  if (!node["name"]) reject(node, "params", "an entry has no name");
  p.name = asText(node["name"], "params.name");
  std::string key = "params." + p.name;
  if (!node["kind"]) reject(node, key, "kind is missing");
  std::string kind = asText(node["kind"], key);
  auto row = std::find_if(std::begin(kKinds), std::end(kKinds), [&](auto &r) { return r.first == kind; });
  if (row == std::end(kKinds)) reject(node["kind"], key, "unknown kind '" + kind + "'");
  p.kind = row->second;

  auto allow = [&](const char *name, bool allowed) {
    if (node[name] && !allowed) reject(node[name], key, std::string("a ") + kind + " has no " + name);
  };
  allow("dims", isTensorLike(p.kind));
  allow("strides", isTensorLike(p.kind));
  allow("access", isTensorLike(p.kind));
  allow("default", p.kind == Kind::Scalar);
  allow("limits", p.kind == Kind::Scalar);
  if (p.kind == Kind::Dim ? !isDimName(p.name) : !isIdentifier(p.name))
    reject(node["name"], key, "not a name");

  if (p.kind != Kind::Dim && !node["dtype"]) reject(node, key, "dtype is missing");
  if (node["dtype"]) p.dtype = asDType(node["dtype"], key + ".dtype");
  if (p.kind == Kind::Dim && p.dtype != DType::I64) reject(node["dtype"], key, "a dim is i64");
  if (node["default"]) p.defaultValue = asNumber(node["default"], key + ".default", p.dtype);
  if (node["limits"]) p.limits = readLimits(node["limits"], key + ".limits", p.dtype);
  if (isTensorLike(p.kind)) {
    if (!node["dims"]) reject(node, key, "dims are missing");
    p.dims = asTexts(node["dims"], key + ".dims");
    if (node["strides"]) {
      p.strides = asTexts(node["strides"], key + ".strides");
      if (p.strides.size() != p.dims.size())
        reject(node["strides"], key + ".strides",
               "expected one per dim (" + std::to_string(p.dims.size()) + "), found " +
                   std::to_string(p.strides.size()));
      if (p.strides.size() > kMaxStrided)
        reject(node["strides"], key + ".strides", "a tensor with strides has at most 8 dims");
    }
    std::string access = node["access"] ? asText(node["access"], key) : p.kind == Kind::Result ? "write" : "";
    p.reads = access == "read" || access == "readwrite";
    p.writes = access == "write" || access == "readwrite";
    if (!p.reads && !p.writes) reject(node, key, "access is read, write or readwrite");
  }
  return p;
}

/// Returns the dims that `list` declares. Malformed entries are skipped here and reported by readParam.
std::vector<std::string> declaredDims(const YAML::Node &list) {
  std::vector<std::string> names;
  for (const YAML::Node &node : list)
    if (node.IsMap() && node["kind"] && node["name"] && node["kind"].IsScalar() && node["name"].IsScalar() &&
        node["kind"].Scalar() == "dim")
      names.push_back(node["name"].Scalar());
  return names;
}

void readParams(const YAML::Node &list, bool isFunction, KernelMetadata &m) {
  std::vector<std::string> appearing; // symbols of dims and strides in order of first appearance
  const std::vector<std::string> declared = declaredDims(asList(list, "params"));
  for (const YAML::Node &node : asList(list, "params")) {
    MetadataParam p = readParam(node);
    for (const MetadataParam &other : m.params)
      if (other.name == p.name) reject(node, "params." + p.name, "name occurs twice");
    if (!m.params.empty() && p.kind < m.params.back().kind)
      reject(node, "params." + p.name, "out of order: tensors, results, scalars, dims");
    if (isFunction && !p.strides.empty())
      reject(node["strides"], "params." + p.name + ".strides", "a function's tensors have no strides");
    auto appear = [&](const std::string &text, const char *where) {
      if (isNumber(text)) return;
      auto note = [&](const std::string &symbol) {
        if (std::find(appearing.begin(), appearing.end(), symbol) == appearing.end())
          appearing.push_back(symbol);
      };
      IndexExpr expr; // of symbols, often of one
      std::string why;
      bool hasSymbol = false;
      if (IndexExpr::parse(text, declared, expr, why))
        expr.forEach([&](IndexExpr::Code code, int64_t slot) {
          if (code != IndexExpr::Code::Slot) return;
          note(declared[static_cast<size_t>(slot)]);
          hasSymbol = true;
        });
      else if (isDimName(text))
        note(text), hasSymbol = true; // refused below: it has no entry
      if (!hasSymbol)
        reject(node, "params." + p.name + where,
               "'" + text + "' is not a dim" + (why.empty() ? "" : ": " + why));
    };
    for (const std::string &dim : p.dims)
      appear(dim, ".dims");
    for (const std::string &stride : p.strides)
      appear(stride, ".strides");
    m.params.push_back(std::move(p));
  }
  auto dim = appearing.begin();
  for (const MetadataParam &p : m.params)
    if (p.kind == Kind::Dim && (dim == appearing.end() || *dim++ != p.name))
      reject(list, "params." + p.name, "dims are not in order of first appearance in the tensors");
  if (dim != appearing.end()) reject(list, "params", "dim or stride " + *dim + " of a tensor has no entry");
}

void readReports(const YAML::Node &list, KernelMetadata &m) {
  for (const YAML::Node &node : asList(list, "reports", reports::kStatements)) {
    checkMap(node, "reports", {"kind", "of", "at", "text", "values"});
    for (const char *key : {"kind", "of", "at", "text"})
      if (!node[key]) reject(node, "reports", std::string("an entry has no ") + key);
    MetadataReport r;
    const std::string kind = asText(node["kind"], "reports.kind"), of = asText(node["of"], "reports.of");
    if (kind != "print" && kind != "assert")
      reject(node["kind"], "reports.kind", "expected print or assert, found '" + kind + "'");
    if (of != "program" && of != "lane")
      reject(node["of"], "reports.of", "expected program or lane, found '" + of + "'");
    r.isAssert = kind == "assert";
    r.isOfLane = of == "lane";
    r.place = asText(node["at"], "reports.at");
    r.text = asText(node["text"], "reports.text");
    std::vector<DType> dtypes;
    for (const std::string &text : asTexts(node["values"], "reports.values")) {
      if (!reports::parseType(text, r.values.emplace_back()))
        reject(node["values"], "reports.values", "expected a type such as f32[8, 4], found '" + text + "'");
      dtypes.push_back(r.values.back().dtype);
    }
    if (std::string why = reports::checkFormat(r.text, dtypes); !why.empty())
      reject(node["text"], "reports.text", why);
    m.reports.push_back(std::move(r));
  }
}

void readProducts(const YAML::Node &list, KernelMetadata &m) {
  for (const YAML::Node &node : asList(list, "products")) {
    checkMap(node, "products", {"instruction", "in", "acc", "at"});
    for (const char *key : {"instruction", "in", "acc"})
      if (!node[key]) reject(node, "products", std::string("an entry has no ") + key);
    MetadataProduct product{asText(node["instruction"], "products.instruction"),
                            asDType(node["in"], "products.in"), asDType(node["acc"], "products.acc")};
    if (!isInstruction(product.instruction))
      reject(node["instruction"], "products.instruction", "'" + product.instruction + "' is not a name");
    if (node["at"]) product.at = asText(node["at"], "products.at");
    m.products.push_back(std::move(product));
  }
}

void readResources(const YAML::Node &node, KernelMetadata &m) {
  checkMap(node, "resources",
           {"smem_per_cta", "dynamic_smem", "workspace_per_program", "scratch_bytes", "vector_bytes"});
  auto read = [&](const char *key, int64_t &out) {
    if (node[key]) out = asInt(node[key], std::string("resources.") + key, 0);
  };
  read("smem_per_cta", m.sharedBytes);
  read("dynamic_smem", m.dynamicSharedBytes);
  if (m.dynamicSharedBytes > m.sharedBytes)
    reject(node["dynamic_smem"], "resources.dynamic_smem", "it is part of smem_per_cta, which is less");
  read("workspace_per_program", m.workspaceBytes);
  read("scratch_bytes", m.scratchBytes);
  read("vector_bytes", m.vectorBytes);
}

MetadataDecision readDecision(const YAML::Node &node, const KernelMetadata &m) {
  checkMap(node, "decisions", {"op", "step", "choice", "from", "by", "predicted_ns"});
  for (const char *key : {"op", "step", "choice", "by"})
    if (!node[key]) reject(node, "decisions", std::string("an entry has no ") + key);
  MetadataDecision d;
  d.op = asText(node["op"], "decisions.op");
  d.step = asInt(node["step"], "decisions.step", 0);
  if (static_cast<size_t>(d.step) >= m.plan->steps.size())
    reject(node["step"], "decisions.step", "the plan has " + std::to_string(m.plan->steps.size()) + " steps");
  d.choice = asText(node["choice"], "decisions.choice");
  d.legal = asTexts(node["from"], "decisions.from");
  if (!d.legal.empty() && std::find(d.legal.begin(), d.legal.end(), d.choice) == d.legal.end())
    reject(node["choice"], "decisions.choice", "'" + d.choice + "' is not in from");
  d.by = asText(node["by"], "decisions.by");
  if (node["predicted_ns"]) {
    d.predictedNs = asDouble(node["predicted_ns"], "decisions.predicted_ns");
    if (!(d.predictedNs >= 0))
      reject(node["predicted_ns"], "decisions.predicted_ns", "a time is not negative");
  }
  return d;
}

/// Returns whether every field that describes how a single kernel runs has its default.
bool isEmptyKernel(const KernelMetadata &m) {
  return m.tile.empty() && m.products.empty() && !m.sharedBytes && !m.workspaceBytes && !m.scratchBytes &&
         !m.vectorBytes && m.axes.empty() && isOne(m.block) && isOne(m.cluster) && m.tensorMaps.empty() &&
         m.lanesPerProgram == 1 && m.mayWait && !m.sharesOperands && m.forcedBody.empty() &&
         !m.isPersistent && m.epilogue.empty() && m.reports.empty();
}

/// Reads what the profile permits. A built-in profile may omit it.
void readPermissions(const YAML::Node &root, KernelMetadata &m) {
  const NumericsPermissions *builtin = builtinProfile(m.numerics);
  const YAML::Node node = root["permits"];
  if (!isProfileName(m.numerics) || (!builtin && !node))
    reject(root["numerics"], "numerics", "unknown profile '" + m.numerics + "'");
  if (!node) return;
  NumericsPermissions permits;
  std::string unknown;
  if (!parsePermissions(asTexts(node, "permits"), permits, unknown))
    reject(node, "permits", "unknown permission '" + unknown + "'");
  if (builtin && *builtin != permits)
    reject(node, "permits", "profile " + m.numerics + " is built in and permits something else");
  m.permits = permits;
}

KernelMetadata readDocument(const YAML::Node &root) {
  KernelMetadata m;
  checkMap(root, "metadata",
           {"name", "target", "numerics", "permits", "params", "tile", "specialized", "variants", "products",
            "resources", "launch", "reports", "epilogue", "fallbacks", "decisions", "plan"});
  for (const char *key : {"name", "target", "numerics", "params"})
    if (!root[key]) reject(root, key, "missing");
  if (!root["launch"] && !root["plan"]) reject(root, "launch", "missing (a function has plan instead)");
  m.name = asText(root["name"], "name");
  if (!isEntryName(m.name)) reject(root["name"], "name", "'" + m.name + "' is not a name");
  m.target = asText(root["target"], "target");
  m.numerics = asText(root["numerics"], "numerics");
  readPermissions(root, m);
  readParams(root["params"], static_cast<bool>(root["plan"]), m);
  m.tile = asInts(root["tile"], "tile");
  m.specialized = asInts(root["specialized"], "specialized");
  for (auto &[name, value] : m.specialized)
    if (std::none_of(m.params.begin(), m.params.end(), [&, &dim = name](const MetadataParam &p) {
          return p.kind == Kind::Dim && p.name == dim;
        }))
      reject(root["specialized"], "specialized", "'" + name + "' is not a dim of the kernel");
  readVariants(root["variants"], m);
  readProducts(root["products"], m);
  if (root["resources"]) readResources(root["resources"], m);
  if (root["launch"]) {
    readLaunch(root["launch"], m);
    readLaunchVariants(root["launch"]["variants"], m);
  }
  readReports(root["reports"], m);
  if (!m.forcedBody.empty() && m.scratchBytes < int64_t{sizeof(int64_t)})
    reject(root["launch"], "launch.forced_body",
           "its entry needs 8 bytes of resources.scratch_bytes to report in");
  if (m.hasReports() && !m.variants.empty())
    reject(root["variants"], "variants", "a kernel with reports has none");
  m.epilogue = asTexts(root["epilogue"], "epilogue");
  m.fallbacks = asTexts(root["fallbacks"], "fallbacks");
  if (root["plan"]) {
    if (!isEmptyKernel(m))
      reject(root["plan"], "plan",
             "a function has no tile, products, resources, launch, reports or epilogue");
    m.plan = readPlan(root["plan"], m);
  }
  if (root["decisions"] && !m.plan) reject(root["decisions"], "decisions", "only a function has any");
  for (const YAML::Node &node : asList(root["decisions"], "decisions"))
    m.decisions.push_back(readDecision(node, m));
  return m;
}

} // namespace

bool KernelMetadata::fromYaml(std::string_view text, KernelMetadata &out, std::string &why) {
  try {
    out = readDocument(load(text, kBounds));
    return true;
  } catch (const YAML::Exception &e) {
    why = describe(e);
  } catch (const std::bad_alloc &) {
    throw; // not an error in the document
  } catch (const std::exception &e) {
    why = e.what();
  }
  return false;
}

} // namespace tessera
