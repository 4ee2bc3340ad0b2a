// The CPU backend: always there, in the process, one device.
#include "numerics/DType.h"
#include "plugins/cpu/runtime/MemoryPool.h"
#include "plugins/cpu/runtime/Stream.h"
#include "plugins/cpu/runtime/Topology.h"

namespace tessera {
namespace cpu {
namespace {

constexpr uint64_t kMaxSharedBytes = 1 << 20; // of one tile program; the language's limit for the CPU

std::string jsonText(const std::string &s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

DeviceInfo readDeviceInfo() {
  DeviceInfo info;
  info.name = processorName();
  info.arch = "cpu";
  info.memoryBytes = totalMemoryBytes();
  info.maxSharedBytes = kMaxSharedBytes;
  info.computeUnits = static_cast<uint32_t>(coreCount());
  info.vectorBytes = vectorBytes();
  std::string dtypes;
  for (const DTypeInfo &row : allDTypes())
    dtypes += (dtypes.empty() ? "" : ", ") + jsonText(row.name);
  info.capabilities = "{\"backend\": \"cpu\", \"name\": " + jsonText(info.name) + ", \"arch\": \"" +
                      info.arch + "\", \"memory_bytes\": " + std::to_string(info.memoryBytes) +
                      ", \"max_shared_bytes\": " + std::to_string(info.maxSharedBytes) +
                      ", \"compute_units\": " + std::to_string(info.computeUnits) +
                      ", \"vector_bytes\": " + std::to_string(info.vectorBytes) +
                      ", \"memory_flags\": [\"device\", \"pinned_host\", \"managed\"]" +
                      ", \"streams\": true, \"events\": true, \"graphs\": false, \"peer_access\": false" +
                      ", \"dtypes\": [" + dtypes + "]}";
  return info;
}

class Context final : public DeviceContext {
public:
  const DeviceInfo &info() const override { return info_; }

  /// Host and device are one here, so the flags differ in nothing.
  tsr_status_t alloc(size_t bytes, uint32_t, void **dptr, std::string &why) override {
    if ((*dptr = pool_.alloc(bytes))) return TSR_SUCCESS;
    why = "cannot get " + std::to_string(bytes) + " bytes; " + std::to_string(pool_.bytesInUse()) +
          " are in use by this context, the machine has " + std::to_string(info_.memoryBytes);
    return TSR_EOOM;
  }
  tsr_status_t free(void *dptr, std::string &why) override {
    if (pool_.free(dptr)) return TSR_SUCCESS;
    why = "the pointer is not a live allocation of this context (freed twice, or from elsewhere)";
    return TSR_EINVAL;
  }
  bool owns(const void *dptr, size_t bytes) override { return pool_.owns(dptr, bytes); }
  std::optional<size_t> available(const void *dptr) override { return pool_.available(dptr); }
  MemoryUse memoryUse() override {
    return {info_.memoryBytes, freeMemoryBytes(), pool_.bytesInUse(), pool_.bytesPooled()};
  }
  void trim() override { pool_.trim(); }

  std::unique_ptr<DeviceStream> createStream(std::string &) override { return std::make_unique<Stream>(); }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return std::make_unique<Event>(); }
  std::shared_ptr<DeviceKernel> createKernel(KernelImage image, std::string &why) override {
    if (image.entry) return std::make_shared<Kernel>(std::move(image));
    why = "kernel " + image.name + " has no code for this CPU";
    return nullptr;
  }

private:
  const DeviceInfo info_ = readDeviceInfo();
  MemoryPool pool_{info_.memoryBytes};
};

class CpuBackend final : public Backend {
public:
  const char *name() const override { return "cpu"; }
  const char *description() const override { return "the host's processor"; }
  int deviceCount() const override { return 1; }
  std::unique_ptr<DeviceContext> createContext(int, std::string &) override {
    return std::make_unique<Context>();
  }
};

} // namespace
} // namespace cpu

Backend &cpuBackend() {
  static cpu::CpuBackend backend;
  return backend;
}

} // namespace tessera
