#include "core/tuning/TunedKey.h"
#include "core/support/HostCpu.h"
#include <bit>

namespace tessera {

std::string tunedKernelOf(const Signature &s) {
  auto join = [](const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts)
      out += (out.empty() ? "" : ", ") + text;
    return out;
  };
  std::vector<std::string> params, tunables;
  for (const SignatureParam &p : s.params) {
    std::string text = p.name + ": " + p.dtype;
    if (p.isTensor) text += "[" + join(p.dims) + "]";
    if (!p.strides.empty()) text += " strides [" + join(p.strides) + "]";
    params.push_back(std::move(text));
  }
  for (const auto &[name, space] : s.tunables) {
    std::string text = name + ":";
    for (int64_t value : space)
      text += " " + std::to_string(value);
    tunables.push_back(std::move(text));
  }
  return s.kernel + "(" + join(params) + ") " + join(tunables);
}

std::string tunedArchOf(const std::string &target) {
  if (target != "cpu") return target;
  const std::string model = hostCpuModel();
  return model.empty() ? hostCpuTarget() : "cpu:" + model;
}

std::vector<std::string> sizeClassOf(const NamedValues &dims, bool isExact) {
  std::vector<std::string> out;
  for (const auto &[name, value] : dims) {
    if (isExact || value < 8) {
      out.push_back(name + " == " + std::to_string(value));
      continue;
    }
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(value)));
    const int64_t step = power / 4, low = power + (value - power) / step * step;
    out.push_back(name + " >= " + std::to_string(low));
    // low + step does not overflow: values are below 2^63, and steps end at powers of two
    if (low <= INT64_MAX - step) out.push_back(name + " < " + std::to_string(low + step));
    out.push_back(name + (value % 16 == 0 ? " % 16 == 0" : " % 16 != 0"));
  }
  return out;
}

} // namespace tessera
