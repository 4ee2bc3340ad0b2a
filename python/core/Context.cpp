// The process's contexts, one per backend and device that was used, and the calls about backends.
#include "python/core/Background.h"
#include "python/core/Later.h"
#include "python/core/Stream.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <pthread.h>
#include <unistd.h>

namespace tessera::python {

uint64_t settings = 0;

namespace {

// Handles of a parent are of no use in the child of a fork, which forgets them.
std::map<std::string, std::unique_ptr<Context>> &contexts() {
  static auto &all = *new std::map<std::string, std::unique_ptr<Context>>;
  return all;
}
Context *current = nullptr;

std::atomic<int> taking = 0; // threads that are about to take the GIL

constexpr uint64_t kForked = uint64_t(1) << 32; // above the number that Python sets

void forget() {
  for (auto &[name, context] : contexts())
    (void)context.release(); // arrays of the parent refer to it
  contexts().clear();
  current = nullptr;
  forgetStreams();
  forgetLater();
  forgetBackground();
  forgetTrace();
  taking = 0;
  settings += kForked; // kernels find no variant of the parent's
}

} // namespace
bool usesDevices = false;
namespace {

Context *create() {
  tsr_context_t handle = nullptr;
  tsr_stream_t stream = nullptr;
  tsr_device_info_t info{};
  info.struct_size = sizeof info;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrCreateContext(&handle);
    if (status == TSR_SUCCESS) status = tsrGetDefaultStream(handle, &stream);
    if (status == TSR_SUCCESS) status = tsrGetDeviceInfo(handle, &info);
  }
  if (status != TSR_SUCCESS) return raise(status), nullptr;
  std::string backend = info.backend;
  usesDevices |= backend != "cpu";
  auto &slot = contexts()[backend];
  if (slot) {
    WithoutGil released;
    (void)tsrDestroyContext(handle);
  } else {
    slot = std::make_unique<Context>(Context{handle, stream, backend == "cpu", backend, info.arch});
  }
  return slot.get();
}

} // namespace

Context *currentContext() {
  static const int registered = pthread_atfork(nullptr, nullptr, forget);
  (void)registered;
  return current ? current : current = create();
}

void takeGil(PyThreadState *state) {
  ++taking; // before the look at isEnding: finish() waits for the threads that it does not stop
  if (isEnding && !endsHere) {
    --taking;
    while (true)
      pause();
  }
  PyEval_RestoreThread(state);
  --taking;
}

WithGil::WithGil() {
  ++taking;
  has_ = Py_IsInitialized() && (!isEnding || endsHere);
  if (has_) state_ = PyGILState_Ensure();
}

WithGil::~WithGil() {
  if (has_) PyGILState_Release(state_);
  --taking;
}

namespace {

PyObject *selectBackend(PyObject *, PyObject *arg) {
  std::string name;
  if (arg != Py_None && !text(arg, name)) return nullptr;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrSelectBackend(arg == Py_None ? nullptr : name.c_str());
  }
  if (status != TSR_SUCCESS) return raise(status);
  current = nullptr; // the next call creates it
  return none();
}

PyObject *backends(PyObject *, PyObject *) {
  Ref list(PyList_New(0));
  for (size_t i = 0; list; ++i) {
    tsr_backend_info_t info{};
    info.struct_size = sizeof info;
    tsr_status_t status;
    {
      WithoutGil released;
      status = tsrGetBackendInfo(i, &info);
    }
    if (status == TSR_ENOTFOUND) return list.release();
    if (status != TSR_SUCCESS) return raise(status);
    Ref row(Py_BuildValue("{s:s,s:s,s:s,s:O,s:O,s:i}", "name", info.name, "description", info.description,
                          "reason", info.reason, "available", info.available ? Py_True : Py_False, "selected",
                          info.selected ? Py_True : Py_False, "device_count", info.device_count));
    if (!row || PyList_Append(list.get(), row.get())) return nullptr;
  }
  return nullptr;
}

/// Text that one of the library's calls gives.
template <class Call> PyObject *textOf(Call call) {
  const char *json = nullptr;
  tsr_status_t status;
  {
    WithoutGil released;
    status = call(&json);
  }
  return status == TSR_SUCCESS ? PyUnicode_FromString(json) : raise(status);
}

/// The capabilities of a device, as JSON.
PyObject *capabilities(PyObject *, PyObject *args) {
  const char *backend = nullptr;
  int device = 0;
  if (!PyArg_ParseTuple(args, "zi", &backend, &device)) return nullptr;
  return textOf([=](const char **json) { return tsrGetBackendDeviceCapabilities(backend, device, json); });
}

PyObject *deviceCount(PyObject *, PyObject *args) {
  const char *backend = nullptr;
  int32_t count = 0;
  if (!PyArg_ParseTuple(args, "z", &backend)) return nullptr;
  tsr_status_t status;
  {
    WithoutGil released;
    status = tsrGetDeviceCount(backend, &count);
  }
  return status == TSR_SUCCESS ? PyLong_FromLong(count) : raise(status);
}

PyObject *memoryInfo(PyObject *, PyObject *) {
  Context *context = currentContext();
  if (!context) return nullptr;
  tsr_memory_info_t info{};
  info.struct_size = sizeof info;
  if (tsr_status_t status = tsrGetMemoryInfo(context->handle, &info)) return raise(status);
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "total_bytes", info.total_bytes, "free_bytes", info.free_bytes,
                       "in_use_bytes", info.in_use_bytes, "pooled_bytes", info.pooled_bytes);
}

PyObject *synchronize(PyObject *, PyObject *) {
  if (!waitForAll()) return nullptr;
  for (auto &[name, context] : contexts())
    if (!makeRoom(*context)) return nullptr;
  return none();
}

/// The contexts' handles, for loops without the GIL.
std::vector<tsr_context_t> handles() {
  std::vector<tsr_context_t> out;
  for (auto &[name, context] : contexts())
    out.push_back(context->handle);
  return out;
}

/// Of every context, also of those that select_backend left. Raises the first failure.
PyObject *trim(PyObject *, PyObject *) {
  const std::vector<tsr_context_t> all = handles();
  tsr_status_t status = TSR_SUCCESS;
  std::string said;
  {
    WithoutGil released;
    for (tsr_context_t handle : all) {
      const tsr_status_t one = tsrTrimMemory(handle);
      if (status == TSR_SUCCESS && one != TSR_SUCCESS) status = one, said = tsrLastError();
    }
  }
  return status == TSR_SUCCESS ? none() : raiseSaid(status, said);
}

/// Every plugin that was found or is missing, as JSON. True: backends that were not probed yet are.
PyObject *plugins(PyObject *, PyObject *probes) {
  const uint32_t flags = probes == Py_True ? TSR_REPORT_PROBE : 0;
  return textOf([flags](const char **json) { return tsrGetLoadReport(flags, json); });
}

PyObject *config(PyObject *, PyObject *) { return textOf(tsrGetConfig); }

/// Begins a range of this thread on the current context, and returns what ends it.
PyObject *pushRange(PyObject *, PyObject *arg) {
  std::string name;
  Context *context = text(arg, name) ? currentContext() : nullptr;
  if (!context) return nullptr;
  const tsr_status_t status = tsrRangePush(context->handle, name.c_str());
  return status == TSR_SUCCESS ? PyLong_FromVoidPtr(context) : raise(status);
}

PyObject *popRange(PyObject *, PyObject *begun) {
  void *wanted = PyLong_AsVoidPtr(begun);
  if (PyErr_Occurred()) return nullptr;
  for (auto &[name, context] : contexts())
    if (context.get() == wanted)
      if (tsr_status_t status = tsrRangePop(context->handle)) return raise(status);
  return none(); // the child of a fork has left the parent's ranges
}

PyObject *target(PyObject *, PyObject *) {
  Context *context = currentContext();
  return context ? Py_BuildValue("(ss)", context->backend.c_str(), context->target.c_str()) : nullptr;
}

PyObject *setSettings(PyObject *, PyObject *arg) {
  const unsigned long number = PyLong_AsUnsignedLong(arg);
  if (PyErr_Occurred()) return nullptr;
  settings = settings / kForked * kForked + number;
  return none();
}

// A compilation, or work that Ctrl-C left, that runs while exit() destroys what it uses would crash. So the
// process ends before that: exit() calls this first, since it was registered last.
bool isInterrupted = false;
void leave(int status, void *) {
  std::fflush(nullptr);
  if (isInterrupted) { // as Ctrl-C ends a program of Python
    std::signal(SIGINT, SIG_DFL);
    (void)std::raise(SIGINT);
  }
  if (isInterrupted || isInBackground()) _exit(status);
}

constexpr uint64_t kEndsSoonNs = 2'000'000'000; // a compilation, unless a hook of a mapper holds it up

/// finish(waits). At the interpreter's end: waits for all work, unless Ctrl-C ends the process, and for the
/// threads that are taking the GIL. Those that come later stay without it.
PyObject *finish(PyObject *, PyObject *waits) {
  endsHere = true;
  isEnding = true;
  bool isRaised = false;
  if (waits == Py_True) {
    const auto work = [all = handles()] {
      for (tsr_context_t handle : all)
        (void)tsrSynchronize(handle);
    };
    isRaised = !runInterruptibly(work) || !endInBackground(kEndsSoonNs);
  }
  isInterrupted = isRaised && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
  if (isInterrupted) PyErr_Clear();
  if (isInterrupted || isInBackground()) on_exit(leave, nullptr);
  {
    WithoutGil released;
    while (taking > 0)
      usleep(100);
  }
  return isRaised && !isInterrupted ? nullptr : none();
}

} // namespace

PyMethodDef contextMethods[] = {
    {"select_backend", method<selectBackend>(), METH_O, nullptr},
    {"backends", method<backends>(), METH_NOARGS, nullptr},
    {"capabilities", method<capabilities>(), METH_VARARGS, nullptr},
    {"device_count", method<deviceCount>(), METH_VARARGS, nullptr},
    {"memory_info", method<memoryInfo>(), METH_NOARGS, nullptr},
    {"synchronize", method<synchronize>(), METH_NOARGS, nullptr},
    {"trim", method<trim>(), METH_NOARGS, nullptr},
    {"plugins", method<plugins>(), METH_O, nullptr},
    {"config", method<config>(), METH_NOARGS, nullptr},
    {"push_range", method<pushRange>(), METH_O, nullptr},
    {"pop_range", method<popRange>(), METH_O, nullptr},
    {"target", method<target>(), METH_NOARGS, nullptr},
    {"set_settings", method<setSettings>(), METH_O, nullptr},
    {"finish", method<finish>(), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tessera::python
