#include "python/core/Event.h"
#include <algorithm>
#include <unistd.h>

namespace tessera::python {
namespace {

PyTypeObject *eventType;

struct Event {
  PyObject_HEAD Context *context;
  tsr_event_t handle;
};

Event &self(PyObject *object) { return *reinterpret_cast<Event *>(object); }

Event *make(Context &context) {
  auto *event = reinterpret_cast<Event *>(PyType_GenericAlloc(eventType, 0));
  if (!event) return nullptr;
  event->context = &context;
  if (tsr_status_t status = tsrCreateEvent(context.handle, &event->handle)) {
    Py_DECREF(reinterpret_cast<PyObject *>(event));
    return raise(status), nullptr;
  }
  return event;
}

bool isEvent(PyObject *object) {
  if (Py_TYPE(object) == eventType) return true;
  PyErr_Format(PyExc_TypeError, "expected a tessera.Event, found %R", object);
  return false;
}

/// The stream that a call names, or the current one of the event's context. Null after raising.
Stream *streamOf(Event &event, PyObject *args, PyObject *keywords) {
  static char *names[] = {const_cast<char *>("stream"), nullptr};
  PyObject *stream = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &stream)) return nullptr;
  if (stream == Py_None) return currentStream(*event.context);
  if (Py_TYPE(stream) == streamType) return reinterpret_cast<Stream *>(stream);
  PyErr_Format(PyExc_TypeError, "expected a tessera.Stream, found %R", stream);
  return nullptr;
}

PyObject *create(PyTypeObject *, PyObject *args, PyObject *keywords) {
  static char *names[] = {nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names)) return nullptr;
  Context *context = currentContext();
  return context ? reinterpret_cast<PyObject *>(make(*context)) : nullptr;
}

void deallocate(PyObject *object) {
  (void)tsrDestroyEvent(self(object).handle);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyObject *record(PyObject *object, PyObject *args, PyObject *keywords) {
  Stream *stream = streamOf(self(object), args, keywords);
  return stream ? recordOn(*stream, object) : nullptr;
}

PyObject *waitOn(PyObject *object, PyObject *args, PyObject *keywords) {
  Stream *stream = streamOf(self(object), args, keywords);
  return stream ? makeWait(*stream, object) : nullptr;
}

PyObject *query(PyObject *object, PyObject *) {
  const tsr_status_t status = tsrEventQuery(self(object).handle);
  if (status == TSR_NOT_READY) return Py_NewRef(Py_False);
  return status == TSR_SUCCESS ? Py_NewRef(Py_True) : raise(status);
}

/// Polls, since a wait of the library would not end for a signal. The longer it takes, the seldomer.
PyObject *synchronize(PyObject *object, PyObject *) {
  unsigned pause = 1;
  while (true) {
    tsr_status_t status;
    {
      WithoutGil released;
      unsigned waited = 0;
      do {
        status = tsrEventQuery(self(object).handle);
        if (status != TSR_NOT_READY) break;
        usleep(pause);
        waited += pause;
        pause = std::min(2 * pause, 1000u);
      } while (waited < 50'000);
    }
    if (status == TSR_SUCCESS) return none();
    if (status != TSR_NOT_READY) return raise(status);
    if (PyErr_CheckSignals()) return nullptr;
  }
}

PyObject *elapsed(PyObject *object, PyObject *end) {
  if (!isEvent(end)) return nullptr;
  double ms = 0;
  const tsr_status_t status = tsrEventElapsedMs(self(object).handle, self(end).handle, &ms);
  if (status == TSR_NOT_READY)
    return raiseSaid(TSR_EINVAL, "an event has not happened yet: call synchronize() of both first");
  return status == TSR_SUCCESS ? PyFloat_FromDouble(ms) : raise(status);
}

} // namespace

PyObject *recordOn(Stream &stream, PyObject *event) {
  Ref made(event == Py_None ? reinterpret_cast<PyObject *>(make(*stream.context)) : nullptr);
  if (event == Py_None) event = made.get();
  if (!event || !isEvent(event) || !checkFailure(stream)) return nullptr;
  mayWork(stream);
  if (tsr_status_t status = tsrEventRecord(self(event).handle, stream.handle)) return raise(status);
  return made ? made.release() : Py_NewRef(event);
}

PyObject *makeWait(Stream &stream, PyObject *event) {
  if (!isEvent(event) || !checkFailure(stream)) return nullptr;
  mayWork(stream);
  const tsr_status_t status = tsrStreamWaitEvent(stream.handle, self(event).handle);
  return status == TSR_SUCCESS ? none() : raise(status);
}

bool addEvent(PyObject *module) {
  static PyMethodDef methods[] = {
      {"record", method<record>(), METH_VARARGS | METH_KEYWORDS,
       "record(stream=None)\n--\n\nMarks the end of the queue of a stream, or of the current one."},
      {"wait", method<waitOn>(), METH_VARARGS | METH_KEYWORDS,
       "wait(stream=None)\n--\n\nMakes work that is queued from now on, on a stream or on the current one, "
       "wait for the event."},
      {"query", method<query>(), METH_NOARGS,
       "query()\n--\n\nHas the event happened? One that was never recorded has."},
      {"synchronize", method<synchronize>(), METH_NOARGS,
       "synchronize()\n--\n\nWaits until the event has happened."},
      {"elapsed", method<elapsed>(), METH_O,
       "elapsed(end)\n--\n\nThe milliseconds from this event to another. Both must have happened."},
      {nullptr, nullptr, 0, nullptr}};
  static const char *doc =
      "Event()\n--\n\nA point in a stream's order: what was queued before it is done when it happens.";
  static PyType_Slot slots[] = {{Py_tp_new, slot<create>()},
                                {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char *>(doc)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tessera.Event", sizeof(Event), 0, Py_TPFLAGS_DEFAULT, slots};
  return (eventType = addType(module, spec, "Event"));
}

} // namespace tessera::python
