// tessera._core: its types and functions.
#include "python/core/Core.h"

using namespace tessera::python;

namespace {

PyObject *version(PyObject *, PyObject *) { return PyUnicode_FromString(tsrVersion()); }

int fill(PyObject *module) {
  static bool isLoaded = false; // the types are one set for the process
  if (isLoaded) {
    PyErr_SetString(PyExc_ImportError, "tessera._core is loaded already, and cannot be loaded a second time");
    return -1;
  }
  static PyMethodDef own[] = {{"version", method<version>(), METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
  for (PyMethodDef *table : {own, compileMethods, contextMethods, arrayMethods, mapperMethods, entryMethods,
                             traceMethods, tunerMethods})
    if (PyModule_AddFunctions(module, table)) return -1;
  isLoaded = addCode(module) && addKernel(module) && addArray(module) && addStream(module) &&
             addEvent(module) && addGraph(module) && addMethod(module);
  if (isLoaded) listenToLog();
  return isLoaded ? 0 : -1;
}

} // namespace

extern "C" __attribute__((visibility("default"))) PyObject *PyInit__core() {
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, slot<fill>()}, {0, nullptr}};
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "tessera._core", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  return PyModuleDef_Init(&definition);
}
