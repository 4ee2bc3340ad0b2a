#include "tools/tsr/RunReport.h"
#include "core/launch/HostMachine.h"
#include "core/metadata/KernelMetadata.h"
#include "core/metadata/Variants.h"
#include "tools/tsr/Products.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {
namespace {

std::string list(const std::vector<std::pair<std::string, int64_t>> &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "none" : text;
}

/// Formats a time in the unit that gives it one to three digits before the decimal point.
std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

/// The integer parameters and dims of a run with their values, and the addresses of its tensors.
struct Integers {
  std::vector<std::string> names;
  std::vector<int64_t> slots;
  std::vector<std::pair<std::string, int64_t>> addresses = {};
};

Integers integersOf(const Session &session, const Binding &binding) {
  Integers out;
  auto &names = out.names;
  auto &slots = out.slots;
  for (size_t i = 0; i < binding.params.size(); ++i)
    if (binding.params[i].isTensor)
      out.addresses.emplace_back(binding.params[i].name, int64_t(uintptr_t(session.address(i))));
  for (const BoundParam &p : binding.params)
    if (!p.isTensor && !isFloat(p.dtype)) {
      names.push_back(p.name);
      const int unused = 64 - 8 * storageBytes(p.dtype);
      slots.push_back(isUnsigned(p.dtype) || p.dtype == DType::Bool
                          ? int64_t(p.scalarBits)
                          : int64_t(p.scalarBits << unused) >> unused);
    }
  for (const auto &[name, value] : binding.dims) {
    names.push_back(name);
    slots.push_back(value);
  }
  return out;
}

/// Returns the number of programs along each axis; the text of an axis that cannot be evaluated.
Json gridOf(const Session &session, const KernelMetadata &m, const Binding &binding) {
  const auto [names, slots, addresses] = integersOf(session, binding);
  Json grid = Json::array();
  for (const std::string &axis : m.axes) {
    IndexExpr expr;
    std::string why;
    int64_t value;
    const bool ok = IndexExpr::parse(axis, names, expr, why) && expr.evaluate(slots.data(), value);
    grid.push_back(ok ? Json(value) : Json(axis));
  }
  return grid;
}

/// "2 x 3"
std::string textOf(const Json &grid) {
  std::string text;
  for (const Json &axis : grid)
    text += fmt::format("{}{}", text.empty() ? "" : " x ",
                        axis.is_string() ? axis.get<std::string>() : axis.dump());
  return text.empty() ? "1" : text;
}

/// The variant that a launch chose.
struct Chosen {
  std::string kernel; // "f.g0"
  MetadataVariant variant;
  std::vector<std::pair<std::string, int64_t>> dims; // of the kernel
  int64_t predictedNs = -1;

  /// "row"; a function's variant is named by its entry.
  const std::string &name() const { return variant.name.empty() ? variant.entry : variant.name; }
};

/// Returns the variant that a launch with these parameters chooses, as the runtime does; nullopt: the entry
/// itself.
std::optional<Chosen> chosenVariant(const Session &session, const KernelMetadata &m,
                                    std::vector<int64_t> slots) {
  Expected<VariantTable> table = VariantTable::of(m);
  if (!table || table->empty()) return std::nullopt; // a faulty one would not have been loaded
  for (size_t i = 0; i < m.variants.size(); ++i) {
    KernelMetadata body;
    std::string reason;
    if (m.variants[i].entry.empty()) continue;
    if (!KernelMetadata::fromYaml(session.metadata(m.variants[i].entry), body, reason) ||
        table->bindBody(i, m, body))
      return std::nullopt;
  }
  const tsr_device_info_t &d = session.device();
  const MachineConstants machine = machineConstants(d.compute_units, std::string_view(d.backend) == "cpu");
  slots.insert(slots.end(), machine.begin(), machine.end());
  const std::optional<VariantTable::Choice> choice = table->choose(slots.data());
  if (!choice) return std::nullopt;
  Chosen out{m.name, m.variants[choice->variant], {}, choice->predictedNs};
  for (size_t i = 0; i < m.params.size(); ++i)
    if (m.params[i].kind == MetadataParam::Kind::Dim) out.dims.emplace_back(m.params[i].name, slots[i]);
  return out;
}

/// The values of `m`'s parameters, by name. Other tensors than those of the run are a function's temporaries,
/// which are placed at multiples of 64 bytes.
std::vector<int64_t> slotsOf(const KernelMetadata &m, const Integers &integers) {
  constexpr int64_t kAddress = 64;
  std::vector<int64_t> slots;
  for (const MetadataParam &p : m.params) {
    auto named = std::ranges::find(integers.names, p.name);
    auto placed = std::ranges::find(integers.addresses, p.name, &std::pair<std::string, int64_t>::first);
    if (named != integers.names.end())
      slots.push_back(integers.slots[static_cast<size_t>(named - integers.names.begin())]);
    else
      slots.push_back(placed == integers.addresses.end() ? kAddress : placed->second);
  }
  return slots;
}

/// The values of the parameters of the kernel that a step launches.
std::vector<int64_t> slotsOfStep(const PlanStep &step, const KernelMetadata &kernel,
                                 const Integers &integers) {
  std::vector<int64_t> slots = slotsOf(kernel, {});
  for (size_t i = 0; i < kernel.params.size() && i < step.args.size(); ++i) {
    const auto placed =
        std::ranges::find(integers.addresses, step.args[i], &std::pair<std::string, int64_t>::first);
    if (placed != integers.addresses.end()) slots[i] = placed->second;
    IndexExpr expr;
    std::string reason;
    if (kernel.params[i].kind != MetadataParam::Kind::Tensor &&
        kernel.params[i].kind != MetadataParam::Kind::Result &&
        IndexExpr::parse(step.args[i], integers.names, expr, reason))
      (void)expr.evaluate(integers.slots.data(), slots[i]);
  }
  return slots;
}

/// Describes the launch of a kernel with these values.
LaunchInfo launchInfo(const Session &session, const KernelMetadata &m, const std::vector<int64_t> &slots) {
  LaunchInfo out{m.name, {}, {}, 0};
  std::vector<std::string> names;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const MetadataParam &p = m.params[i];
    const bool isInteger =
        p.kind == MetadataParam::Kind::Dim || (p.kind == MetadataParam::Kind::Scalar && !isFloat(p.dtype));
    names.push_back(isInteger ? p.name : "");
    if (p.kind == MetadataParam::Kind::Dim) out.dims.emplace_back(p.name, slots[i]);
  }
  for (const MetadataParam &p : m.params) {
    if (p.kind != MetadataParam::Kind::Tensor && p.kind != MetadataParam::Kind::Result) continue;
    double bytes =
        double(storageBytes(p.dtype)) / info(p.dtype).perByte * ((p.reads ? 1 : 0) + (p.writes ? 1 : 0));
    for (const std::string &dim : p.dims) {
      IndexExpr expr;
      std::string reason;
      int64_t extent = 0;
      if (!IndexExpr::parse(dim, names, expr, reason) || !expr.evaluate(slots.data(), extent)) {
        out.bytes = -1;
        return out;
      }
      bytes *= double(extent);
    }
    out.bytes += bytes;
  }
  if (const auto chosen = chosenVariant(session, m, slots)) out.variant = chosen->name();
  return out;
}

/// "row of f.g0 (M=1 N=64 K=32), 12.1 us predicted"
std::string describe(const Chosen &c) {
  std::string text = fmt::format("{} of {} ({})", c.name(), c.kernel, list(c.dims));
  if (c.predictedNs >= 0) text += fmt::format(", {} predicted", duration(double(c.predictedNs) * 1e-9));
  return text;
}

/// The metadata of what a run ran.
struct Ran {
  KernelMetadata entry; // that was launched
  KernelMetadata body;  // the entry, or the variant it chose
  bool isVariant = false;
  std::string when;           // the variant's conditions
  std::vector<Chosen> chosen; // by the kernels that were launched
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, int64_t>>>> tiles; // of each of these
};

/// Adds what the steps of a function chose, and the tiles of their kernels, in their order.
MaybeError readSteps(const Session &session, const Integers &integers, Ran &ran) {
  for (const PlanStep &step : ran.body.plan->steps) {
    KernelMetadata kernel;
    std::string reason;
    if (step.isLibraryCall || !KernelMetadata::fromYaml(session.metadata(step.kernel), kernel, reason))
      continue;
    if (auto chosen = chosenVariant(session, kernel, slotsOfStep(step, kernel, integers))) {
      const std::string entry = chosen->variant.entry;
      ran.chosen.push_back(std::move(*chosen));
      if (!entry.empty() && !KernelMetadata::fromYaml(session.metadata(entry), kernel, reason))
        return Error{"", reason, ""};
    }
    std::pair row(kernel.name, kernel.tile);
    if (std::ranges::find(ran.tiles, row) == ran.tiles.end()) ran.tiles.push_back(std::move(row));
  }
  return std::nullopt;
}

Expected<Ran> readRan(const Session &session, const Binding &binding) {
  Ran ran;
  std::string reason;
  if (!KernelMetadata::fromYaml(session.metadata(), ran.entry, reason)) return Error{"", reason, ""};
  ran.body = ran.entry;
  const Integers integers = integersOf(session, binding);
  const std::optional<Chosen> chosen = chosenVariant(session, ran.entry, slotsOf(ran.entry, integers));
  if (chosen && !chosen->variant.entry.empty() &&
      !KernelMetadata::fromYaml(session.metadata(chosen->variant.entry), ran.body, reason))
    return Error{"", reason, ""};
  if (chosen && ran.entry.plan) {
    ran.isVariant = true;
    ran.when = fmt::format("{}", fmt::join(chosen->variant.when, " and "));
  } else if (chosen) {
    ran.chosen = {*chosen};
  }
  if (!ran.body.plan)
    ran.tiles = {{ran.body.name, ran.body.tile}};
  else if (MaybeError error = readSteps(session, integers, ran))
    return *error;
  return ran;
}

/// "matmul of step 0: blas, of tile and blas, by my_mapper (predicted 1.5 us)"
std::string describe(const MetadataDecision &d) {
  std::string text = fmt::format("{} of step {}: {}", d.op, d.step, d.choice);
  if (!d.legal.empty()) text += fmt::format(", of {}", fmt::join(d.legal, " and "));
  text += fmt::format(", by {}", d.by);
  if (d.predictedNs >= 0) text += fmt::format(" (predicted {})", duration(d.predictedNs * 1e-9));
  return text;
}

/// The products of a kernel, or of the kernels that a function's plan launches.
std::vector<MetadataProduct> productsOf(const Session &session, const KernelMetadata &m) {
  std::vector<MetadataProduct> out = m.products;
  for (const PlanStep &step : m.plan ? m.plan->steps : std::vector<PlanStep>()) {
    KernelMetadata kernel;
    std::string reason;
    if (step.isLibraryCall || !KernelMetadata::fromYaml(session.metadata(step.kernel), kernel, reason))
      continue;
    for (const MetadataProduct &p : kernel.products)
      if (std::ranges::find(out, p) == out.end()) out.push_back(p);
  }
  return out;
}

/// Does the kernel have the tuned values? One that does not compile with them has its default.
bool isTuned(const KernelMetadata &m, const RunTimes &times) {
  return !times.tuned.empty() && std::ranges::all_of(times.tuned, [&](const auto &value) {
    return std::ranges::find(m.tile, value) != m.tile.end();
  });
}

struct Timing {
  double median, least, bytesPerSecond;
};

Timing timingOf(const Binding &binding, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t half = seconds.size() / 2;
  const double median = seconds.size() % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  double bytes = 0;
  for (const BoundParam &p : binding.params)
    bytes += double(p.bytes) / info(p.dtype).perByte * ((p.reads ? 1 : 0) + (p.writes ? 1 : 0));
  return {median, seconds.front(), bytes / median};
}

} // namespace

Expected<std::vector<LaunchInfo>> launchesOf(const Session &session, const Binding &binding) {
  Expected<Ran> ran = readRan(session, binding);
  if (!ran) return Error{"E_INTERNAL", "metadata of a loaded kernel: " + ran.error().message, ""};
  const Integers integers = integersOf(session, binding);
  std::vector<LaunchInfo> out;
  if (!ran->body.plan) {
    out.push_back(launchInfo(session, ran->entry, slotsOf(ran->entry, integers)));
    return out;
  }
  for (const PlanStep &step : ran->body.plan->steps) {
    KernelMetadata kernel;
    std::string reason;
    if (step.isLibraryCall)
      out.push_back({step.kernel, {}, {}, -1});
    else if (KernelMetadata::fromYaml(session.metadata(step.kernel), kernel, reason))
      out.push_back(launchInfo(session, kernel, slotsOfStep(step, kernel, integers)));
    else
      return Error{"E_INTERNAL", "metadata of " + step.kernel + ": " + reason, ""};
  }
  return out;
}

std::string describeRun(const Session &session, const Binding &binding, const RunTimes &times,
                        const Executed &executed) {
  const tsr_device_info_t &d = session.device();
  std::string text =
      fmt::format("backend      {} ({}, {}, {} units)\n", d.backend, d.name, d.arch, d.compute_units);
  Expected<Ran> ran = readRan(session, binding);
  if (ran) {
    const KernelMetadata &m = ran->body;
    text += fmt::format("kernel       {} for {}, numerics {}\n", ran->entry.name, m.target, m.numerics);
    if (ran->isVariant)
      text += fmt::format("variant      {}, for {}\n", m.name, ran->when);
    else if (m.plan && !m.variants.empty())
      text += fmt::format("variant      none of {} fits: the general code\n", m.variants.size());
    if (m.plan)
      text += fmt::format("plan         {} launches, {} temporaries\n", m.plan->steps.size(),
                          m.plan->buffers.size());
    else
      text += fmt::format("grid         {} programs\n", textOf(gridOf(session, m, binding)));
    for (const Chosen &c : ran->chosen)
      text += fmt::format("variant      {}\n", describe(c));
    for (const MetadataDecision &d : m.decisions)
      text += fmt::format("decision     {}\n", describe(d));
    for (const auto &[kernel, tile] : ran->tiles)
      text += fmt::format("tile         {}{}{}\n", list(tile), m.plan ? " of " : "", m.plan ? kernel : "");
    if (isTuned(m, times)) text += fmt::format("tuned        by {}\n", times.tunedBy);
    text += fmt::format("specialized  {}\n", list(m.specialized));
    for (const MetadataProduct &p : productsOf(session, m))
      text += fmt::format("product      {}\n", textOf(p));
    if (!m.plan)
      text += fmt::format("memory       {} bytes shared, {} scratch per program\n", m.sharedBytes,
                          m.scratchBytes);
    text += fmt::format("fallbacks    {}\n",
                        m.fallbacks.empty() ? "none" : fmt::format("{}", fmt::join(m.fallbacks, "; ")));
  } else {
    text += fmt::format("metadata     cannot be read: {}\n", ran.error().message);
  }
  text += fmt::format("dims         {}\n", list(binding.dims));
  for (const std::string &line : executed)
    text += fmt::format("emulator     {}\n", line);
  text += fmt::format("compile      {}\nrun          {}\n", duration(times.compileSeconds),
                      duration(times.runSeconds));
  return text;
}

std::string describeTiming(const std::string &kernel, const Binding &binding, const RunTimes &times) {
  const Timing t = timingOf(binding, times.repeats);
  return fmt::format("{}: median {}, min {} ({} runs), {:.2f} GB/s of arguments", kernel, duration(t.median),
                     duration(t.least), times.repeats.size(), t.bytesPerSecond * 1e-9);
}

Json runDocument(const Session &session, const Binding &binding, const RunTimes &times) {
  const tsr_device_info_t &d = session.device();
  Json j = {{"backend", d.backend}, {"device", d.name}, {"arch", d.arch}, {"dims", objectOf(binding.dims)}};
  if (Expected<Ran> ran = readRan(session, binding)) {
    const KernelMetadata &m = ran->body;
    j["kernel"] = ran->entry.name;
    j["target"] = m.target;
    j["numerics"] = m.numerics;
    if (m.permits) j["permits"] = permissionNames(*m.permits);
    j["tile"] = objectOf(m.tile);
    if (isTuned(m, times)) j["tuned"] = times.tunedBy;
    j["specialized"] = objectOf(m.specialized);
    if (ran->entry.plan && !ran->entry.variants.empty())
      j["variant"] = ran->isVariant ? Json(m.name) : Json();
    for (const Chosen &c : ran->chosen) {
      Json one = {{"kernel", c.kernel}, {"variant", c.name()}, {"dims", objectOf(c.dims)}};
      if (c.predictedNs >= 0) one["predicted_ns"] = c.predictedNs;
      j["variants"].push_back(std::move(one));
    }
    if (m.plan)
      j["launches"] = m.plan->steps.size();
    else
      j["grid"] = gridOf(session, m, binding);
    j["products"] = jsonOf(productsOf(session, m));
    j["fallbacks"] = m.fallbacks;
    for (const MetadataDecision &d : m.decisions) {
      Json one = {{"op", d.op}, {"step", d.step}, {"choice", d.choice}, {"from", d.legal}, {"by", d.by}};
      if (d.predictedNs >= 0) one["predicted_ns"] = d.predictedNs;
      j["decisions"].push_back(one);
    }
  }
  j["compile_seconds"] = times.compileSeconds;
  j["run_seconds"] = times.runSeconds;
  if (!times.repeats.empty()) {
    const Timing t = timingOf(binding, times.repeats);
    j["timing"] = {{"runs", times.repeats.size()},
                   {"median_seconds", t.median},
                   {"min_seconds", t.least},
                   {"argument_bytes_per_second", t.bytesPerSecond}};
  }
  return j;
}

} // namespace tessera::cli
