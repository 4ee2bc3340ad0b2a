// Communicators and collectives: plugins' tables behind handles.
#include "core/abi/Structs.h"
#include "core/objects/Objects.h"
#include "core/objects/Tracer.h"
#include "core/plugin/Registry.h"
#include <bit>
#include <chrono>

using namespace tessera;

namespace {

constexpr uint64_t kDefaultTimeoutNs = 30ull * 1000000000;

/// The plugin that has the collectives `name`; null with `why`.
PluginRef implementation(const std::string &name, std::string &why) {
  PluginRef plugin = loadPlugin(TSR_PLUGIN_COLLECTIVE, name, why);
  if (!plugin)
    why = "implementation '" + name + "': " + why +
          "; available: " + nameList(usablePlugins(TSR_PLUGIN_COLLECTIVE));
  return plugin;
}

/// An enumerator as a number, whatever a caller in C has put there.
template <class E> int32_t number(const E &value) { return std::bit_cast<int32_t>(value); }

/// Calls the implementation and reports the call to the trace.
tsr_status_t perform(const CommObject &comm, const tsr_cl_call_t &call) {
  auto run = [&] { return checked([&](std::string &why) { return comm.end->run(call, why); }); };
  if (!Tracer::isOn()) [[likely]]
    return run();
  tsr_trace_record_t record{};
  record.kind = TSR_TRACE_COLLECTIVE;
  record.device = -1;
  record.backend = comm.plugin->name.c_str();
  record.comm = comm.handle();
  record.correlation = Tracer::nextCorrelation();
  record.begin_ns = Tracer::now();
  const tsr_status_t status = run();
  if (status != TSR_SUCCESS) return status;
  record.end_ns = Tracer::now();
  record.name = collective::kKinds[call.kind]; // checked by the implementation, as is the dtype
  record.bytes = collective::sourceCount(call, comm.end->size()) * collective::kBytes[call.dtype];
  Tracer::report(record);
  return status;
}

/// A call that leaves its algorithm to the mapper. What makes no call the implementation refuses.
tsr_status_t runAsMapped(CommObject &comm, tsr_cl_call_t call) {
  using namespace collective;
  AlgorithmChoices::Record *decision = nullptr;
  std::string why;
  if (call.kind < std::size(kKinds) && uint32_t(call.dtype) < std::size(kBytes)) {
    const auto ranks = static_cast<uint32_t>(comm.end->size());
    uint64_t bytes = 0; // too many for any memory are refused, too
    const bool isReal = !__builtin_mul_overflow(call.count, uint64_t(kBytes[call.dtype]), &bytes) &&
                        (call.kind != TSR_REDUCE_SCATTER || !__builtin_mul_overflow(bytes, ranks, &bytes));
    if (isReal)
      if (tsr_status_t status = comm.choices->choose(
              {kKinds[call.kind], bytes, ranks, comm.topology, comm.algorithms[call.kind]}, decision, why))
        return fail(status, why);
  }
  if (decision) call.algorithm = comm.choices->algorithmOf(*decision);
  const auto begin = std::chrono::steady_clock::now();
  const tsr_status_t status = perform(comm, call);
  if (decision && status == TSR_SUCCESS)
    comm.choices->measured(
        *decision,
        static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count()));
  return status;
}

tsr_status_t run(tsr_comm_t handle, const tsr_cl_call_t &call) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolve(handle, comm)) return status;
    if ((call.algorithm && *call.algorithm) || comm->choices->isQuiet()) return perform(*comm, call);
    return runAsMapped(*comm, call);
  });
}

tsr_cl_call_t
callOf(tsr_collective_kind_t kind, const void *src, void *dst, size_t count,
       const tsr_dtype_t &dtype) { // by reference: what is no dtype is not to be looked at as one
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
    object->end = collective.create(wanted, status, why);
    if (!object->end) return fail(status, why);
    ++from->objects;
    object->plugin = std::move(from);
    object->topology = collective.topology();
    for (uint32_t kind = 0; kind < object->algorithms.size(); ++kind)
      object->algorithms[kind] = collective.algorithms(kind);
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
    const PluginRef plugin = comm->plugin;
    delete comm;
    --plugin->objects;
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrCommInfo(tsr_comm_t handle, tsr_comm_info_t *info) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolve(handle, comm)) return status;
    return writeInfo(
        tsr_comm_info_t{0, comm->plugin->name.c_str(), comm->topology, comm->end->rank(), comm->end->size()},
        info);
  });
}

tsr_status_t tsrCommDecisions(tsr_comm_t handle, const char **json) {
  return guarded([&] {
    CommObject *comm;
    if (tsr_status_t status = resolve(handle, comm)) return status;
    if (tsr_status_t status = requireOut(json, "json")) return status;
    comm->decisions = comm->choices->json();
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

tsr_status_t tsrCollective(tsr_comm_t comm, const tsr_collective_call_t *call) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(call, "call")) return status;
    tsr_collective_call_t c{};
    if (tsr_status_t status = readOptions(call, c, "call")) return status;
    return run(comm,
               {sizeof(tsr_cl_call_t), static_cast<uint32_t>(c.kind), c.dtype, static_cast<uint32_t>(c.op),
                c.root, c.count, c.src, c.dst, c.algorithm, c.timeout_ns, c.where});
  });
}
