#include "python/core/Graph.h"
#include "python/core/Foreign.h"
#include "python/core/Later.h"
#include <algorithm>

namespace tessera::python {
namespace {

PyTypeObject *graphType;

Graph &self(PyObject *object) { return *reinterpret_cast<Graph *>(object); }
PyObject *objectOf(Graph &g) { return reinterpret_cast<PyObject *>(&g); }

/// Adds the streams of other libraries whose tensors the graph holds. `waits`: it holds memory that is in the
/// order of none of them, and that others see. Returns false after raising.
bool addForeign(const Graph &g, Foreign &foreign, bool &waits) {
  for (Py_ssize_t i = 0, count = g.kept ? PyList_Size(g.kept) : 0; i < count; ++i) {
    PyObject *object = PyList_GetItem(g.kept, i);
    if (Py_TYPE(object) == codeType || Py_TYPE(object) == arrayType) continue;
    if (Py_TYPE(object) == graphType && !addForeign(self(object), foreign, waits)) return false;
    if (PyCapsule_CheckExact(object)) { // of Tensor::hold()
      const auto &tensor = *static_cast<Tensor *>(PyCapsule_GetPointer(object, nullptr));
      waits |= !tensor.streams;
      if (!foreign.add(tensor)) return false;
    } else {
      waits = true;
    }
  }
  return true;
}

/// Ends the capture if there is one, and destroys what it gave.
void drop(Graph &g) {
  if (g.stream && !endCapture(g)) clearError();
  if (!g.handle) return;
  endLater(*g.context, 0, [graph = std::exchange(g.handle, nullptr)] { (void)tsrDestroyGraph(graph); });
}

void deallocate(PyObject *object) {
  drop(self(object));
  Py_XDECREF(self(object).kept);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyObject *create(PyTypeObject *, PyObject *, PyObject *) {
  Graph *graph = newGraph();
  return graph ? objectOf(*graph) : nullptr;
}

PyObject *enter(PyObject *object, PyObject *) {
  Context *context = currentContext();
  Stream *stream = context ? currentStream(*context) : nullptr;
  return stream && beginCapture(self(object), *stream) ? Py_NewRef(object) : nullptr;
}

PyObject *leave(PyObject *object, PyObject *args) {
  PyObject *kind, *value, *trace;
  if (!PyArg_ParseTuple(args, "OOO", &kind, &value, &trace)) return nullptr;
  Graph &g = self(object);
  if (!g.stream) return PyErr_SetString(PyExc_RuntimeError, "the graph is not being captured"), nullptr;
  if (!endCapture(g)) return nullptr;
  if (kind != Py_None) drop(g); // half of a step is no graph
  return none();
}

PyObject *replayOn(PyObject *object, PyObject *) {
  Graph &g = self(object);
  if (!g.handle)
    return PyErr_SetString(PyExc_RuntimeError,
                           "the graph has nothing to replay: its capture has not ended, or has failed"),
           nullptr;
  Stream *stream = currentStream(*g.context);
  return stream && replay(g, *stream) ? none() : nullptr;
}

/// What the graph consists of.
PyObject *nodes(PyObject *object, void *) {
  if (!self(object).handle) return PyDict_New();
  tsr_graph_info_t info{};
  info.struct_size = sizeof info;
  if (tsr_status_t status = tsrGraphInfo(self(object).handle, &info)) return raise(status);
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "launches", info.launches, "copies", info.copies, "fills",
                       info.fills, "event_records", info.event_records, "event_waits", info.event_waits);
}

} // namespace

Graph *newGraph() { return reinterpret_cast<Graph *>(PyType_GenericAlloc(graphType, 0)); }

bool beginCapture(Graph &g, Stream &stream) {
  if (g.stream || g.handle) {
    PyErr_SetString(PyExc_RuntimeError, "a graph is captured once: call ts.runtime.capture() again");
    return false;
  }
  if (!checkFailure(stream)) return false;
  if (tsr_status_t status = tsrStreamBeginCapture(stream.handle)) return raise(status), false;
  g.context = stream.context;
  g.stream = &stream;
  Py_INCREF(reinterpret_cast<PyObject *>(&stream));
  stream.isCapturing = true;
  return true;
}

bool endCapture(Graph &g) {
  if (tsr_status_t status = tsrStreamEndCapture(g.stream->handle, &g.handle)) return raise(status), false;
  g.stream->isCapturing = false;
  g.kept = std::exchange(g.stream->kept, nullptr);
  Py_DECREF(reinterpret_cast<PyObject *>(std::exchange(g.stream, nullptr)));
  return true;
}

bool replay(Graph &g, Stream &stream) {
  const Ref alive = Ref::borrow(objectOf(g));
  bool waits = false; // for memory that others see
  Foreign foreign;
  if (!addForeign(g, foreign, waits)) return false;
  std::vector<Array *> arrays;
  for (Py_ssize_t i = 0, count = g.kept ? PyList_Size(g.kept) : 0; i < count; ++i) {
    PyObject *object = PyList_GetItem(g.kept, i);
    if (Py_TYPE(object) != arrayType) continue;
    auto &array = *reinterpret_cast<Array *>(object);
    waits |= array.exports || array.foreign;
    if (std::ranges::find(arrays, &array) == arrays.end()) arrays.push_back(&array);
  }
  Uses uses(stream, arrays.data(), arrays.size());
  if (!waits && !stream.isCapturing && !makeWay(stream)) return false;
  if (!checkFailure(stream) || !uses.begin()) return false;
  tsr_status_t status = TSR_SUCCESS;
  {
    WithoutGil released;
    if (!stream.isCapturing) status = foreign.before(stream.handle);
    if (status == TSR_SUCCESS) status = tsrGraphLaunch(g.handle, stream.handle);
    uses.end();
    if (status == TSR_SUCCESS && !stream.isCapturing) status = foreign.after(stream.handle);
  }
  mayWork(stream); // another thread may have found it idle before the launch
  if (status != TSR_SUCCESS) return raise(status), false;
  if (stream.isCapturing) return keep(stream, Py_NewRef(objectOf(g)));
  if (!waits || wait(stream)) return true;
  if (PyErr_Occurred() && tsrStreamQuery(stream.handle) == TSR_NOT_READY) keepThrough(stream, objectOf(g));
  return false;
}

bool addGraph(PyObject *module) {
  static PyMethodDef methods[] = {{"__enter__", method<enter>(), METH_NOARGS, nullptr},
                                  {"__exit__", method<leave>(), METH_VARARGS, nullptr},
                                  {"replay", method<replayOn>(), METH_NOARGS,
                                   "replay()\n--\n\nQueues the recorded work on the current stream. Waits if "
                                   "arrays of the host take part."},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {
      {"nodes", guarded<nodes>, nullptr, "The numbers of its launches, copies, fills and events.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, slot<create>()},
                                {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, nullptr}};
  static PyType_Spec spec = {"tessera._core.Graph", sizeof(Graph), 0, Py_TPFLAGS_DEFAULT, slots};
  return (graphType = addType(module, spec, "Graph"));
}

} // namespace tessera::python
