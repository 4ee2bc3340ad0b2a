// The CPU backend: always there, in the process, one device.
#include "plugins/cpu/runtime/Device.h"
#include "plugins/cpu/runtime/MemoryPool.h"
#include "plugins/cpu/runtime/Stream.h"
#include "plugins/cpu/runtime/Topology.h"

namespace tessera {
namespace cpu {
namespace {

class Context final : public DeviceContext {
public:
  explicit Context(const tsr_allocator_t *allocator)
      : allocator_(allocator), pool_(info_.memoryBytes, allocator) {}
  const DeviceInfo &info() const override { return info_; }

  /// Host and device are one here, so the flags differ in nothing.
  tsr_status_t alloc(size_t bytes, uint32_t, void **dptr, std::string &why) override {
    if ((*dptr = pool_.alloc(bytes))) return TSR_SUCCESS;
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

  std::unique_ptr<DeviceStream> createStream(std::string &) override { return std::make_unique<Stream>(); }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return std::make_unique<Event>(); }
  std::shared_ptr<DeviceKernel> createKernel(KernelImage image, std::string &why) override {
    if (image.entry) return std::make_shared<Kernel>(std::move(image));
    why = "kernel " + image.name + " has no code for this CPU";
    return nullptr;
  }

private:
  const DeviceInfo &info_ = deviceInfo();
  const tsr_allocator_t *const allocator_;
  MemoryPool pool_;
};

class CpuBackend final : public Backend {
public:
  const char *name() const override { return "cpu"; }
  const char *description() const override { return "the host's processor"; }
  int deviceCount() const override { return 1; }
  const DeviceInfo *deviceInfo(int, std::string &) override { return &cpu::deviceInfo(); }
  std::unique_ptr<DeviceContext> createContext(int, const tsr_allocator_t *allocator,
                                               std::string &) override {
    return std::make_unique<Context>(allocator);
  }
};

} // namespace
} // namespace cpu

Backend &cpuBackend() {
  static cpu::CpuBackend backend;
  return backend;
}

} // namespace tessera
