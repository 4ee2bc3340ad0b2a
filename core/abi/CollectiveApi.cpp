// Communicators and collectives: handles for the tables of plugins.
#include "core/abi/Structs.h"
#include "core/objects/Objects.h"
#include "core/objects/Tracer.h"
#include "core/plugin/Registry.h"
#include <bit>
#include <chrono>

using namespace tessera;

namespace {

constexpr uint64_t kDefaultTimeoutNs = 30ull * 1000000000;

/// Returns the plugin that implements the collectives `name`. Returns null with `why` filled on failure.
PluginRef implementation(const std::string &name, std::string &why) {
  PluginRef plugin = loadPlugin(TSR_PLUGIN_COLLECTIVE, name, why);
  if (!plugin)
    why = "implementation '" + name + "': " + why +
          "; available: " + nameList(usablePlugins(TSR_PLUGIN_COLLECTIVE));
  return plugin;
}

/// Returns an enumerator as a number, including values that only a C caller can pass.
template <class E> int32_t number(const E &value) { return std::bit_cast<int32_t>(value); }

/// The fields of a trace record that the call itself does not contain.
struct Traced {
  uint64_t correlation = 0; // 0: perform() assigns one
  tsr_context_t context = nullptr;
  tsr_stream_t stream = nullptr;
  tsr_comm_t comm = nullptr;
};

/// Calls the implementation. If tracing is on, reports a successful call.
tsr_status_t perform(const CommRank &comm, const tsr_cl_call_t &call, const Traced &traced,
                     std::string &why) {
  if (!Tracer::isOn()) [[likely]]
    return comm.end->run(call, why);
  tsr_trace_record_t record{};
  record.kind = TSR_TRACE_COLLECTIVE;
  record.device = -1;
  record.backend = comm.plugin->name.c_str();
  record.context = traced.context;
  record.stream = traced.stream;
  record.comm = traced.comm;
  record.correlation = traced.correlation ? traced.correlation : Tracer::nextCorrelation();
  record.begin_ns = Tracer::now();
  const tsr_status_t status = comm.end->run(call, why);
  if (status != TSR_SUCCESS) return status;
  record.end_ns = Tracer::now();
  record.name = collective::kKinds[call.kind]; // the implementation has checked kind and dtype
  record.bytes = collective::sourceCount(call, comm.end->size()) * collective::kBytes[call.dtype];
  Tracer::report(record);
  return status;
}

/// Lets the mapper choose the algorithm if the call names none. The implementation refuses calls that are not
/// valid.
tsr_status_t performAsMapped(CommRank &comm, tsr_cl_call_t call, const Traced &traced, std::string &why) {
  using namespace collective;
  const uint32_t minor = comm.plugin->info.collective->version_minor;
  const char *missing = nullptr;
  if (call.kind < std::size(kKinds) && !hasKind(minor, call.kind))
    missing = kKinds[call.kind];
  else if (uint32_t(call.dtype) < std::size(kDTypes) && !hasDType(minor, call.dtype))
    missing = kDTypes[call.dtype];
  if (missing) {
    why = "implementation '" + comm.plugin->name + "' has no " + missing +
          ": its interface version is 1.0, and 1.1 is needed";
    return TSR_UNIMPLEMENTED;
  }
  if ((call.algorithm && *call.algorithm) || isPaired(call.kind) || comm.choices->isQuiet())
    return perform(comm, call, traced, why);
  AlgorithmChoices::Record *decision = nullptr;
  if (call.kind < std::size(kKinds) && uint32_t(call.dtype) < std::size(kBytes)) {
    const auto ranks = static_cast<uint32_t>(comm.end->size());
    uint64_t bytes = 0; // on overflow the implementation refuses the call
    const bool isReal = !__builtin_mul_overflow(call.count, uint64_t(kBytes[call.dtype]), &bytes) &&
                        (!dividesSource(call.kind) || !__builtin_mul_overflow(bytes, ranks, &bytes));
    if (isReal)
      if (tsr_status_t status = comm.choices->choose(
              {kKinds[call.kind], bytes, ranks, comm.topology, comm.algorithms[call.kind]}, decision, why))
        return status;
  }
  if (decision) call.algorithm = comm.choices->algorithmOf(*decision);
  const auto begin = std::chrono::steady_clock::now();
  const tsr_status_t status = perform(comm, call, traced, why);
  if (decision && status == TSR_SUCCESS)
    comm.choices->measured(
        *decision,
        static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count()));
  return status;
}

/// Resolves a communicator for a call that waits for other ranks.
tsr_status_t resolveIdle(tsr_comm_t handle, CommObject *&comm) {
  if (tsr_status_t status = resolve(handle, comm)) return status;
  if (comm->rank->queued)
    return fail(TSR_EINVAL, "calls that tsrCollectiveAsync queued on this communicator are not done: "
                            "synchronize their stream first");
  return TSR_SUCCESS;
}

tsr_status_t run(tsr_comm_t handle, const tsr_cl_call_t &call) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolveIdle(handle, comm)) return status;
    return checked(
        [&](std::string &why) { return performAsMapped(*comm->rank, call, {.comm = handle}, why); });
  });
}

/// A call queued on a stream, with copies of its strings. It counts among the communicator's queued calls
/// until it has run or is dropped.
class QueuedCall {
public:
  QueuedCall(std::shared_ptr<CommRank> comm, const tsr_cl_call_t &call, const Traced &traced)
      : comm_(std::move(comm)), call_(call), traced_(traced),
        algorithm_(call.algorithm ? call.algorithm : ""), where_(call.where ? call.where : "") {
    call_.algorithm = algorithm_.c_str();
    call_.where = where_.c_str();
  }
  ~QueuedCall() { end(); }
  QueuedCall(const QueuedCall &) = delete;

  /// Counts the call. Returns TSR_EINVAL if calls are queued on another stream.
  tsr_status_t begin(std::string &why) {
    std::lock_guard lock(comm_->mutex);
    if (comm_->queued && comm_->stream != traced_.stream) {
      why = "calls that tsrCollectiveAsync queued on another stream are not done: synchronize that stream "
            "first";
      return TSR_EINVAL;
    }
    ++comm_->queued;
    comm_->stream = traced_.stream;
    isCounted_ = true;
    return TSR_SUCCESS;
  }
  tsr_status_t run(std::string &why) {
    const tsr_status_t status = performAsMapped(*comm_, call_, traced_, why);
    end();
    return status;
  }

private:
  void end() {
    std::lock_guard lock(comm_->mutex);
    if (std::exchange(isCounted_, false)) --comm_->queued;
  }

  const std::shared_ptr<CommRank> comm_;
  tsr_cl_call_t call_;
  const Traced traced_;
  const std::string algorithm_, where_;
  bool isCounted_ = false; // guarded by the communicator's mutex
};

tsr_status_t readCall(const tsr_collective_call_t *call, tsr_cl_call_t &out) {
  if (tsr_status_t status = requireOut(call, "call")) return status;
  tsr_collective_call_t c{};
  if (tsr_status_t status = readOptions(call, c, "call")) return status;
  out = {sizeof out,  static_cast<uint32_t>(c.kind),
         c.dtype,     static_cast<uint32_t>(c.op),
         c.root,      c.count,
         c.src,       c.dst,
         c.algorithm, c.timeout_ns,
         c.where,     c.peer,
         c.tag};
  return TSR_SUCCESS;
}

tsr_cl_call_t callOf(tsr_collective_kind_t kind, const void *src, void *dst, size_t count,
                     const tsr_dtype_t &dtype) { // by reference: it may hold a value outside the enumeration
  tsr_cl_call_t call{};
  call.struct_size = sizeof call;
  call.kind = kind;
  call.dtype = number(dtype);
  call.count = count;
  call.src = src;
  call.dst = dst;
  return call;
}

} // namespace

CommRank::~CommRank() {
  end.reset();
  if (plugin) --plugin->objects;
}

tsr_status_t tsrCreateComm(const tsr_comm_options_t *options, tsr_comm_t *comm) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(options, "options")) return status;
    if (tsr_status_t status = requireOut(comm, "comm")) return status;
    tsr_comm_options_t o{};
    o.rank = o.size = -1;
    if (tsr_status_t status = readOptions(options, o)) return status;
    std::string why;
    PluginRef from = implementation(o.implementation ? o.implementation : "inprocess", why);
    if (!from) return fail(TSR_ENOTFOUND, why);
    auto object = std::make_unique<CommObject>();
    tsr_status_t status = TSR_EINTERNAL;
    const tsr_cl_options_t wanted = {sizeof wanted, o.id ? o.id : "", o.rank, o.size,
                                     o.timeout_ns ? o.timeout_ns : kDefaultTimeoutNs};
    TableCollective collective(from->info.collective, &pluginHost());
    CommRank &rank = *object->rank;
    rank.end = collective.create(wanted, status, why);
    if (!rank.end) return fail(status, why);
    ++from->objects;
    rank.plugin = std::move(from);
    rank.topology = collective.topology();
    for (uint32_t kind = 0; kind < rank.algorithms.size(); ++kind)
      rank.algorithms[kind] = collective.algorithms(kind);
    *comm = object.release()->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrDestroyComm(tsr_comm_t handle) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolveToDestroy(handle, comm)) return status;
    if (!comm) return TSR_SUCCESS;
    comm->retire();
    delete comm;
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrCommSplit(tsr_comm_t handle, int32_t color, int32_t key, tsr_comm_t *out) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolveIdle(handle, comm)) return status;
    if (tsr_status_t status = requireOut(out, "out")) return status;
    const CommRank &from = *comm->rank;
    auto object = std::make_unique<CommObject>();
    CommRank &rank = *object->rank;
    if (collective::Outcome o = from.end->split(color, key, rank.end); o.failed())
      return fail(o.status, o.text);
    *out = nullptr;
    if (!rank.end) return TSR_SUCCESS; // a negative color
    rank.plugin = from.plugin;
    ++rank.plugin->objects;
    rank.topology = from.topology;
    rank.algorithms = from.algorithms;
    *out = object.release()->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrCommAbort(tsr_comm_t handle, const char *reason) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolve(handle, comm)) return status;
    const std::shared_ptr<CommRank> rank = comm->rank;
    const collective::Outcome o = rank->end->abort(reason ? reason : "");
    return o.failed() ? fail(o.status, o.text) : TSR_SUCCESS;
  });
}

tsr_status_t tsrCommInfo(tsr_comm_t handle, tsr_comm_info_t *info) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolve(handle, comm)) return status;
    return writeInfo(tsr_comm_info_t{0, comm->rank->plugin->name.c_str(), comm->rank->topology,
                                     comm->rank->end->rank(), comm->rank->end->size()},
                     info);
  });
}

tsr_status_t tsrCommDecisions(tsr_comm_t handle, const char **json) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolve(handle, comm)) return status;
    if (tsr_status_t status = requireOut(json, "json")) return status;
    comm->decisions = comm->rank->choices->json();
    *json = comm->decisions.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrAllReduce(tsr_comm_t comm, const void *src, void *dst, size_t count, tsr_dtype_t dtype,
                          tsr_reduce_op_t op) {
  tsr_cl_call_t call = callOf(TSR_ALL_REDUCE, src, dst, count, dtype);
  call.op = static_cast<uint32_t>(number(op));
  return run(comm, call);
}

tsr_status_t tsrBroadcast(tsr_comm_t comm, const void *src, void *dst, size_t count, tsr_dtype_t dtype,
                          int32_t root) {
  tsr_cl_call_t call = callOf(TSR_BROADCAST, src, dst, count, dtype);
  call.root = root;
  return run(comm, call);
}

tsr_status_t tsrAllGather(tsr_comm_t comm, const void *src, void *dst, size_t count, tsr_dtype_t dtype) {
  return run(comm, callOf(TSR_ALL_GATHER, src, dst, count, dtype));
}

tsr_status_t tsrReduceScatter(tsr_comm_t comm, const void *src, void *dst, size_t count, tsr_dtype_t dtype,
                              tsr_reduce_op_t op) {
  tsr_cl_call_t call = callOf(TSR_REDUCE_SCATTER, src, dst, count, dtype);
  call.op = static_cast<uint32_t>(number(op));
  return run(comm, call);
}

tsr_status_t tsrAllToAll(tsr_comm_t comm, const void *src, void *dst, size_t count, tsr_dtype_t dtype) {
  return run(comm, callOf(TSR_ALL_TO_ALL, src, dst, count, dtype));
}

tsr_status_t tsrSend(tsr_comm_t comm, const void *src, size_t count, tsr_dtype_t dtype, int32_t peer,
                     int32_t tag) {
  tsr_cl_call_t call = callOf(TSR_SEND, src, nullptr, count, dtype);
  call.peer = peer;
  call.tag = tag;
  return run(comm, call);
}

tsr_status_t tsrRecv(tsr_comm_t comm, void *dst, size_t count, tsr_dtype_t dtype, int32_t peer, int32_t tag) {
  tsr_cl_call_t call = callOf(TSR_RECV, nullptr, dst, count, dtype);
  call.peer = peer;
  call.tag = tag;
  return run(comm, call);
}

tsr_status_t tsrCollective(tsr_comm_t comm, const tsr_collective_call_t *call) {
  return guarded([&] {
    tsr_cl_call_t c{};
    if (tsr_status_t status = readCall(call, c)) return status;
    return run(comm, c);
  });
}

tsr_status_t tsrCollectiveAsync(tsr_comm_t handle, const tsr_collective_call_t *call,
                                tsr_stream_t streamHandle) {
  return guarded([&] {
    CommObject *comm;
    StreamObject *stream;
    tsr_cl_call_t c{};
    if (tsr_status_t status = resolve(handle, comm)) return status;
    if (tsr_status_t status = resolve(streamHandle, stream)) return status;
    if (tsr_status_t status = readCall(call, c)) return status;
    return TracedCall::run("tsrCollectiveAsync", *stream, [&] {
      const Traced traced = {TracedCall::correlation(), stream->context->handle(), streamHandle, handle};
      auto queued = std::make_shared<QueuedCall>(comm->rank, c, traced);
      return checked([&](std::string &why) {
        if (tsr_status_t status = queued->begin(why)) return status;
        return stream->device->callHost([queued](std::string &text) { return queued->run(text); }, why);
      });
    });
  });
}
