// Graphs as command lists that are closed once and executed by a queue.
//
// A queue has no order with the immediate list of a stream, so events make one:
//
//   stream   ... | signal ready |                              | wait done, reset it | signal released | ...
//   queue                       | wait ready, reset it, work,  signal done |
//
// The stream signals `ready` before the queue is given the list, so that a device which executes both in the
// order of their submission does not wait for itself. A list must not be executed twice at a time: another
// stream waits for `released` before it executes the list again.
#include "plugins/levelzero/runtime/ZeObjects.h"

namespace tessera::levelzero {

Outcome ZeDriver::barrierOf(Handle list, Event signals, Event awaits) const {
  return call(calls_.barrier, list, signals ? signals->handle : nullptr, awaits ? 1u : 0u,
              awaits ? &awaits->handle : nullptr);
}

Outcome ZeDriver::beginGraph(Context context, Stream stream) {
  const ListDescription description{{type::kList, nullptr}, context->device.queueGroup, 0};
  auto graph = std::make_unique<ZeGraph>();
  Outcome o = call(calls_.listCreate, context->handle, context->device.device, &description, &graph->list);
  for (Event *event : {&graph->ready, &graph->done, &graph->released})
    if (!o.failed()) o = createEvent(context, *event);
  if (!o.failed()) o = barrierOf(graph->list, nullptr, graph->ready);
  if (!o.failed()) o = call(calls_.resetInOrder, graph->list, graph->ready->handle);
  if (o.failed()) return destroyGraph(context, graph.release()), o;
  std::lock_guard lock(stream->mutex);
  std::swap(stream->list, graph->list);
  stream->recording = std::move(graph);
  return o;
}

Outcome ZeDriver::endGraph(Context context, Stream stream, Graph &out) {
  std::unique_ptr<ZeGraph> graph;
  {
    std::lock_guard lock(stream->mutex);
    graph = std::move(stream->recording);
    std::swap(stream->list, graph->list);
    stream->isOpen = stream->hasWork = false; // it has executed nothing
  }
  Outcome o = barrierOf(graph->list, graph->done, nullptr);
  if (!o.failed()) o = call(calls_.listClose, graph->list);
  if (o.failed()) return destroyGraph(context, graph.release()), o;
  out = graph.release();
  return o;
}

Outcome ZeDriver::launchGraph(Context context, Stream stream, Graph graph) {
  std::lock_guard lock(stream->mutex);
  Outcome o;
  if (!stream->queue) {
    const QueueDescription description{
        {type::kQueue, nullptr}, context->device.queueGroup, 0, 0, flag::kAsynchronous, 0};
    o = call(calls_.queueCreate, context->handle, context->device.device, &description, &stream->queue);
  }
  if (graph->isReleased && !o.failed()) {
    if (graph->last != stream) o = barrierOf(stream->list, nullptr, graph->released);
    if (!o.failed()) o = call(calls_.resetInOrder, stream->list, graph->released->handle);
    graph->isReleased = false;
  }
  if (!o.failed()) o = barrierOf(stream->list, graph->ready, nullptr);
  if (!o.failed()) {
    o = call(calls_.execute, stream->queue, 1u, &graph->list, Handle());
    if (o.failed()) (void)calls_.resetInOrder(stream->list, graph->ready->handle); // the list will not
  }
  if (!o.failed()) o = barrierOf(stream->list, nullptr, graph->done);
  if (!o.failed()) o = call(calls_.resetInOrder, stream->list, graph->done->handle);
  if (!o.failed()) o = barrierOf(stream->list, graph->released, nullptr);
  if (o.failed()) return o;
  graph->isReleased = true, graph->last = stream;
  stream->isOpen = false, stream->hasWork = true;
  return o;
}

void ZeDriver::destroyGraph(Context context, Graph graph) {
  for (Event event : {graph->ready, graph->done, graph->released})
    if (event) destroyEvent(context, event);
  if (graph->list) (void)calls_.listDestroy(graph->list);
  delete graph;
}

} // namespace tessera::levelzero
