// The smallest backend: one device whose memory is host memory and whose kernels do nothing. Copy this folder
// to start a backend of your own; docs/extending/write-a-backend.md explains it step by step.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tessera/plugin.hpp>

namespace {
using namespace tessera;

/// Work is done, or dropped, before a call returns: every event has completed and every stream is idle.
class Event final : public DeviceEvent {
public:
  bool isDone() override { return true; }
  void wait() override {}
  tsr_status_t timestamp(int64_t &nanoseconds) override {
    if (!isRecorded) return TSR_EINVAL;
    nanoseconds = 0;
    return TSR_SUCCESS;
  }
  std::atomic<bool> isRecorded{false};
};

class Stream final : public DeviceStream {
public:
  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool, std::string &) override {
    if (bytes) std::memmove(dst, src, bytes);
    return TSR_SUCCESS;
  }
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool, std::string &) override {
    if (bytes) std::memset(dst, value, bytes);
    return TSR_SUCCESS;
  }
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &, const uint64_t *, const LaunchGrid &,
                      std::string &) override {
    return TSR_SUCCESS;
  }
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &) override {
    static_cast<Event &>(*event).isRecorded = true;
    return TSR_SUCCESS;
  }
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &, std::string &) override { return TSR_SUCCESS; }
  tsr_status_t synchronize(uint64_t, std::string &) override { return TSR_SUCCESS; }
  tsr_status_t query(std::string &) override { return TSR_SUCCESS; }
  void drain() override {}
  bool isIdle() override { return true; }
};

/// Accepts any code and runs none of it.
class Module final : public DeviceModule {
public:
  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &) override {
    return std::make_shared<DeviceKernel>(spec.valueCount);
  }
};

const DeviceInfo kDevice = {"null device", "null", R"({"backend": "null"})", 1ull << 40, 1 << 20, 1, 0};

class Context final : public DeviceContext {
public:
  explicit Context(const tsr_allocator_t *allocator) : allocator_(allocator) {}
  ~Context() override {
    for (auto &[ptr, bytes] : blocks_)
      release(ptr, bytes);
  }
  const DeviceInfo &info() const override { return kDevice; }

  tsr_status_t alloc(size_t bytes, uint32_t, void **dptr, std::string &why) override {
    void *ptr = bytes > kDevice.memoryBytes ? nullptr
                : allocator_                ? allocator_->alloc(allocator_->user, reserved(bytes), 64)
                                            : std::aligned_alloc(64, reserved(bytes));
    if (!ptr) {
      why = "cannot get " + std::to_string(bytes) + " bytes";
      return TSR_EOOM;
    }
    std::lock_guard lock(mutex_);
    blocks_[ptr] = bytes;
    inUse_ += bytes;
    *dptr = ptr;
    return TSR_SUCCESS;
  }
  tsr_status_t free(void *dptr, std::string &why) override {
    std::lock_guard lock(mutex_);
    auto block = blocks_.find(dptr);
    if (block == blocks_.end()) {
      why = "the pointer is not a live allocation of this context";
      return TSR_EINVAL;
    }
    release(dptr, block->second);
    inUse_ -= block->second;
    blocks_.erase(block);
    return TSR_SUCCESS;
  }
  std::optional<size_t> available(const void *dptr) override {
    std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<void *>(dptr));
    if (after == blocks_.begin()) return std::nullopt;
    auto &[begin, bytes] = *std::prev(after);
    size_t offset = static_cast<size_t>(static_cast<const char *>(dptr) - static_cast<char *>(begin));
    return offset < bytes || offset == 0 ? std::optional(bytes - offset) : std::nullopt;
  }
  MemoryUse memoryUse() override {
    std::lock_guard lock(mutex_);
    return {kDevice.memoryBytes, kDevice.memoryBytes - inUse_, inUse_, 0};
  }
  void trim() override {}
  std::unique_ptr<DeviceStream> createStream(std::string &) override { return std::make_unique<Stream>(); }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return std::make_unique<Event>(); }
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &, std::string &) override {
    return std::make_shared<Module>();
  }

private:
  /// Never 0, so that every pointer is unique.
  static size_t reserved(size_t bytes) { return (bytes / 64 + 1) * 64; }
  void release(void *ptr, size_t bytes) {
    allocator_ ? allocator_->free(allocator_->user, ptr, reserved(bytes)) : std::free(ptr);
  }
  const tsr_allocator_t *const allocator_;
  std::mutex mutex_;
  std::map<void *, size_t> blocks_; // bytes requested, by address; guarded by the mutex, like inUse_
  size_t inUse_ = 0;
};

class NullBackend final : public Backend {
public:
  tsr_status_t probe(tsr_probe_t &out, std::string &) override {
    out.device_count = 1;
    out.score = 0; // never chosen unless requested by name
    return TSR_SUCCESS;
  }
  int deviceCount() const override { return 1; }
  const DeviceInfo *deviceInfo(int, std::string &) override { return &kDevice; }
  std::unique_ptr<DeviceContext> createContext(int, const tsr_allocator_t *allocator,
                                               std::string &) override {
    return std::make_unique<Context>(allocator);
  }
};

} // namespace

TSR_PLUGIN(NullBackend);
