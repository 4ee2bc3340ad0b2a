// What a backend's runtime half implements, in C++; plugin.hpp makes a plugin of it.
//
// The caller has checked handles, argument counts, null pointers, alignment and geometry before any of these
// is called; a backend checks what only it can know (is this pointer mine?). Every call may come from any
// thread. Calls return a status and say in `why` what failed; those that make something return null, or throw
// StatusError (thunk.hpp) where its status matters (TSR_UNIMPLEMENTED); anything else thrown is
// TSR_EINTERNAL. Device pointers are plain addresses.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/plugin.h>
#include <tessera/require_cxx20.hpp>
#include <tessera/tessera.h>
#include <utility>
#include <vector>

namespace tessera {

/// Code, as a bundle or a compiler hands it over. `format` is one of plugin.h's TSR_IMAGE_*; `data` is read
/// during the call only.
struct ModuleImage {
  uint32_t format = TSR_IMAGE_ELF;
  const void *data = nullptr;
  size_t bytes = 0;
  std::string name;           // what errors call it
  std::shared_ptr<void> keep; // what the code needs, for as long as it may run
};

/// The symbol of kernel `name` in an image that the compiler made; see TSR_ENTRY_PREFIX.
inline std::string entrySymbol(std::string_view name) {
  std::string symbol = TSR_ENTRY_PREFIX + std::string(name);
  std::replace(symbol.begin(), symbol.end(), '.', '$');
  return symbol;
}

/// The kernel's name, which messages use: entrySymbol backwards. A symbol of another origin is the name.
inline std::string kernelName(std::string_view symbol) {
  constexpr std::string_view prefix = TSR_ENTRY_PREFIX;
  if (!symbol.starts_with(prefix)) return std::string(symbol);
  std::string name(symbol.substr(prefix.size()));
  std::replace(name.begin(), name.end(), '$', '.');
  return name;
}

/// One kernel of a module, as its metadata has it.
struct KernelSpec {
  std::string name, metadata;               // the symbol in the image; the metadata document (YAML)
  uint32_t valueCount = 0;                  // launch values, in the order of the kernel's parameters
  size_t scratchBytes = 0, sharedBytes = 0; // of one program
  uint32_t block[3] = {1, 1, 1};            // threads of one program
  uint32_t cluster[3] = {1, 1, 1};          // programs of one cluster
  uint32_t imageFormat = 0;                 // TSR_IMAGE_*; 0: the host is of plugin ABI 1.0
  size_t dynamicSharedBytes = 0;            // of sharedBytes, those that each launch has to ask for
  size_t workspaceBytes = 0; // global memory of one program; its address is the entry point's last parameter
  std::vector<tsr_be_argument_t> arguments; // valueCount of them; empty where the host does not know
};

/// Programs per axis, x fastest; never negative, and their product fits int64.
struct LaunchGrid {
  int64_t x = 1, y = 1, z = 1;
  int64_t programs() const { return x * y * z; }
};

/// A kernel as the device holds it. Queued launches share ownership, so its code outlives them.
class DeviceKernel {
public:
  explicit DeviceKernel(uint32_t valueCount) : valueCount(valueCount) {}
  virtual ~DeviceKernel() = default;
  const uint32_t valueCount; // KernelSpec::valueCount
};

/// Loaded code. Kernels outlive it.
class DeviceModule {
public:
  virtual ~DeviceModule() = default;
  virtual std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) = 0; // or null
};

/// A point in a stream's order; see tsr_event_t for the rules. Queued work shares ownership of what it needs.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;
  virtual bool isDone() = 0;
  virtual void wait() = 0;
  /// TSR_EINVAL: never recorded, TSR_NOT_READY: not passed. Nanoseconds on a clock common to the context's
  /// streams.
  virtual tsr_status_t timestamp(int64_t &nanoseconds) = 0;
};

/// One piece of a graph: the arguments of one DeviceStream call, kept.
struct GraphNode {
  enum class Kind : uint8_t { Copy, Fill, Launch, Record, Wait };
  Kind kind = Kind::Copy;
  uint8_t byte = 0; // of Fill
  void *dst = nullptr;
  const void *src = nullptr;
  size_t bytes = 0;
  std::shared_ptr<DeviceKernel> kernel;
  std::vector<uint64_t> values;
  LaunchGrid grid;
  std::shared_ptr<DeviceEvent> event;
};

struct GraphWork {
  std::vector<GraphNode> nodes;            // in the order they were queued
  std::vector<std::shared_ptr<void>> kept; // memory of the graph's own that the nodes use
};

/// Work recorded once and replayed often. Immutable; several threads may replay it. The caller keeps replays
/// of a graph with memory of its own from overlapping. A backend with graphs of its own derives from this
/// what createGraph returns.
class DeviceGraph {
public:
  explicit DeviceGraph(GraphWork work) : work_(std::move(work)) {}
  virtual ~DeviceGraph() = default;
  const GraphWork &work() const { return work_; }

private:
  GraphWork work_;
};

/// A queue of work. If work that was queued earlier has failed, the next call that queues returns that
/// failure, once, and queues nothing. Work that was queued after the failing one is dropped; records and
/// waits still take effect.
class DeviceStream {
public:
  virtual ~DeviceStream() = default; // waits for the queue
  /// Either pointer may be host or device memory; the ranges may overlap. `wait`: returns when the work is
  /// done, or with the failure that prevented it, even if another caller has got that failure already.
  virtual tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) = 0;
  virtual tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) = 0;
  /// `values` has DeviceKernel::valueCount entries and is read during the call.
  virtual tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                              const LaunchGrid &grid, std::string &why) = 0;
  virtual tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) = 0;
  virtual tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) = 0;
  /// Queues every node of a graph of this context, in order. Waits of the graph take the point their event
  /// has when this is called, or the one an earlier node of the graph records. As written here the nodes are
  /// queued one by one, up to the first that fails.
  virtual tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) {
    for (const GraphNode &node : graph->work().nodes)
      if (tsr_status_t status = queue(node, why)) return status;
    return TSR_SUCCESS;
  }
  /// A function of the host's: returns a status and, unless it is TSR_SUCCESS, fills `why`.
  using HostCall = std::function<tsr_status_t(std::string &why)>;
  /// Queues a call of the host's in the stream's order; see stream_call.
  virtual tsr_status_t callHost(HostCall /*call*/, std::string &why) {
    why = "it calls no functions of the host in a stream's order";
    return TSR_UNIMPLEMENTED;
  }
  /// Waits until the work queued so far is done; UINT64_MAX: however long. TSR_ETIMEOUT, or a failure of that
  /// work.
  virtual tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) = 0;
  /// Waits as synchronize does, but leaves a failure for the next call.
  virtual void drain() = 0;
  /// TSR_SUCCESS, TSR_NOT_READY, or a failure of work that was queued.
  virtual tsr_status_t query(std::string &why) = 0;
  /// Is all queued work done? Never waits, and leaves a failure for the next call. A backend that cannot tell
  /// keeps its streams' workspaces until they are destroyed.
  virtual bool isIdle() { return false; }

protected:
  tsr_status_t queue(const GraphNode &n, std::string &why) {
    switch (n.kind) {
    case GraphNode::Kind::Copy:
      return copy(n.dst, n.src, n.bytes, /*wait=*/false, why);
    case GraphNode::Kind::Fill:
      return fill(n.dst, n.byte, n.bytes, /*wait=*/false, why);
    case GraphNode::Kind::Launch:
      return launch(n.kernel, n.values.data(), n.grid, why);
    case GraphNode::Kind::Record:
      return record(n.event, why);
    case GraphNode::Kind::Wait:
      return wait(n.event, why);
    }
    return TSR_EINTERNAL;
  }
};

struct DeviceInfo {
  std::string name, arch, capabilities; // capabilities: a JSON object
  uint64_t memoryBytes = 0, maxSharedBytes = 0;
  uint32_t computeUnits = 0, vectorBytes = 0;
};

struct MemoryUse {
  uint64_t total = 0, free = 0, inUse = 0, pooled = 0;
};

/// tsr_be_activity_t::tag
using ActivityTag = std::array<uint64_t, 2>;

/// Takes completed activities (tsr_be_activity_t); called from any thread, several at once.
using ActivitySink = std::function<void(const tsr_be_activity_t &)>;

/// One device of one context. Destroyed after every stream, event and kernel made from it.
class DeviceContext {
public:
  virtual ~DeviceContext() = default; // frees all memory
  virtual const DeviceInfo &info() const = 0;
  virtual tsr_status_t alloc(size_t bytes, uint32_t flags, void **dptr, std::string &why) = 0;
  /// The block is idle: no queued work uses it.
  virtual tsr_status_t free(void *dptr, std::string &why) = 0;
  /// Is the range inside one live allocation of this context?
  virtual bool owns(const void *dptr, size_t bytes) {
    auto room = available(dptr);
    return room && bytes <= *room;
  }
  /// Bytes from `dptr` to the end of the live allocation it points into; nullopt: into none of this context.
  virtual std::optional<size_t> available(const void *dptr) = 0;
  virtual MemoryUse memoryUse() = 0;
  virtual void trim() = 0;
  virtual std::unique_ptr<DeviceStream> createStream(std::string &why) = 0; // null on failure
  virtual std::unique_ptr<DeviceEvent> createEvent(std::string &why) = 0;
  virtual std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) = 0;
  /// Null with `why` filled on failure.
  virtual std::shared_ptr<DeviceGraph> createGraph(GraphWork work, std::string & /*why*/) {
    return std::make_shared<DeviceGraph>(std::move(work));
  }
  /// From now on kernels and copies of this context may touch memory of `peer`, a context of the same
  /// backend.
  virtual tsr_status_t enablePeer(DeviceContext & /*peer*/, std::string &why) {
    why = "it has no access to other devices' memory";
    return TSR_UNIMPLEMENTED;
  }
  /// Ranges of the calling thread in the profiler; pops match pushes.
  virtual void pushRange(const char * /*name*/) {}
  virtual void popRange() {}
  /// Bits TSR_BE_MEM_*: flags that alloc takes, and whether enablePeer works. By default all: the calls
  /// themselves refuse what they lack.
  virtual uint32_t memoryFlags() { return TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_MANAGED | TSR_BE_MEM_PEER; }
  /// Reports activities to `sink` from here on, or to nobody if it is empty; see activity_report. Once this
  /// has returned, the sink before is not called.
  virtual tsr_status_t reportActivities(ActivitySink /*sink*/, std::string &why) {
    why = "it reports no activities";
    return TSR_UNIMPLEMENTED;
  }
  /// The tag of the records of work that the calling thread queues from here on; see activity_tag.
  virtual void tagActivities(const ActivityTag & /*tag*/) {}
};

class Backend {
public:
  virtual ~Backend() = default;
  /// Only for backends inside the library: a plugin's name and description are in its manifest.
  virtual const char *name() const { return ""; }
  virtual const char *description() const { return ""; }
  virtual int deviceCount() const = 0;
  /// Looks for devices (tsr_plugin_info_t::probe).
  virtual tsr_status_t probe(tsr_probe_t &out, std::string &why) = 0;
  /// Describes a device without a context on it; valid for the lifetime of the process. Here and below,
  /// `device` is less than deviceCount(), and a failure returns null and fills `why`.
  virtual const DeviceInfo *deviceInfo(int device, std::string &why) = 0;
  /// `allocator` null: the backend's own. Else all device memory comes from its calls; the struct is complete
  /// and lives as long as the context.
  virtual std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *allocator,
                                                       std::string &why) = 0;
};

} // namespace tessera
