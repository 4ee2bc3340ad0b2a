// Tessera for C++20: RAII over the C ABI of <tessera/tessera.h>, header only.
//
//   tessera::Context context;
//   auto x = context.upload<float>(host);
//   auto module = context.load(source);
//   auto saxpy = module.kernel("saxpy");
//   tessera::launch(saxpy, x, y, 2.0f, tessera::Dim(n));   // default stream
//   y.download(host);                                       // waits
//
// Failures throw tessera::Error; destructors ignore them. Objects own their handle and can be moved. They
// must not outlive their Context. Threads: as in the C ABI, several threads may use an object, but not while
// it is destroyed or moved from.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tessera/require_cxx20.hpp>
#include <tessera/tessera.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// A failed call: its status, and the library's text in what().
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

/// Registers a plugin that is part of the program (tsrRegisterPlugin). `query` is the function that
/// TSR_PLUGIN of plugin.hpp defines, or one with the same contract. Throws Error.
inline void registerPlugin(int32_t (*query)(const struct tsr_host_info *, struct tsr_plugin_info *)) {
  check(tsrRegisterPlugin(query));
}
/// Unregisters a plugin. The program must have destroyed its objects of the plugin. Throws Error.
inline void unregisterPlugin(const std::string &name) { check(tsrUnregisterPlugin(name.c_str())); }

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

class Event;
class Graph;

/// A queue of work. Destruction waits for it.
class Stream {
public:
  explicit Stream(tsr_stream_t handle) : handle_(handle) {}
  tsr_stream_t handle() const noexcept { return handle_.get(); }
  void synchronize() const { check(tsrStreamSynchronize(handle())); }
  /// Returns whether all queued work is done.
  bool done() const { return isDone(tsrStreamQuery(handle())); }
  void wait(const Event &) const;
  /// The stream as the device's own interface knows it. Throws TSR_UNIMPLEMENTED if the backend has none.
  tsr_native_stream_t native() const {
    tsr_native_stream_t out{};
    out.struct_size = sizeof out;
    check(tsrStreamNative(handle(), &out));
    return out;
  }
  /// What is queued from now on comes after what a stream of another library holds now.
  void waitNative(const tsr_native_stream_t &other) const { check(tsrStreamWaitNative(handle(), &other)); }
  /// What is queued on a stream of another library from now on comes after what this one holds now.
  void letNativeWait(const tsr_native_stream_t &other) const { check(tsrNativeWaitStream(&other, handle())); }
  /// Between these two calls the stream records what is queued on it instead of running it.
  void beginCapture() const { check(tsrStreamBeginCapture(handle())); }
  Graph endCapture() const;
  /// Queues a graph of the same context.
  void launch(const Graph &) const;

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
  /// Returns the milliseconds from `start` to this event. Both must have completed.
  double since(const Event &start) const {
    double ms = 0;
    check(tsrEventElapsedMs(start.handle(), handle(), &ms));
    return ms;
  }

private:
  detail::Handle<tsr_event_t, tsrDestroyEvent> handle_;
};

inline void Stream::wait(const Event &event) const { check(tsrStreamWaitEvent(handle(), event.handle())); }

/// Work recorded from a stream. Destruction does not stop queued replays.
class Graph {
public:
  explicit Graph(tsr_graph_t handle) : handle_(handle) {}
  tsr_graph_t handle() const noexcept { return handle_.get(); }
  tsr_graph_info_t info() const {
    tsr_graph_info_t out{};
    out.struct_size = sizeof out;
    check(tsrGraphInfo(handle(), &out));
    return out;
  }

private:
  detail::Handle<tsr_graph_t, tsrDestroyGraph> handle_;
};

inline Graph Stream::endCapture() const {
  tsr_graph_t g = nullptr;
  check(tsrStreamEndCapture(handle(), &g));
  return Graph(g);
}
inline void Stream::launch(const Graph &graph) const { check(tsrGraphLaunch(graph.handle(), handle())); }

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

  /// Returns the device pointer. The host must not dereference it.
  T *get() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  size_t bytes() const noexcept { return size_ * sizeof(T); }

  /// Copy and wait. The host range must have size() elements.
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
  /// Only queue the copy. The host range must stay valid until the stream has executed it.
  void upload(std::span<const T> host, const Stream &s) {
    requireSize(host.size());
    check(tsrMemcpyH2DAsync(context_, data_, host.data() ? host.data() : &kNothing, bytes(), s.handle()));
  }
  void download(std::span<T> host, const Stream &s) const {
    requireSize(host.size());
    T nothing;
    check(tsrMemcpyD2HAsync(context_, host.data() ? host.data() : &nothing, data_, bytes(), s.handle()));
  }
  /// Sets every byte and waits.
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

/// A symbolic dim of a launch; dims are the last arguments, in order of first appearance.
struct Dim {
  int64_t value;
  explicit constexpr Dim(int64_t v) : value(v) {}
  explicit constexpr Dim(size_t v) : value(static_cast<int64_t>(v)) {}
  explicit constexpr Dim(int v) : value(v) {}
};

/// An entry point, owned by its Module. Copies share the information about its arguments.
class Kernel {
public:
  explicit Kernel(tsr_kernel_t handle) : handle_(handle) {
    auto arguments = std::make_shared<std::vector<tsr_arg_info_t>>();
    for (;;) {
      tsr_arg_info_t info{};
      info.struct_size = sizeof info;
      tsr_status_t status = tsrKernelArgInfo(handle, arguments->size(), &info);
      if (status == TSR_ENOTFOUND) break;
      check(status);
      arguments->push_back(info);
    }
    arguments_ = std::move(arguments);
  }
  tsr_kernel_t handle() const noexcept { return handle_; }
  /// Returns the arguments of a launch, in order.
  std::span<const tsr_arg_info_t> arguments() const noexcept { return *arguments_; }
  /// Returns name, target, numerics and the numbers of arguments and results.
  tsr_kernel_info_t info() const {
    tsr_kernel_info_t out{};
    out.struct_size = sizeof out;
    check(tsrGetKernelInfo(handle_, &out));
    return out;
  }
  /// Returns the extents of argument `index`, a tensor or a result; empty for other arguments.
  std::vector<tsr_dim_info_t> dims(size_t index) const {
    std::vector<tsr_dim_info_t> out(arguments_->at(index).rank);
    for (size_t axis = 0; axis < out.size(); ++axis) {
      out[axis].struct_size = sizeof out[axis];
      check(tsrKernelArgDim(handle_, index, axis, &out[axis]));
    }
    return out;
  }
  /// Returns the metadata as YAML.
  std::string metadata() const {
    const char *text = nullptr;
    check(tsrKernelMetadata(handle_, &text));
    return text;
  }

private:
  tsr_kernel_t handle_;
  std::shared_ptr<const std::vector<tsr_arg_info_t>> arguments_;
};

/// Compiled code. Destruction does not stop queued launches.
class Module {
public:
  explicit Module(tsr_module_t handle) : handle_(handle) {}
  tsr_module_t handle() const noexcept { return handle_.get(); }
  Kernel kernel(const std::string &name) const {
    tsr_kernel_t k = nullptr;
    check(tsrGetKernel(handle(), name.c_str(), &k));
    return Kernel(k);
  }
  /// Returns the module's only kernel.
  Kernel kernel() const {
    tsr_kernel_t k = nullptr;
    check(tsrGetKernel(handle(), nullptr, &k));
    return Kernel(k);
  }

  /// Returns all kernels, including those generated for a graph function.
  std::vector<Kernel> kernels() const {
    std::vector<Kernel> out;
    for (;;) {
      tsr_kernel_t k = nullptr;
      tsr_status_t status = tsrGetModuleKernel(handle(), out.size(), &k);
      if (status == TSR_ENOTFOUND) return out;
      check(status);
      out.push_back(Kernel(k));
    }
  }

private:
  detail::Handle<tsr_module_t, tsrUnloadModule> handle_;
};

/// Options of a compilation; see tsr_source_options_t.
struct SourceOptions {
  std::string fileName = "<source>";
  std::string kernel = {}, target = {}, numerics = {}; // empty: the default
  std::vector<std::pair<std::string, int64_t>> dims = {}, tunables = {};
  std::function<void(const tsr_diagnostic_t &)> diagnose = {}; // called for each diagnostic; must not throw
  /// Types and constants that the source leaves open: {"x", "Tensor['n', f32]"}, {"BLOCK", "128"}.
  std::vector<std::pair<std::string, std::string>> types = {}, constants = {};
  bool exactDims = false; // no code of graph functions for other values of `dims`
};

namespace detail {
/// C options that point into a SourceOptions. Valid for the duration of one call.
class SourceOptionsOf {
public:
  explicit SourceOptionsOf(const SourceOptions &o)
      : dims_(pairs(o.dims)), tunables_(pairs(o.tunables)), types_(texts(o.types)),
        constants_(texts(o.constants)) {
    auto orNull = [](const std::string &s) { return s.empty() ? nullptr : s.c_str(); };
    c_.struct_size = sizeof c_;
    c_.file_name = o.fileName.c_str();
    c_.kernel = orNull(o.kernel);
    c_.target = orNull(o.target);
    c_.numerics = orNull(o.numerics);
    c_.dims = dims_.data();
    c_.dim_count = dims_.size();
    c_.tunables = tunables_.data();
    c_.tunable_count = tunables_.size();
    c_.types = types_.data();
    c_.type_count = types_.size();
    c_.constants = constants_.data();
    c_.constant_count = constants_.size();
    c_.exact_dims = o.exactDims;
    if (!o.diagnose) return;
    c_.diagnose = [](void *user, const tsr_diagnostic_t *d) {
      (*static_cast<const std::function<void(const tsr_diagnostic_t &)> *>(user))(*d);
    };
    c_.diagnose_user = const_cast<void *>(static_cast<const void *>(&o.diagnose));
  }
  SourceOptionsOf(const SourceOptionsOf &) = delete;
  SourceOptionsOf &operator=(const SourceOptionsOf &) = delete;
  const tsr_source_options_t *get() const noexcept { return &c_; }

private:
  static std::vector<tsr_named_int_t> pairs(const std::vector<std::pair<std::string, int64_t>> &from) {
    std::vector<tsr_named_int_t> out;
    for (const auto &[name, value] : from)
      out.push_back({name.c_str(), value});
    return out;
  }
  static std::vector<tsr_named_text_t> texts(const std::vector<std::pair<std::string, std::string>> &from) {
    std::vector<tsr_named_text_t> out;
    for (const auto &[name, text] : from)
      out.push_back({name.c_str(), text.c_str()});
    return out;
  }
  std::vector<tsr_named_int_t> dims_, tunables_;
  std::vector<tsr_named_text_t> types_, constants_;
  tsr_source_options_t c_{};
};

inline const char *textOf(std::string_view source) { return source.data() ? source.data() : ""; }
} // namespace detail

/// Compiles a source text to the bytes of a bundle. A program error throws with the first diagnostic's text.
inline std::string compile(std::string_view source, const SourceOptions &o = {}) {
  const void *bundle = nullptr;
  size_t size = 0;
  check(tsrCompile(detail::textOf(source), source.size(), detail::SourceOptionsOf(o).get(), &bundle, &size));
  return {static_cast<const char *>(bundle), size};
}
/// As compile, to a file, which appears completely or not at all.
inline void compileToFile(std::string_view source, const std::string &path, const SourceOptions &o = {}) {
  check(tsrCompileToFile(detail::textOf(source), source.size(), detail::SourceOptionsOf(o).get(),
                         path.c_str()));
}
/// Returns the text of one kernel of a source at one level.
inline std::string inspectIr(std::string_view source, tsr_ir_level_t level, const SourceOptions &o = {}) {
  const char *text = nullptr;
  check(tsrInspectIr(detail::textOf(source), source.size(), detail::SourceOptionsOf(o).get(), level, &text));
  return text;
}

/// A device and everything made from it.
class Context {
public:
  Context() : Context(nullptr) {}
  /// Creates a context. If `backend` is null, uses that of tsrSelectBackend, else TESSERA_BACKEND, else the
  /// best available. `allocator` is copied and supplies all device memory; null: the backend's own.
  explicit Context(const char *backend, int device = 0, const tsr_allocator_t *allocator = nullptr) {
    tsr_context_options_t options{};
    options.struct_size = sizeof options;
    options.backend = backend;
    options.device = device;
    options.allocator = allocator;
    tsr_context_t c = nullptr;
    check(tsrCreateContextEx(&options, &c));
    handle_ = detail::Handle<tsr_context_t, tsrDestroyContext>(c);
  }
  tsr_context_t handle() const noexcept { return handle_.get(); }

  template <class T> Buffer<T> alloc(size_t size, uint32_t flags = TSR_MEM_DEVICE) const {
    return Buffer<T>(handle(), size, flags);
  }
  /// Returns a buffer with the values of `host`.
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
    tsr_module_t m = nullptr;
    check(tsrLoadModuleFromSource(handle(), detail::textOf(source), source.size(),
                                  detail::SourceOptionsOf(o).get(), &m));
    return Module(m);
  }
  /// Load a bundle from memory or from a file.
  Module loadBundle(std::string_view bytes) const {
    tsr_module_t m = nullptr;
    check(tsrLoadModule(handle(), bytes.data(), bytes.size(), &m));
    return Module(m);
  }
  Module loadFile(const std::string &path) const {
    tsr_module_t m = nullptr;
    check(tsrLoadModuleFromFile(handle(), path.c_str(), nullptr, &m));
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
  /// Returns one capability by its key: "warp_size", "tensorcore.bf16".
  std::string capability(const std::string &key) const {
    const char *value = nullptr;
    check(tsrGetDeviceCapability(handle(), key.c_str(), &value));
    return value;
  }
  /// Returns all capabilities as a JSON object; docs/c-abi.md lists its keys.
  std::string capabilities() const {
    const char *json = nullptr;
    check(tsrGetDeviceCapabilities(handle(), &json));
    return json;
  }

private:
  detail::Handle<tsr_context_t, tsrDestroyContext> handle_;
};

namespace detail {

/// A launch argument before it is converted to the parameter's type.
struct LaunchValue {
  enum class Kind : uint8_t { Pointer, Signed, Unsigned, Float, Opaque };
  Kind kind;
  size_t bytes;  // size of a pointer's element (0: unknown) or of an opaque value
  uint64_t bits; // for all kinds except Float
  double real;   // for Float
};

template <class T> LaunchValue launchValue(T *p) {
  size_t bytes = 0;
  if constexpr (!std::is_void_v<T>) bytes = sizeof(T);
  return {LaunchValue::Kind::Pointer, bytes, reinterpret_cast<uintptr_t>(p), 0};
}
template <class T> LaunchValue launchValue(const Buffer<T> &b) { return launchValue(b.get()); }
inline LaunchValue launchValue(Dim d) {
  return {LaunchValue::Kind::Signed, 8, static_cast<uint64_t>(d.value), 0};
}
template <class T>
  requires std::is_arithmetic_v<T>
LaunchValue launchValue(T value) {
  using Kind = LaunchValue::Kind;
  if constexpr (std::is_floating_point_v<T>)
    return {Kind::Float, sizeof value, 0, static_cast<double>(value)};
  else
    return {std::is_signed_v<T> ? Kind::Signed : Kind::Unsigned, sizeof value, static_cast<uint64_t>(value),
            0};
}
/// A class of the caller for a dtype without a C++ type: f16, bf16, fp8.
template <class T>
  requires(std::is_class_v<T> && std::is_trivially_copyable_v<T>)
LaunchValue launchValue(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a scalar argument has at most eight bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return {LaunchValue::Kind::Opaque, sizeof value, bits, 0};
}

/// Converts `v` to the parameter's representation in an eight-byte slot. Returns null, or why it cannot be
/// converted.
inline const char *convert(const tsr_arg_info_t &to, const LaunchValue &v, uint64_t &slot) {
  using Kind = LaunchValue::Kind;
  const std::string_view dtype = to.dtype;
  slot = v.bits;
  if (to.kind == TSR_ARG_TENSOR || to.kind == TSR_ARG_RESULT) {
    if (v.kind != Kind::Pointer) return "a buffer or a device pointer is needed";
    return v.bytes <= 1 || v.bytes == to.bytes ? nullptr : "the buffer's elements have another size";
  }
  if (v.kind == Kind::Pointer) return "a value is needed, not a buffer";
  if (v.kind == Kind::Opaque) return v.bytes == to.bytes ? nullptr : "the value has another size";
  if (dtype == "f64" || dtype == "f32") {
    double real = v.kind == Kind::Float    ? v.real
                  : v.kind == Kind::Signed ? static_cast<double>(static_cast<int64_t>(v.bits))
                                           : static_cast<double>(v.bits);
    float single = static_cast<float>(real);
    if (to.bytes == sizeof single) {
      slot = 0;
      std::memcpy(&slot, &single, sizeof single);
    } else {
      std::memcpy(&slot, &real, sizeof real);
    }
    return nullptr;
  }
  const bool isUnsigned = dtype == "bool" || dtype[0] == 'u';
  if (!isUnsigned && dtype[0] != 'i') return "pass a trivially copyable class of the parameter's size";
  if (v.kind == Kind::Float) return "an integer is needed";
  // The bits above the largest value of the type must not be part of the number.
  const unsigned width = dtype == "bool" ? 1 : to.bytes * 8 - !isUnsigned;
  const bool negative = v.kind == Kind::Signed && static_cast<int64_t>(v.bits) < 0;
  if (negative && isUnsigned) return "the value is out of range";
  const uint64_t magnitude = negative ? ~v.bits : v.bits;
  return width < 64 && magnitude >> width ? "the value is out of range" : nullptr;
}

inline void launch(const Kernel &kernel, tsr_stream_t stream, auto... values) {
  constexpr size_t count = sizeof...(values);
  const LaunchValue given[count + 1] = {values...};
  uint64_t slots[count + 1] = {};
  void *args[count + 1] = {};
  auto known = kernel.arguments();
  for (size_t i = 0; i < count; ++i) {
    args[i] = &slots[i];
    if (known.size() != count) continue; // tsrLaunch reports what is missing
    if (const char *why = convert(known[i], given[i], slots[i]))
      throw Error(TSR_EINVAL, "TSR_EINVAL: argument " + std::to_string(i) + " (" + known[i].name + ", " +
                                  known[i].dtype + "): " + why);
  }
  check(tsrLaunch(kernel.handle(), stream, tsr_launch_t{}, args, count));
}

} // namespace detail

/// Queues one launch with a grid derived from the dims. Arguments: buffers (or device pointers), result
/// buffers, scalars, Dims. Numbers are converted to the parameter's dtype (a double for an f32 is rounded).
/// Throws TSR_EINVAL for a conversion that would change the value: a fraction for an integer, a value out of
/// range, buffer elements of another size (buffers of one-byte elements are accepted for any tensor), or a
/// number for f16, bf16 or fp8, which need a class of their size.
template <class... Args> void launch(const Kernel &kernel, const Stream &stream, const Args &...args) {
  detail::launch(kernel, stream.handle(), detail::launchValue(args)...);
}
/// Queues one launch on the default stream.
template <class... Args> void launch(const Kernel &kernel, const Args &...args) {
  detail::launch(kernel, nullptr, detail::launchValue(args)...);
}

/// Returns the dtype of a C++ type. Other element types need tsr_collective_call_t.
template <class T> constexpr tsr_dtype_t dtypeOf() {
  if constexpr (std::is_same_v<T, double>) return TSR_DTYPE_F64;
  if constexpr (std::is_same_v<T, float>) return TSR_DTYPE_F32;
  if constexpr (std::is_same_v<T, bool>) return TSR_DTYPE_BOOL;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 8   ? TSR_DTYPE_I64
           : sizeof(T) == 4 ? TSR_DTYPE_I32
           : sizeof(T) == 2 ? TSR_DTYPE_I16
                            : TSR_DTYPE_I8;
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return sizeof(T) == 8   ? TSR_DTYPE_U64
           : sizeof(T) == 4 ? TSR_DTYPE_U32
           : sizeof(T) == 2 ? TSR_DTYPE_U16
                            : TSR_DTYPE_U8;
}

/// Traces the process while this object exists, by calling a function with each record (tsrTraceStart).
/// `kinds`: bits 1 << TSR_TRACE_...; 0: all.
class Trace {
public:
  using Function = std::function<void(const tsr_trace_record_t &)>;
  explicit Trace(Function record, uint32_t kinds = 0) : record_(std::move(record)) {
    const tsr_trace_options_t options = {
        sizeof options,
        [](void *user, const tsr_trace_record_t *record) { static_cast<Trace *>(user)->record_(*record); },
        this, kinds};
    check(tsrTraceStart(&options));
  }
  ~Trace() { (void)tsrTraceStop(); }
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

private:
  const Function record_; // must not throw
};

/// One rank's endpoint of a communicator. Construction waits for the other ranks. Calls block. src may be dst
/// in allReduce and broadcast.
class Comm {
public:
  explicit Comm(tsr_comm_t handle) : handle_(handle) {}
  /// Joins ranks that are threads of this process and use the same `id`.
  Comm(const std::string &id, int rank, int size, uint64_t timeoutNs = 0)
      : Comm(tsr_comm_options_t{sizeof(tsr_comm_options_t), nullptr, id.c_str(), rank, size, timeoutNs}) {}
  explicit Comm(const tsr_comm_options_t &options) {
    tsr_comm_t out = nullptr;
    check(tsrCreateComm(&options, &out));
    handle_ = detail::Handle<tsr_comm_t, tsrDestroyComm>(out);
  }
  tsr_comm_t handle() const noexcept { return handle_.get(); }
  tsr_comm_info_t info() const {
    tsr_comm_info_t out{};
    out.struct_size = sizeof out;
    check(tsrCommInfo(handle(), &out));
    return out;
  }
  template <class T> void allReduce(const T *src, T *dst, size_t count, tsr_reduce_op_t op) const {
    check(tsrAllReduce(handle(), src, dst, count, dtypeOf<T>(), op));
  }
  template <class T> void broadcast(const T *src, T *dst, size_t count, int root) const {
    check(tsrBroadcast(handle(), src, dst, count, dtypeOf<T>(), root));
  }
  template <class T> void allGather(const T *src, T *dst, size_t count) const {
    check(tsrAllGather(handle(), src, dst, count, dtypeOf<T>()));
  }
  template <class T> void reduceScatter(const T *src, T *dst, size_t count, tsr_reduce_op_t op) const {
    check(tsrReduceScatter(handle(), src, dst, count, dtypeOf<T>(), op));
  }
  template <class T> void allToAll(const T *src, T *dst, size_t count) const {
    check(tsrAllToAll(handle(), src, dst, count, dtypeOf<T>()));
  }
  template <class T> void send(const T *src, size_t count, int peer, int tag = 0) const {
    check(tsrSend(handle(), src, count, dtypeOf<T>(), peer, tag));
  }
  template <class T> void recv(T *dst, size_t count, int peer, int tag = 0) const {
    check(tsrRecv(handle(), dst, count, dtypeOf<T>(), peer, tag));
  }
  void run(const tsr_collective_call_t &call) const { check(tsrCollective(handle(), &call)); }
  /// Queues a collective on a stream.
  void run(const tsr_collective_call_t &call, const Stream &stream) const {
    check(tsrCollectiveAsync(handle(), &call, stream.handle()));
  }
  /// Returns the communicator of the ranks that pass the same color; nullopt if `color` is negative.
  std::optional<Comm> split(int color, int key) const {
    tsr_comm_t out = nullptr;
    check(tsrCommSplit(handle(), color, key, &out));
    return out ? std::optional<Comm>(Comm(out)) : std::nullopt;
  }
  /// Breaks the communicator. May be called while another thread is in a call.
  void abort(const std::string &reason) const { check(tsrCommAbort(handle(), reason.c_str())); }
  /// Returns the mappers' decisions as JSON.
  std::string decisions() const {
    const char *json = "";
    check(tsrCommDecisions(handle(), &json));
    return json;
  }

private:
  detail::Handle<tsr_comm_t, tsrDestroyComm> handle_;
};

} // namespace tessera
