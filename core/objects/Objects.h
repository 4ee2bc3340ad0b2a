// The objects that the handles of the C ABI refer to. A context owns all others.
#pragma once
#include "core/function/FunctionPlan.h"
#include "core/launch/LaunchPlan.h"
#include "core/launch/VariantChooser.h"
#include "core/metadata/KernelMetadata.h"
#include "core/objects/CapturableStream.h"
#include "core/objects/Handles.h"
#include "core/objects/Workspace.h"
#include "core/plugin/Mappers.h"
#include "core/support/Fork.h"
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>
#include <tessera/collective.hpp>
#include <unordered_map>
#include <vector>

namespace tessera {

struct ContextObject;
struct Plugin;

/// The base of every object: its handle, valid during its lifetime. `T` has kKind and Handle.
template <class T, class H, HandleKind K> struct Object {
  using Handle = H;
  static constexpr HandleKind kKind = K;

  Object() : value_(HandleTable::get().insert(K, static_cast<T *>(this))) {
    if (!value_) throw std::bad_alloc();
  }
  ~Object() { retire(); }
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  H handle() const { return reinterpret_cast<H>(value_); }
  /// Invalidates the handle.
  void retire() {
    if (value_) HandleTable::get().erase(value_);
    value_ = 0;
  }
  /// Returns whether the object was made in a parent process before a fork. Then its threads do not exist in
  /// this process and its locks may never be released: it may not be called, waited for or destroyed.
  bool isInherited() const { return process_ != forkCount(); }

private:
  uintptr_t value_;
  const uint64_t process_ = forkCount();
};

struct StreamObject : Object<StreamObject, tsr_stream_t, HandleKind::Stream>,
                      std::enable_shared_from_this<StreamObject> {
  ContextObject *context = nullptr;
  // Of the context's list of streams that may have work, which guards them.
  StreamObject *nextWorking = nullptr;
  bool isListed = false;
  Workspace workspace; // outlives the queue below, whose work uses it
  std::unique_ptr<CapturableStream> device;
};

struct EventObject : Object<EventObject, tsr_event_t, HandleKind::Event> {
  ContextObject *context = nullptr;
  std::shared_ptr<DeviceEvent> device; // graphs share it
};

struct GraphObject : Object<GraphObject, tsr_graph_t, HandleKind::Graph> {
  ContextObject *context = nullptr;
  std::shared_ptr<const DeviceGraph> device;
  tsr_graph_info_t counts{}; // of the captured work
};

/// A kernel, or a function. A function has no code but a plan of kernels to launch.
struct KernelObject : Object<KernelObject, tsr_kernel_t, HandleKind::Kernel> {
  ContextObject *context = nullptr;
  std::shared_ptr<DeviceKernel> device; // null: a function
  KernelMetadata metadata;
  std::string yaml;
  LaunchPlan plan;
  std::unique_ptr<FunctionPlan> function;     // null: a kernel
  std::unique_ptr<VariantChooser> chooser;    // null: it has no variants
  std::vector<const KernelObject *> variants; // of the same module; this object for one without an entry

  /// Returns what a choice runs: a variant, or this object.
  const KernelObject &body(const VariantChooser::Choice &choice) const {
    return choice.variant < variants.size() ? *variants[choice.variant] : *this;
  }

  /// "mlp.g0" was generated for the function mlp. It can be found by its name, but a module is never just
  /// such kernels.
  bool isGenerated() const { return metadata.name.find('.') != std::string::npos; }
  /// "kernel gemm", "function mlp"
  std::string describe() const { return (metadata.plan ? "function " : "kernel ") + metadata.name; }
};

struct ModuleObject : Object<ModuleObject, tsr_module_t, HandleKind::Module> {
  ContextObject *context = nullptr;
  std::vector<std::unique_ptr<KernelObject>> kernels;
};

struct ContextObject : Object<ContextObject, tsr_context_t, HandleKind::Context> {
  std::shared_ptr<Backend> backend;
  int32_t ordinal = 0;                   // of the device
  tsr_allocator_t allocator{};           // all 0: the backend's own
  std::unique_ptr<DeviceContext> device; // destroyed last: the members below are made from it
  std::shared_ptr<StreamObject> defaultStream;
  std::mutex replayMutex; // held while a graph with memory of its own is queued

  /// Every stream, the default one first. Returns a copy, so that waiting for them needs no lock.
  std::vector<std::shared_ptr<StreamObject>> streams() const;
  /// The default stream if there is no other; else null.
  StreamObject *onlyStream() const;
  /// Waits for all queued work. Each stream keeps its own failure. Idle streams cost nothing, however many
  /// there are.
  void drain();
  /// Notes that a stream may have work.
  void noteWork(StreamObject &) noexcept;

  template <class T> using Owned = std::unordered_map<T *, std::shared_ptr<T>>;
  template <class T> Owned<T> &children();
  template <class T> void add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    T *key = object.get();
    children<T>().emplace(key, std::move(object));
  }
  /// Removes `object`. Unless a thread is waiting for it, the caller then holds the last reference.
  template <class T> std::shared_ptr<T> remove(T *object) {
    std::lock_guard lock(mutex_);
    auto node = children<T>().extract(object);
    if (!node) return nullptr;
    if constexpr (std::is_same_v<T, StreamObject>) unlist(*object);
    std::shared_ptr<T> out = std::move(node.mapped());
    out->retire();
    return out;
  }

private:
  void unlist(StreamObject &); // with the lock

  mutable std::mutex mutex_; // guards the members below
  Owned<StreamObject> streams_;
  StreamObject *working_ = nullptr; // the first of a list; it needs no memory, so that noting cannot fail
  Owned<EventObject> events_;
  Owned<ModuleObject> modules_;
  Owned<GraphObject> graphs_;
};

template <> inline ContextObject::Owned<StreamObject> &ContextObject::children() { return streams_; }
template <> inline ContextObject::Owned<EventObject> &ContextObject::children() { return events_; }
template <> inline ContextObject::Owned<ModuleObject> &ContextObject::children() { return modules_; }
template <> inline ContextObject::Owned<GraphObject> &ContextObject::children() { return graphs_; }

/// One rank of a communicator. It belongs to no context, since its buffers are host memory. Queued calls
/// share it, so it outlives its handle.
struct CommRank {
  const std::unique_ptr<AlgorithmChoices> choices = makeAlgorithmChoices();
  std::array<const char *, std::size(collective::kKinds)> algorithms{}; // by kind, comma-separated
  std::shared_ptr<const Plugin> plugin; // the plugin that implements it, which counts it as an object
  const char *topology = "";
  std::unique_ptr<Communicator> end;
  std::mutex mutex;                // guards the following members; `queued` is read without it
  std::atomic<uint64_t> queued{0}; // calls on a stream that are not done
  tsr_stream_t stream = nullptr;   // the stream of these calls

  CommRank() = default;
  ~CommRank();
  CommRank(const CommRank &) = delete;
};

/// The handle of a rank.
struct CommObject : Object<CommObject, tsr_comm_t, HandleKind::Comm> {
  const std::shared_ptr<CommRank> rank = std::make_shared<CommRank>();
  std::string decisions; // the text that tsrCommDecisions returned last
};

/// Sets `out` to a stream of the context's device. Returns false and fills `why` when there is none.
[[nodiscard]] bool makeStream(ContextObject &context, StreamObject &out, std::string &why);

/// Resolves a handle. Otherwise fails with a text that names the expected kind. An object inherited from the
/// parent process gives TSR_EDEVICE.
template <class T> tsr_status_t resolve(typename T::Handle handle, T *&out);

/// The same for a call that destroys the object. For an inherited object nothing is left to do: `out` is
/// null.
template <class T> tsr_status_t resolveToDestroy(typename T::Handle handle, T *&out);

/// Resolves `stream`, or the default stream of `context`. Fails when it belongs to another context.
tsr_status_t resolveStream(ContextObject &context, tsr_stream_t stream, StreamObject *&out);

/// Resolves an object and a stream of the same context.
template <class T>
tsr_status_t resolve(typename T::Handle handle, T *&out, tsr_stream_t streamHandle, StreamObject *&stream) {
  if (tsr_status_t status = resolve(handle, out)) return status;
  return resolveStream(*out->context, streamHandle, stream);
}

} // namespace tessera
