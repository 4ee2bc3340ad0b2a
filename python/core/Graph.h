// ts.runtime.capture: the calls on a stream, recorded to be queued again and again.
#pragma once
#include "python/core/Array.h"
#include "python/core/Stream.h"

namespace tessera::python {

/// tessera._core.Graph.
struct Graph {
  PyObject_HEAD Context *context; // null until the capture has begun
  tsr_graph_t handle;             // null until it has ended
  Stream *stream;                 // that is being captured, with a reference; else null
  PyObject *kept;                 // a list of what the graph reads and writes
};

Graph *newGraph();
/// Begins the capture of a stream. Returns false after raising.
bool beginCapture(Graph &, Stream &);
/// Ends it. Returns false after raising.
bool endCapture(Graph &);
/// Queues the graph on a stream. Returns false after raising.
bool replay(Graph &, Stream &);

} // namespace tessera::python
