// The tuner, libtessera-tuner.so. It is opened when something is tuned, so that nothing else needs it.
#include "python/core/Background.h"
#include <atomic>
#include <deque>
#include <dlfcn.h>
#include <memory>
#include <mutex>

namespace tessera::python {
namespace {

constexpr const char *kLibrary = "libtessera-tuner.so";

using Report = void (*)(void *user, const char *json);
using Tuner = void (*)(const char *request, Report, int (*isStopped)(void *), void *user);

/// The folder of libtessera.so, with a slash at its end.
std::string folder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&tsrCreateContext), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

/// The function of the library; null after raising. A failure is not kept: the library may be installed
/// later.
Tuner tuner() {
  static Tuner found = nullptr;
  // Never closed: a thread that Ctrl-C has left may be in it.
  void *library =
      found ? nullptr : dlopen((folder() + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library) found = reinterpret_cast<Tuner>(dlsym(library, "tesseraTuner"));
  if (!found) {
    const char *why = dlerror();
    raiseNamed("BackendError", "E_NO_TUNER", std::string("the tuner cannot be loaded: ") + (why ? why : ""),
               "install the package libtessera-compiler, which has it");
  }
  return found;
}

/// A piece of work, which its thread and the waiting one share.
struct Job {
  std::string request;
  std::atomic<bool> isStopped = false;
  std::mutex mutex;
  std::deque<std::string> events; // not yet delivered

  static void report(void *user, const char *json) {
    Job &job = *static_cast<Job *>(user);
    std::lock_guard lock(job.mutex);
    job.events.emplace_back(json);
  }
  static int stopped(void *user) { return static_cast<Job *>(user)->isStopped; }
};

/// tune(request, on_event): asks the tuner, and calls on_event with each of its reports, in this thread. With
/// an exception, of a signal's handler too, the work ends soon, in the background.
PyObject *tune(PyObject *, PyObject *args) {
  const char *request;
  PyObject *onEvent;
  if (!PyArg_ParseTuple(args, "sO", &request, &onEvent)) return nullptr;
  const Tuner call = tuner();
  if (!call) return nullptr;
  auto job = std::make_shared<Job>();
  job->request = request;
  auto deliver = [&] {
    std::deque<std::string> events;
    {
      std::lock_guard lock(job->mutex);
      events.swap(job->events);
    }
    for (const std::string &event : events)
      if (!Ref(PyObject_CallFunction(onEvent, "s", event.c_str()))) return false;
    return true;
  };
  struct Stop {
    Job &job;
    ~Stop() { job.isStopped = true; }
  } stop{*job};
  const auto work = [job, call] { call(job->request.c_str(), Job::report, Job::stopped, job.get()); };
  return runInterruptibly(work, deliver) && deliver() ? none() : nullptr;
}

} // namespace

PyMethodDef tunerMethods[] = {
    {"tune", method<tune>(), METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace tessera::python
