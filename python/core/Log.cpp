// The library's messages, for the package logging.
#include "python/core/Core.h"

namespace tessera::python {
namespace {

/// In the thread whose call causes the message, which may have an exception set, or in one of the library.
void receive(void *, tsr_log_level_t level, const char *code, const char *text) {
  static thread_local bool isInside = false;
  const WithGil taken;
  if (!taken || isInside) return; // at the interpreter's end, or what a handler's own calls cause
  isInside = true;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  static PyObject *function = nullptr;
  if (Ref module(function ? nullptr : PyImport_ImportModule("tessera._log")); module)
    function = PyObject_GetAttrString(module.get(), "receive");
  Ref done(function ? PyObject_CallFunction(function, "iss", static_cast<int>(level), code, text) : nullptr);
  // An exception is a handler's: the call that logs goes on.
  if (!done && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
    clearError();
  else if (!done)
    PyErr_WriteUnraisable(function);
  PyErr_Restore(type, value, trace);
  isInside = false;
}

} // namespace

void listenToLog() { (void)tsrSetLogCallback(receive, nullptr, TSR_LOG_DEBUG); }

} // namespace tessera::python
