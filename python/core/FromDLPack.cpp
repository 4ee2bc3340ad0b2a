// Tensors of other libraries. They are read by the fastest way that their type offers: by the library's table
// of functions (DLPack 1.3), by PyTorch's attributes, or from a capsule, which every producer has.
//
// Memory on a device is ready in the order of a stream of its library: by the table, of the library's current
// stream; by a capsule, of the device's default stream, for which __dlpack__ is asked.
//
// The first two hold no memory. The caller's reference to the object does: a call has it for as long as it
// runs, and Tensor::hold() takes a capsule for what goes on after that (docs/decisions/0027).
#include "python/core/Code.h"
#include "python/core/Foreign.h"
#include <algorithm>
#include <array>

namespace tessera::python {
namespace {

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

bool isHostDevice(int32_t type) {
  return type == dlpack::Cpu || type == dlpack::CudaHost || type == dlpack::RocmHost;
}

bool refuseCapsule(const char *name, const std::string &why, const std::string &hint = {}) {
  refuse("E_ARG_DLPACK", std::string(name) + ": " + why, hint);
  return false;
}

/// Is the attribute that object? What it raises is dropped: the capsule raises it again.
template <Name name> bool is(PyObject *object, PyObject *expected) {
  const Ref found(PyObject_GetAttr(object, interned<name>()));
  if (!found) clearError();
  return found.get() == expected;
}
template <Name name> Ref called(PyObject *object) {
  return Ref(PyObject_CallMethodObjArgs(object, interned<name>(), nullptr));
}

/// PyTorch's tensors may be the negative of their elements, which no other library knows of.
bool isNegative(PyObject *object) {
  const Ref answer = called<"is_neg">(object);
  if (!answer) clearError();
  return answer.get() != Py_False;
}

/// The dtype of torch.float32 and the like; -1 for one that the language does not have.
int dtypeOfTorch(PyObject *dtype) {
  constexpr std::pair<const char *, int> kNames[] = {{"float32", TSR_DTYPE_F32},
                                                     {"bfloat16", TSR_DTYPE_BF16},
                                                     {"float16", TSR_DTYPE_F16},
                                                     {"float64", TSR_DTYPE_F64},
                                                     {"int64", TSR_DTYPE_I64},
                                                     {"int32", TSR_DTYPE_I32},
                                                     {"bool", TSR_DTYPE_BOOL},
                                                     {"uint8", TSR_DTYPE_U8},
                                                     {"int8", TSR_DTYPE_I8},
                                                     {"int16", TSR_DTYPE_I16},
                                                     {"uint16", TSR_DTYPE_U16},
                                                     {"uint32", TSR_DTYPE_U32},
                                                     {"uint64", TSR_DTYPE_U64},
                                                     {"float8_e4m3fn", TSR_DTYPE_FP8_E4M3},
                                                     {"float8_e5m2", TSR_DTYPE_FP8_E5M2}};
  // Filled under the interpreter's lock, not by a static initialiser: a thread that waits for one holds that
  // lock, and the initialiser may give it up. Two threads that fill it find the same objects.
  static std::array<PyObject *, std::size(kNames)> known{}; // null: this version has no such dtype
  static bool isFilled = false;
  if (!isFilled) {
    const Ref torch(PyImport_ImportModule("torch"));
    if (!torch) return clearError(), -1;
    for (size_t i = 0; i < known.size(); ++i) {
      const Ref found(PyObject_GetAttrString(torch.get(), kNames[i].first));
      if (!found)
        clearError();
      else if (!known[i])
        known[i] = Py_NewRef(found.get());
    }
    isFilled = true;
  }
  const auto found = std::ranges::find(known, dtype);
  return found == known.end() ? -1 : kNames[found - known.begin()].second;
}

/// Returns false without raising if it is no tuple of `count` integers of 64 bits.
bool readInts(PyObject *tuple, int count, int64_t *out) {
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) return false;
  for (int i = 0; i < count; ++i) {
    PyObject *item = PyTuple_GetItem(tuple, i);
    if (!PyLong_CheckExact(item)) return false;
    out[i] = PyLong_AsLongLong(item);
    if (out[i] == -1 && PyErr_Occurred()) return clearError(), false;
  }
  return true;
}

/// The type of the device that the object says it is on; -1: it does not say.
int32_t deviceTypeOf(PyObject *object) {
  const Ref device = called<"__dlpack_device__">(object);
  const bool isPair = device && PyTuple_Check(device.get()) && PyTuple_Size(device.get()) == 2;
  const long type = isPair ? PyLong_AsLong(PyTuple_GetItem(device.get(), 0)) : -1; // may be an enumerator
  if (PyErr_Occurred()) clearError();
  return isPair ? static_cast<int32_t>(type) : -1;
}

} // namespace

bool Tensor::readAttributes(PyObject *object) {
  if (!is<"is_cpu">(object, Py_True)) return false;
  const Ref its(PyObject_GetAttr(object, interned<"dtype">()));
  const Ref extents(its ? PyObject_GetAttr(object, interned<"shape">()) : nullptr);
  const Ref steps = extents ? called<"stride">(object) : Ref(); // raises for tensors of other layouts
  const Ref pointer = steps ? called<"data_ptr">(object) : Ref();
  if (!pointer) return clearError(), false;
  dtype = dtypeOfTorch(its.get());
  rank = PyTuple_Check(extents.get()) ? static_cast<int>(PyTuple_Size(extents.get())) : -1;
  if (dtype < 0 || rank < 0 || rank > kMaxRank || !PyLong_CheckExact(pointer.get())) return false;
  if (!readInts(extents.get(), rank, shape) || !readInts(steps.get(), rank, strides)) return false;
  data = PyLong_AsVoidPtr(pointer.get());
  if (PyErr_Occurred()) clearError();
  return data || std::find(shape, shape + rank, 0) != shape + rank;
}

Tensor::Reading Tensor::readExchange(PyObject *object, const dlpack::Exchange &exchange, const char *name) {
  dlpack::Tensor viewed{};
  dlpack::Versioned *owned = nullptr;
  if (exchange.view ? exchange.view(object, &viewed) : exchange.exportTensor(object, &owned))
    return clearError(), Reading::Other;
  if (!exchange.view && !owned) return Reading::Other;
  const dlpack::Tensor &t = exchange.view ? viewed : owned->tensor;
  if (exchange.view) seen = &exchange;
  if (owned) {
    managed = owned;
    isVersioned = true;
    held = Capsule;
    isReadOnly = owned->flags & dlpack::kReadOnly;
  }
  const bool isHosts = isHostDevice(t.device.type);
  if (!isHosts && exchange.currentStream && nativeStreamsOf(t.device.type)) streams = &exchange;
  if (isHosts || streams) return take(t, name) ? Reading::Done : Reading::Raised;
  release(); // the capsule orders the work on the tensor before that of the call
  isReadOnly = false;
  seen = nullptr;
  return Reading::Other;
}

bool Tensor::askReadOnly(PyObject *object, const char *name) {
  if (!seen || !seen->exportTensor) return true;
  dlpack::Versioned *owned = nullptr;
  if (seen->exportTensor(object, &owned)) return refuseExport("E_ARG_DLPACK", name);
  if (!owned) return refuseCapsule(name, "its library exports nothing");
  isReadOnly = owned->flags & dlpack::kReadOnly;
  if (owned->deleter) owned->deleter(owned);
  return true;
}

bool Tensor::readDLPack(PyObject *object, ArgumentType &type, const char *name) {
  const Ref alive = Ref::borrow(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  const bool isPlain = (type.exchange || type.isTorch) &&
                       (!type.hasGradients || is<"requires_grad">(object, Py_False)) &&
                       (!type.hasSigns || !isNegative(object));
  if (isPlain && type.exchange) {
    const Reading reading = readExchange(object, *type.exchange, name);
    if (type.isTorch) seen = nullptr; // PyTorch has no read-only tensors
    if (reading != Reading::Other) return reading == Reading::Done;
  } else if (isPlain && readAttributes(object)) {
    return finish(name);
  }
  return readExported(object, type, name);
}

bool Tensor::readExported(PyObject *object, ArgumentType &type, const char *name) {
  kind = TypeKind::DLPack;
  context = nullptr;
  isShared = true;
  isReadOnly = false;
  seen = streams = nullptr;
  isOrdered = false;
  const Ref alive = Ref::borrow(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  if (type.hasSigns && isNegative(object))
    return refuseCapsule(name, "the tensor is the negative of its elements, which DLPack cannot say",
                         "pass " + std::string(name) + ".resolve_neg()");
  if (PyErr_Occurred()) return false;
  const NativeStreams *native = usesDevices ? nativeStreamsOf(deviceTypeOf(object)) : nullptr;
  const Ref capsule = exportOf(object, type, native);
  if (capsule) {
    isOrdered = native != nullptr;
    return takeCapsule(capsule.get(), name);
  }
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return refuseExport("E_ARG_DLPACK", name);
  clearError();
  refuse("E_ARG_TYPE", std::string(name) + " has no __dlpack__", "pass an array to ts.asarray");
  return false;
}

Ref exportOf(PyObject *object, ArgumentType &type, const NativeStreams *native) {
  const Ref export_(PyObject_GetAttr(object, interned<"__dlpack__">())), none(PyTuple_New(0));
  if (!export_ || !none) return Ref();
  const auto call = [&](const Ref &keywords) {
    return Ref(keywords ? PyObject_Call(export_.get(), none.get(), keywords.get()) : nullptr);
  };
  const long long stream = native ? native->defaultStream : 0;
  if (!type.isOld) {
    Ref capsule = call(Ref(Py_BuildValue(native ? "{s:(ii),s:L}" : "{s:(ii)}", "max_version", dlpack::kMajor,
                                         1, "stream", stream)));
    if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
    clearError(); // a producer of DLPack 0.x
  }
  Ref capsule = native ? call(Ref(Py_BuildValue("{s:L}", "stream", stream)))
                       : Ref(PyObject_CallObject(export_.get(), nullptr));
  if (capsule) type.isOld = true;
  return capsule;
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
  const auto *versioned = isNew ? static_cast<dlpack::Versioned *>(pointer) : nullptr;
  if (versioned && versioned->version.major != dlpack::kMajor)
    return refuseCapsule(name, "DLPack " + std::to_string(versioned->version.major) +
                                   " is newer than this module, which reads 0.x and 1.x");
  if (PyCapsule_SetName(capsule, isNew ? "used_dltensor_versioned" : "used_dltensor")) return false;
  managed = pointer;
  isVersioned = isNew;
  held = Capsule;
  isReadOnly = versioned && (versioned->flags & dlpack::kReadOnly);
  return take(versioned ? versioned->tensor : static_cast<dlpack::Managed *>(pointer)->tensor, name);
}

bool Tensor::take(const dlpack::Tensor &t, const char *name) {
  deviceType = t.device.type;
  deviceId = t.device.id;
  isHost = isHostDevice(t.device.type);
  dtype = t.dtype.lanes == 1 ? dtypeOfDLPack(t.dtype.code, t.dtype.bits) : -1;
  if (dtype < 0 && t.dtype.code == dlpack::Complex)
    return refuseCapsule(name, "its elements are complex, which the language does not have",
                         "pass both parts as a last dim of 2, as torch.view_as_real(" + std::string(name) +
                             ") does");
  if (dtype < 0)
    return refuseCapsule(name, "its elements (DLPack type " + std::to_string(t.dtype.code) + ", " +
                                   std::to_string(t.dtype.bits) + " bits, " + std::to_string(t.dtype.lanes) +
                                   " lanes) are of no dtype of the language");
  data = static_cast<char *>(t.data) + t.offset;
  rank = t.rank;
  if (rank < 0 || (rank > 0 && !t.shape))
    return refuseCapsule(name, "its library describes it as a tensor of " + std::to_string(rank) + " dims" +
                                   (rank > 0 ? " without a shape" : ""));
  int64_t next = 1;
  bool isEmpty = false;
  for (int i = t.rank - 1; i >= 0; --i) {
    if (i >= kMaxRank) continue; // refused by finish()
    shape[i] = t.shape[i];
    strides[i] = t.strides ? t.strides[i] : next;
    isEmpty |= shape[i] == 0;
    if (__builtin_mul_overflow(next, shape[i], &next)) next = INT64_MAX; // refused by finish(), unless empty
  }
  if (!t.data && !isEmpty) return refuseCapsule(name, "its library describes it as a tensor without memory");
  return finish(name);
}

} // namespace tessera::python
