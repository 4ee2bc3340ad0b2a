#include "python/core/Types.h"
#include <algorithm>
#include <unordered_map>

namespace tessera::python {
namespace {

/// Is a class of that module and name among the bases of `type`?
bool inherits(PyTypeObject *type, const char *module, const char *name) {
  Ref bases(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__mro__"));
  for (Py_ssize_t i = 0; bases && i < PyTuple_Size(bases.get()); ++i) {
    PyObject *base = PyTuple_GetItem(bases.get(), i);
    Ref itsModule(PyObject_GetAttrString(base, "__module__")),
        itsName(PyObject_GetAttrString(base, "__name__"));
    if (!itsModule || !itsName || !PyUnicode_Check(itsModule.get())) {
      clearError();
      continue;
    }
    Ref first(PyUnicode_FromString(module));
    if (PyUnicode_CompareWithASCIIString(itsName.get(), name) == 0 &&
        (PyUnicode_CompareWithASCIIString(itsModule.get(), module) == 0 ||
         PyUnicode_Tailmatch(itsModule.get(), first.get(), 0, PY_SSIZE_T_MAX, -1) == 1))
      return true;
  }
  clearError();
  return false;
}

/// Is `type` the attribute of that name of a module that is loaded?
bool isAttribute(PyTypeObject *type, const char *module, const char *name) {
  Ref itsName(PyUnicode_FromString(module));
  Ref loaded(itsName ? PyImport_GetModule(itsName.get()) : nullptr);
  Ref found(loaded ? PyObject_GetAttrString(loaded.get(), name) : nullptr);
  if (!found) clearError();
  return found.get() == reinterpret_cast<PyObject *>(type);
}

TypeKind classify(PyTypeObject *type) {
  auto *object = reinterpret_cast<PyObject *>(type);
  if (type == arrayType) return TypeKind::Array;
  if (inherits(type, "numpy", "generic")) return TypeKind::Scalar;
  if (inherits(type, "numpy.ma", "MaskedArray")) return TypeKind::Masked;
  if (inherits(type, "numpy", "ndarray")) return TypeKind::NumPy;
  if (PyType_GetSlot(type, Py_bf_getbuffer)) return TypeKind::Buffer;
  if (PyObject_HasAttrString(object, "__dlpack__")) return TypeKind::DLPack;
  if (PyType_IsSubtype(type, &PyFloat_Type) || PyType_IsSubtype(type, &PyLong_Type) ||
      PyObject_HasAttrString(object, "__index__") || PyObject_HasAttrString(object, "__float__"))
    return TypeKind::Scalar;
  return TypeKind::Other;
}

/// The table of functions that a type publishes, of the version that this module knows. The attribute is a
/// capsule; before DLPack 1.3 was released, it was an integer of another name.
const dlpack::Exchange *exchangeOf(PyTypeObject *type) {
  auto *object = reinterpret_cast<PyObject *>(type);
  void *table = nullptr;
  if (Ref capsule(PyObject_GetAttrString(object, "__dlpack_c_exchange_api__"));
      capsule && PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api"))
    table = PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api");
  clearError();
  if (!table) {
    Ref number(PyObject_GetAttrString(object, "__c_dlpack_exchange_api__"));
    if (number && PyLong_Check(number.get())) table = PyLong_AsVoidPtr(number.get());
    clearError();
  }
  auto *header = static_cast<const dlpack::ExchangeHeader *>(table);
  while (header && header->major != dlpack::kMajor)
    header = header->previous; // a library may publish the tables of earlier versions after its newest one
  auto *found = reinterpret_cast<const dlpack::Exchange *>(header);
  return found && (found->view || found->exportTensor) ? found : nullptr;
}

ArgumentType look(PyTypeObject *type) {
  auto *object = reinterpret_cast<PyObject *>(type);
  ArgumentType out;
  out.kind = classify(type);
  out.hasDLPack = out.kind == TypeKind::Buffer && PyObject_HasAttrString(object, "__dlpack__");
  if (out.kind != TypeKind::DLPack && !out.hasDLPack) return out;
  out.exchange = exchangeOf(type);
  out.isTorch = isAttribute(type, "torch", "Tensor");
  out.hasGradients = PyObject_HasAttrString(object, "requires_grad");
  out.hasSigns = PyObject_HasAttrString(object, "is_neg");
  return out;
}

struct Known {
  ArgumentType type;
  Ref weak; // its callback removes the entry when the class ends
};
auto &known() {
  static auto &types = *new std::unordered_map<PyTypeObject *, Known>;
  return types;
}
constinit PyTypeObject *last = nullptr; // the type that was asked for last
constinit ArgumentType *lastFound = nullptr, number;

/// The callback of the weak references.
PyObject *forget(PyObject *, PyObject *weak) {
  auto &types = known();
  const auto found =
      std::ranges::find_if(types, [&](const auto &entry) { return entry.second.weak.get() == weak; });
  if (found == types.end()) return none();
  last = nullptr;
  const auto ended = types.extract(found); // what it owns ends after the map has changed
  return none();
}
Ref weakly(PyTypeObject *type) {
  static PyMethodDef method = {"forget", tessera::python::method<forget>(), METH_O, nullptr};
  static PyObject
      *callback; // set under the interpreter's lock: a static initialiser could wait while it has it
  if (!callback) callback = PyCFunction_New(&method, nullptr);
  return Ref(callback ? PyWeakref_NewRef(reinterpret_cast<PyObject *>(type), callback) : nullptr);
}

} // namespace

ArgumentType &typeOf(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (type == last) return *lastFound;
  if (type == &PyFloat_Type || type == &PyLong_Type) {
    number.kind = TypeKind::Scalar;
    return number;
  }
  auto found = known().find(type);
  if (found == known().end()) {
    Known made{look(type), weakly(type)};
    if (!made.weak) { // there is no memory for it: the entry stays, and so does the class
      clearError();
      Py_INCREF(reinterpret_cast<PyObject *>(type));
    }
    found = known().try_emplace(type, std::move(made)).first; // another thread may have been faster
  }
  last = type;
  return *(lastFound = &found->second.type); // elements of such a map stay where they are
}

} // namespace tessera::python
