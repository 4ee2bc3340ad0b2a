/* Dtypes that a library adds to NumPy, as ml_dtypes does: their names and sizes, and elements that are read
 * and set by their bits. They have no buffers and compute nothing. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <string.h>

static PyObject *get(void *data, void *array) {
  unsigned long bits = 0;
  (void)array;
  memcpy(&bits, data, (size_t)PyArray_ITEMSIZE((PyArrayObject *)array));
  return PyLong_FromUnsignedLong(bits);
}

static int set(PyObject *value, void *data, void *array) {
  const unsigned long bits = PyLong_AsUnsignedLong(value);
  if (PyErr_Occurred()) return -1;
  memcpy(data, &bits, (size_t)PyArray_ITEMSIZE((PyArrayObject *)array));
  return 0;
}

static void swap_n(void *to, npy_intp step, void *from, npy_intp from_step, npy_intp n, int swap,
                   void *array) {
  const size_t size = (size_t)PyArray_ITEMSIZE((PyArrayObject *)array);
  (void)swap;
  for (npy_intp i = 0; from && i < n; ++i)
    memmove((char *)to + i * step, (char *)from + i * from_step, size);
}

static void swap_one(void *to, void *from, int swap, void *array) { swap_n(to, 0, from, 0, 1, swap, array); }

static npy_bool is_set(void *data, void *array) {
  for (int i = 0; i < (int)PyArray_ITEMSIZE((PyArrayObject *)array); ++i)
    if (((char *)data)[i]) return NPY_TRUE;
  return NPY_FALSE;
}

enum { kCount = 8 };
static const struct {
  const char *name, *path;
  int size;
  char letter;
} kinds[kCount] = {{"bfloat16", "added.bfloat16", 2, 'E'},
                   {"float8_e4m3fn", "added.float8_e4m3fn", 1, '4'},
                   {"float8_e5m2", "added.float8_e5m2", 1, '5'},
                   {"float6_e2m3fn", "added.float6_e2m3fn", 1, '6'},
                   {"float6_e3m2fn", "added.float6_e3m2fn", 1, '7'},
                   {"float4_e2m1fn", "added.float4_e2m1fn", 1, '8'},
                   {"int4", "added.int4", 1, 'a'},
                   {"float8_e8m0fnu", "added.float8_e8m0fnu", 1, 'W'}};
static PyTypeObject types[kCount];
static PyArray_ArrFuncs functions[kCount];
static PyArray_Descr descriptions[kCount];

static int add(PyObject *module, int i) {
  PyTypeObject *type = &types[i];
  Py_SET_REFCNT((PyObject *)type, 1);
  type->tp_name = kinds[i].path;
  type->tp_basicsize = sizeof(PyObject) + 8;
  type->tp_flags = Py_TPFLAGS_DEFAULT;
  type->tp_base = &PyGenericArrType_Type;
  if (PyType_Ready(type)) return -1;
  PyArray_ArrFuncs *f = &functions[i];
  PyArray_InitArrFuncs(f);
  f->getitem = get;
  f->setitem = set;
  f->copyswap = swap_one;
  f->copyswapn = swap_n;
  f->nonzero = is_set;
  PyArray_Descr *d = &descriptions[i];
  PyObject_Init((PyObject *)d, &PyArrayDescr_Type);
  d->typeobj = type;
  d->kind = 'V';
  d->type = kinds[i].letter;
  d->byteorder = '=';
  d->flags = NPY_NEEDS_PYAPI | NPY_USE_GETITEM | NPY_USE_SETITEM;
  d->elsize = kinds[i].size;
  d->alignment = kinds[i].size;
  d->f = f;
  d->hash = -1;
  if (PyArray_RegisterDataType(d) < 0) return -1;
  return PyModule_AddObjectRef(module, kinds[i].name, (PyObject *)type);
}

PyMODINIT_FUNC PyInit_added(void) {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "added", NULL, -1, NULL, NULL, NULL, NULL, NULL};
  import_array();
  PyObject *module = PyModule_Create(&definition);
  for (int i = 0; module && i < kCount; ++i)
    if (add(module, i)) return NULL;
  return module;
}
