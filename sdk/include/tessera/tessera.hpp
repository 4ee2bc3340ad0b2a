// Tessera for C++20: RAII over the C ABI of <tessera/tessera.h>, header only.
//
//   tessera::Context context;
//   auto x = context.upload<float>(host);
//   auto module = context.load(source);
//   auto saxpy = module.kernel("saxpy");
//   tessera::launch(saxpy, x, y, 2.0f, tessera::Dim(n));   // default stream
//   y.download(host);                                       // waits
//
// Failures throw tessera::Error, destructors swallow them. Objects own their handle and move; they must not
// outlive their Context. Threads: as in the C ABI, an object may be used by several threads, but not while it
// is destroyed or moved from.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tessera/tessera.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// A failed call: its status, and in what() the library's text.
class Error : public std::runtime_error {
public:
  Error(tsr_status_t status, const std::string &text) : std::runtime_error(text), status_(status) {}
  tsr_status_t status() const noexcept { return status_; }

private:
  tsr_status_t status_;
};

/// Throws unless `status` is TSR_SUCCESS.
inline void check(tsr_status_t status) {
  if (status != TSR_SUCCESS) throw Error(status, std::string(tsrStatusName(status)) + ": " + tsrLastError());
}

namespace detail {

/// Sole owner of a C handle.
template <class H, tsr_status_t (*Destroy)(H)> class Handle {
public:
  Handle() = default;
  explicit Handle(H h) : handle_(h) {}
  Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    if (this != &other) reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  ~Handle() { reset(nullptr); }
  H get() const noexcept { return handle_; }

private:
  void reset(H h) noexcept {
    if (handle_) Destroy(handle_);
    handle_ = h;
  }
  H handle_ = nullptr;
};

} // namespace detail

/// A queue of work. Destruction waits for it.
class Stream {
public:
  explicit Stream(tsr_stream_t handle) : handle_(handle) {}
  tsr_stream_t handle() const noexcept { return handle_.get(); }
  void synchronize() const { check(tsrStreamSynchronize(handle())); }
  /// Is everything done?
  bool done() const { return isDone(tsrStreamQuery(handle())); }
  void wait(const class Event &) const;

  static bool isDone(tsr_status_t status) {
    if (status == TSR_NOT_READY) return false;
    check(status);
    return true;
  }

private:
  detail::Handle<tsr_stream_t, tsrDestroyStream> handle_;
};

/// A point in a stream's order.
class Event {
public:
  explicit Event(tsr_event_t handle) : handle_(handle) {}
  tsr_event_t handle() const noexcept { return handle_.get(); }
  void record() { check(tsrEventRecord(handle(), nullptr)); } // on the default stream
  void record(const Stream &s) { check(tsrEventRecord(handle(), s.handle())); }
  void synchronize() const { check(tsrEventSynchronize(handle())); }
  bool done() const { return Stream::isDone(tsrEventQuery(handle())); }
  /// Milliseconds from `start` to this event; both must have passed.
  double since(const Event &start) const {
    double ms = 0;
    check(tsrEventElapsedMs(start.handle(), handle(), &ms));
    return ms;
  }

private:
  detail::Handle<tsr_event_t, tsrDestroyEvent> handle_;
};

inline void Stream::wait(const Event &event) const { check(tsrStreamWaitEvent(handle(), event.handle())); }

/// `size` elements of device memory. Destruction waits for the context's queued work.
template <class T> class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain values");

public:
  Buffer() = default;
  Buffer(tsr_context_t context, size_t size, uint32_t flags = TSR_MEM_DEVICE)
      : context_(context), size_(size) {
    if (size > SIZE_MAX / sizeof(T)) throw Error(TSR_EOOM, "TSR_EOOM: the buffer's size overflows");
    void *p = nullptr;
    check(tsrAlloc(context, size * sizeof(T), flags, &p));
    data_ = static_cast<T *>(p);
  }
  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_) tsrFree(context_, data_);
  }

  /// The device pointer: an address of the device, not for the host to read.
  T *get() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  size_t bytes() const noexcept { return size_ * sizeof(T); }

  /// Copies and waits. The host range must have size() elements.
  void upload(std::span<const T> host) {
    requireSize(host.size());
    check(tsrMemcpyH2D(context_, data_, host.data() ? host.data() : &kNothing, bytes()));
  }
  void download(std::span<T> host) const {
    requireSize(host.size());
    T nothing;
    check(tsrMemcpyD2H(context_, host.data() ? host.data() : &nothing, data_, bytes()));
  }
  std::vector<T> download() const {
    std::vector<T> out(size_);
    download(out);
    return out;
  }
  /// Only queue: the host range must stay until the stream has passed the copy.
  void upload(std::span<const T> host, const Stream &s) {
    requireSize(host.size());
    check(tsrMemcpyH2DAsync(context_, data_, host.data() ? host.data() : &kNothing, bytes(), s.handle()));
  }
  void download(std::span<T> host, const Stream &s) const {
    requireSize(host.size());
    T nothing;
    check(tsrMemcpyD2HAsync(context_, host.data() ? host.data() : &nothing, data_, bytes(), s.handle()));
  }
  /// Sets every byte, and waits.
  void fill(uint8_t byte) { check(tsrMemset(context_, data_, byte, bytes())); }

private:
  static constexpr T kNothing{};
  void requireSize(size_t size) const {
    if (size != size_)
      throw Error(TSR_EINVAL, "TSR_EINVAL: the host range has " + std::to_string(size) +
                                  " elements, the buffer " + std::to_string(size_));
  }
  void swap(Buffer &other) noexcept {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  tsr_context_t context_ = nullptr;
  T *data_ = nullptr;
  size_t size_ = 0;
};

/// A symbolic dim of a launch; dims stand last, in order of first appearance.
struct Dim {
  int64_t value;
  explicit constexpr Dim(int64_t v) : value(v) {}
  explicit constexpr Dim(size_t v) : value(static_cast<int64_t>(v)) {}
  explicit constexpr Dim(int v) : value(v) {}
};

/// An entry point; owned by its Module.
class Kernel {
public:
  explicit Kernel(tsr_kernel_t handle) : handle_(handle) {}
  tsr_kernel_t handle() const noexcept { return handle_; }
  /// YAML.
  std::string metadata() const {
    const char *text = nullptr;
    check(tsrKernelMetadata(handle_, &text));
    return text;
  }

private:
  tsr_kernel_t handle_;
};

/// Compiled code. Destruction leaves queued launches running.
class Module {
public:
  explicit Module(tsr_module_t handle) : handle_(handle) {}
  tsr_module_t handle() const noexcept { return handle_.get(); }
  Kernel kernel(const std::string &name) const {
    tsr_kernel_t k = nullptr;
    check(tsrGetKernel(handle(), name.c_str(), &k));
    return Kernel(k);
  }
  /// The only kernel.
  Kernel kernel() const {
    tsr_kernel_t k = nullptr;
    check(tsrGetKernel(handle(), nullptr, &k));
    return Kernel(k);
  }

private:
  detail::Handle<tsr_module_t, tsrUnloadModule> handle_;
};

/// How a source is compiled; see tsr_source_options_t.
struct SourceOptions {
  std::string fileName = "<source>";
  std::string kernel = {}, target = {}, numerics = {}; // empty: the defaults
  std::vector<std::pair<std::string, int64_t>> dims = {}, tunables = {};
};

/// A device and everything made from it.
class Context {
public:
  Context() : Context(nullptr) {}
  /// `backend` null: TESSERA_BACKEND, else the best available.
  explicit Context(const char *backend, int device = 0) {
    tsr_context_options_t options{};
    options.struct_size = sizeof options;
    options.backend = backend;
    options.device = device;
    tsr_context_t c = nullptr;
    check(tsrCreateContextEx(&options, &c));
    handle_ = detail::Handle<tsr_context_t, tsrDestroyContext>(c);
  }
  tsr_context_t handle() const noexcept { return handle_.get(); }

  template <class T> Buffer<T> alloc(size_t size, uint32_t flags = TSR_MEM_DEVICE) const {
    return Buffer<T>(handle(), size, flags);
  }
  /// A buffer with the values of `host`.
  template <class T> Buffer<T> upload(std::span<const std::type_identity_t<T>> host) const {
    Buffer<T> out(handle(), host.size());
    out.upload(host);
    return out;
  }
  Stream stream() const {
    tsr_stream_t s = nullptr;
    check(tsrCreateStream(handle(), &s));
    return Stream(s);
  }
  Event event() const {
    tsr_event_t e = nullptr;
    check(tsrCreateEvent(handle(), &e));
    return Event(e);
  }
  /// Compiles a source text. A program error throws with the first diagnostic's text.
  Module load(std::string_view source, const SourceOptions &o = {}) const {
    auto pairs = [](const auto &from) {
      std::vector<tsr_named_int_t> out;
      for (const auto &[name, value] : from)
        out.push_back({name.c_str(), value});
      return out;
    };
    auto orNull = [](const std::string &s) { return s.empty() ? nullptr : s.c_str(); };
    std::vector<tsr_named_int_t> dims = pairs(o.dims), tunables = pairs(o.tunables);
    tsr_source_options_t options{};
    options.struct_size = sizeof options;
    options.file_name = o.fileName.c_str();
    options.kernel = orNull(o.kernel);
    options.target = orNull(o.target);
    options.numerics = orNull(o.numerics);
    options.dims = dims.data();
    options.dim_count = dims.size();
    options.tunables = tunables.data();
    options.tunable_count = tunables.size();
    tsr_module_t m = nullptr;
    const char *text = source.data() ? source.data() : "";
    check(tsrLoadModuleFromSource(handle(), text, source.size(), &options, &m));
    return Module(m);
  }
  /// Waits for all streams.
  void synchronize() const { check(tsrSynchronize(handle())); }
  tsr_device_info_t deviceInfo() const {
    tsr_device_info_t info{};
    info.struct_size = sizeof info;
    check(tsrGetDeviceInfo(handle(), &info));
    return info;
  }

private:
  detail::Handle<tsr_context_t, tsrDestroyContext> handle_;
};

namespace detail {

/// A launch argument as the ABI reads it: a pointer, a scalar of its own type, or an int64.
template <class T> T *abiValue(const Buffer<T> &b) { return b.get(); }
inline int64_t abiValue(Dim d) { return d.value; }
inline uint8_t abiValue(bool b) { return b; }
template <class T>
  requires std::is_arithmetic_v<T> || std::is_pointer_v<T> ||
           (std::is_class_v<T> && std::is_trivially_copyable_v<T>)
T abiValue(T value) {
  return value;
}

/// The value in a slot of eight bytes, which the library may read whole whatever the parameter's type is.
/// Integers are widened, so that any integer type serves any integer parameter.
template <class T> uint64_t launchSlot(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a scalar argument has at most eight bytes");
  uint64_t slot = 0;
  if constexpr (std::is_integral_v<T>)
    slot = static_cast<uint64_t>(value);
  else
    std::memcpy(&slot, &value, sizeof value);
  return slot;
}

inline void launch(const Kernel &kernel, tsr_stream_t stream, auto... values) {
  constexpr size_t count = sizeof...(values);
  uint64_t slots[count + 1] = {launchSlot(values)...};
  void *args[count + 1];
  for (size_t i = 0; i <= count; ++i)
    args[i] = &slots[i];
  check(tsrLaunch(kernel.handle(), stream, tsr_launch_t{}, args, count));
}

} // namespace detail

/// Queues one launch, its grid derived from the dims. Arguments: buffers (or device pointers), result
/// buffers, scalars, Dims. A floating-point scalar must have exactly the kernel's type (2.0f for f32: a
/// double would be misread); integers and dims may have any integer type.
template <class... Args> void launch(const Kernel &kernel, const Stream &stream, const Args &...args) {
  detail::launch(kernel, stream.handle(), detail::abiValue(args)...);
}
/// On the default stream.
template <class... Args> void launch(const Kernel &kernel, const Args &...args) {
  detail::launch(kernel, nullptr, detail::abiValue(args)...);
}

} // namespace tessera
