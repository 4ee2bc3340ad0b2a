#include "python/core/Core.h"
#include <cstring>
#include <new>

namespace tessera::python {
namespace {

void receive(void *user, const tsr_diagnostic_t *d) {
  static_cast<Messages *>(user)->list.push_back(
      {d->severity, d->line, d->column, d->length, d->code, d->message, d->hint, d->file, d->source_line});
}

/// Calls tessera._errors.NAME(*args), which returns an exception, and raises it. Steals `args`.
PyObject *raiseFrom(const char *function, PyObject *args) {
  Ref owned(args);
  if (!args) return nullptr;
  Ref module(PyImport_ImportModule("tessera._errors"));
  if (!module) return nullptr;
  Ref make(PyObject_GetAttrString(module.get(), function));
  if (!make) return nullptr;
  Ref error(PyObject_CallObject(make.get(), args));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

} // namespace

void Messages::listen(tsr_source_options_t &options) {
  options.diagnose = receive;
  options.diagnose_user = this;
}

PyObject *raise(tsr_status_t status, const Messages *messages) {
  return raiseSaid(status, tsrLastError(), messages);
}

PyObject *raiseSaid(tsr_status_t status, const std::string &said, const Messages *messages) {
  Ref list(PyList_New(0));
  if (!list) return nullptr;
  for (const auto &m : messages ? messages->list : std::vector<Messages::Message>()) {
    Ref one(Py_BuildValue("(isssIIIss)", m.severity, m.code.c_str(), m.message.c_str(), m.file.c_str(),
                          m.line, m.column, m.length, m.hint.c_str(), m.sourceLine.c_str()));
    if (!one || PyList_Append(list.get(), one.get())) return nullptr;
  }
  return raiseFrom("of_status", Py_BuildValue("(ssO)", tsrStatusName(status), said.c_str(), list.get()));
}

PyObject *raiseNamed(const char *cls, const char *code, const std::string &message, const std::string &hint) {
  return raiseFrom("of_class", Py_BuildValue("(ssss)", cls, code, message.c_str(), hint.c_str()));
}

PyObject *refuse(const char *code, const std::string &message, const std::string &hint) {
  return raiseNamed("ArgumentError", code, message, hint);
}

void raiseThrown() {
  try {
    try {
      throw;
    } catch (const std::bad_alloc &) {
      raiseSaid(TSR_EOOM, "the host's memory is exhausted");
    } catch (const std::exception &thrown) {
      PyErr_SetString(PyExc_SystemError, thrown.what());
    }
  } catch (const std::bad_alloc &) { // again, while it was being said
    PyErr_NoMemory();
  }
}

void clearError() {
  const bool isInterrupt = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
  PyErr_Clear();
  if (isInterrupt) PyErr_SetInterrupt();
}

void trimTraceback() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref kept(trace);
  if (trace && value) {
    Ref module(PyImport_ImportModule("tessera._errors"));
    Ref trimmed(module ? PyObject_CallMethod(module.get(), "trimmed", "O", trace) : nullptr);
    if (trimmed) {
      kept = std::move(trimmed);
      (void)PyException_SetTraceback(value, kept.get());
    } else {
      clearError();
    }
  }
  trace = kept.get() == Py_None ? nullptr : kept.release();
  PyErr_Restore(type, value, trace);
}

bool text(PyObject *str, std::string &out) {
  if (!PyUnicode_Check(str)) {
    PyErr_Format(PyExc_TypeError, "expected a str, found %R", str);
    return false;
  }
  Py_ssize_t size = 0;
  const char *bytes = PyUnicode_AsUTF8AndSize(str, &size);
  const bool isUtf8 = bytes || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError);
  if (!bytes && isUtf8) return false;
  if (!isUtf8 || std::strlen(bytes) != static_cast<size_t>(size)) {
    clearError();
    const Ref shown(PyObject_ASCII(str)); // whose characters are all in UTF-8
    const char *text = shown ? PyUnicode_AsUTF8AndSize(shown.get(), nullptr) : nullptr;
    if (text)
      refuse("E_ARG_TYPE",
             (isUtf8 ? "embedded null character in " : "no text of UTF-8: ") + std::string(text));
    return false;
  }
  out.assign(bytes, static_cast<size_t>(size));
  return true;
}

PyTypeObject *addType(PyObject *module, PyType_Spec &spec, const char *name) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type || PyModule_AddObjectRef(module, name, type)) return nullptr;
  return reinterpret_cast<PyTypeObject *>(type);
}

} // namespace tessera::python
