#include "compiler/ops/Functions.h"
#include "numerics/DType.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::ops {

const char *opName(Op op) {
  static constexpr const char *kNames[] = {
#define TSR_OP(id, dump) dump,
#include "compiler/ops/Functions.def"
  };
  return kNames[static_cast<size_t>(op)];
}

const char *opName(GraphOp op) {
  static constexpr const char *kNames[] = {
#define TSR_GRAPH_OP(id, dump) dump,
#include "compiler/ops/Functions.def"
  };
  return kNames[static_cast<size_t>(op)];
}

namespace {

constexpr LanguageFunction kRows[] = {
#define TSR_ROW(i, m, n, kernelRule, graphRule, ...)                                                         \
  {.id = FunctionId::i, .module = m, .name = n, __VA_ARGS__},
#include "compiler/ops/Functions.def"
};

constexpr LanguageFunction alias(FunctionId id, const char *module, const char *name) {
  LanguageFunction out = kRows[static_cast<size_t>(id)];
  out.module = module;
  out.name = name;
  out.isConstant |= *module == 0;
  return out;
}

constexpr LanguageFunction alias(FunctionId id, const char *module, const char *name, Signature arguments) {
  LanguageFunction out = alias(id, module, name);
  out.arguments = arguments;
  return out;
}

constexpr LanguageFunction alias(FunctionId id, const char *module, const char *name, std::nullptr_t) {
  return alias(id, module, name);
}

constexpr LanguageFunction kFunctions[] = {
#define TSR_ROW(id, ...) kRows[static_cast<size_t>(FunctionId::id)],
#define TSR_ALIAS(id, module, name, arguments) alias(FunctionId::id, module, name, arguments),
#include "compiler/ops/Functions.def"
};

/// Is a function of module `have` visible in path `module`?
bool visible(std::string_view module, std::string_view have) {
  if (module == "tessera") return have == "tile" || have == "op";
  if (module.starts_with("tessera.")) module.remove_prefix(8);
  return module == have || (module == "op" && have == "tile");
}

} // namespace

std::span<const LanguageFunction> allFunctions() { return kFunctions; }

const LanguageFunction *findFunction(std::string_view module, std::string_view name) {
  for (const LanguageFunction &f : kFunctions)
    if (name == f.name && visible(module, f.module)) return &f;
  return nullptr;
}

std::string findSubmodule(std::string_view module, std::string_view name) {
  if (module == "tessera" && (name == "tile" || name == "op" || name == "dist" || name == "group"))
    return "tessera." + std::string(name);
  if (module == "tessera.tile" && name == "group") return "tessera.group";
  return {};
}

std::optional<double> findConstant(std::string_view module, std::string_view name) {
  if (module != "math") return std::nullopt;
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "tau") return 2 * std::numbers::pi;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::vector<std::string> namesOf(std::string_view module) {
  std::vector<std::string> out;
  for (const LanguageFunction &f : kFunctions)
    if (visible(module, f.module)) out.emplace_back(f.name);
  if (module == "tessera")
    for (const char *s : {"tile", "op", "dist", "group", "Tensor", "strides", "kernel", "jit", "autodiff"})
      out.emplace_back(s);
  if (module == "tessera" || module == "tessera.tile")
    for (const DTypeInfo &d : allDTypes())
      out.emplace_back(d.name);
  if (module == "tessera.tile") out.emplace_back("group");
  if (module == "math")
    for (const char *s : {"pi", "e", "tau", "inf", "nan"})
      out.emplace_back(s);
  return out;
}

} // namespace tessera::ops
