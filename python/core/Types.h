// What the module knows of the types of arguments, looked up once for each type.
#pragma once
#include "python/core/Core.h"
#include "python/core/DLPack.h"

namespace tessera::python {

/// What kind of argument the objects of a type are.
enum class TypeKind : uint8_t {
  Scalar,
  NumPy, // an ndarray or a subclass of it that adds nothing to its meaning
  Buffer,
  Array,  // ts.Array
  DLPack, // __dlpack__
  Masked, // of numpy.ma: its elements are not all meant
  Other
};

struct ArgumentType {
  TypeKind kind = TypeKind::Other;
  bool hasDLPack =
      false; // of TypeKind::Buffer: some objects, as those on a device, have no buffer, but DLPack
  // Of TypeKind::DLPack, and of those:
  const dlpack::Exchange *exchange = nullptr; // the functions of its library; null if it has none
  bool isTorch = false;                       // torch.Tensor itself, and no class derived from it
  bool hasGradients = false;                  // objects have requires_grad
  bool hasSigns = false;                      // objects have is_neg()
  bool isOld = false;                         // __dlpack__ takes no max_version: found out by the first call
  bool isConverterKnown = false;
  Ref converter; // from_dlpack() of its library; null if it has none
};

/// Valid for the lifetime of the type: what runs code of Python in between holds it.
ArgumentType &typeOf(PyObject *);
inline TypeKind kindOf(PyObject *object) { return typeOf(object).kind; }

/// An interned name, made once, for attributes that calls read.
template <size_t n> struct Name {
  constexpr Name(const char (&from)[n]) {
    for (size_t i = 0; i < n; ++i)
      text[i] = from[i];
  }
  char text[n];
};
template <Name name> PyObject *interned() {
  static PyObject *const object = PyUnicode_InternFromString(name.text);
  return object;
}

} // namespace tessera::python
