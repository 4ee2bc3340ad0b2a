// Functions and methods that users call and Python code implements. As builtins they add no frames of this
// package to the tracebacks of what they raise.
#include "python/core/Core.h"

namespace tessera::python {
namespace {

/// Calls `self`, a function, or a pair of one and its first argument.
PyObject *forward(PyObject *self, PyObject *args, PyObject *keywords) {
  Ref all;
  PyObject *function = self;
  if (PyTuple_Check(self)) {
    function = PyTuple_GetItem(self, 0);
    const Py_ssize_t count = PyTuple_Size(args);
    all = Ref(PyTuple_New(count + 1));
    if (!all) return nullptr;
    (void)PyTuple_SetItem(all.get(), 0, Py_NewRef(PyTuple_GetItem(self, 1)));
    for (Py_ssize_t i = 0; i < count; ++i)
      (void)PyTuple_SetItem(all.get(), i + 1, Py_NewRef(PyTuple_GetItem(args, i)));
    args = all.get();
  }
  PyObject *result = PyObject_Call(function, args, keywords);
  if (!result) trimTraceback();
  return result;
}

/// What a builtin is made from. Those of functions live as long as the process.
struct Definition {
  std::string name, doc;
  PyMethodDef method;
};

/// Null after raising.
Definition *define(PyObject *args, PyObject *&function) {
  const char *name, *doc;
  if (!PyArg_ParseTuple(args, "Oss", &function, &name, &doc)) return nullptr;
  auto *d = new Definition{name, doc, {}};
  d->method = {d->name.c_str(), method<forward>(), METH_VARARGS | METH_KEYWORDS, d->doc.c_str()};
  return d;
}

/// entry(function, name, doc): a builtin that calls the function
PyObject *entry(PyObject *, PyObject *args) {
  PyObject *function;
  Definition *d = define(args, function);
  if (!d) return nullptr;
  Ref module(PyObject_GetAttrString(function, "__module__"));
  return module ? PyCFunction_NewEx(&d->method, function, module.get()) : nullptr;
}

struct Method {
  PyObject_HEAD PyObject *function;
  Definition *definition;
};

Method &self(PyObject *object) { return *reinterpret_cast<Method *>(object); }

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *function;
  Definition *d = define(args, function);
  PyObject *made = d ? PyType_GenericAlloc(type, 0) : nullptr;
  if (!made) return nullptr;
  self(made).function = Py_NewRef(function);
  self(made).definition = d;
  return made;
}

void deallocate(PyObject *object) {
  Py_XDECREF(self(object).function); // builtins that were made may still use the definition
  PyTypeObject *type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

/// Of a class the function itself, of an object a builtin.
PyObject *bind(PyObject *object, PyObject *instance, PyObject *) {
  if (!instance || instance == Py_None) return Py_NewRef(self(object).function);
  Ref pair(PyTuple_Pack(2, self(object).function, instance));
  return pair ? PyCFunction_NewEx(&self(object).definition->method, pair.get(), nullptr) : nullptr;
}

} // namespace

PyMethodDef entryMethods[] = {{"entry", method<entry>(), METH_VARARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};

bool addMethod(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, slot<create>()},
                                {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                {Py_tp_descr_get, slot<bind>()},
                                {0, nullptr}};
  static PyType_Spec spec = {"tessera._core.Method", sizeof(Method), 0, Py_TPFLAGS_DEFAULT, slots};
  return addType(module, spec, "Method");
}

} // namespace tessera::python
