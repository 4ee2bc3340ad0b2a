#include "python/core/Tensor.h"
#include "python/core/Array.h"
#include "python/core/Code.h"
#include "python/core/DLPack.h"
#include <bit>
#include <cstring>
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

/// The dtype of a buffer's elements; -1 if the language has none.
int dtypeOfFormat(const char *format, Py_ssize_t bytes) {
  if (!format) return TSR_DTYPE_U8;
  if (*format == '@' || *format == '=' || *format == (std::endian::native == std::endian::little ? '<' : '>'))
    ++format;
  if (!*format || format[1]) return -1;
  switch (*format) {
  case '?':
    return TSR_DTYPE_BOOL;
  case 'e':
    return TSR_DTYPE_F16;
  case 'f':
    return TSR_DTYPE_F32;
  case 'd':
    return TSR_DTYPE_F64;
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
    return bytes == 1   ? TSR_DTYPE_I8
           : bytes == 2 ? TSR_DTYPE_I16
           : bytes == 4 ? TSR_DTYPE_I32
                        : TSR_DTYPE_I64;
  case 'B':
  case 'H':
  case 'I':
  case 'L':
  case 'Q':
    return bytes == 1   ? TSR_DTYPE_U8
           : bytes == 2 ? TSR_DTYPE_U16
           : bytes == 4 ? TSR_DTYPE_U32
                        : TSR_DTYPE_U64;
  default:
    return -1;
  }
}

int dtypeOfDLPack(uint8_t code, uint8_t bits) {
  using namespace dlpack;
  switch (code) {
  case Int:
    return bits == 8    ? TSR_DTYPE_I8
           : bits == 16 ? TSR_DTYPE_I16
           : bits == 32 ? TSR_DTYPE_I32
           : bits == 64 ? TSR_DTYPE_I64
                        : -1;
  case UInt:
    return bits == 8    ? TSR_DTYPE_U8
           : bits == 16 ? TSR_DTYPE_U16
           : bits == 32 ? TSR_DTYPE_U32
           : bits == 64 ? TSR_DTYPE_U64
                        : -1;
  case Float:
    return bits == 16 ? TSR_DTYPE_F16 : bits == 32 ? TSR_DTYPE_F32 : bits == 64 ? TSR_DTYPE_F64 : -1;
  case BFloat:
    return bits == 16 ? TSR_DTYPE_BF16 : -1;
  case Bool:
    return bits == 8 ? TSR_DTYPE_BOOL : -1;
  case E4M3FN:
    return TSR_DTYPE_FP8_E4M3;
  case E5M2:
    return TSR_DTYPE_FP8_E5M2;
  default:
    return -1;
  }
}

bool refuseCapsule(const char *name, const std::string &why, const char *hint = "") {
  refuse("E_ARG_DLPACK", std::string(name) + ": " + why, hint);
  return false;
}

} // namespace

TypeKind kindOf(PyObject *object) {
  static auto &known = *new std::unordered_map<PyTypeObject *, TypeKind>; // keeps the types alive
  static PyTypeObject *last = nullptr;
  static TypeKind lastKind;
  PyTypeObject *type = Py_TYPE(object);
  if (type == last) return lastKind;
  if (type == &PyFloat_Type || type == &PyLong_Type) return TypeKind::Scalar;
  auto found = known.find(type);
  if (found == known.end()) {
    found = known.emplace(type, classify(type)).first;
    Py_INCREF(reinterpret_cast<PyObject *>(type));
  }
  last = type;
  return lastKind = found->second;
}

void Tensor::release() {
  if (held == View) PyBuffer_Release(&buffer);
  if (held == Capsule && isVersioned) {
    if (auto *m = static_cast<dlpack::Versioned *>(managed); m->deleter) m->deleter(m);
  } else if (held == Capsule) {
    if (auto *m = static_cast<dlpack::Managed *>(managed); m->deleter) m->deleter(m);
  }
  held = Nothing;
}

int32_t deviceTypeOf(const Context &context) {
  return context.isHost                   ? dlpack::Cpu
         : context.backend == "ptx"       ? dlpack::Cuda
         : context.backend == "rocm"      ? dlpack::Rocm
         : context.backend == "levelzero" ? dlpack::OneApi
                                          : dlpack::Other;
}

PyObject *Tensor::hold(PyObject *object) {
  if (held == Nothing) return Py_NewRef(object);
  auto *moved = new Tensor;
  std::memcpy(static_cast<void *>(&moved->buffer), &buffer, sizeof buffer);
  moved->managed = managed;
  moved->isVersioned = isVersioned;
  moved->held = std::exchange(held, Nothing);
  PyObject *capsule = PyCapsule_New(
      moved, nullptr, [](PyObject *c) { delete static_cast<Tensor *>(PyCapsule_GetPointer(c, nullptr)); });
  if (!capsule) delete moved;
  return capsule;
}

bool Tensor::isOn(const Context &other) const {
  if (context) return context == &other;
  if (isHost || other.isHost) return isHost && other.isHost;
  return deviceType == deviceTypeOf(other) && deviceType != dlpack::Other && deviceId == kDevice;
}

bool Tensor::isOfParent(const Context &own) const {
  return context && context != &own && context->backend == own.backend;
}

std::string Tensor::place() const {
  if (context) return context->backend;
  if (isHost) return "the host";
  const char *name = deviceType == dlpack::Cuda     ? "CUDA device "
                     : deviceType == dlpack::Rocm   ? "ROCm device "
                     : deviceType == dlpack::OneApi ? "oneAPI device "
                                                    : nullptr;
  return name ? name + std::to_string(deviceId) : "a device of DLPack's type " + std::to_string(deviceType);
}

std::string Tensor::describe() const {
  std::string out = std::string(dtypeName(dtype)) + "[";
  for (int i = 0; i < rank; ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

bool Tensor::read(PyObject *object, TypeKind of, const char *name) {
  kind = of;
  context = nullptr;
  isHost = true;
  isShared = of != TypeKind::Array;
  deviceType = dlpack::Cpu;
  deviceId = 0;
  isReadOnly = false;
  switch (of) {
  case TypeKind::NumPy:
  case TypeKind::Buffer:
    return readBuffer(object, name);
  case TypeKind::Array: {
    auto *array = reinterpret_cast<Array *>(object);
    context = array->context;
    isHost = false;
    isShared = array->exports || array->foreign;
    deviceType = deviceTypeOf(*context);
    deviceId = kDevice;
    isReadOnly = array->isReadOnly;
    dtype = array->dtype;
    rank = array->rank;
    data = array->data;
    std::memcpy(shape, array->shape, sizeof shape);
    std::memcpy(strides, array->strides, sizeof strides);
    return finish(name);
  }
  case TypeKind::DLPack:
    return readDLPack(object, name);
  case TypeKind::Masked:
    refuse("E_ARG_TYPE", std::string(name) + " is a masked array, whose mask a kernel does not see",
           "pass " + std::string(name) + ".filled(value)");
    return false;
  default:
    refuse("E_ARG_TYPE", std::string(name) + " is no array");
    return false;
  }
}

/// For a tensor that its library does not export, as one that requires grad or is sparse: the library's
/// reason.
static bool refuseExport(const char *code, const char *name) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref itsType(type), itsTrace(trace);
  Ref cause(value), shown(PyObject_Str(value));
  std::string why;
  if (!shown || !text(shown.get(), why)) clearError();
  refuse(code, std::string(name) + ": its library does not export it: " + why);
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyException_SetCause(value, cause.release());
  PyErr_Restore(type, value, trace);
  return false;
}

bool Tensor::readBuffer(PyObject *object, const char *name) {
  if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDES | PyBUF_FORMAT)) {
    const bool isOfFormat = kind == TypeKind::NumPy && PyErr_ExceptionMatches(PyExc_ValueError);
    if (!isOfFormat) return refuseExport("E_ARG_TYPE", name);
    clearError();
    refuse("E_ARG_DTYPE", std::string(name) + " has elements of a type that the language does not have",
           "convert it, as with " + std::string(name) + ".astype('float32'), or with ts.asarray(x, dtype)");
    return false;
  }
  held = View;
  isReadOnly = buffer.readonly;
  data = buffer.buf;
  dtype = dtypeOfFormat(buffer.format, buffer.itemsize);
  if (dtype < 0) {
    const std::string format = buffer.format;
    const bool isSwapped =
        format.size() == 2 && format[0] == '>' && dtypeOfFormat(&format[1], buffer.itemsize) >= 0;
    if (isSwapped)
      refuse("E_ARG_DTYPE", std::string(name) + " has its bytes in another order than this machine's",
             "pass " + std::string(name) + ".astype(" + name + ".dtype.newbyteorder('='))");
    else
      refuse("E_ARG_DTYPE",
             std::string(name) + " has elements of the format '" + format +
                 "', which is no dtype of the language",
             "convert it, as with " + std::string(name) + ".astype('float32')");
    return false;
  }
  rank = buffer.ndim;
  int64_t next = 1; // ctypes exports no strides
  for (int i = rank - 1; i >= 0; --i) {
    if (i >= kMaxRank) continue; // refused by finish()
    const Py_ssize_t step = buffer.strides ? buffer.strides[i] : next * buffer.itemsize;
    shape[i] = buffer.shape[i];
    strides[i] = step / buffer.itemsize;
    next *= shape[i];
    if (step % buffer.itemsize && shape[i] > 1) {
      refuse("E_ARG_ALIGNMENT",
             std::string(name) + ": the distance of its elements is no multiple of their size",
             "pass np.ascontiguousarray(" + std::string(name) + ")");
      return false;
    }
  }
  return finish(name);
}

bool Tensor::readDLPack(PyObject *object, const char *name) {
  Ref export_(PyObject_GetAttrString(object, "__dlpack__")), none(PyTuple_New(0));
  if (!export_ && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    clearError();
    refuse("E_ARG_TYPE", std::string(name) + " has no __dlpack__", "pass an array to ts.asarray");
    return false;
  }
  if (!export_ || !none) return false;
  Ref version(Py_BuildValue("{s:(ii)}", "max_version", 1, 1));
  Ref capsule(version ? PyObject_Call(export_.get(), none.get(), version.get()) : nullptr);
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { // a producer of DLPack 0.x
    clearError();
    capsule = Ref(PyObject_CallObject(export_.get(), nullptr));
  }
  return capsule ? takeCapsule(capsule.get(), name) : refuseExport("E_ARG_DLPACK", name);
}

bool Tensor::takeCapsule(PyObject *capsule, const char *name) {
  const bool isNew = PyCapsule_IsValid(capsule, "dltensor_versioned");
  if (!isNew && !PyCapsule_IsValid(capsule, "dltensor")) {
    if (PyCapsule_IsValid(capsule, "used_dltensor") || PyCapsule_IsValid(capsule, "used_dltensor_versioned"))
      return refuseCapsule(name, "this DLPack capsule has been used", "export the tensor again");
    return refuseCapsule(name, "__dlpack__ returned no DLPack capsule");
  }
  void *pointer = PyCapsule_GetPointer(capsule, isNew ? "dltensor_versioned" : "dltensor");
  if (!pointer) return false;
  if (isNew && static_cast<dlpack::Versioned *>(pointer)->version.major != 1)
    return refuseCapsule(name, "DLPack " +
                                   std::to_string(static_cast<dlpack::Versioned *>(pointer)->version.major) +
                                   " is newer than this module, which reads 0.x and 1.x");
  if (PyCapsule_SetName(capsule, isNew ? "used_dltensor_versioned" : "used_dltensor")) return false;
  managed = pointer;
  isVersioned = isNew;
  held = Capsule;
  const dlpack::Tensor &t = isNew ? static_cast<dlpack::Versioned *>(pointer)->tensor
                                  : static_cast<dlpack::Managed *>(pointer)->tensor;
  isReadOnly = isNew && (static_cast<dlpack::Versioned *>(pointer)->flags & dlpack::kReadOnly);
  deviceType = t.device.type;
  deviceId = t.device.id;
  isHost =
      t.device.type == dlpack::Cpu || t.device.type == dlpack::CudaHost || t.device.type == dlpack::RocmHost;
  dtype = t.dtype.lanes == 1 ? dtypeOfDLPack(t.dtype.code, t.dtype.bits) : -1;
  if (dtype < 0)
    return refuseCapsule(name, "its elements (DLPack type " + std::to_string(t.dtype.code) + ", " +
                                   std::to_string(t.dtype.bits) + " bits, " + std::to_string(t.dtype.lanes) +
                                   " lanes) are of no dtype of the language");
  data = static_cast<char *>(t.data) + t.offset;
  rank = t.rank;
  int64_t next = 1;
  for (int i = t.rank - 1; i >= 0; --i) {
    if (i >= kMaxRank) continue; // refused by finish()
    shape[i] = t.shape[i];
    strides[i] = t.strides ? t.strides[i] : next;
    next *= t.shape[i];
  }
  context = nullptr;
  return finish(name);
}

/// Checks what the kinds of tensors have in common.
bool Tensor::finish(const char *name) {
  if (rank > kMaxRank) {
    refuse("E_ARG_RANK", std::string(name) + " has " + std::to_string(rank) + " dims; a tensor has at most " +
                             std::to_string(kMaxRank));
    return false;
  }
  int64_t count = 1, span = 1;
  isContiguous = true;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] > 1 && strides[i] != count) isContiguous = false;
    span += (shape[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]);
    count *= shape[i];
  }
  if (count == 0) isContiguous = true;
  alignas(64) static char nowhere[64];
  if (count == 0 && !data) data = nowhere; // launches take no null pointers
  const auto size = static_cast<int64_t>(dtypeBytes(dtype));
  bytes = count == 0 ? 0 : span * size;
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size) == 0) return true;
  refuse("E_ARG_ALIGNMENT", std::string(name) + ": its elements are not aligned to their size",
         "pass a copy: " + std::string(name) + ".copy()");
  return false;
}

} // namespace tessera::python
