// Reads and writes the kernel metadata document, except its plan (HostPlan.cpp).
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

// ---- Nodes to values ----

std::vector<std::pair<std::string, int64_t>> asInts(const YAML::Node &node, const std::string &key) {
  std::vector<std::pair<std::string, int64_t>> out;
  if (!node.IsDefined()) return out;
  checkMap(node, key, {});
  for (const auto &entry : node)
    out.emplace_back(entry.first.Scalar(), asInt(entry.second, key + "." + entry.first.Scalar(), INT64_MIN));
  return out;
}

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
constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"tensor", Kind::Tensor}, {"result", Kind::Result}, {"scalar", Kind::Scalar}, {"dim", Kind::Dim}};

constexpr size_t kMaxMappedRank = 5; // tsr_be_tensor_map_t

bool isTensorLike(Kind kind) { return kind == Kind::Tensor || kind == Kind::Result; }

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

void readLaunch(const YAML::Node &node, KernelMetadata &m) {
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

/// The variants of a function, and those of a kernel in older documents: entry and condition.
void readVariants(const YAML::Node &list, KernelMetadata &m) {
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

/// The variants of a kernel: all but the last have conditions.
void readLaunchVariants(const YAML::Node &list, KernelMetadata &m) {
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

bool isOne(const int64_t (&three)[3]) {
  return std::all_of(three, three + 3, [](int64_t n) { return n == 1; });
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

// ---- Writing ----

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
