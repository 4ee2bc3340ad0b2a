// Adapts a Backend of backend.hpp to the table of plugin.h. Part of plugin.hpp.
//
// Every object that crosses the boundary is a box that contains a shared pointer. Destroying the box releases
// the host's reference, while queued work keeps its own.
#pragma once
#include <concepts>
#include <tessera/backend.hpp>
#include <tessera/thunk.hpp>

namespace tessera::thunk {

template <class T> struct Box {
  std::shared_ptr<T> object;
};
/// The class behind a handle type: Boxed<tsr_..._t>::Type.
template <class H> struct Boxed;
template <> struct Boxed<tsr_be_context_t> {
  using Type = DeviceContext;
};
template <> struct Boxed<tsr_be_stream_t> {
  using Type = DeviceStream;
};
template <> struct Boxed<tsr_be_event_t> {
  using Type = DeviceEvent;
};
template <> struct Boxed<tsr_be_module_t> {
  using Type = DeviceModule;
};
template <> struct Boxed<tsr_be_kernel_t> {
  using Type = DeviceKernel;
};
template <> struct Boxed<tsr_be_graph_t> {
  using Type = const DeviceGraph;
};

template <class H> const std::shared_ptr<typename Boxed<H>::Type> &unbox(H *handle) {
  return reinterpret_cast<Box<typename Boxed<H>::Type> *>(handle)->object;
}
template <class H> void drop(H *handle) noexcept {
  guardVoid([&] { delete reinterpret_cast<Box<typename Boxed<H>::Type> *>(handle); });
}
/// Stores `object` in `*out`, or returns `failure` if there is none.
template <class H, class T> int32_t box(std::shared_ptr<T> object, H **out, int32_t failure) {
  if (!object) return failure;
  *out = reinterpret_cast<H *>(new Box<typename Boxed<H>::Type>{std::move(object)});
  return TSR_SUCCESS;
}

/// Wraps the host's release, which runs when the last copy is destroyed.
inline std::shared_ptr<void> share(const tsr_be_keep_t &keep) {
  if (!keep.release) return nullptr;
  return {keep.owner, keep.release};
}

inline Backend *self(tsr_be_backend_t *handle) { return reinterpret_cast<Backend *>(handle); }

/// Returns whether the device exists, so that backends do not need to check.
inline bool hasDevice(const Backend &backend, int32_t device, std::string &why) {
  const int count = backend.deviceCount();
  if (device >= 0 && device < count) return true;
  why = "device: there is no " + std::to_string(device) + "; the backend has " + std::to_string(count);
  return false;
}

/// A context of the plugin, with the host's allocator as a tsr_allocator_t.
struct ContextBox {
  tsr_allocator_t allocator{};
  std::unique_ptr<DeviceContext> context;
};

inline GraphWork workOf(const tsr_be_node_t *nodes, uint64_t count, const tsr_be_keep_t &keep) {
  GraphWork work;
  if (auto kept = share(keep)) work.kept.push_back(std::move(kept));
  work.nodes.reserve(count);
  const char *at = reinterpret_cast<const char *>(nodes);
  for (uint64_t i = 0; i < count; ++i) { // advances by the host's size of a node
    const tsr_be_node_t node = copyIn(reinterpret_cast<const tsr_be_node_t *>(at));
    at += reinterpret_cast<const tsr_be_node_t *>(at)->struct_size;
    GraphNode out;
    out.kind = static_cast<GraphNode::Kind>(node.kind);
    out.byte = static_cast<uint8_t>(node.byte);
    out.dst = node.dst, out.src = node.src, out.bytes = node.bytes;
    if (node.kernel) {
      out.kernel = unbox(node.kernel);
      out.values.assign(node.values, node.values + out.kernel->valueCount);
    }
    out.grid = {node.grid[0], node.grid[1], node.grid[2]};
    if (node.event) out.event = unbox(node.event);
    work.nodes.push_back(std::move(out));
  }
  return work;
}

/// Converts a kernel description from a host of any minor version.
inline KernelSpec specOf(const tsr_be_kernel_desc_t *desc) {
  const tsr_be_kernel_desc_t d = copyIn(desc);
  KernelSpec spec;
  spec.name = d.name;
  spec.metadata = d.metadata ? d.metadata : "";
  spec.valueCount = d.value_count;
  spec.scratchBytes = d.scratch_bytes, spec.sharedBytes = d.shared_bytes;
  std::copy_n(d.block, 3, spec.block);
  if (d.cluster[0]) std::copy_n(d.cluster, 3, spec.cluster); // 0: the host has no clusters
  spec.imageFormat = d.image_format;
  spec.dynamicSharedBytes = d.dynamic_shared_bytes, spec.workspaceBytes = d.workspace_bytes;
  if (d.arguments) spec.arguments.assign(d.arguments, d.arguments + d.value_count);
  if (d.tensor_maps) spec.tensorMaps.assign(d.tensor_maps, d.tensor_maps + d.tensor_map_count);
  spec.isPersistent = d.persistent;
  if (d.forced_body) spec.forcedBody = d.forced_body;
  spec.mayWait = !d.never_waits, spec.sharesOperands = d.shares_operands;
  return spec;
}

/// Converts a kernel description for the table. Valid as long as `spec`.
inline tsr_be_kernel_desc_t descOf(const KernelSpec &spec) {
  tsr_be_kernel_desc_t d{};
  d.struct_size = sizeof d;
  d.name = spec.name.c_str(), d.metadata = spec.metadata.c_str();
  d.value_count = spec.valueCount;
  d.scratch_bytes = spec.scratchBytes, d.shared_bytes = spec.sharedBytes;
  std::copy_n(spec.block, 3, d.block);
  std::copy_n(spec.cluster, 3, d.cluster);
  d.image_format = spec.imageFormat;
  d.dynamic_shared_bytes = spec.dynamicSharedBytes, d.workspace_bytes = spec.workspaceBytes;
  d.arguments = spec.arguments.empty() ? nullptr : spec.arguments.data();
  d.tensor_maps = spec.tensorMaps.empty() ? nullptr : spec.tensorMaps.data();
  d.tensor_map_count = spec.tensorMaps.size();
  d.persistent = spec.isPersistent;
  d.forced_body = spec.forcedBody.c_str();
  d.never_waits = !spec.mayWait, d.shares_operands = spec.sharesOperands;
  return d;
}

/// Returns a sink that calls the host's; empty if there is none.
inline ActivitySink sinkOf(const tsr_be_activity_sink_t *sink) {
  if (!sink) return nullptr;
  const tsr_be_activity_sink_t s = copyIn(sink);
  return [s](const tsr_be_activity_t &activity) { s.report(s.user, &activity); };
}

/// Returns a callable for the host's function. The host's object is released with the last copy.
inline DeviceStream::HostCall hostCallOf(const tsr_be_call_t *call) {
  const tsr_be_call_t c = copyIn(call);
  return [run = c.run, owner = c.keep.owner, kept = share(c.keep)](std::string &why) {
    Text text;
    const auto status = static_cast<tsr_status_t>(run(owner, text));
    if (status != TSR_SUCCESS) why = text.str();
    return status;
  };
}

/// Creates the backend for what the host asks for: B itself, or B::createVariant(), for a class with
/// variants.
template <class B> std::unique_ptr<Backend> createBackend(const tsr_host_info_t *host, std::string &why) {
  const std::string variant = TSR_HAS(host, tsr_host_info_t, variant) && host->variant ? host->variant : "";
  if (variant.empty()) return std::make_unique<B>();
  if constexpr (requires { B::createVariant(host, variant, why); })
    return B::createVariant(host, variant, why);
  why = "the plugin has no devices '" + variant + "'";
  return nullptr;
}

/// Returns the table for a class derived from Backend. Each object that is created lives until destroy().
template <class B> const tsr_backend_api_t *backendApi() {
  using Why = tsr_text_t *;
  static constexpr tsr_backend_api_t api = {
      .struct_size = sizeof(tsr_backend_api_t),
      .version_major = TSR_BACKEND_API_MAJOR,
      .version_minor = TSR_BACKEND_API_MINOR,
      .create = [](const tsr_host_info_t *host, tsr_be_backend_t **out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          std::unique_ptr<Backend> made = createBackend<B>(host, text);
          if (!made) return TSR_ENOTFOUND;
          *out = reinterpret_cast<tsr_be_backend_t *>(made.release());
          return TSR_SUCCESS;
        });
      },
      .destroy = [](tsr_be_backend_t *b) { guardVoid([&] { delete self(b); }); },
      .device_count = [](tsr_be_backend_t *b, int32_t *count, Why why) -> int32_t {
        return guard(why, [&](std::string &) { return *count = self(b)->deviceCount(), TSR_SUCCESS; });
      },
      .device_info = [](tsr_be_backend_t *b, int32_t device, tsr_be_device_t *out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          if (!hasDevice(*self(b), device, text)) return TSR_EINVAL;
          const DeviceInfo *i = self(b)->deviceInfo(device, text);
          if (!i) return TSR_EDEVICE;
          copyOut(out, tsr_be_device_t{sizeof(tsr_be_device_t), i->name.c_str(), i->arch.c_str(),
                                       i->capabilities.c_str(), i->memoryBytes, i->maxSharedBytes,
                                       i->computeUnits, i->vectorBytes});
          return TSR_SUCCESS;
        });
      },
      .context_create = [](tsr_be_backend_t *b, int32_t device, const tsr_be_allocator_t *allocator,
                           tsr_be_context_t **out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          if (!hasDevice(*self(b), device, text)) return static_cast<int32_t>(TSR_EINVAL);
          auto both = std::make_shared<ContextBox>();
          if (allocator)
            both->allocator = {sizeof(tsr_allocator_t), allocator->user, allocator->alloc, allocator->free};
          both->context = self(b)->createContext(device, allocator ? &both->allocator : nullptr, text);
          DeviceContext *context = both->context.get();
          if (!context) return static_cast<int32_t>(TSR_EDEVICE);
          return box(std::shared_ptr<DeviceContext>(std::move(both), context), out, TSR_EDEVICE);
        });
      },
      .context_destroy = drop<tsr_be_context_t>,
      .mem_alloc = [](tsr_be_context_t *c, uint64_t bytes, uint32_t flags, void **out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(c)->alloc(bytes, flags, out, text); });
      },
      .mem_free = [](tsr_be_context_t *c, void *ptr, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(c)->free(ptr, text); });
      },
      .mem_available = [](tsr_be_context_t *c, const void *ptr, uint64_t *bytes) -> int32_t {
        return guard(nullptr, [&](std::string &) {
          auto available = unbox(c)->available(ptr);
          if (!available) return TSR_ENOTFOUND;
          return *bytes = *available, TSR_SUCCESS;
        });
      },
      .mem_info = [](tsr_be_context_t *c, tsr_be_memory_t *out, Why why) -> int32_t {
        return guard(why, [&](std::string &) {
          MemoryUse use = unbox(c)->memoryUse();
          copyOut(out, tsr_be_memory_t{sizeof(tsr_be_memory_t), use.total, use.free, use.inUse, use.pooled});
          return TSR_SUCCESS;
        });
      },
      .mem_trim = [](tsr_be_context_t *c) { guardVoid([&] { unbox(c)->trim(); }); },
      .stream_create = [](tsr_be_context_t *c, tsr_be_stream_t **out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          return box(std::shared_ptr<DeviceStream>(unbox(c)->createStream(text)), out, TSR_EDEVICE);
        });
      },
      .stream_destroy = drop<tsr_be_stream_t>,
      .stream_copy = [](tsr_be_stream_t *s, void *dst, const void *src, uint64_t bytes, int32_t wait,
                        Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->copy(dst, src, bytes, wait, text); });
      },
      .stream_fill = [](tsr_be_stream_t *s, void *dst, uint32_t byte, uint64_t bytes, int32_t wait,
                        Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          return unbox(s)->fill(dst, static_cast<uint8_t>(byte), bytes, wait, text);
        });
      },
      .stream_launch = [](tsr_be_stream_t *s, tsr_be_kernel_t *k, const uint64_t *values,
                          const int64_t grid[3], Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          return unbox(s)->launch(unbox(k), values, {grid[0], grid[1], grid[2]}, text);
        });
      },
      .stream_record = [](tsr_be_stream_t *s, tsr_be_event_t *e, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->record(unbox(e), text); });
      },
      .stream_wait = [](tsr_be_stream_t *s, tsr_be_event_t *e, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->wait(unbox(e), text); });
      },
      .stream_synchronize = [](tsr_be_stream_t *s, uint64_t timeout, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->synchronize(timeout, text); });
      },
      .stream_drain = [](tsr_be_stream_t *s) { guardVoid([&] { unbox(s)->drain(); }); },
      .stream_query = [](tsr_be_stream_t *s, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->query(text); });
      },
      .stream_is_idle = [](tsr_be_stream_t *s) -> int32_t {
        bool idle = false;
        guardVoid([&] { idle = unbox(s)->isIdle(); });
        return idle;
      },
      .event_create = [](tsr_be_context_t *c, tsr_be_event_t **out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          return box(std::shared_ptr<DeviceEvent>(unbox(c)->createEvent(text)), out, TSR_EDEVICE);
        });
      },
      .event_destroy = drop<tsr_be_event_t>,
      .event_query = [](tsr_be_event_t *e) -> int32_t {
        return guard(nullptr,
                     [&](std::string &) { return unbox(e)->isDone() ? TSR_SUCCESS : TSR_NOT_READY; });
      },
      .event_synchronize = [](tsr_be_event_t *e, Why why) -> int32_t {
        return guard(why, [&](std::string &) { return unbox(e)->wait(), TSR_SUCCESS; });
      },
      .event_timestamp = [](tsr_be_event_t *e, int64_t *nanoseconds) -> int32_t {
        return guard(nullptr, [&](std::string &) { return unbox(e)->timestamp(*nanoseconds); });
      },
      .module_load = [](tsr_be_context_t *c, const tsr_be_image_t *image, tsr_be_module_t **out,
                        Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          const tsr_be_image_t i = copyIn(image);
          std::shared_ptr<void> kept = share(i.keep); // first: releases it if anything below fails
          return box(
              unbox(c)->loadModule({i.format, i.data, i.bytes, i.name ? i.name : "", std::move(kept)}, text),
              out, TSR_EINVAL);
        });
      },
      .module_unload = drop<tsr_be_module_t>,
      .kernel_get = [](tsr_be_module_t *m, const tsr_be_kernel_desc_t *desc, tsr_be_kernel_t **out,
                       Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          return box(unbox(m)->getKernel(specOf(desc), text), out, TSR_EINVAL);
        });
      },
      .kernel_release = drop<tsr_be_kernel_t>,
      .graph_create = [](tsr_be_context_t *c, const tsr_be_node_t *nodes, uint64_t count, tsr_be_keep_t keep,
                         tsr_be_graph_t **out, Why why) -> int32_t {
        return guard(why, [&](std::string &text) {
          return box(
              std::shared_ptr<const DeviceGraph>(unbox(c)->createGraph(workOf(nodes, count, keep), text)),
              out, TSR_EINVAL);
        });
      },
      .graph_launch = [](tsr_be_stream_t *s, tsr_be_graph_t *g, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->replay(unbox(g), text); });
      },
      .graph_destroy = drop<tsr_be_graph_t>,
      .peer_enable = [](tsr_be_context_t *c, tsr_be_context_t *peer, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(c)->enablePeer(*unbox(peer), text); });
      },
      .range_push = [](tsr_be_context_t *c,
                       const char *name) { guardVoid([&] { unbox(c)->pushRange(name); }); },
      .range_pop = [](tsr_be_context_t *c) { guardVoid([&] { unbox(c)->popRange(); }); },
      .mem_flags = [](tsr_be_context_t *c) -> uint32_t {
        uint32_t flags = 0;
        guardVoid([&] { flags = unbox(c)->memoryFlags(); });
        return flags;
      },
      .activity_report = [](tsr_be_context_t *c, const tsr_be_activity_sink_t *sink, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(c)->reportActivities(sinkOf(sink), text); });
      },
      .activity_tag = [](tsr_be_context_t *c, uint64_t first,
                         uint64_t second) { guardVoid([&] { unbox(c)->tagActivities({first, second}); }); },
      .stream_call = [](tsr_be_stream_t *s, const tsr_be_call_t *call, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->callHost(hostCallOf(call), text); });
      },
      .stream_native = [](tsr_be_stream_t *s, const char **api, void **handle, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->native(*api, *handle, text); });
      },
      .stream_wait_native = [](tsr_be_stream_t *s, const char *api, void *handle, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->waitNative(api, handle, text); });
      },
      .native_wait_stream = [](tsr_be_stream_t *s, const char *api, void *handle, Why why) -> int32_t {
        return guard(why, [&](std::string &text) { return unbox(s)->nativeWaits(api, handle, text); });
      },
  };
  return &api;
}

/// tsr_plugin_info_t::probe for a class derived from Backend.
template <class B> int32_t probeOf(tsr_probe_t *out, tsr_text_t *why) {
  return guard(why, [&](std::string &text) {
    tsr_probe_t found{};
    tsr_status_t status = B().probe(found, text);
    if (status == TSR_SUCCESS) copyOut(out, found);
    return status;
  });
}

/// TSR_PLUGIN's handling of a class derived from Backend.
template <std::derived_from<Backend> B> void offer(Of<B>, tsr_plugin_info_t &info) {
  info.probe = probeOf<B>;
  info.backend = backendApi<B>();
}

} // namespace tessera::thunk
