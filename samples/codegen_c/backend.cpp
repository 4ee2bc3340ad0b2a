// A backend for the images of the code generator in this folder (codegen.c): plugins/null with kernels that
// run. Its one device is the host; a launch is complete when the call returns.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <tessera/plugin.hpp>
#include <unistd.h>

namespace {
using namespace tessera;

/// Work is complete before a call returns: every event has completed and every stream is idle.
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

/// A shared object, loaded as long as one of its kernels exists.
struct Library {
  void *handle = nullptr;
  explicit Library(void *object) : handle(object) {}
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  ~Library() { dlclose(handle); }
};

/// The type of a kernel in the LLVM IR that the compiler passes to code generators (plugin.h, Codegen).
using Entry = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

class Kernel final : public DeviceKernel {
public:
  Kernel(std::shared_ptr<Library> library, Entry entry, const KernelSpec &spec)
      : DeviceKernel(spec.valueCount), entry(entry), scratchBytes(spec.scratchBytes),
        library_(std::move(library)) {}
  const Entry entry;
  const size_t scratchBytes;

private:
  std::shared_ptr<Library> library_;
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
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override {
    const auto &code = static_cast<const Kernel &>(*kernel);
    const size_t bytes = (code.scratchBytes / 64 + 1) * 64;
    std::unique_ptr<uint8_t, decltype(&std::free)> scratch(
        static_cast<uint8_t *>(std::aligned_alloc(64, bytes)), std::free);
    if (!scratch) {
      why = "cannot get " + std::to_string(bytes) + " bytes of scratch memory";
      return TSR_EOOM;
    }
    code.entry(values, 0, grid.programs(), scratch.get());
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

/// The image as a temporary file that only the dynamic linker opens.
std::shared_ptr<Library> load(const ModuleImage &image, std::string &why) {
  char path[] = "/tmp/hostclang-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) {
    why = std::string(path) + ": " + std::strerror(errno);
    return nullptr;
  }
  const char *data = static_cast<const char *>(image.data);
  size_t written = 0;
  for (ssize_t n = 1; written < image.bytes && n > 0; written += static_cast<size_t>(n))
    if ((n = write(file, data + written, image.bytes - written)) < 0) break;
  close(file);
  void *handle = written == image.bytes ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!handle) why = written == image.bytes ? dlerror() : std::string(path) + ": it cannot be written";
  unlink(path);
  return handle ? std::make_shared<Library>(handle) : nullptr;
}

class Module final : public DeviceModule {
public:
  explicit Module(std::shared_ptr<Library> library) : library_(std::move(library)) {}
  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) override {
    auto entry = reinterpret_cast<Entry>(dlsym(library_->handle, spec.name.c_str()));
    if (entry) return std::make_shared<Kernel>(library_, entry, spec);
    why = "the image has no kernel " + spec.name;
    return nullptr;
  }

private:
  std::shared_ptr<Library> library_;
};

const DeviceInfo kDevice = {
    "the host", "hostclang:baseline", R"({"backend": "hostclang"})", 1ull << 40, 1 << 20, 1, 16};

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
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) override {
    if (image.format != TSR_IMAGE_ELF)
      throw StatusError(TSR_UNIMPLEMENTED, "it loads shared objects, not images of another format");
    auto library = load(image, why);
    return library ? std::make_shared<Module>(std::move(library)) : nullptr;
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

class HostBackend final : public Backend {
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

TSR_PLUGIN(HostBackend);
