#include "python/core/Results.h"

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

} // namespace

bool Result::allocate(Context &context, TypeKind kind, int dtype, int rank, const int64_t *shape) {
  if (kind != TypeKind::NumPy || !context.isHost || !kNumPyNames[dtype]) {
    Array *array = newArray(context, dtype, rank, shape);
    if (!array) return false;
    object = Ref(reinterpret_cast<PyObject *>(array));
    data = array->data;
    return true;
  }
  PyObject *empty = emptyOfNumPy(), *type = empty ? dtypeOfNumPy(dtype) : nullptr;
  Ref extents(type ? PyTuple_New(rank) : nullptr);
  for (int i = 0; extents && i < rank; ++i)
    (void)PyTuple_SetItem(extents.get(), i, PyLong_FromLongLong(shape[i]));
  object = Ref(extents ? PyObject_CallFunctionObjArgs(empty, extents.get(), type, nullptr) : nullptr);
  Py_buffer view;
  if (!object || PyObject_GetBuffer(object.get(), &view, PyBUF_WRITABLE | PyBUF_STRIDES)) return false;
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
