// Runs kernels from C++ by the names of their parameters, for benchmarks and tests: a thin layer over the C
// ABI that takes the order of arguments from the kernel's metadata. Failures are exceptions of type Failure.
//
// Objects may move between threads, but only one thread may use an object at a time. Everything made from a
// Device must be destroyed before it.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tessera/tessera.h>
#include <utility>
#include <vector>

namespace tessera::host {

struct Failure : std::runtime_error {
  Failure(tsr_status_t status, std::string code, const std::string &what)
      : std::runtime_error(what), status(status), code(std::move(code)) {}
  tsr_status_t status;
  std::string code; // of the first diagnostic, when the compiler gave one
};

/// Throws Failure with the library's error text unless `status` is TSR_SUCCESS.
void check(tsr_status_t status, const char *doing);

class Device {
public:
  explicit Device(const char *backend = nullptr);
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();

  tsr_context_t handle() const { return context_; }
  const tsr_device_info_t &info() const { return info_; }
  void synchronize() const { check(tsrSynchronize(context_), "tsrSynchronize"); }

private:
  tsr_context_t context_ = nullptr;
  tsr_device_info_t info_ = {};
};

/// Device memory.
class Buffer {
public:
  Buffer() = default;
  Buffer(Device &, size_t bytes);
  /// Allocates memory and fills it with `values`.
  template <typename T>
  Buffer(Device &device, const std::vector<T> &values) : Buffer(device, values.size() * sizeof(T)) {
    upload(std::as_bytes(std::span(values)));
  }
  Buffer(Buffer &&o) noexcept { *this = std::move(o); }
  Buffer &operator=(Buffer &&o) noexcept;
  ~Buffer();

  size_t size() const { return size_; }
  void *data() const { return data_; }
  void upload(std::span<const std::byte>);
  void download(std::span<std::byte>) const;
  void zero();
  template <typename T> std::vector<T> as() const {
    std::vector<T> out(size_ / sizeof(T));
    download(std::as_writable_bytes(std::span(out)));
    return out;
  }

private:
  tsr_context_t context_ = nullptr;
  void *data_ = nullptr;
  size_t size_ = 0;
};

using NamedInts = std::vector<std::pair<std::string, int64_t>>;

struct BuildOptions {
  std::string fileName = "<source>", kernel = {}, numerics = "standard";
  std::string target = {}; // "": the device's; else one of its backend's that its machine can run
  NamedInts dims = {}, tunables = {};
  bool whole = false; // true: compiles every kernel of the source; `kernel` is the one to run
  bool fuse = true;   // false: every operation of a graph function becomes a kernel of its own
  bool isIr = false;  // the source is the text of an IR
};

/// One compiled kernel.
class Kernel {
public:
  Kernel(Device &, std::string_view source, const BuildOptions &);
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel();

  tsr_kernel_t handle() const { return kernel_; }
  const KernelMetadata &metadata() const { return metadata_; }
  KernelMetadata metadata(const char *entry) const; // of another entry of its module
  Device &device() const { return device_; }

private:
  void load(std::string_view source, const BuildOptions &);
  void loadThroughBundle(std::string_view source, const BuildOptions &);
  Device &device_;
  tsr_module_t module_ = nullptr;
  tsr_kernel_t kernel_ = nullptr;
  KernelMetadata metadata_;
};

/// A kernel with its arguments. Buffers must outlive it.
class Launch {
public:
  explicit Launch(Kernel &);
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;

  Launch &set(std::string_view tensor, const Buffer &buffer) { return set(tensor, buffer.data()); }
  Launch &set(std::string_view tensor, void *devicePointer);
  Launch &setScalar(std::string_view scalar, double value); // converted to the scalar's dtype
  Launch &setDims(const NamedInts &);                       // ignores names that the kernel does not have
  void start() const;                                       // queues the kernel on the default stream
  void run() const {                                        // also waits for it
    start();
    kernel_.device().synchronize();
  }

private:
  uint64_t &slot(std::string_view name);
  Kernel &kernel_;
  std::vector<uint64_t> values_;
  mutable std::vector<void *> arguments_;
};

/// Returns the whole text of a file; throws Failure.
std::string readText(const std::string &path);

} // namespace tessera::host
