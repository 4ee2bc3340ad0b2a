#include "core/plugin/PluginBackend.h"
#include "core/log/Log.h"
#include "core/support/Fork.h"
#include <map>
#include <mutex>
#include <new>
#include <tessera/backend_thunks.hpp>

namespace tessera {
namespace {

using thunk::Text;
using Api = tsr_backend_api_t;

/// Converts what a slot returned, with its text. A value that is not a status is reported as a fault of the
/// plugin.
tsr_status_t result(int32_t status, const Text &text, std::string &why) {
  if (status == TSR_SUCCESS) return TSR_SUCCESS;
  why = text.str();
  if (status > TSR_SUCCESS && status <= TSR_EINTERNAL) return static_cast<tsr_status_t>(status);
  why = "the plugin returned " + std::to_string(status) + ", which is not a status" +
        (why.empty() ? "" : ": " + why);
  return TSR_EINTERNAL;
}

/// Calls a slot that creates an object. Returns null with `why` filled on failure. TSR_EOOM is thrown as
/// std::bad_alloc, and TSR_UNIMPLEMENTED as StatusError, since null could not express it.
template <class H, class Call> H *make(Call call, std::string &why) {
  Text text;
  H *handle = nullptr;
  tsr_status_t status = result(call(&handle, text), text, why);
  if (status == TSR_EOOM) throw std::bad_alloc();
  if (status == TSR_UNIMPLEMENTED) throw StatusError(status, why);
  if (status == TSR_SUCCESS && !handle) why = "the plugin reported success but returned no object";
  return status == TSR_SUCCESS ? handle : nullptr;
}

/// Wraps an object that the plugin created. If that runs out of memory, the object is returned to the plugin.
template <class W, class H, class... Args>
std::unique_ptr<W> wrap(H *handle, void (*giveBack)(H *), const Api &api, Args &&...args) {
  std::unique_ptr<H, void (*)(H *)> owned(handle, giveBack);
  if (!handle) return nullptr;
  auto out = std::make_unique<W>(api, handle, std::forward<Args>(args)...);
  (void)owned.release();
  return out;
}

tsr_status_t absent(const char *what, std::string &why) {
  why = std::string("the backend has no ") + what;
  return TSR_UNIMPLEMENTED;
}

constexpr const char *kForeign = "order with streams of other libraries";

struct PluginKernel final : DeviceKernel {
  PluginKernel(const Api &api, tsr_be_kernel_t *handle, uint32_t values)
      : DeviceKernel(values), api(api), handle(handle) {}
  ~PluginKernel() override { api.kernel_release(handle); }
  const Api &api;
  tsr_be_kernel_t *const handle;
};

class PluginModule final : public DeviceModule {
public:
  PluginModule(const Api &api, tsr_be_module_t *handle) : api_(api), handle_(handle) {}
  ~PluginModule() override { api_.module_unload(handle_); }

  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) override {
    const tsr_be_kernel_desc_t desc = thunk::descOf(spec);
    auto *kernel = make<tsr_be_kernel_t>(
        [&](auto **out, tsr_text_t *text) { return api_.kernel_get(handle_, &desc, out, text); }, why);
    return wrap<PluginKernel>(kernel, api_.kernel_release, api_, spec.valueCount);
  }

private:
  const Api &api_;
  tsr_be_module_t *const handle_;
};

struct PluginEvent final : DeviceEvent {
  PluginEvent(const Api &api, tsr_be_event_t *handle) : api(api), handle(handle) {}
  ~PluginEvent() override { api.event_destroy(handle); }
  bool isDone() override { return api.event_query(handle) != TSR_NOT_READY; }
  void wait() override {
    Text text;
    api.event_synchronize(handle, text);
  }
  tsr_status_t timestamp(int64_t &nanoseconds) override {
    Text text;
    std::string why;
    return result(api.event_timestamp(handle, &nanoseconds), text, why);
  }
  const Api &api;
  tsr_be_event_t *const handle;
};

/// A graph that the backend has accepted.
struct PluginGraph final : DeviceGraph {
  PluginGraph(const Api &api, tsr_be_graph_t *handle, GraphWork work)
      : DeviceGraph(std::move(work)), api(api), handle(handle) {}
  ~PluginGraph() override { api.graph_destroy(handle); }
  const Api &api;
  tsr_be_graph_t *const handle;
};

class PluginStream final : public DeviceStream {
public:
  PluginStream(const Api &api, tsr_be_stream_t *handle) : api_(api), handle_(handle) {}
  ~PluginStream() override { api_.stream_destroy(handle_); }

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) override {
    return call(api_.stream_copy, why, dst, src, bytes, int32_t(wait));
  }
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) override {
    if (!api_.stream_fill) return absent("memset", why);
    return call(api_.stream_fill, why, dst, uint32_t(value), bytes, int32_t(wait));
  }
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override {
    const int64_t programs[3] = {grid.x, grid.y, grid.z};
    return call(api_.stream_launch, why, static_cast<PluginKernel &>(*kernel).handle, values, programs);
  }
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) override {
    return call(api_.stream_record, why, static_cast<PluginEvent &>(*event).handle);
  }
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) override {
    return call(api_.stream_wait, why, static_cast<PluginEvent &>(*event).handle);
  }
  tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) override {
    if (auto *taken = dynamic_cast<const PluginGraph *>(graph.get()))
      return call(api_.graph_launch, why, taken->handle);
    return DeviceStream::replay(graph, why);
  }
  tsr_status_t callHost(HostCall function, std::string &why) override {
    if (!api_.stream_call) return absent("calls of the host in a stream's order", why);
    const tsr_be_call_t out = {
        sizeof out,
        [](void *owner, tsr_text_t *text) -> int32_t {
          return thunk::guard(text,
                              [&](std::string &reason) { return (*static_cast<HostCall *>(owner))(reason); });
        },
        {new HostCall(std::move(function)), [](void *owner) { delete static_cast<HostCall *>(owner); }}};
    return call(api_.stream_call, why, &out);
  }
  tsr_status_t native(const char *&api, void *&handle, std::string &why) override {
    if (!api_.stream_native) return absent("native handles of streams", why);
    return call(api_.stream_native, why, &api, &handle);
  }
  tsr_status_t waitNative(const char *api, void *handle, std::string &why) override {
    if (!api_.stream_wait_native) return absent(kForeign, why);
    return call(api_.stream_wait_native, why, api, handle);
  }
  tsr_status_t nativeWaits(const char *api, void *handle, std::string &why) override {
    if (!api_.native_wait_stream) return absent(kForeign, why);
    return call(api_.native_wait_stream, why, api, handle);
  }
  tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) override {
    return call(api_.stream_synchronize, why, timeoutNs);
  }
  tsr_status_t query(std::string &why) override {
    if (!api_.stream_query) return absent("stream query", why);
    return call(api_.stream_query, why);
  }
  void drain() override {
    if (api_.stream_drain) return api_.stream_drain(handle_);
    std::string why;
    (void)synchronize(UINT64_MAX, why);
  }
  bool isIdle() override { return api_.stream_is_idle && api_.stream_is_idle(handle_) == 1; }

private:
  template <class Slot, class... Args> tsr_status_t call(Slot slot, std::string &why, Args... args) {
    Text text;
    int32_t status = slot(handle_, args..., text);
    if (status == TSR_SUCCESS) [[likely]]
      return TSR_SUCCESS;
    return result(status, text, why);
  }

  const Api &api_;
  tsr_be_stream_t *const handle_;
};

bool hasEventSlots(const Api &api) {
  return api.event_create && api.event_destroy && api.event_query && api.event_synchronize &&
         api.event_timestamp && api.stream_record && api.stream_wait;
}

class PluginContext final : public DeviceContext {
public:
  PluginContext(const Plugin &plugin, const Api &api, const DeviceInfo &info,
                const tsr_allocator_t *allocator)
      : plugin_(plugin), api_(api), info_(info) {
    ++plugin_.objects;
    if (allocator)
      allocator_ = {sizeof(tsr_be_allocator_t), allocator->user, allocator->alloc, allocator->free};
  }
  ~PluginContext() override {
    if (handle_) api_.context_destroy(handle_);
    --plugin_.objects;
  }
  bool create(tsr_be_backend_t *backend, int device, std::string &why) {
    handle_ = make<tsr_be_context_t>(
        [&](auto **out, tsr_text_t *text) {
          return api_.context_create(backend, device, allocator_.alloc ? &allocator_ : nullptr, out, text);
        },
        why);
    return handle_;
  }

  const Api &api() const { return api_; }
  const DeviceInfo &info() const override { return info_; }
  tsr_status_t alloc(size_t bytes, uint32_t flags, void **dptr, std::string &why) override {
    if (flags && (flags & ~memoryFlags()))
      return absent(flags & TSR_BE_MEM_MANAGED ? "managed memory" : "pinned host memory", why);
    Text text;
    return result(api_.mem_alloc(handle_, bytes, flags, dptr, text), text, why);
  }
  tsr_status_t free(void *dptr, std::string &why) override {
    Text text;
    return result(api_.mem_free(handle_, dptr, text), text, why);
  }
  std::optional<size_t> available(const void *dptr) override {
    if (!api_.mem_available) return SIZE_MAX; // the backend does not report it: no allocation is refused
    uint64_t bytes = 0;
    if (api_.mem_available(handle_, dptr, &bytes) != TSR_SUCCESS) return std::nullopt;
    return bytes;
  }
  MemoryUse memoryUse() override {
    tsr_be_memory_t use{};
    use.struct_size = sizeof use;
    Text text;
    if (!api_.mem_info || api_.mem_info(handle_, &use, text) != TSR_SUCCESS)
      return {info_.memoryBytes, 0, 0, 0};
    return {use.total, use.free, use.in_use, use.pooled};
  }
  void trim() override {
    if (api_.mem_trim) api_.mem_trim(handle_);
  }
  std::unique_ptr<DeviceStream> createStream(std::string &why) override {
    auto *stream = make<tsr_be_stream_t>(
        [&](auto **out, tsr_text_t *text) { return api_.stream_create(handle_, out, text); }, why);
    return wrap<PluginStream>(stream, api_.stream_destroy, api_);
  }
  std::unique_ptr<DeviceEvent> createEvent(std::string &why) override {
    if (!hasEventSlots(api_)) throw StatusError(absent("events", why), why);
    auto *event = make<tsr_be_event_t>(
        [&](auto **out, tsr_text_t *text) { return api_.event_create(handle_, out, text); }, why);
    return wrap<PluginEvent>(event, api_.event_destroy, api_);
  }
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) override {
    tsr_be_image_t out{};
    out.struct_size = sizeof out;
    out.format = image.format;
    out.data = image.data;
    out.bytes = image.bytes;
    out.name = image.name.c_str();
    if (image.keep) out.keep = keep(new std::shared_ptr<void>(image.keep));
    auto *module = make<tsr_be_module_t>(
        [&](auto **handle, tsr_text_t *text) { return api_.module_load(handle_, &out, handle, text); }, why);
    return wrap<PluginModule>(module, api_.module_unload, api_);
  }
  std::shared_ptr<DeviceGraph> createGraph(GraphWork work, std::string &why) override {
    if (!api_.graph_create || !api_.graph_launch || !api_.graph_destroy)
      return DeviceContext::createGraph(std::move(work), why);
    std::vector<tsr_be_node_t> nodes;
    nodes.reserve(work.nodes.size());
    for (const GraphNode &n : work.nodes)
      nodes.push_back({sizeof(tsr_be_node_t),
                       static_cast<uint32_t>(n.kind),
                       n.byte,
                       n.dst,
                       n.src,
                       n.bytes,
                       n.kernel ? static_cast<PluginKernel &>(*n.kernel).handle : nullptr,
                       n.values.data(),
                       {n.grid.x, n.grid.y, n.grid.z},
                       n.event ? static_cast<PluginEvent &>(*n.event).handle : nullptr});
    // Keeps everything the nodes refer to alive for as long as the plugin may run them.
    const tsr_be_keep_t kept = keep(new GraphWork(work));
    auto *graph = make<tsr_be_graph_t>(
        [&](auto **out, tsr_text_t *text) {
          return api_.graph_create(handle_, nodes.data(), nodes.size(), kept, out, text);
        },
        why);
    return wrap<PluginGraph>(graph, api_.graph_destroy, api_, std::move(work));
  }

  tsr_status_t enablePeer(DeviceContext &peer, std::string &why) override {
    if (!api_.peer_enable) return absent("access to other devices' memory", why);
    Text text; // the peer belongs to the same backend, so it has this class
    return result(api_.peer_enable(handle_, static_cast<PluginContext &>(peer).handle_, text), text, why);
  }
  void pushRange(const char *name) override {
    if (api_.range_push && api_.range_pop) api_.range_push(handle_, name);
  }
  void popRange() override {
    if (api_.range_push && api_.range_pop) api_.range_pop(handle_);
  }

  uint32_t memoryFlags() override {
    return api_.mem_flags ? api_.mem_flags(handle_) : DeviceContext::memoryFlags();
  }
  tsr_status_t reportActivities(ActivitySink sink, std::string &why) override {
    if (!api_.activity_report) return absent("activity records", why);
    auto next = sink ? std::make_unique<ActivitySink>(std::move(sink)) : nullptr;
    const tsr_be_activity_sink_t out = {
        sizeof out, next.get(), [](void *user, const tsr_be_activity_t *activity) {
          const tsr_be_activity_t whole = thunk::copyIn(activity);
          thunk::guardVoid([&] { (*static_cast<ActivitySink *>(user))(whole); });
        }};
    Text text;
    std::lock_guard lock(sinkMutex_);
    const tsr_status_t status = result(api_.activity_report(handle_, next ? &out : nullptr, text), text, why);
    if (status == TSR_SUCCESS) sink_ = std::move(next); // the plugin no longer calls the previous sink
    return status;
  }
  void tagActivities(const ActivityTag &tag) override {
    if (api_.activity_tag) api_.activity_tag(handle_, tag[0], tag[1]);
  }

private:
  template <class T> static tsr_be_keep_t keep(T *owner) {
    return {owner, [](void *p) { delete static_cast<T *>(p); }};
  }

  const Plugin &plugin_;
  const Api &api_;
  const DeviceInfo info_;
  tsr_be_allocator_t allocator_{};
  tsr_be_context_t *handle_ = nullptr;
  std::mutex sinkMutex_;               // held while the plugin changes its sink
  std::unique_ptr<ActivitySink> sink_; // guarded by the mutex; the plugin calls it until the next is set
};

class PluginBackend final : public Backend {
public:
  PluginBackend(PluginRef plugin, std::string variant)
      : plugin_(std::move(plugin)), variant_(std::move(variant)),
        name_(variant_.empty() ? plugin_->name
                               : plugin_->name + ":" + variant_.substr(0, variant_.find(':'))),
        host_(pluginHost()), api_(thunk::copyIn(plugin_->info.backend)) {
    host_.variant = variant_.c_str();
  }
  ~PluginBackend() override {
    if (handle_) api_.destroy(handle_);
  }
  bool create(std::string &why) {
    try {
      handle_ = make<tsr_be_backend_t>(
          [&](auto **out, tsr_text_t *text) { return api_.create(&host_, out, text); }, why);
    } catch (const StatusError &) { // a caller that tries several backends continues with the next one
    }
    return handle_;
  }

  const char *name() const override { return name_.c_str(); }
  const char *description() const override { return plugin_->info.description; }
  tsr_status_t probe(tsr_probe_t &out, std::string &why) override {
    out.struct_size = sizeof out;
    if (!variant_.empty()) { // the probe is that of the plugin's own devices
      out.device_count = deviceCount();
      out.score = 0;
      return TSR_SUCCESS;
    }
    if (!plugin_->info.probe) return absent("probe", why);
    Text text;
    return result(plugin_->info.probe(&out, text), text, why);
  }
  int deviceCount() const override {
    Text text;
    int32_t count = 0;
    return api_.device_count(handle_, &count, text) == TSR_SUCCESS && count > 0 ? count : 0;
  }
  const DeviceInfo *deviceInfo(int device, std::string &why) override {
    LogLater later;
    std::lock_guard lock(mutex_);
    auto it = devices_.find(device);
    if (it != devices_.end()) return &it->second;
    tsr_be_device_t d{};
    d.struct_size = sizeof d;
    Text text;
    tsr_status_t status = result(api_.device_info(handle_, device, &d, text), text, why);
    if (status == TSR_EOOM) throw std::bad_alloc();
    if (status) return nullptr;
    auto string = [](const char *s) { return std::string(s ? s : ""); };
    DeviceInfo info;
    info.name = string(d.name), info.arch = string(d.arch);
    info.capabilities = d.capabilities ? d.capabilities : "{}";
    info.memoryBytes = d.memory_bytes, info.maxSharedBytes = d.max_shared_bytes;
    info.computeUnits = d.compute_units, info.vectorBytes = d.vector_bytes;
    return &devices_.emplace(device, std::move(info)).first->second;
  }
  std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *allocator,
                                               std::string &why) override {
    const DeviceInfo *info = deviceInfo(device, why);
    if (!info) return nullptr;
    auto context = std::make_unique<PluginContext>(*plugin_, api_, *info, allocator);
    return context->create(handle_, device, why) ? std::move(context) : nullptr;
  }

private:
  const PluginRef plugin_;
  const std::string variant_, name_;
  tsr_host_info_t host_; // lives as long as the plugin's object
  const Api api_;        // complete: slots that the plugin's version does not have are null
  tsr_be_backend_t *handle_ = nullptr;
  std::recursive_mutex mutex_; // recursive: the plugin's device_info runs while it is held, and may fork
  HeldAcrossFork heldAcrossFork_{mutex_};
  std::map<int, DeviceInfo> devices_; // guarded by the mutex; entries live as long as the backend
};

} // namespace

std::string missingSlots(const tsr_backend_api_t &api) {
  std::string out;
#define TSR_SLOT(name)                                                                                       \
  if (!api.name) out += (out.empty() ? "" : ", ") + std::string(#name)
  TSR_SLOT(create);
  TSR_SLOT(destroy);
  TSR_SLOT(device_count);
  TSR_SLOT(device_info);
  TSR_SLOT(context_create);
  TSR_SLOT(context_destroy);
  TSR_SLOT(mem_alloc);
  TSR_SLOT(mem_free);
  TSR_SLOT(stream_create);
  TSR_SLOT(stream_destroy);
  TSR_SLOT(stream_copy);
  TSR_SLOT(stream_launch);
  TSR_SLOT(stream_synchronize);
  TSR_SLOT(module_load);
  TSR_SLOT(module_unload);
  TSR_SLOT(kernel_get);
  TSR_SLOT(kernel_release);
#undef TSR_SLOT
  return out;
}

std::unique_ptr<Backend> makePluginBackend(PluginRef plugin, std::string variant, std::string &why) {
  auto backend = std::make_unique<PluginBackend>(std::move(plugin), std::move(variant));
  return backend->create(why) ? std::move(backend) : nullptr;
}

} // namespace tessera
