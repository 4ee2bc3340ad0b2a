#include "plugins/cpu/runtime/Device.h"
#include "numerics/DType.h"
#include "plugins/cpu/runtime/Topology.h"
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

namespace tessera::cpu {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxSharedBytes = 1 << 20; // per tile program; the language's limit for the CPU

/// The keys are those of docs/c-abi.md, identical on every backend.
std::string capabilitiesOf(const DeviceInfo &info) {
  Json dtypes = Json::array();
  for (const DTypeInfo &row : allDTypes())
    dtypes.push_back(row.name);
  // Matrix products use vector FMA: no tile registers, no dot-product instructions.
  Json tensorcore = Json::object();
  for (const char *dtype :
       {"fp16", "bf16", "tf32", "fp8_e4m3", "fp8_e5m2", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1", "int8", "fp64"})
    tensorcore[dtype] = false;
  Json out = {{"backend", "cpu"},
              {"name", info.name},
              {"arch", info.arch},
              {"tensorcore", tensorcore},
              {"warp_size", 1},
              {"cp_async", false},
              {"shared_bytes_per_block", info.maxSharedBytes},
              {"memory_bytes", info.memoryBytes},
              {"compute_units", info.computeUnits},
              {"vector_bytes", info.vectorBytes},
              {"memory_flags", {"device", "pinned_host", "managed"}},
              {"streams", true},
              {"events", true},
              {"graphs", true},
              {"peer_access", false},
              {"other_images", Json::array()}, // features decide which images run
              {"dtypes", dtypes}};
  // The processor's name is text from the firmware and may contain anything.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

DeviceInfo readDeviceInfo() {
  DeviceInfo info;
  info.name = processorName();
  info.arch = "cpu";
  info.memoryBytes = totalMemoryBytes();
  info.maxSharedBytes = kMaxSharedBytes;
  info.computeUnits = static_cast<uint32_t>(coreCount());
  info.vectorBytes = vectorBytes();
  info.capabilities = capabilitiesOf(info);
  return info;
}

} // namespace

const DeviceInfo &deviceInfo() {
  // Never destroyed: threads may outlive static destructors. No initialiser of a static object, which a fork
  // may leave unfinished in the child: of two callers at the same time each reads it, and one result is kept.
  static constinit std::atomic<const DeviceInfo *> known{nullptr};
  if (const DeviceInfo *info = known.load(std::memory_order_acquire)) return *info;
  auto read = std::make_unique<const DeviceInfo>(readDeviceInfo());
  const DeviceInfo *kept = nullptr;
  return known.compare_exchange_strong(kept, read.get(), std::memory_order_acq_rel) ? *read.release() : *kept;
}

} // namespace tessera::cpu
