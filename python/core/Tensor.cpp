#include "python/core/Tensor.h"
#include "python/core/Array.h"
#include "python/core/Code.h"
#include "python/core/DLPack.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace tessera::python {
namespace {

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

/// Raises for elements of a format that is no dtype.
void refuseFormat(const std::string &name, const std::string &format, Py_ssize_t bytes) {
  const bool isSwapped =
      format[0] == (std::endian::native == std::endian::little ? '>' : '<') || format[0] == '!';
  const bool isComplex = format[isSwapped] == 'Z';
  if (isSwapped && (isComplex || (format.size() == 2 && dtypeOfFormat(&format[1], bytes) >= 0))) {
    refuse("E_ARG_DTYPE", name + " has its bytes in another order than this machine's",
           "pass " + name + ".astype(" + name + ".dtype.newbyteorder('='))");
    return;
  }
  std::string what = "of the format '" + format + "', which is no dtype of the language";
  std::string hint = "convert it, as with " + name + ".astype('float32')";
  const size_t order = std::string("@=<>!").find(format[0]) != std::string::npos;
  if (format.starts_with("T{")) {
    what = "that are records";
    hint = "pass one field: np.ascontiguousarray(" + name + "['field'])";
  } else if (format[order] == 'Z') {
    what = "that are complex, which the language does not have";
    hint = "pass its parts, " + name + ".real and " + name + ".imag";
    if (bytes == 8 || bytes == 16)
      hint += ", or both as a last dim of 2: " + name + ".view('" + (bytes == 8 ? "float32" : "float64") +
              "').reshape(*" + name + ".shape, 2)";
    else
      hint = "convert it first, " + name + ".astype('complex128'), and " + hint;
  } else if (format[order] == 'O') {
    what = "that are objects of Python";
    hint = "make numbers of them: " + name + ".astype('float32')";
  } else if (format.ends_with("s") || format.ends_with("w") || format.ends_with("U")) {
    what = "that are texts";
    hint = "number them, as with np.unique(" + name + ", return_inverse=True)[1]";
  }
  refuse("E_ARG_DTYPE", name + " has elements " + what, hint);
}

/// The dtypes that ml_dtypes adds to NumPy. Their arrays have no buffers.
constexpr std::pair<const char *, int> kAdded[] = {
    {"bfloat16", TSR_DTYPE_BF16},          {"float8_e4m3fn", TSR_DTYPE_FP8_E4M3},
    {"float8_e5m2", TSR_DTYPE_FP8_E5M2},   {"float6_e2m3fn", TSR_DTYPE_FP6_E2M3},
    {"float6_e3m2fn", TSR_DTYPE_FP6_E3M2}, {"float4_e2m1fn", TSR_DTYPE_FP4_E2M1}};

/// A view of an array of NumPy with integers in place of elements that a library has added, whose dtype
/// becomes `dtype`. Null without raising if it is none of those; `type` is what it has.
Ref viewOfBits(PyObject *array, int &dtype, std::string &type) {
  const Ref itsType(PyObject_GetAttrString(array, "dtype"));
  const Ref shown(itsType ? PyObject_Str(itsType.get()) : nullptr);
  if (!shown || !text(shown.get(), type)) {
    clearError();
    return Ref();
  }
  const auto *row =
      std::ranges::find(kAdded, type, [](const auto &added) { return std::string(added.first); });
  const Ref size(PyObject_GetAttrString(itsType.get(), "itemsize"));
  if (row == std::end(kAdded) || !size ||
      PyLong_AsLong(size.get()) != static_cast<long>(dtypeBytes(row->second)))
    return clearError(), Ref();
  dtype = row->second;
  return Ref(PyObject_CallMethod(array, "view", "s", dtypeBytes(dtype) == 1 ? "uint8" : "uint16"));
}

/// Raises for elements of a type that has no buffers and is no dtype of the language.
void refuseAdded(const std::string &name, const std::string &type) {
  std::string hint = "convert it, as with " + name + ".astype('float32')";
  if (type.starts_with("datetime64") || type.starts_with("timedelta64"))
    hint = "pass the counts: " + name + ".view('int64')";
  else if (type == "int4" || type == "uint4")
    hint = "pass " + name + ".astype('" + (type[0] == 'u' ? "uint8" : "int8") +
           "'), or pack two of them in a u8, and separate them within the kernel";
  refuse("E_ARG_DTYPE",
         name + " has elements of " + (type.empty() ? "a type" : type) +
             ", which is no dtype of the language",
         hint);
}

} // namespace

const char *addedName(int dtype) {
  const auto *row = std::ranges::find(kAdded, dtype, [](const auto &added) { return added.second; });
  return row == std::end(kAdded) ? nullptr : row->first;
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

PyObject *Tensor::hold(PyObject *object, const char *name) {
  if (held == Nothing && kind == TypeKind::DLPack) { // the object may get other memory
    Tensor exported;
    if (!exported.readExported(object, typeOf(object), name)) return nullptr;
    exported.streams = streams;
    exported.isOrdered = isOrdered;
    if (exported.data == data) return exported.hold(object, name);
    refuse("E_ARG_DLPACK", std::string(name) + " has got other memory during the call");
    return nullptr;
  }
  if (held == Nothing) return Py_NewRef(object);
  auto *moved = new Tensor;
  std::memcpy(static_cast<void *>(&moved->buffer), &buffer, sizeof buffer);
  moved->managed = managed;
  moved->isVersioned = isVersioned;
  moved->streams = streams;
  moved->isOrdered = isOrdered;
  moved->deviceType = deviceType;
  moved->deviceId = deviceId;
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

bool Tensor::read(PyObject *object, ArgumentType &type, const char *name) {
  kind = type.kind;
  context = nullptr;
  isHost = true;
  isShared = kind != TypeKind::Array;
  deviceType = dlpack::Cpu;
  deviceId = 0;
  isReadOnly = false;
  seen = streams = nullptr;
  isOrdered = false;
  switch (kind) {
  case TypeKind::NumPy:
  case TypeKind::Buffer:
    return readBuffer(object, type, name);
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
    std::copy_n(array->shape, rank, shape);
    std::copy_n(array->strides, rank, strides);
    return finish(name);
  }
  case TypeKind::DLPack:
    return readDLPack(object, type, name);
  case TypeKind::Masked:
    refuse("E_ARG_TYPE", std::string(name) + " is a masked array, whose mask a kernel does not see",
           "pass " + std::string(name) + ".filled(value)");
    return false;
  default:
    refuse("E_ARG_TYPE", std::string(name) + " is no array");
    return false;
  }
}

bool refuseExport(const char *code, const char *name) {
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

bool Tensor::readBuffer(PyObject *object, ArgumentType &type, const char *name) {
  int added = -1;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDES | PyBUF_FORMAT)) {
    if (type.hasDLPack && PyErr_ExceptionMatches(PyExc_Exception)) {
      clearError();
      kind = TypeKind::DLPack;
      return readDLPack(object, type, name);
    }
    const bool isOfFormat = kind == TypeKind::NumPy && PyErr_ExceptionMatches(PyExc_ValueError);
    if (!isOfFormat) return refuseExport("E_ARG_TYPE", name);
    clearError();
    std::string found; // datetime64 and the like, and what libraries add
    const Ref bits(viewOfBits(object, added, found));
    if (!bits) {
      if (!PyErr_Occurred()) refuseAdded(name, found);
      return false;
    }
    if (PyObject_GetBuffer(bits.get(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT)) return false;
  }
  held = View;
  isReadOnly = buffer.readonly;
  data = buffer.buf;
  dtype = added < 0 ? dtypeOfFormat(buffer.format, buffer.itemsize) : added;
  if (dtype < 0) {
    refuseFormat(name, buffer.format, buffer.itemsize);
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

/// Checks what the kinds of tensors have in common.
bool Tensor::finish(const char *name) {
  if (rank > kMaxRank) {
    refuse("E_ARG_RANK", std::string(name) + " has " + std::to_string(rank) + " dims; a tensor has at most " +
                             std::to_string(kMaxRank));
    return false;
  }
  int64_t count = 1, span = 1;
  bool fits = true, isEmpty = false;
  isContiguous = true;
  for (int i = rank - 1; i >= 0; --i) {
    int64_t reach;
    if (shape[i] > 1 && strides[i] != count) isContiguous = false;
    fits &= shape[i] >= 0 && !__builtin_mul_overflow(count, shape[i], &count);
    fits &= !__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) &&
            !__builtin_add_overflow(span, reach < 0 ? -reach : reach, &span);
    isEmpty |= shape[i] == 0;
  }
  isContiguous |= isEmpty;
  alignas(64) static char nowhere[64];
  if (isEmpty && !data) data = nowhere; // launches take no null pointers
  const auto size = static_cast<int64_t>(dtypeBytes(dtype));
  fits &= !__builtin_mul_overflow(span, size, &span);
  if (!fits && !isEmpty) {
    refuse("E_ARG_SHAPE", std::string(name) + " has a negative extent, or more than 2^63 bytes");
    return false;
  }
  bytes = isEmpty ? 0 : span;
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size) == 0) return true;
  refuse("E_ARG_ALIGNMENT", std::string(name) + ": its elements are not aligned to their size",
         "pass a copy: " + std::string(name) + ".copy()");
  return false;
}

} // namespace tessera::python
