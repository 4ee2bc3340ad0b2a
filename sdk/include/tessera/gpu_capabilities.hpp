// The capabilities of a GPU as JSON, with the keys of docs/c-abi.md.
#pragma once
#include <string>
#include <tessera/backend.hpp>
#include <tessera/gpu_architecture.hpp>

namespace tessera {

/// What depends on the driver and not on the architecture.
struct GpuFeatures {
  std::string_view memoryFlags = "device"; // separated by spaces
  bool graphs = true, peerAccess = false, isEmulated = false;
  std::string_view otherImages{}; // targets whose images it runs beside its own, preferred first
};

inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

inline std::string gpuCapabilities(std::string_view backend, const DeviceInfo &info,
                                   const GpuArchitecture &architecture, const GpuFeatures &features = {}) {
  auto list = [](std::string_view words) {
    std::string out;
    forEachWord(words, [&](std::string_view word) {
      out += (out.empty() ? "" : ", ") + tessera::quoted(word);
      return true;
    });
    return "[" + out + "]";
  };
  auto truth = [](bool b) { return std::string(b ? "true" : "false"); };
  // The keys of tensorcore and the dtypes that they stand for.
  constexpr std::string_view kNames[][2] = {{"fp16", "f16"},          {"bf16", "bf16"},
                                            {"tf32", "tf32"},         {"fp64", "f64"},
                                            {"fp8_e4m3", "fp8_e4m3"}, {"fp8_e5m2", "fp8_e5m2"},
                                            {"fp6_e2m3", "fp6_e2m3"}, {"fp6_e3m2", "fp6_e3m2"},
                                            {"fp4_e2m1", "fp4_e2m1"}, {"int8", "i8"}};
  std::string products;
  for (const auto &[key, dtype] : kNames)
    products +=
        (products.empty() ? "" : ", ") + tessera::quoted(key) + ": " + truth(architecture.multiplies(dtype));
  return "{\"backend\": " + tessera::quoted(backend) + ", \"name\": " + tessera::quoted(info.name) +
         ", \"arch\": " + tessera::quoted(info.arch) + ", \"emulated\": " + truth(features.isEmulated) +
         ", \"tensorcore\": {" + products + "}, \"warp_size\": " + std::to_string(architecture.warpSize) +
         ", \"cp_async\": " + truth(architecture.copiesAsync) +
         ", \"shared_bytes_per_block\": " + std::to_string(architecture.maxShared) +
         ", \"memory_bytes\": " + std::to_string(info.memoryBytes) +
         ", \"compute_units\": " + std::to_string(info.computeUnits) +
         ", \"vector_bytes\": " + std::to_string(info.vectorBytes) +
         ", \"memory_flags\": " + list(features.memoryFlags) + ", \"streams\": true, \"events\": true" +
         ", \"graphs\": " + truth(features.graphs) + ", \"peer_access\": " + truth(features.peerAccess) +
         ", \"other_images\": " + list(features.otherImages) + ", \"dtypes\": " + list(architecture.dtypes) +
         "}";
}

} // namespace tessera
