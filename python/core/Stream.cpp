#include "python/core/Stream.h"
#include "python/core/Background.h"
#include "python/core/Event.h"
#include "python/core/Later.h"
#include <algorithm>
#include <ctime>
#include <vector>

namespace tessera::python {

PyTypeObject *streamType;

namespace {

Stream &self(PyObject *object) { return *reinterpret_cast<Stream *>(object); }
PyObject *objectOf(Stream &s) { return reinterpret_cast<PyObject *>(&s); }

// Every stream of this process. Those of threads live as long as the process; a thread that ends leaves its
// streams to later ones.
std::vector<Stream *> &all() {
  static auto &streams = *new std::vector<Stream *>;
  return streams;
}

// Those of them that may have work: a program may have many that do nothing.
std::vector<Stream *> &working() {
  static auto &streams = *new std::vector<Stream *>;
  return streams;
}

struct OfThread {
  std::vector<Stream *> own;     // one of each context
  std::vector<Stream *> entered; // with a reference each
  ~OfThread() {                  // without the GIL
    for (Stream *s : own)
      s->isTaken.store(false, std::memory_order_release);
  }
};
thread_local OfThread ofThread;

Stream *blank(Context &context) {
  auto *stream = reinterpret_cast<Stream *>(PyType_GenericAlloc(streamType, 0));
  if (!stream) return nullptr;
  stream->context = &context;
  new (&stream->isTaken) std::atomic<bool>(false);
  stream->said = new std::string;
  all().push_back(stream);
  return stream;
}

Stream *make(Context &context) {
  Stream *stream = blank(context);
  if (!stream) return nullptr;
  if (tsr_status_t status = tsrCreateStream(context.handle, &stream->handle)) {
    Py_DECREF(objectOf(*stream));
    return raise(status), nullptr;
  }
  return stream;
}

void meet(Stream &s, tsr_status_t status, const std::string &said) {
  if (s.failure != TSR_SUCCESS) return; // the first one counts
  s.failure = status;
  *s.said = said;
}

/// Reports a failure that the thread before has not heard of.
void reportLeft(Stream &s) {
  const tsr_status_t status = tsrStreamQuery(s.handle);
  if (status != TSR_SUCCESS && status != TSR_NOT_READY) meet(s, status, tsrLastError());
  if (s.failure == TSR_SUCCESS) return;
  raiseSaid(std::exchange(s.failure, TSR_SUCCESS), *s.said);
  PyErr_WriteUnraisable(objectOf(s));
}

/// A stream for this thread: the context's default one, one that a thread has left, or a new one.
Stream *take(Context &context) {
  Stream *found = nullptr;
  bool hasDefault = false;
  for (Stream *s : all()) {
    if (s->context != &context) continue;
    hasDefault |= s->handle == context.stream;
    bool isTaken = false;
    if (!found && !s->isOwner && s->isTaken.compare_exchange_strong(isTaken, true)) found = s;
  }
  if (found) reportLeft(*found);
  if (!found && !hasDefault && (found = blank(context))) found->handle = context.stream;
  if (!found) found = make(context);
  if (!found) return nullptr;
  found->isTaken = true;
  ofThread.own.push_back(found);
  return found;
}

bool isMine(const Stream &s) {
  return std::find(ofThread.own.begin(), ofThread.own.end(), &s) != ofThread.own.end();
}

/// Cheap and exact enough to tell a timeout from a failure of that name.
int64_t coarseNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

enum class Waited { Done, Failed, Raised, TimedOut };

/// Waits, at most for `limitNs`. A failure is in `status` and `said`.
Waited waitFor(Stream &s, uint64_t limitNs, tsr_status_t &status, std::string &said) {
  if (s.isCapturing) {
    refuse("E_CAPTURING",
           "nothing of a capture runs before graph.replay(), so there is no result to wait for",
           "do this before or after the `with ts.runtime.capture()`");
    return Waited::Raised;
  }
  const Ref alive = Ref::borrow(objectOf(s));
  for (uint64_t waited = 0;;) {
    const uint64_t part = std::min(kPollNs, limitNs - waited);
    bool isLate;
    {
      WithoutGil released;
      status = waitPart(s.handle, part, isLate, said);
    }
    if (!isLate) break;
    if (PyErr_CheckSignals()) return Waited::Raised;
    waited += part;
    if (waited >= limitNs) return Waited::TimedOut;
  }
  if (status != TSR_SUCCESS) return Waited::Failed;
  if (s.kept && !s.isCapturing) { // unless another thread has queued more meanwhile
    const tsr_status_t now = tsrStreamQuery(s.handle);
    if (now != TSR_SUCCESS && now != TSR_NOT_READY) meet(s, now, tsrLastError());
    const Ref dropped(now == TSR_NOT_READY ? nullptr : std::exchange(s.kept, nullptr));
  }
  return Waited::Done;
}

} // namespace

tsr_status_t waitPart(tsr_stream_t handle, uint64_t ns, bool &isLate, std::string &said) {
  isLate = false;
  tsr_status_t status = tsrStreamQuery(handle); // brief work is done, and needs no clock
  if (status != TSR_NOT_READY) {
    if (status != TSR_SUCCESS) said = tsrLastError();
    return status;
  }
  const int64_t begin = coarseNs();
  status = tsrStreamSynchronizeFor(handle, ns);
  isLate = status == TSR_ETIMEOUT && coarseNs() - begin + 10'000'000 >= static_cast<int64_t>(ns);
  if (status != TSR_SUCCESS && !isLate) said = tsrLastError();
  return status;
}

Stream *currentStream(Context &context) {
  OfThread &t = ofThread;
  Stream *found = nullptr;
  if (!t.entered.empty() && t.entered.back()->context == &context) found = t.entered.back();
  for (Stream *s : t.own)
    if (!found && s->context == &context) found = s;
  if (!found) found = take(context);
  if (found) mayWork(*found);
  return found;
}

void mayWork(Stream &s) {
  if (s.isWorking) return;
  working().push_back(&s);
  s.isWorking = true;
}

void enterStream(Stream &s) {
  Py_INCREF(objectOf(s));
  ofThread.entered.push_back(&s);
}

bool leaveStream(Stream &s) {
  auto &entered = ofThread.entered;
  if (entered.empty() || entered.back() != &s) {
    PyErr_SetString(PyExc_RuntimeError, "the stream is not the current one of this thread");
    return false;
  }
  entered.pop_back();
  Py_DECREF(objectOf(s));
  return true;
}

bool checkFailure(Stream &s) {
  if (s.failure == TSR_SUCCESS) return true;
  raiseSaid(std::exchange(s.failure, TSR_SUCCESS), *s.said);
  return false;
}

bool wait(Stream &s) {
  tsr_status_t status;
  std::string said;
  switch (waitFor(s, UINT64_MAX, status, said)) {
  case Waited::Failed:
    raiseSaid(status, said);
    return false;
  case Waited::Done:
    return checkFailure(s);
  default:
    return false;
  }
}

bool makeWay(Stream &s) {
  if (++s.queued < kMostQueued) return true;
  s.queued = 0;
  return wait(s);
}

void awaitIdle(Stream &s) {
  tsr_status_t status;
  std::string said;
  {
    WithoutGil released;
    status = tsrStreamSynchronize(s.handle);
    if (status != TSR_SUCCESS) said = tsrLastError();
  }
  if (status != TSR_SUCCESS) meet(s, status, said);
}

bool isBusy(Context &context) {
  auto &streams = working();
  for (size_t i = 0; i < streams.size();) {
    Stream &s = *streams[i];
    const bool counts = s.context == &context && !s.isCapturing;
    const tsr_status_t status = counts ? tsrStreamQuery(s.handle) : TSR_NOT_READY;
    if (counts && status == TSR_NOT_READY) return true;
    if (counts && status != TSR_SUCCESS) meet(s, status, tsrLastError());
    if (counts) {
      s.isWorking = false;
      streams[i] = streams.back();
      streams.pop_back();
    } else {
      ++i;
    }
  }
  return false;
}

bool waitForAll(Context *only) {
  std::vector<Ref> streams;
  for (Stream *s : all())
    if (!only || (s->context == only && !s->isCapturing)) streams.push_back(Ref::borrow(objectOf(*s)));
  tsr_status_t first = TSR_SUCCESS;
  std::string said;
  for (const Ref &ref : streams) {
    Stream &s = self(ref.get());
    const bool isOthers = s.isTaken && !isMine(s);
    if (s.isCapturing && isOthers) continue; // its thread queues nothing that would run
    tsr_status_t status;
    std::string text;
    const Waited waited = waitFor(s, UINT64_MAX, status, text);
    if (waited == Waited::Raised) return false;
    if (waited == Waited::Failed) meet(s, status, text);
    if (isOthers || only || s.failure == TSR_SUCCESS) continue;
    if (first == TSR_SUCCESS) first = s.failure, said = *s.said;
    s.failure = TSR_SUCCESS;
  }
  if (first == TSR_SUCCESS) return true;
  raiseSaid(first, said);
  return false;
}

bool orderAfter(Stream &stream, Stream &other) {
  if (other.isCapturing || stream.context != other.context) return true; // nothing of it runs; or all is done
  tsr_status_t status = TSR_SUCCESS;
  if (stream.isCapturing) { // the graph does not have what was queued before it
    std::string said;
    const Waited waited = waitFor(other, UINT64_MAX, status, said);
    if (waited == Waited::Failed) meet(other, status, said);
    return waited != Waited::Raised;
  }
  if (!other.mark) status = tsrCreateEvent(other.context->handle, &other.mark);
  if (status != TSR_SUCCESS) return raise(status), false;
  status = tsrEventRecord(other.mark, other.handle);
  if (status != TSR_SUCCESS) return meet(other, status, tsrLastError()), true; // its work has ended
  status = tsrStreamWaitEvent(stream.handle, other.mark);
  return status == TSR_SUCCESS || (raise(status), false);
}

bool keep(Stream &s, PyObject *object) {
  const Ref owned(object);
  if (!object) return false;
  if (!s.kept) s.kept = PyList_New(0);
  return s.kept && !PyList_Append(s.kept, object);
}

void keepThrough(Stream &s, PyObject *borrowed) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (!keep(s, Py_NewRef(borrowed))) clearError();
  PyErr_Restore(type, value, trace);
}

void forgetStreams() {
  all().clear(); // arrays and threads refer to the parent's
  working().clear();
}

namespace {

PyObject *create(PyTypeObject *, PyObject *args, PyObject *keywords) {
  static char *names[] = {nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names)) return nullptr;
  Context *context = currentContext();
  Stream *stream = context ? make(*context) : nullptr;
  if (!stream) return nullptr;
  stream->isOwner = true;
  return objectOf(*stream);
}

void deallocate(PyObject *object) {
  Stream &s = self(object);
  std::erase(all(), &s); // before endLater() lets other threads walk over them
  if (s.isWorking) std::erase(working(), &s);
  if (s.isOwner) {
    const auto destroy = [stream = s.handle, mark = s.mark] {
      (void)tsrDestroyStream(stream); // a failure that nobody has seen goes to the log
      if (mark) (void)tsrDestroyEvent(mark);
    };
    endLater(*s.context, 0, destroy, s.handle);
  }
  Py_XDECREF(s.kept);
  delete s.said;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyObject *enter(PyObject *object, PyObject *) {
  enterStream(self(object));
  return Py_NewRef(object);
}

PyObject *leave(PyObject *object, PyObject *) { return leaveStream(self(object)) ? none() : nullptr; }

PyObject *synchronize(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {const_cast<char *>("timeout"), nullptr};
  PyObject *limit = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &limit)) return nullptr;
  if (limit == Py_None) return wait(self(object)) ? none() : nullptr;
  const double seconds = PyFloat_AsDouble(limit);
  if (PyErr_Occurred()) return nullptr;
  if (!(seconds >= 0)) return refuse("E_ARG_RANGE", "timeout is a number of seconds from 0 on");
  tsr_status_t status;
  std::string said;
  switch (waitFor(self(object), static_cast<uint64_t>(std::min(seconds, 1e9) * 1e9), status, said)) {
  case Waited::Done:
    return checkFailure(self(object)) ? none() : nullptr;
  case Waited::Failed:
    return raiseSaid(status, said);
  case Waited::TimedOut:
    return raiseSaid(TSR_ETIMEOUT, "the stream is still busy");
  case Waited::Raised:
    break;
  }
  return nullptr;
}

PyObject *query(PyObject *object, PyObject *) {
  if (!checkFailure(self(object))) return nullptr;
  const tsr_status_t status = tsrStreamQuery(self(object).handle);
  if (status == TSR_NOT_READY) return Py_NewRef(Py_False);
  return status == TSR_SUCCESS ? Py_NewRef(Py_True) : raise(status);
}

PyObject *waitEvent(PyObject *object, PyObject *event) { return makeWait(self(object), event); }

PyObject *recordEvent(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {const_cast<char *>("event"), nullptr};
  PyObject *event = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &event)) return nullptr;
  return recordOn(self(object), event);
}

PyObject *current(PyObject *, PyObject *) {
  Context *context = currentContext();
  Stream *stream = context ? currentStream(*context) : nullptr;
  return stream ? Py_NewRef(objectOf(*stream)) : nullptr;
}

PyObject *isCapturing(PyObject *object, void *) { return PyBool_FromLong(self(object).isCapturing); }

PyObject *represent(PyObject *object) {
  return PyUnicode_FromFormat("<tessera.Stream %p of %s>", static_cast<void *>(self(object).handle),
                              self(object).context->backend.c_str());
}

} // namespace

bool addStream(PyObject *module) {
  static PyMethodDef methods[] = {
      {"__enter__", method<enter>(), METH_NOARGS, nullptr},
      {"__exit__", method<leave>(), METH_VARARGS, nullptr},
      {"synchronize", method<synchronize>(), METH_VARARGS | METH_KEYWORDS,
       "synchronize(timeout=None)\n--\n\nWaits for the work that was queued, and raises its failure. After "
       "`timeout` seconds raises ts.TimeoutError."},
      {"query", method<query>(), METH_NOARGS, "query()\n--\n\nIs all work done?"},
      {"wait", method<waitEvent>(), METH_O,
       "wait(event)\n--\n\nMakes work that is queued from now on wait for the event."},
      {"record", method<recordEvent>(), METH_VARARGS | METH_KEYWORDS,
       "record(event=None)\n--\n\nMarks the end of the queue with the event, or with a new one, and returns "
       "it."},
      {"current", method<current>(), METH_NOARGS | METH_STATIC,
       "current()\n--\n\nThe stream that calls of this thread go to."},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {{"is_capturing", guarded<isCapturing>, nullptr,
                                      "Are its calls recorded for a graph instead of run?", nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static const char *doc =
      "Stream()\n--\n\nA queue of work on the current device. Streams run at the same time; `with stream:` "
      "makes it the one that calls of this thread go to.";
  static PyType_Slot slots[] = {{Py_tp_new, slot<create>()},
                                {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {Py_tp_repr, slot<represent>()},
                                {Py_tp_doc, const_cast<char *>(doc)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tessera.Stream", sizeof(Stream), 0, Py_TPFLAGS_DEFAULT, slots};
  return (streamType = addType(module, spec, "Stream"));
}

} // namespace tessera::python
