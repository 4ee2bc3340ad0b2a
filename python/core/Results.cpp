#include "python/core/Results.h"
#include "python/core/Code.h"

namespace tessera::python {
namespace {

constexpr const char *kNumPyNames[] = {"float64", "float32", "float16", nullptr,  "float32", nullptr, nullptr,
                                       nullptr,   nullptr,   nullptr,   "int64",  "int32",   "int16", "int8",
                                       "uint8",   "bool",    "uint16",  "uint32", "uint64"};

/// numpy.empty and the dtypes. They are looked up once, when NumPy is loaded already.
PyObject *emptyOfNumPy() {
  static PyObject *function = nullptr;
  if (function) return function;
  Ref numpy(PyImport_ImportModule("numpy"));
  return function = numpy ? PyObject_GetAttrString(numpy.get(), "empty") : nullptr;
}
PyObject *dtypeOfNumPy(int dtype) {
  static PyObject *known[TSR_DTYPE_U64 + 1];
  if (known[dtype]) return known[dtype];
  Ref numpy(PyImport_ImportModule("numpy"));
  return known[dtype] = numpy ? PyObject_CallMethod(numpy.get(), "dtype", "s", kNumPyNames[dtype]) : nullptr;
}

/// The dtype that ml_dtypes adds to NumPy, if it is loaded. Null, perhaps after raising.
PyObject *addedDtype(int dtype) {
  static PyObject *known[TSR_DTYPE_U64 + 1];
  if (known[dtype]) return known[dtype];
  const char *name = addedName(dtype);
  Ref module(name ? PyImport_GetModule(interned<"ml_dtypes">()) : nullptr);
  if (!module) return nullptr;
  Ref numpy(PyImport_ImportModule("numpy")), scalar(PyObject_GetAttrString(module.get(), name));
  if (!scalar) clearError(); // an old one does not have it
  return known[dtype] =
             numpy && scalar ? PyObject_CallMethod(numpy.get(), "dtype", "O", scalar.get()) : nullptr;
}

} // namespace

bool Result::allocate(Context &context, TypeKind kind, int dtype, int rank, const int64_t *shape) {
  PyObject *added = nullptr;
  if (kind == TypeKind::NumPy && context.isHost && !kNumPyNames[dtype]) {
    added = addedDtype(dtype);
    if (!added && PyErr_Occurred()) return false;
  }
  if (kind != TypeKind::NumPy || !context.isHost || (!kNumPyNames[dtype] && !added)) {
    Array *array = newArray(context, dtype, rank, shape);
    if (!array) return false;
    object = Ref(reinterpret_cast<PyObject *>(array));
    data = array->data;
    return true;
  }
  PyObject *empty = emptyOfNumPy(), *type = added ? added : empty ? dtypeOfNumPy(dtype) : nullptr;
  if (!empty) return false;
  Ref extents(type ? PyTuple_New(rank) : nullptr);
  for (int i = 0; extents && i < rank; ++i)
    (void)PyTuple_SetItem(extents.get(), i, PyLong_FromLongLong(shape[i]));
  object = Ref(extents ? PyObject_CallFunctionObjArgs(empty, extents.get(), type, nullptr) : nullptr);
  Ref bits; // what ml_dtypes adds has no buffers
  if (object && added)
    bits = Ref(PyObject_CallMethod(object.get(), "view", "s", dtypeBytes(dtype) == 1 ? "uint8" : "uint16"));
  PyObject *memory = added ? bits.get() : object.get();
  Py_buffer view;
  if (!memory || PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE | PyBUF_STRIDES)) return false;
  data = view.buf;
  isHost = true;
  PyBuffer_Release(&view); // the array keeps its memory
  return true;
}

PyObject *Result::take(PyObject *convert) {
  return convert ? PyObject_CallFunctionObjArgs(convert, object.get(), nullptr) : object.release();
}

PyObject *converterTo(PyObject *like) {
  ArgumentType &type = typeOf(like);
  if (type.isConverterKnown) return type.converter.get();
  const Ref alive = Ref::borrow(reinterpret_cast<PyObject *>(Py_TYPE(like)));
  Ref name(PyObject_GetAttrString(alive.get(), "__module__"));
  std::string text;
  if (!name || !PyUnicode_Check(name.get()) || !python::text(name.get(), text)) return clearError(), nullptr;
  Ref package(PyUnicode_FromString(text.substr(0, text.find('.')).c_str()));
  Ref module(package ? PyImport_GetModule(package.get()) : nullptr);
  Ref convert(module ? PyObject_GetAttrString(module.get(), "from_dlpack") : nullptr);
  if (!convert) clearError();
  type.isConverterKnown = true;
  type.converter = std::move(convert);
  return type.converter.get();
}

} // namespace tessera::python
