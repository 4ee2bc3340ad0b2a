#include "python/core/Array.h"
#include "python/core/Code.h"
#include "python/core/DLPack.h"
#include "python/core/Foreign.h"
#include "python/core/Later.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sched.h>

namespace tessera::python {

PyTypeObject *arrayType;

int64_t bytesOf(int dtype, int rank, const int64_t *shape) {
  int64_t bytes = dtypeBytes(dtype);
  bool empty = false, fits = true;
  for (int i = 0; i < rank; ++i) {
    empty |= shape[i] == 0;
    fits = fits && shape[i] >= 0 && (shape[i] == 0 || !__builtin_mul_overflow(bytes, shape[i], &bytes));
  }
  return empty ? 0 : fits ? bytes : -1;
}

namespace {

Array *blank(Context &context, int dtype, int rank, const int64_t *shape) {
  auto *array = reinterpret_cast<Array *>(PyType_GenericAlloc(arrayType, 0));
  if (!array) return nullptr;
  array->context = &context;
  new (&array->queued) std::atomic<uint64_t>(0);
  array->dtype = dtype;
  array->rank = rank;
  int64_t step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    array->shape[i] = shape[i];
    array->strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return array;
}

Array &self(PyObject *object) { return *reinterpret_cast<Array *>(object); }

} // namespace

Array *newArray(Context &context, int dtype, int rank, const int64_t *shape) {
  const int64_t bytes = bytesOf(dtype, rank, shape);
  if (bytes < 0)
    return refuse("E_ARG_SHAPE", "the array has a negative extent, or more than 2^63 bytes"), nullptr;
  Array *array = makeRoom(context) ? blank(context, dtype, rank, shape) : nullptr;
  if (!array) return nullptr;
  if (tsr_status_t status =
          tsrAlloc(context.handle, static_cast<size_t>(bytes), TSR_MEM_DEVICE, &array->data)) {
    Py_DECREF(reinterpret_cast<PyObject *>(array));
    return raise(status), nullptr;
  }
  array->isOwner = true;
  return array;
}

bool use(Array &array, Stream &stream) {
  if (array.last == &stream) return true;
  if (array.last && !orderAfter(stream, *array.last)) return false;
  Py_INCREF(reinterpret_cast<PyObject *>(&stream));
  const Ref before(reinterpret_cast<PyObject *>(std::exchange(array.last, &stream)));
  return true;
}

bool Uses::begin() {
  const auto isLaunching = [&] {
    return std::any_of(arrays_, arrays_ + count_,
                       [&](Array *a) { return a->last != &stream_ && a->begun != a->queued; });
  };
  while (isLaunching()) {
    {
      WithoutGil released;
      sched_yield();
    }
    if (PyErr_CheckSignals()) return false;
  }
  for (size_t i = 0; i < count_; ++i)
    if (!use(*arrays_[i], stream_)) return false;
  for (size_t i = 0; i < count_; ++i)
    ++arrays_[i]->begun;
  return isOpen_ = true;
}

void Uses::end() {
  if (!std::exchange(isOpen_, false)) return;
  for (size_t i = 0; i < count_; ++i)
    ++arrays_[i]->queued;
}

namespace {

/// Waits until all work that may use the array is done. Returns false after raising.
bool waitFor(Array &array) { return !array.last || wait(*array.last); }

void deallocate(PyObject *object) {
  Array &array = self(object);
  if (array.isOwner) {
    const int64_t bytes = bytesOf(array.dtype, array.rank, array.shape);
    endLater(*array.context, bytes,
             [context = array.context->handle, data = array.data] { (void)tsrFree(context, data); });
  }
  if (array.foreign) // queued work may use memory that goes with its owner
    endLater(*array.context, array.foreign->bytes, [foreign = array.foreign] {
      const WithGil taken;
      if (taken) delete foreign;
    });
  Py_XDECREF(reinterpret_cast<PyObject *>(array.last));
  PyTypeObject *type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

// --- The buffer protocol ---

/// By tsr_dtype_t; null: the buffer protocol has no such elements.
constexpr const char *kFormats[] = {"d", "f", "e", nullptr, "f", nullptr, nullptr, nullptr, nullptr, nullptr,
                                    "q", "i", "h", "b",     "B", "?",     "H",     "I",     "Q"};

enum class Order { C, Fortran };

bool isContiguous(const Array &array, Order order) {
  int64_t step = 1;
  bool is = true;
  for (int i = 0; i < array.rank; ++i) {
    const int d = order == Order::C ? array.rank - 1 - i : i;
    if (array.shape[d] == 0) return true;
    is = is && (array.shape[d] == 1 || array.strides[d] == step);
    step *= array.shape[d];
  }
  return is;
}

/// Does a consumer with these flags read the elements where they are?
bool fitsFlags(const Array &array, int flags) {
  auto asks = [&](int flag) { return (flags & flag) == flag; };
  const bool isC = isContiguous(array, Order::C), isFortran = isContiguous(array, Order::Fortran);
  if (asks(PyBUF_C_CONTIGUOUS) || !asks(PyBUF_STRIDES)) return isC;
  if (asks(PyBUF_F_CONTIGUOUS)) return isFortran;
  return !asks(PyBUF_ANY_CONTIGUOUS) || isC || isFortran;
}

/// Fills `view` with the elements, under a format.
int fillBuffer(PyObject *object, Py_buffer *view, int flags, const char *format) {
  Array &array = self(object);
  view->obj = nullptr;
  auto fail = [](const char *why) {
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
  };
  if (!array.context->isHost) return fail("the array is in the memory of a device: use numpy()");
  if (!format) return fail("the buffer protocol has no such elements: use asarray(x, dtype)");
  if ((flags & PyBUF_WRITABLE) && array.isReadOnly) return fail("the array is read-only");
  if (!fitsFlags(array, flags)) return fail("the array is not contiguous");
  if (!waitFor(array)) return -1;
  auto *sizes = static_cast<Py_ssize_t *>(std::malloc(sizeof(Py_ssize_t) * 2 * kMaxRank));
  if (!sizes) return PyErr_NoMemory(), -1;
  const Py_ssize_t item = dtypeBytes(array.dtype);
  Py_ssize_t count = 1;
  for (int i = 0; i < array.rank; ++i) {
    sizes[i] = array.shape[i];
    sizes[kMaxRank + i] = array.strides[i] * item;
    count *= sizes[i];
  }
  view->buf = array.data;
  view->obj = Py_NewRef(object);
  view->len = count * item;
  view->itemsize = item;
  view->readonly = array.isReadOnly;
  view->ndim = array.rank;
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char *>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) == PyBUF_ND ? sizes : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + kMaxRank : nullptr;
  view->suboffsets = nullptr;
  view->internal = sizes;
  ++array.exports;
  return 0;
}

int getBuffer(PyObject *object, Py_buffer *view, int flags) {
  return fillBuffer(object, view, flags, kFormats[self(object).dtype]);
}

void releaseBuffer(PyObject *object, Py_buffer *view) {
  --self(object).exports;
  std::free(view->internal);
}

// --- DLPack ---

struct Exported {
  dlpack::Versioned versioned;
  dlpack::Managed managed;
  int64_t shape[kMaxRank], strides[kMaxRank];
  PyObject *owner;
};

void drop(Exported *e) {
  const WithGil taken;
  if (!taken) return; // at the interpreter's end, which frees nothing
  --self(e->owner).exports;
  Py_DECREF(e->owner);
  delete e;
}

void dropCapsule(PyObject *capsule) { // only of capsules that nobody used
  for (const char *name : {"dltensor", "dltensor_versioned"}) {
    if (!PyCapsule_IsValid(capsule, name)) continue;
    void *managed = PyCapsule_GetPointer(capsule, name);
    drop(static_cast<Exported *>(std::strlen(name) > 8 ? static_cast<dlpack::Versioned *>(managed)->context
                                                       : static_cast<dlpack::Managed *>(managed)->context));
  }
}

/// Why a tensor cannot be exported; null: it can.
const char *refusal(const Array &array, PyObject *device, PyObject *copy) {
  if (array.dtype >= TSR_DTYPE_FP6_E2M3 && array.dtype <= TSR_DTYPE_FP4_E2M1)
    return "elements of fewer than 8 bits are in a byte each, which DLPack cannot say: use asarray(x, dtype)";
  if (copy == Py_True) return "__dlpack__ shares memory and copies nothing: use asarray(x)";
  if (!device || device == Py_None) return nullptr;
  Ref own(Py_BuildValue("(ii)", deviceTypeOf(*array.context), kDevice));
  const int isSame = own ? PyObject_RichCompareBool(own.get(), device, Py_EQ) : -1;
  if (isSame < 0) clearError();
  return isSame == 1 ? nullptr : "the array is on another device: __dlpack__ copies nothing";
}

/// Makes the stream of a consumer, by its number in DLPack, wait for the work on the array. Without such
/// numbers, waits for the work itself. Returns false after raising.
bool letWait(Array &array, PyObject *number) {
  const NativeStreams *native = nativeStreamsOf(deviceTypeOf(*array.context));
  if (!native) return waitFor(array);
  const bool isDefault = !number || number == Py_None;
  const long long stream = isDefault ? native->defaultStream : PyLong_AsLongLong(number);
  if (PyErr_Occurred()) return false;
  if (stream == -1) return true; // the consumer orders the work
  const bool isKnown = stream > 2 || stream == native->defaultStream || stream == 2 * native->defaultStream;
  if (!isKnown) { // only CUDA has a default stream of each thread, 2
    PyErr_Format(PyExc_BufferError, "stream: DLPack has no number %lld for a stream of %s", stream,
                 native->api);
    return false;
  }
  if (!array.last) return true;
  if (array.last->isCapturing) return waitFor(array); // which says that nothing of it runs
  const Ref alive = Ref::borrow(reinterpret_cast<PyObject *>(array.last));
  const tsr_native_stream_t consumer = {sizeof consumer, native->api, reinterpret_cast<void *>(stream)};
  tsr_status_t status;
  std::string said;
  {
    WithoutGil released;
    status = tsrNativeWaitStream(&consumer, reinterpret_cast<Stream *>(alive.get())->handle);
    if (status != TSR_SUCCESS) said = tsrLastError();
  }
  if (status == TSR_UNIMPLEMENTED) return waitFor(array);
  return status == TSR_SUCCESS || (raiseSaid(status, said), false);
}

/// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject *toDLPack(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {const_cast<char *>("stream"), const_cast<char *>("max_version"),
                          const_cast<char *>("dl_device"), const_cast<char *>("copy"), nullptr};
  PyObject *stream = nullptr, *version = nullptr, *device = nullptr, *copy = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", names, &stream, &version, &device, &copy))
    return nullptr;
  Array &array = self(object);
  if (const char *why = refusal(array, device, copy)) return PyErr_SetString(PyExc_BufferError, why), nullptr;
  if (!letWait(array, stream)) return nullptr;
  static const std::pair<uint8_t, uint8_t> kCodes[] = {
      {dlpack::Float, 64}, {dlpack::Float, 32}, {dlpack::Float, 16}, {dlpack::BFloat, 16},
      {dlpack::Float, 32}, {dlpack::E4M3FN, 8}, {dlpack::E5M2, 8},   {dlpack::E2M3, 8},
      {dlpack::E3M2, 8},   {dlpack::E2M1, 8},   {dlpack::Int, 64},   {dlpack::Int, 32},
      {dlpack::Int, 16},   {dlpack::Int, 8},    {dlpack::UInt, 8},   {dlpack::Bool, 8},
      {dlpack::UInt, 16},  {dlpack::UInt, 32},  {dlpack::UInt, 64}};
  long major = 0;
  if (version && PyTuple_Check(version) && PyTuple_Size(version) == 2) {
    major = PyLong_AsLong(PyTuple_GetItem(version, 0));
    if (major == -1 && PyErr_Occurred()) return nullptr;
  }
  if (major < 1 && array.isReadOnly) {
    PyErr_SetString(PyExc_BufferError, "DLPack 0.x cannot export a read-only array");
    return nullptr;
  }
  auto e = std::make_unique<Exported>();
  std::memcpy(e->shape, array.shape, sizeof e->shape);
  std::memcpy(e->strides, array.strides, sizeof e->strides);
  const auto [code, bits] = kCodes[array.dtype];
  dlpack::Tensor t{};
  t.data = array.data;
  t.device = {deviceTypeOf(*array.context), kDevice};
  t.rank = array.rank;
  t.dtype = {code, bits, 1};
  t.shape = e->shape;
  t.strides = e->strides;
  e->versioned = {{1, 0},
                  e.get(),
                  [](dlpack::Versioned *m) { drop(static_cast<Exported *>(m->context)); },
                  array.isReadOnly ? dlpack::kReadOnly : 0,
                  t};
  e->managed = {t, e.get(), [](dlpack::Managed *m) { drop(static_cast<Exported *>(m->context)); }};
  PyObject *capsule = major >= 1 ? PyCapsule_New(&e->versioned, "dltensor_versioned", dropCapsule)
                                 : PyCapsule_New(&e->managed, "dltensor", dropCapsule);
  if (!capsule) return nullptr;
  e.release()->owner = Py_NewRef(object);
  ++array.exports;
  return capsule;
}

PyObject *dlpackDevice(PyObject *object, PyObject *) {
  return Py_BuildValue("(ii)", deviceTypeOf(*self(object).context), kDevice);
}

/// Makes what is queued on the stream from now on come after what another library has queued on its tensor.
bool follow(const Tensor &tensor, Stream &stream) {
  Foreign foreign;
  if (!foreign.add(tensor)) return false;
  const tsr_status_t status = foreign.before(stream.handle);
  return status == TSR_SUCCESS || (raise(status), false);
}

/// from_dlpack(object): an array that views the memory of another library's tensor.
PyObject *fromDLPack(PyObject *, PyObject *object) {
  Context *context = currentContext();
  if (!context) return nullptr;
  auto foreign = std::make_unique<Tensor>();
  if (!foreign->readExported(object, typeOf(object), "x")) return nullptr;
  if (!foreign->isOn(*context))
    return refuse("E_ARG_DEVICE",
                  "the tensor is in the memory of " + foreign->place() + ", not of " + context->target);
  Array *array = blank(*context, foreign->dtype, foreign->rank, foreign->shape);
  if (!array) return nullptr;
  Ref owned(reinterpret_cast<PyObject *>(array));
  std::memcpy(array->strides, foreign->strides, sizeof array->strides);
  array->data = foreign->data;
  array->isReadOnly = foreign->isReadOnly;
  array->foreign = foreign.release();
  if (!array->foreign->isOrdered) return owned.release();
  Stream *stream = currentStream(*context); // the others wait for it at their first call on the array
  if (!stream || !follow(*array->foreign, *stream) || !use(*array, *stream)) return nullptr;
  return owned.release();
}

/// _bits(): the elements of an array of one or two bytes each as u8 or u16, in the same memory of the host.
PyObject *bitsOf(PyObject *object, PyObject *) {
  Array &array = self(object);
  const bool isByte = dtypeBytes(array.dtype) == 1;
  auto held = std::make_unique<Tensor>();
  if (fillBuffer(object, &held->buffer, PyBUF_STRIDES, isByte ? "B" : "H")) return nullptr;
  held->held = Tensor::View;
  held->bytes = bytesOf(array.dtype, array.rank, array.shape);
  Array *view = blank(*array.context, isByte ? TSR_DTYPE_U8 : TSR_DTYPE_U16, array.rank, array.shape);
  if (!view) return nullptr;
  std::memcpy(view->strides, array.strides, sizeof view->strides);
  view->data = array.data;
  view->isReadOnly = array.isReadOnly;
  view->foreign = held.release();
  return reinterpret_cast<PyObject *>(view);
}

// --- Copies ---

bool readShape(PyObject *tuple, int64_t *shape, int &rank) {
  rank = static_cast<int>(PyTuple_Size(tuple));
  if (rank > kMaxRank) return refuse("E_ARG_RANK", "an array has at most 8 dims"), false;
  for (int i = 0; i < rank; ++i) {
    shape[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (shape[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

/// empty(shape, dtype): an array with undefined elements.
PyObject *empty(PyObject *, PyObject *args) {
  PyObject *tuple;
  const char *dtype;
  int64_t shape[kMaxRank];
  int rank;
  if (!PyArg_ParseTuple(args, "O!s", &PyTuple_Type, &tuple, &dtype)) return nullptr;
  Context *context = currentContext();
  if (!context || !readShape(tuple, shape, rank)) return nullptr;
  if (isPacked(dtype)) return refusePacked("this", dtype), nullptr;
  if (dtypeOf(dtype) < 0) return refuse("E_ARG_DTYPE", std::string("'") + dtype + "' is no dtype");
  return reinterpret_cast<PyObject *>(newArray(*context, dtypeOf(dtype), rank, shape));
}

/// The elements of a strided tensor in the host's memory, in order.
std::vector<char> pack(const void *data, int dtype, int rank, const int64_t *shape, const int64_t *strides) {
  std::vector<char> packed(static_cast<size_t>(bytesOf(dtype, rank, shape)));
  const size_t item = dtypeBytes(dtype);
  int64_t at[kMaxRank] = {};
  for (size_t i = 0; i < packed.size(); i += item) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d)
      offset += at[d] * strides[d];
    std::memcpy(&packed[i], static_cast<const char *>(data) + offset * static_cast<int64_t>(item), item);
    for (int d = rank - 1; d >= 0 && ++at[d] == shape[d]; --d)
      at[d] = 0;
  }
  return packed;
}

/// copy_of(object): an array with the elements of an array, a buffer or a tensor of DLPack.
PyObject *copyOf(PyObject *, PyObject *object) {
  Context *context = currentContext();
  if (!context) return nullptr;
  Tensor from;
  if (!from.read(object, typeOf(object), "x")) return nullptr;
  const bool isFromHost = from.isHost || (from.context && from.context->isHost);
  if (!isFromHost && !from.isOn(*context))
    return refuse("E_ARG_DEVICE",
                  "the array is in the memory of " + from.place() + ", not of " + context->target,
                  "copy it to the host first");
  if (!isFromHost && !from.isContiguous)
    return refuse("E_ARG_STRIDES", "an array on a device is copied only if it is contiguous");
  Stream *stream = currentStream(*context);
  if (!stream || !wait(*stream) || (from.context && !waitFor(self(object)))) return nullptr;
  if (!isFromHost && !follow(from, *stream)) return nullptr;
  Array *array = newArray(*context, from.dtype, from.rank, from.shape);
  if (!array) return nullptr;
  Ref owned(reinterpret_cast<PyObject *>(array));
  const auto bytes = static_cast<size_t>(bytesOf(from.dtype, from.rank, from.shape));
  tsr_status_t status = TSR_SUCCESS;
  {
    WithoutGil released; // and no signals: the stream is idle, so the copy is all that it waits for
    std::vector<char> packed;
    const void *source = from.data;
    if (!from.isContiguous) {
      packed = pack(from.data, from.dtype, from.rank, from.shape, from.strides);
      source = packed.data();
    }
    const auto copy = isFromHost ? tsrMemcpyH2DAsync : tsrMemcpyD2DAsync;
    if (bytes) status = copy(context->handle, array->data, source, bytes, stream->handle);
    if (status == TSR_SUCCESS) status = tsrStreamSynchronize(stream->handle);
  }
  return status == TSR_SUCCESS ? owned.release() : raise(status);
}

/// _copy_to(buffer): copies the elements to a contiguous buffer of as many bytes.
PyObject *copyTo(PyObject *object, PyObject *target) {
  Array &array = self(object);
  struct Buffer {
    Py_buffer view{};
    ~Buffer() {
      if (ownsPython()) PyBuffer_Release(&view);
    }
  } owned;
  Py_buffer &view = owned.view;
  if (PyObject_GetBuffer(target, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS)) return nullptr;
  const int64_t bytes = bytesOf(array.dtype, array.rank, array.shape);
  tsr_status_t status = TSR_SUCCESS;
  if (view.len != bytes) return refuse("E_ARG_SHAPE", "the array has " + std::to_string(bytes) + " bytes");
  Stream *stream = currentStream(*array.context);
  if (!stream || !waitFor(array) || !wait(*stream)) return nullptr;
  {
    WithoutGil released; // and no signals: the stream is idle
    if (bytes && array.context->isHost && isContiguous(array, Order::C)) {
      std::memcpy(view.buf, array.data, static_cast<size_t>(bytes));
    } else if (bytes && array.context->isHost) {
      const std::vector<char> packed = pack(array.data, array.dtype, array.rank, array.shape, array.strides);
      std::memcpy(view.buf, packed.data(), packed.size());
    } else if (bytes) {
      status = tsrMemcpyD2HAsync(array.context->handle, view.buf, array.data, static_cast<size_t>(bytes),
                                 stream->handle);
      if (status == TSR_SUCCESS) status = tsrStreamSynchronize(stream->handle);
    }
  }
  return status == TSR_SUCCESS ? none() : raise(status);
}

// --- Attributes ---

PyObject *shapeOf(PyObject *object, void *) {
  Array &array = self(object);
  Ref tuple(PyTuple_New(array.rank));
  for (int i = 0; tuple && i < array.rank; ++i)
    if (PyTuple_SetItem(tuple.get(), i, PyLong_FromLongLong(array.shape[i]))) return nullptr;
  return tuple.release();
}
PyObject *dtypeNameOf(PyObject *object, void *) {
  return PyUnicode_FromString(dtypeName(self(object).dtype));
}
PyObject *deviceOf(PyObject *object, void *) {
  return PyUnicode_FromString(self(object).context->backend.c_str());
}
/// Calls tessera._interop.NAME(self) or tessera._dtypes.NAME(value).
PyObject *forward(const char *module, const char *function, PyObject *argument) {
  Ref owner(PyImport_ImportModule(module));
  return owner ? PyObject_CallMethod(owner.get(), function, "O", argument) : nullptr;
}
PyObject *dtypeOfArray(PyObject *object, void *) {
  Ref name(dtypeNameOf(object, nullptr));
  return name ? forward("tessera._dtypes", "of", name.get()) : nullptr;
}
PyObject *numpyOf(PyObject *object, PyObject *) { return forward("tessera._interop", "numpy", object); }
/// __array__(dtype=None, copy=None): what NumPy calls where the buffer protocol refuses, to hear why.
PyObject *toNumPy(PyObject *object, PyObject *args, PyObject *keywords) {
  Ref array(numpyOf(object, nullptr)),
      convert(array ? PyObject_GetAttrString(array.get(), "__array__") : nullptr);
  return convert ? PyObject_Call(convert.get(), args, keywords) : nullptr;
}
PyObject *represent(PyObject *object) { return forward("tessera._interop", "represent", object); }
PyObject *ndimOf(PyObject *object, void *) { return PyLong_FromLong(self(object).rank); }
Py_ssize_t length(PyObject *object) {
  if (self(object).rank) return static_cast<Py_ssize_t>(self(object).shape[0]);
  PyErr_SetString(PyExc_TypeError, "len() of an array of rank 0");
  return -1;
}

PyObject *bytesAttribute(PyObject *object, void *) {
  return PyLong_FromLongLong(bytesOf(self(object).dtype, self(object).rank, self(object).shape));
}

} // namespace

PyMethodDef arrayMethods[] = {{"empty", method<empty>(), METH_VARARGS, nullptr},
                              {"copy_of", method<copyOf>(), METH_O, nullptr},
                              {"from_dlpack", method<fromDLPack>(), METH_O, nullptr},
                              {nullptr, nullptr, 0, nullptr}};

bool addArray(PyObject *module) {
  static PyMethodDef methods[] = {{"__dlpack__", method<toDLPack>(), METH_VARARGS | METH_KEYWORDS, nullptr},
                                  {"__dlpack_device__", method<dlpackDevice>(), METH_NOARGS, nullptr},
                                  {"__array__", method<toNumPy>(), METH_VARARGS | METH_KEYWORDS, nullptr},
                                  {"_copy_to", method<copyTo>(), METH_O, nullptr},
                                  {"_bits", method<bitsOf>(), METH_NOARGS, nullptr},
                                  {"numpy", method<numpyOf>(), METH_NOARGS,
                                   "A NumPy array with these elements. On the CPU it shares their memory."},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef attributes[] = {
      {"shape", guarded<shapeOf>, nullptr, "The extents, a tuple.", nullptr},
      {"ndim", guarded<ndimOf>, nullptr, "The number of extents.", nullptr},
      {"dtype", guarded<dtypeOfArray>, nullptr, "The ts.DType of the elements.", nullptr},
      {"_dtype", guarded<dtypeNameOf>, nullptr, nullptr, nullptr},
      {"device", guarded<deviceOf>, nullptr, "The backend whose memory it is in.", nullptr},
      {"nbytes", guarded<bytesAttribute>, nullptr, "The size of the elements in bytes.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {Py_tp_repr, slot<represent>()},
                                {Py_mp_length, slot<length>()},
                                {Py_bf_getbuffer, slot<getBuffer>()},
                                {Py_bf_releasebuffer, reinterpret_cast<void *>(releaseBuffer)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tessera._core.Array", sizeof(Array), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return (arrayType = addType(module, spec, "Array"));
}

} // namespace tessera::python
