#include "tools/tsr/RunReport.h"
#include "core/KernelMetadata.h"
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

/// A time in the unit that gives it one to three digits before the point.
std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string gridOf(const KernelMetadata &m, const Binding &binding) {
  std::vector<std::string> names;
  std::vector<int64_t> slots;
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
  std::string text;
  for (const std::string &axis : m.axes) {
    IndexExpr expr;
    std::string why;
    int64_t value;
    bool ok = IndexExpr::parse(axis, names, expr, why) && expr.evaluate(slots.data(), value);
    text += fmt::format("{}{}", text.empty() ? "" : " x ", ok ? std::to_string(value) : axis);
  }
  return text.empty() ? "1" : text;
}

} // namespace

std::string describeRun(const Session &session, const Binding &binding, double compileSeconds,
                        double runSeconds) {
  const tsr_device_info_t &d = session.device();
  std::string text =
      fmt::format("backend      {} ({}, {}, {} units)\n", d.backend, d.name, d.arch, d.compute_units);
  KernelMetadata m;
  std::string why;
  if (KernelMetadata::fromYaml(session.metadata(), m, why)) {
    text += fmt::format("kernel       {} for {}, numerics {}\n", m.name, m.target, m.numerics);
    text += fmt::format("grid         {} programs\n", gridOf(m, binding));
    text += fmt::format("tile         {}\n", list(m.tile));
    text += fmt::format("specialized  {}\n", list(m.specialized));
    if (!m.fragmentShape.empty()) text += fmt::format("fragment     {}\n", m.fragmentShape);
    text +=
        fmt::format("memory       {} bytes shared, {} scratch per program\n", m.sharedBytes, m.scratchBytes);
    text += fmt::format("fallbacks    {}\n",
                        m.fallbacks.empty() ? "none" : fmt::format("{}", fmt::join(m.fallbacks, "; ")));
  } else {
    text += fmt::format("metadata     cannot be read: {}\n", why);
  }
  text += fmt::format("dims         {}\n", list(binding.dims));
  text += fmt::format("compile      {}\nrun          {}\n", duration(compileSeconds), duration(runSeconds));
  return text;
}

std::string describeTiming(const std::string &kernel, const Binding &binding, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds.size() % 2
                            ? seconds[seconds.size() / 2]
                            : (seconds[seconds.size() / 2 - 1] + seconds[seconds.size() / 2]) / 2;
  double bytes = 0;
  for (const BoundParam &p : binding.params)
    bytes += double(p.bytes) * ((p.reads ? 1 : 0) + (p.writes ? 1 : 0));
  return fmt::format("{}: median {}, min {} ({} runs), {:.2f} GB/s of arguments", kernel, duration(median),
                     duration(seconds.front()), seconds.size(), bytes / median * 1e-9);
}

} // namespace tessera::cli
