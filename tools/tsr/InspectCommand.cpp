// `tsr inspect`: shows the contents of a bundle.
#include "core/bundle/Rules.h"
#include "core/metadata/KernelMetadata.h"
#include "core/support/Escaped.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Json.h"
#include "tools/tsr/Products.h"
#include "tools/tsr/Source.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <tessera/backend.hpp>

namespace tessera::cli {
namespace {

const CommandSpec inspectSpec = {
    "inspect",
    "FILE.tsrb [--json]",
    "what a bundle holds: images, kernels, parameters, IR",
    "Checks a bundle and lists its images with target, format, size, hash and entries, and "
    "the IR it keeps.",
    {{"json", 0, OptionSpec::Flag, "", "as a JSON document"}},
    1,
    "  tsr inspect saxpy.tsrb\n"};

const char *kindName(MetadataParam::Kind kind) {
  static constexpr const char *names[] = {"tensor", "result", "scalar", "dim"};
  return names[static_cast<size_t>(kind)];
}

const char *access(const MetadataParam &p) {
  return p.reads && p.writes ? "readwrite" : p.writes ? "write" : "read";
}

bool isTensor(const MetadataParam &p) {
  return p.kind == MetadataParam::Kind::Tensor || p.kind == MetadataParam::Kind::Result;
}

/// Returns the value that the code was compiled for, or nullopt when it accepts any.
std::optional<int64_t> specializedValue(const KernelMetadata &m, const MetadataParam &p) {
  if (p.kind == MetadataParam::Kind::Dim)
    for (const auto &[dim, value] : m.specialized)
      if (dim == p.name) return value;
  return std::nullopt;
}

/// A condition that a launch checks before the code runs.
struct Guard {
  std::string condition, says; // "N == 1000"; why it is needed, or ""
};

std::vector<Guard> guardsOf(const KernelMetadata &m) {
  std::vector<Guard> out;
  for (const auto &[dim, value] : m.specialized)
    out.push_back({fmt::format("{} == {}", dim, value), ""});
  for (const PlanCheck &check : m.plan ? m.plan->checks : m.checks)
    out.push_back({fmt::format("{} >= 0", check.value), check.says});
  return out;
}

Json describe(const MetadataVariant &v) {
  Json out = Json::object();
  auto add = [&](const char *key, const std::string &value) {
    if (!value.empty()) out[key] = value;
  };
  add("name", v.name);
  add("entry", v.entry);
  out["when"] = v.when;
  add("body", v.body);
  add("order", v.order);
  add("cost", v.cost);
  if (!v.params.empty()) {
    out["params"] = Json::object();
    for (const auto &[name, value] : v.params)
      out["params"][name] = value;
  }
  if (v.isPinned) out["pinned"] = true;
  return out;
}

/// "row       M == 1    chain    product.row    rows 4", or "rows.v0 if N == 1000" of a function.
std::string text(const MetadataVariant &v) {
  const std::string when = fmt::format("{}", fmt::join(v.when, " and "));
  if (v.name.empty()) return fmt::format("{} if {}", v.entry, when);
  std::string out =
      fmt::format("{:<8} {:<24} {:<10} {}", v.name, when.empty() ? "else" : when, v.order, v.body);
  for (const auto &[name, value] : v.params)
    out += fmt::format(", {} {}", name, value);
  return out + (v.isPinned ? ", pinned" : "");
}

Json describe(const BundleEntry &entry, const KernelMetadata &m) {
  Json params = Json::array();
  for (const MetadataParam &p : m.params) {
    Json j = {{"name", p.name}, {"kind", kindName(p.kind)}};
    if (p.kind != MetadataParam::Kind::Dim) j["dtype"] = name(p.dtype);
    if (isTensor(p)) {
      j["dims"] = p.dims;
      if (!p.strides.empty()) j["strides"] = p.strides;
      j["access"] = access(p);
    }
    if (auto value = specializedValue(m, p)) j["compiled_for"] = *value;
    params.push_back(std::move(j));
  }
  Json out = {{"name", m.name}, {"kind", name(entry.kind)}, {"numerics", m.numerics}, {"params", params}};
  if (m.permits) out["permits"] = permissionNames(*m.permits);
  out["tile"] = objectOf(m.tile);
  out["specialized"] = objectOf(m.specialized);
  out["guards"] = Json::array();
  for (const Guard &guard : guardsOf(m)) {
    Json one = {{"condition", guard.condition}};
    if (!guard.says.empty()) one["says"] = guard.says;
    out["guards"].push_back(std::move(one));
  }
  if (!m.variants.empty()) out["variants"] = Json::array();
  for (const MetadataVariant &v : m.variants)
    out["variants"].push_back(describe(v));
  out["products"] = jsonOf(m.products);
  out["fallbacks"] = m.fallbacks;
  if (m.plan) {
    Json steps = Json::array();
    for (const PlanStep &step : m.plan->steps)
      steps.push_back(step.kernel);
    out["plan"] = {{"buffers", m.plan->buffers.size()}, {"steps", steps}};
  } else {
    out["grid"] = m.axes;
  }
  return out;
}

std::string text(const BundleEntry &entry, const KernelMetadata &m) {
  std::string out = fmt::format("  {} {}, numerics {}\n", name(entry.kind), m.name, m.numerics);
  if (m.permits) {
    const auto permits = permissionNames(*m.permits);
    out += fmt::format("    permits      {}\n",
                       permits.empty() ? "nothing" : fmt::format("{}", fmt::join(permits, ", ")));
  }
  for (const MetadataParam &p : m.params) {
    if (isTensor(p))
      out +=
          fmt::format("    {:<12} {}[{}], {}{}\n", p.name, name(p.dtype), fmt::join(p.dims, ", "), access(p),
                      p.strides.empty() ? "" : fmt::format(", strides [{}]", fmt::join(p.strides, ", ")));
    else if (p.kind == MetadataParam::Kind::Scalar)
      out += fmt::format("    {:<12} {}\n", p.name, name(p.dtype));
    else if (auto value = specializedValue(m, p))
      out += fmt::format("    {:<12} dim, compiled for {} only\n", p.name, *value);
    else
      out += fmt::format("    {:<12} dim\n", p.name);
  }
  for (const Guard &guard : guardsOf(m))
    out +=
        fmt::format("    guard        {}{}{}\n", guard.condition, guard.says.empty() ? "" : ": ", guard.says);
  for (const MetadataVariant &v : m.variants) {
    out += "    variant      " + text(v) + "\n";
    if (!v.cost.empty()) out += "      cost in ns " + v.cost + "\n"; // often longer than a line
  }
  for (const MetadataProduct &p : m.products)
    out += fmt::format("    product      {}\n", textOf(p));
  std::vector<std::string> tile;
  for (const auto &[name, value] : m.tile)
    tile.push_back(fmt::format("{}={}", name, value));
  if (!tile.empty()) out += fmt::format("    tile         {}\n", fmt::join(tile, " "));
  for (const std::string &fallback : m.fallbacks)
    out += fmt::format("    fallback     {}\n", fallback);
  if (m.plan)
    out += fmt::format("    plan         {} launches, {} buffers\n", m.plan->steps.size(),
                       m.plan->buffers.size());
  else
    out += fmt::format("    grid         [{}]\n", fmt::join(m.axes, ", "));
  return out;
}

/// Shows the whole bundle, as text or as JSON.
struct Description {
  Json json;
  std::string text;
};

MaybeError describe(const std::string &file, size_t bytes, const Bundle &bundle, Description &out) {
  out.text = fmt::format("{}: bundle {}.{}, {} bytes, from {} by {}\n", file, bundle.abiMajor,
                         bundle.abiMinor, bytes, bundle.sourceName, bundle.producer);
  Json images = Json::array(), texts = Json::array();
  for (const BundleImage &image : bundle.images) {
    out.text += fmt::format("image {}: {}, {} bytes, hash {}\n", image.target, name(image.format),
                            image.data.size(), image.hash);
    if (!image.features.empty()) out.text += fmt::format("  needs {}\n", fmt::join(image.features, " "));
    Json entries = Json::array();
    for (const BundleEntry &entry : image.entries) {
      KernelMetadata m;
      std::string why;
      if (!KernelMetadata::fromYaml(entry.metadata, m, why))
        return Error{
            "E_BUNDLE_CORRUPT",
            fmt::format("{}: metadata of {} for {}: {}", file, kernelName(entry.name), image.target, why),
            "compile the file again"};
      entries.push_back(describe(entry, m));
      out.text += text(entry, m);
    }
    images.push_back({{"target", image.target},
                      {"format", name(image.format)},
                      {"bytes", image.data.size()},
                      {"hash", image.hash},
                      {"features", image.features},
                      {"entries", std::move(entries)}});
  }
  for (const BundleIr &ir : bundle.ir) {
    texts.push_back({{"level", ir.level}, {"entry", ir.entry}, {"bytes", ir.text.size()}});
    out.text += fmt::format("ir {} of {}: {} bytes\n", ir.level, ir.entry, ir.text.size());
  }
  out.json = {{"file", file},
              {"abi", fmt::format("{}.{}", bundle.abiMajor, bundle.abiMinor)},
              {"bytes", bytes},
              {"source", bundle.sourceName},
              {"producer", bundle.producer},
              {"images", std::move(images)},
              {"ir", std::move(texts)}};
  return std::nullopt;
}

int inspect(const Arguments &args, const std::string &) {
  if (args.positional().empty())
    return fail(Error{"E_NO_FILE", "no bundle", fmt::format("usage: tsr inspect {}", inspectSpec.synopsis)});
  const std::string &file = args.positional()[0];
  std::string bytes;
  if (auto e = readWhole(file, kMaxBundleBytes, bytes)) return fail(*e);
  Bundle bundle;
  BundleError error;
  if (!readBundle(bytes, file, bundle, error)) return fail(Error{error.code, error.message, error.hint});
  Description description;
  if (auto e = describe(file, bytes.size(), bundle, description)) return fail(*e);
  if (args.has("json"))
    printJson(description.json);
  else
    fmt::print("{}", escaped(description.text, Lines::Keep));
  return exitOk;
}

} // namespace

const Command inspectCommand = {inspectSpec, inspect};

} // namespace tessera::cli
