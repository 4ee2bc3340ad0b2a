// The CPU backend: always available, in the process, with one device.
#include "plugins/cpu/runtime/Device.h"
#include "plugins/cpu/runtime/MemoryPool.h"
#include "plugins/cpu/runtime/Module.h"
#include "plugins/cpu/runtime/Stream.h"
#include "plugins/cpu/runtime/Topology.h"
#include <tessera/plugin.hpp>

namespace tessera {
namespace cpu {
namespace {

class Context final : public DeviceContext {
public:
  explicit Context(const tsr_allocator_t *allocator)
      : allocator_(allocator), pool_(info_.memoryBytes, allocator) {}
  const DeviceInfo &info() const override { return info_; }

  /// Host and device are the same, so the flags make no difference.
  tsr_status_t alloc(size_t bytes, uint32_t, void **dptr, std::string &why) override {
    if (void *p = pool_.alloc(bytes)) return *dptr = p, TSR_SUCCESS;
    if (allocator_)
      why = "the allocator of the context's options gave no " + std::to_string(bytes) +
            " bytes aligned to 64 bytes";
    else
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

  std::unique_ptr<DeviceStream> createStream(std::string &) override {
    return std::make_unique<Stream>(activities_);
  }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return std::make_unique<Event>(); }
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) override {
    return cpu::loadModule(image, why);
  }
  /// Host and device are the same, and there is no other device.
  uint32_t memoryFlags() override { return TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_MANAGED; }
  void pushRange(const char *name) override { activities_.pushRange(name); }
  void popRange() override { activities_.popRange(); }
  tsr_status_t reportActivities(ActivitySink sink, std::string &) override {
    activities_.setSink(std::move(sink));
    return TSR_SUCCESS;
  }
  void tagActivities(const ActivityTag &tag) override { activities_.setTag(tag); }

private:
  const DeviceInfo &info_ = deviceInfo();
  const tsr_allocator_t *const allocator_;
  MemoryPool pool_;
  Activities activities_;
};

class CpuBackend final : public Backend {
public:
  int deviceCount() const override { return 1; }
  tsr_status_t probe(tsr_probe_t &out, std::string &) override {
    out.device_count = 1;
    out.score = 100;
    return TSR_SUCCESS;
  }
  const DeviceInfo *deviceInfo(int, std::string &) override { return &cpu::deviceInfo(); }
  std::unique_ptr<DeviceContext> createContext(int, const tsr_allocator_t *allocator,
                                               std::string &) override {
    return std::make_unique<Context>(allocator);
  }
};

} // namespace
} // namespace cpu

int32_t cpuPluginQuery(const tsr_host_info_t *host, tsr_plugin_info_t *info) {
  cpu::setHost(host);
  tsr_plugin_info_t out{};
  out.abi_major = TSR_PLUGIN_ABI_MAJOR;
  out.built_minor = TSR_PLUGIN_ABI_MINOR;
  out.kinds = TSR_PLUGIN_BACKEND;
  out.name = "cpu";
  out.version = TSR_HAS(host, tsr_host_info_t, version) ? host->version : ""; // part of the library
  out.description = "the host's processor";
  out.features_required = out.features_optional = out.compiler_abi = "";
  out.probe = thunk::probeOf<cpu::CpuBackend>;
  out.backend = thunk::backendApi<cpu::CpuBackend>();
  thunk::copyOut(info, out);
  return TSR_SUCCESS;
}

} // namespace tessera
