/* A library of tensors for tests and for ./dev bench python: its type publishes DLPack's table of C
 * functions. The structs are written down here once more, from the standard, and are not those of the
 * package. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

typedef struct DLPackExchangeAPI {
  uint32_t major, minor;
  struct DLPackExchangeAPI *prev_api;
  void *managed_tensor_allocator;
  int (*managed_tensor_from_py_object_no_sync)(void *, DLManagedTensorVersioned **);
  void *managed_tensor_to_py_object_no_sync;
  int (*dltensor_from_py_object_no_sync)(void *, DLTensor *);
  int (*current_work_stream)(int32_t, int32_t, void **);
} DLPackExchangeAPI;

/* Tensor(buffer, device_type=1, read_only=False): the elements of a contiguous buffer of f32. */
typedef struct {
  PyObject_HEAD Py_buffer view;
  int64_t shape[1], strides[1];
  int device_type, read_only;
} Tensor;

static long views, exports, alive, asked;

static void describe(Tensor *self, DLTensor *out) {
  const DLTensor tensor = {self->view.buf, self->device_type, 0, 1, 2, 32, 1, self->shape, self->strides, 0};
  *out = tensor;
}

static int view(void *object, DLTensor *out) {
  ++views;
  describe(object, out);
  return 0;
}

static int fail(void *object, DLTensor *out) {
  (void)object, (void)out;
  PyErr_SetString(PyExc_RuntimeError, "the table has failed");
  return -1;
}

static void delete(DLManagedTensorVersioned *tensor) {
  --alive;
  Py_DECREF((PyObject *)tensor->manager_ctx);
  free(tensor);
}

static int export(void *object, DLManagedTensorVersioned **out) {
  DLManagedTensorVersioned *made = calloc(1, sizeof *made);
  if (!made) return PyErr_NoMemory(), -1;
  ++exports, ++alive;
  Py_INCREF((PyObject *)object);
  made->major = 1, made->minor = 3, made->manager_ctx = object, made->deleter = delete;
  made->flags = ((Tensor *)object)->read_only ? 1 : 0;
  describe(object, &made->dl_tensor);
  *out = made;
  return 0;
}

static void *current;

static int stream(int32_t type, int32_t id, void **out) {
  (void)type, (void)id;
  *out = current;
  ++asked;
  return 0;
}

/* use_stream(handle) -> how often the current stream was asked for. From now on it is this one. */
static PyObject *use_stream(PyObject *module, PyObject *handle) {
  (void)module;
  current = PyLong_AsVoidPtr(handle);
  return PyErr_Occurred() ? NULL : PyLong_FromLong(asked);
}

/* table(kind, major=1, before=0) -> (capsule, address): kind is "view", "export", "fail" or "quiet", which
 * does not tell the current stream; `before` is the address of the table of an earlier version. Tables live
 * as long as the process, as the standard wants it. */
static PyObject *table(PyObject *module, PyObject *args) {
  const char *kind;
  unsigned major = 1;
  unsigned long long before = 0;
  (void)module;
  if (!PyArg_ParseTuple(args, "s|IK", &kind, &major, &before)) return NULL;
  DLPackExchangeAPI *api = calloc(1, sizeof *api);
  if (!api) return PyErr_NoMemory();
  api->major = major, api->minor = 3, api->prev_api = (DLPackExchangeAPI *)(uintptr_t)before;
  api->managed_tensor_from_py_object_no_sync = export;
  if (*kind != 'q') api->current_work_stream = stream;
  if (*kind != 'e') api->dltensor_from_py_object_no_sync = *kind == 'f' ? fail : view;
  PyObject *capsule = PyCapsule_New(api, "dlpack_exchange_api", NULL);
  return capsule ? Py_BuildValue("(NK)", capsule, (unsigned long long)(uintptr_t)api) : NULL;
}

/* counts() -> (views, exports, exported tensors that are alive) */
static PyObject *counts(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return Py_BuildValue("(lll)", views, exports, alive);
}

static int init(PyObject *object, PyObject *args, PyObject *keywords) {
  static char *names[] = {"buffer", "device_type", "read_only", NULL};
  Tensor *self = (Tensor *)object;
  PyObject *buffer;
  self->device_type = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|ip", names, &buffer, &self->device_type,
                                   &self->read_only) ||
      PyObject_GetBuffer(buffer, &self->view, PyBUF_CONTIG_RO))
    return -1;
  self->shape[0] = self->view.len / 4;
  self->strides[0] = 1;
  return 0;
}

static void deallocate(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyBuffer_Release(&((Tensor *)object)->view);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

PyMODINIT_FUNC PyInit_producer(void) {
  static PyType_Slot slots[] = {{Py_tp_init, init}, {Py_tp_dealloc, deallocate}, {0, NULL}};
  static PyType_Spec spec = {"producer.Tensor", sizeof(Tensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  static PyMethodDef methods[] = {{"table", table, METH_VARARGS, NULL},
                                  {"counts", counts, METH_NOARGS, NULL},
                                  {"use_stream", use_stream, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "producer", NULL, -1, methods, NULL, NULL, NULL, NULL};
  PyObject *module = PyModule_Create(&definition), *type = PyType_FromSpec(&spec);
  if (!module || !type || PyModule_AddObjectRef(module, "Tensor", type)) return NULL;
  Py_DECREF(type);
  return module;
}
