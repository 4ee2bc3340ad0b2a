// Captures and replays graphs.
#include "core/abi/Structs.h"
#include "core/objects/Tracer.h"

using namespace tessera;

namespace {

tsr_graph_info_t countNodes(const GraphWork &work) {
  tsr_graph_info_t out{};
  uint64_t *counts[] = {&out.copies, &out.fills, &out.launches, &out.event_records, &out.event_waits};
  static_assert(int(GraphNode::Kind::Launch) == 2 && int(GraphNode::Kind::Wait) == 4);
  for (const GraphNode &node : work.nodes)
    ++*counts[static_cast<size_t>(node.kind)];
  out.nodes = work.nodes.size();
  return out;
}

/// Serializes the replays of a graph with memory of its own: each one waits for the previous one, on whatever
/// stream that is. tsrGraphLaunch keeps the wait and the record of one thread from interleaving with another
/// thread's.
tsr_status_t takeTurns(ContextObject &context, GraphWork &work, std::string &why) {
  if (work.kept.empty()) return TSR_SUCCESS;
  std::shared_ptr<DeviceEvent> turn = context.device->createEvent(why);
  if (!turn) return TSR_EDEVICE;
  GraphNode node;
  node.event = std::move(turn);
  node.kind = GraphNode::Kind::Wait;
  work.nodes.insert(work.nodes.begin(), node);
  node.kind = GraphNode::Kind::Record;
  work.nodes.push_back(std::move(node));
  return TSR_SUCCESS;
}

} // namespace

tsr_status_t tsrStreamBeginCapture(tsr_stream_t handle) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    std::lock_guard lock(stream->workspace.mutex()); // a function's call is captured or queued as a whole
    return checked([&](std::string &why) { return stream->device->beginCapture(why); });
  });
}

tsr_status_t tsrStreamEndCapture(tsr_stream_t handle, tsr_graph_t *graph) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    if (tsr_status_t status = requireOut(graph, "graph")) return status;
    ContextObject &context = *stream->context;
    auto object = std::make_shared<GraphObject>();
    object->context = &context;
    auto make = [&](GraphWork work, std::string &why) {
      object->counts = countNodes(work);
      if (tsr_status_t status = takeTurns(context, work, why)) return status;
      object->device = context.device->createGraph(std::move(work), why);
      if (!object->device) return TSR_EDEVICE;
      context.add(object);
      return TSR_SUCCESS;
    };
    if (tsr_status_t status =
            checked([&](std::string &why) { return stream->device->endCapture(make, why); }))
      return status;
    *graph = object->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrStreamIsCapturing(tsr_stream_t handle, int32_t *capturing) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    if (tsr_status_t status = requireOut(capturing, "capturing")) return status;
    *capturing = stream->device->isCapturing();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGraphLaunch(tsr_graph_t handle, tsr_stream_t streamHandle) {
  return guarded([&] {
    GraphObject *graph;
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, graph, streamHandle, stream)) return status;
    std::unique_lock turn(graph->context->replayMutex, std::defer_lock);
    if (!graph->device->work().kept.empty()) turn.lock();
    return TracedCall::run("tsrGraphLaunch", *stream, [&] {
      return checked([&](std::string &why) { return stream->device->replay(graph->device, why); });
    });
  });
}

tsr_status_t tsrGraphInfo(tsr_graph_t handle, tsr_graph_info_t *info) {
  return guarded([&] {
    GraphObject *graph;
    if (tsr_status_t status = resolve(handle, graph)) return status;
    return writeInfo(graph->counts, info);
  });
}

tsr_status_t tsrDestroyGraph(tsr_graph_t handle) {
  return guarded([&] {
    GraphObject *graph;
    if (tsr_status_t status = resolveToDestroy(handle, graph)) return status;
    if (!graph) return TSR_SUCCESS;
    // Only a graph's own memory needs the wait. Queued work holds references to its kernels.
    if (!graph->device->work().kept.empty()) graph->context->drain();
    graph->context->remove(graph);
    return TSR_SUCCESS;
  });
}
