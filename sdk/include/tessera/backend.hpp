// The C++ interface of a backend's runtime part. plugin.hpp turns an implementation into a plugin.
//
// Before any of these functions is called, the caller has checked handles, argument counts, null pointers,
// alignment and geometry. A backend checks only what it alone can know, such as whether it allocated a
// pointer. Every call may come from any thread. Calls return a status and fill `why` on failure. Calls that
// create an object return null, or throw StatusError (thunk.hpp) if the status matters (TSR_UNIMPLEMENTED).
// Any other exception becomes TSR_EINTERNAL. Device pointers are plain addresses.
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

/// Compiled code from a bundle or a compiler. `format` is a TSR_IMAGE_* of plugin.h. `data` is read only
/// during the call.
struct ModuleImage {
  uint32_t format = TSR_IMAGE_ELF;
  const void *data = nullptr;
  size_t bytes = 0;
  std::string name;           // for error messages
  std::shared_ptr<void> keep; // keeps what the code needs alive for as long as it may run
};

/// Returns the symbol of kernel `name` in an image made by the compiler; see TSR_ENTRY_PREFIX.
inline std::string entrySymbol(std::string_view name) {
  std::string symbol = TSR_ENTRY_PREFIX + std::string(name);
  std::replace(symbol.begin(), symbol.end(), '.', '$');
  return symbol;
}

/// Returns the kernel's name for messages, the inverse of entrySymbol. A symbol without the prefix is
/// returned unchanged.
inline std::string kernelName(std::string_view symbol) {
  constexpr std::string_view prefix = TSR_ENTRY_PREFIX;
  if (!symbol.starts_with(prefix)) return std::string(symbol);
  std::string name(symbol.substr(prefix.size()));
  std::replace(name.begin(), name.end(), '$', '.');
  return name;
}

/// One kernel of a module, as described by its metadata.
struct KernelSpec {
  std::string name, metadata;               // the symbol in the image; the metadata document (YAML)
  uint32_t valueCount = 0;                  // launch values, in the order of the kernel's parameters
  size_t scratchBytes = 0, sharedBytes = 0; // per program
  uint32_t block[3] = {1, 1, 1};            // threads per program
  uint32_t cluster[3] = {1, 1, 1};          // programs per cluster
  uint32_t imageFormat = 0;                 // TSR_IMAGE_*; 0: the host has plugin ABI 1.0
  size_t dynamicSharedBytes = 0;            // the part of sharedBytes that each launch must request
  size_t workspaceBytes = 0; // global memory per thread block; its address follows the launch values
  std::vector<tsr_be_argument_t> arguments = {}; // valueCount entries; empty if the host does not know them
  std::vector<tsr_be_tensor_map_t> tensorMaps = {}; // parameters of 128 bytes after all others
  bool isPersistent = false;   // a launch has no more blocks than run at once; each runs several programs
  std::string forcedBody = {}; // tsr_be_kernel_desc_t::forced_body
  bool mayWait = true;         // false: it does not run until another thread writes to memory
  bool sharesOperands = false; // consecutive programs of one call read the same packed operands
};

/// Programs per axis, x fastest; never negative, and their product fits int64.
struct LaunchGrid {
  int64_t x = 1, y = 1, z = 1;
  int64_t programs() const { return x * y * z; }
};

/// A loaded kernel. Queued launches share ownership of it, so its code outlives them.
class DeviceKernel {
public:
  explicit DeviceKernel(uint32_t valueCount) : valueCount(valueCount) {}
  virtual ~DeviceKernel() = default;
  const uint32_t valueCount; // KernelSpec::valueCount
};

/// Loaded code. Its kernels may outlive it.
class DeviceModule {
public:
  virtual ~DeviceModule() = default;
  /// Returns null with `why` filled on failure.
  virtual std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) = 0;
};

/// A point in a stream's order, with the rules of tsr_event_t. Queued work shares ownership of what it needs.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;
  virtual bool isDone() = 0;
  virtual void wait() = 0;
  /// Returns the time in nanoseconds on a clock common to the context's streams. TSR_EINVAL: never recorded;
  /// TSR_NOT_READY: not completed.
  virtual tsr_status_t timestamp(int64_t &nanoseconds) = 0;
};

/// One node of a graph: the stored arguments of one DeviceStream call.
struct GraphNode {
  enum class Kind : uint8_t { Copy, Fill, Launch, Record, Wait };
  Kind kind = Kind::Copy;
  uint8_t byte = 0; // the value for Fill
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
  std::vector<std::shared_ptr<void>> kept; // memory that belongs to the graph and that the nodes use
};

/// Work that is recorded once and replayed often. Immutable; several threads may replay it. The caller
/// ensures that replays of a graph with memory of its own do not overlap. A backend with native graphs
/// returns a class derived from this one from createGraph.
class DeviceGraph {
public:
  explicit DeviceGraph(GraphWork work) : work_(std::move(work)) {}
  virtual ~DeviceGraph() = default;
  const GraphWork &work() const { return work_; }

private:
  GraphWork work_;
};

/// A queue of work. If queued work has failed, the next call that queues returns that failure, once, and
/// queues nothing. Work queued after the failing work is dropped, but records and waits still take effect.
class DeviceStream {
public:
  virtual ~DeviceStream() = default; // waits for the queue
  /// Either pointer may be host or device memory; the ranges may overlap. With `wait`, returns when the work
  /// is done, or with the failure that prevented it, even if another caller has already received that
  /// failure.
  virtual tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) = 0;
  virtual tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) = 0;
  /// `values` has DeviceKernel::valueCount entries and is read during the call.
  virtual tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                              const LaunchGrid &grid, std::string &why) = 0;
  virtual tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) = 0;
  virtual tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) = 0;
  /// Queues every node of a graph of this context, in order. A wait in the graph waits for the record that an
  /// earlier node makes or, if there is none, for the state the event has at this call. This default queues
  /// the nodes one by one, up to the first that fails.
  virtual tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) {
    for (const GraphNode &node : graph->work().nodes)
      if (tsr_status_t status = queue(node, why)) return status;
    return TSR_SUCCESS;
  }
  /// A function of the host. Returns a status and fills `why` unless it is TSR_SUCCESS.
  using HostCall = std::function<tsr_status_t(std::string &why)>;
  /// Queues a function of the host in the stream's order; see stream_call.
  virtual tsr_status_t callHost(HostCall /*call*/, std::string &why) {
    why = "it calls no functions of the host in a stream's order";
    return TSR_UNIMPLEMENTED;
  }
  /// Gives the stream as the device's own interface knows it; see stream_native.
  virtual tsr_status_t native(const char *& /*api*/, void *& /*handle*/, std::string &why) {
    why = "it has no native handle";
    return TSR_UNIMPLEMENTED;
  }
  /// Orders it after a stream of another library; see stream_wait_native.
  virtual tsr_status_t waitNative(const char * /*api*/, void * /*handle*/, std::string &why) {
    why = "it has no order with streams of other libraries";
    return TSR_UNIMPLEMENTED;
  }
  /// Orders a stream of another library after it; see native_wait_stream.
  virtual tsr_status_t nativeWaits(const char * /*api*/, void * /*handle*/, std::string &why) {
    why = "it has no order with streams of other libraries";
    return TSR_UNIMPLEMENTED;
  }
  /// Waits until the work queued so far is done; UINT64_MAX: no limit. Returns TSR_ETIMEOUT, or a failure of
  /// that work.
  virtual tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) = 0;
  /// Waits as synchronize does, but leaves a failure for the next call.
  virtual void drain() = 0;
  /// Returns TSR_SUCCESS if all work is done, TSR_NOT_READY, or a failure of queued work.
  virtual tsr_status_t query(std::string &why) = 0;
  /// Returns whether all queued work is done. Never waits, and leaves a failure for the next call. The
  /// workspaces of a backend that returns false are kept until the streams are destroyed.
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

/// Receives completed activities (tsr_be_activity_t) from any thread, and from several concurrently.
using ActivitySink = std::function<void(const tsr_be_activity_t &)>;

/// A context on one device. Destroyed after every stream, event and kernel made from it.
class DeviceContext {
public:
  virtual ~DeviceContext() = default; // frees all memory
  virtual const DeviceInfo &info() const = 0;
  virtual tsr_status_t alloc(size_t bytes, uint32_t flags, void **dptr, std::string &why) = 0;
  /// Frees a block. No queued work uses it.
  virtual tsr_status_t free(void *dptr, std::string &why) = 0;
  /// Returns whether the range is inside one live allocation of this context.
  virtual bool owns(const void *dptr, size_t bytes) {
    auto room = available(dptr);
    return room && bytes <= *room;
  }
  /// Returns the bytes from `dptr` to the end of the live allocation it points into; nullopt if it points
  /// into none of this context.
  virtual std::optional<size_t> available(const void *dptr) = 0;
  virtual MemoryUse memoryUse() = 0;
  virtual void trim() = 0;
  virtual std::unique_ptr<DeviceStream> createStream(std::string &why) = 0; // null on failure
  virtual std::unique_ptr<DeviceEvent> createEvent(std::string &why) = 0;
  virtual std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) = 0;
  /// Returns null with `why` filled on failure.
  virtual std::shared_ptr<DeviceGraph> createGraph(GraphWork work, std::string & /*why*/) {
    return std::make_shared<DeviceGraph>(std::move(work));
  }
  /// Lets kernels and copies of this context access memory of `peer`, a context of the same backend.
  virtual tsr_status_t enablePeer(DeviceContext & /*peer*/, std::string &why) {
    why = "it has no access to other devices' memory";
    return TSR_UNIMPLEMENTED;
  }
  /// Begin and end profiler ranges of the calling thread. Each pop matches a push.
  virtual void pushRange(const char * /*name*/) {}
  virtual void popRange() {}
  /// Returns bits TSR_BE_MEM_*: the flags that alloc accepts, and whether enablePeer works. The default is
  /// all bits, so the calls themselves refuse what they do not support.
  virtual uint32_t memoryFlags() { return TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_MANAGED | TSR_BE_MEM_PEER; }
  /// Reports activities to `sink` from now on, or stops if it is empty; see activity_report. The previous
  /// sink is not called after this returns.
  virtual tsr_status_t reportActivities(ActivitySink /*sink*/, std::string &why) {
    why = "it reports no activities";
    return TSR_UNIMPLEMENTED;
  }
  /// Sets the tag of the records of work that the calling thread queues from now on; see activity_tag.
  virtual void tagActivities(const ActivityTag & /*tag*/) {}
};

class Backend {
public:
  virtual ~Backend() = default;
  /// Only for backends inside the library: a plugin's name and description come from its manifest.
  virtual const char *name() const { return ""; }
  virtual const char *description() const { return ""; }
  virtual int deviceCount() const = 0;
  /// Looks for devices (tsr_plugin_info_t::probe).
  virtual tsr_status_t probe(tsr_probe_t &out, std::string &why) = 0;
  /// Describes a device without creating a context; valid for the lifetime of the process. Here and in
  /// createContext, `device` is less than deviceCount(), and a failure returns null and fills `why`.
  virtual const DeviceInfo *deviceInfo(int device, std::string &why) = 0;
  /// Creates a context. If `allocator` is null, it uses the backend's own. Otherwise all device memory comes
  /// from its calls; the struct is complete and lives as long as the context.
  virtual std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *allocator,
                                                       std::string &why) = 0;
};

} // namespace tessera
