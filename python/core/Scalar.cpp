#include "python/core/Scalar.h"
#include "python/core/Code.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace tessera::python {

std::string nameOfType(PyObject *object) {
  Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)), "__name__"));
  std::string out;
  return name && text(name.get(), out) ? out : "";
}

namespace {

/// `expected`: " is a scalar of f32: expected a number".
void refuseType(PyObject *object, const char *name, const std::string &expected, const char *hint = "") {
  const std::string found = nameOfType(object);
  if (found.empty()) return;
  const bool isMethod = std::strcmp(name, "self") == 0;
  refuse("E_ARG_TYPE", name + expected + ", found " + found,
         isMethod ? "kernels in classes have no self: write @staticmethod above the decorator" : hint);
}

bool refuseType(PyObject *object, int dtype, const char *name, const char *expected) {
  refuseType(object, name, std::string(" is a scalar of ") + dtypeName(dtype) + ": expected " + expected);
  return false;
}

bool refuseRange(PyObject *object, int dtype, const char *name) {
  Ref shown(PyObject_Repr(object));
  std::string found;
  if (!shown || !text(shown.get(), found)) return false;
  refuse("E_ARG_RANGE", std::string(name) + " = " + found + " does not fit in " + dtypeName(dtype));
  return false;
}

/// Is the exception about something else than the argument, as Ctrl-C or the memory?
bool isForeign() {
  return !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError);
}

bool isBool(PyObject *object) {
  if (PyBool_Check(object)) return true;
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) return false;
  Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object)), "__name__"));
  return name && (PyUnicode_CompareWithASCIIString(name.get(), "bool_") == 0 ||
                  PyUnicode_CompareWithASCIIString(name.get(), "bool") == 0); // of NumPy
}

/// Is it a complex number, a date or a time of NumPy? NumPy converts them, and drops what they mean.
bool hasMore(PyObject *object) {
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object)) return false;
  Ref dtype(PyObject_GetAttrString(object, "dtype")),
      kind(dtype ? PyObject_GetAttrString(dtype.get(), "kind") : nullptr);
  if (!kind) clearError();
  if (!kind || !PyUnicode_Check(kind.get())) return false;
  const auto is = [&](const char *text) { return PyUnicode_CompareWithASCIIString(kind.get(), text) == 0; };
  return is("c") || is("m") || is("M");
}

bool readInt(PyObject *object, int dtype, const char *name, uint64_t &bits) {
  if (isBool(object) || hasMore(object)) return refuseType(object, dtype, name, "an int");
  Ref index(PyNumber_Index(object));
  if (!index) {
    if (isForeign()) return false;
    clearError();
    return refuseType(object, dtype, name, "an int");
  }
  const unsigned width = dtypeBytes(dtype) * 8;
  const bool isUnsigned =
      dtype == TSR_DTYPE_U8 || dtype == TSR_DTYPE_U16 || dtype == TSR_DTYPE_U32 || dtype == TSR_DTYPE_U64;
  bool fits;
  if (isUnsigned) {
    bits = PyLong_AsUnsignedLongLong(index.get());
    fits = !PyErr_Occurred() && (width == 64 || bits >> width == 0);
  } else {
    const long long value = PyLong_AsLongLong(index.get());
    fits =
        !PyErr_Occurred() && (width == 64 || (value >= -(1LL << (width - 1)) && value < 1LL << (width - 1)));
    bits = static_cast<uint64_t>(value);
    if (width < 64) bits &= (uint64_t(1) << width) - 1;
  }
  clearError();
  return fits || refuseRange(object, dtype, name);
}

/// Rounds to nearest, ties to even, to the upper half of an f32. NaN stays NaN.
uint64_t toBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return (bits >> 16) | 0x40;
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

bool readFloat(PyObject *object, int dtype, const char *name, uint64_t &bits) {
  if (isBool(object) || hasMore(object)) return refuseType(object, dtype, name, "a float");
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) {
    const bool isLarge = PyErr_ExceptionMatches(PyExc_OverflowError);
    if (isForeign()) return false;
    clearError();
    return isLarge ? refuseRange(object, dtype, name) : refuseType(object, dtype, name, "a float");
  }
  double rounded = value;
  if (dtype == TSR_DTYPE_F64) {
    bits = std::bit_cast<uint64_t>(value);
  } else if (dtype == TSR_DTYPE_F32 || dtype == TSR_DTYPE_TF32) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    rounded = static_cast<float>(value);
  } else if (dtype == TSR_DTYPE_F16) {
    const auto half = static_cast<_Float16>(value);
    bits = std::bit_cast<uint16_t>(half);
    rounded = static_cast<double>(half);
  } else if (dtype == TSR_DTYPE_BF16) {
    // Through f32, rounded to odd, so that the second rounding sees whether the first dropped anything.
    float wide = static_cast<float>(value);
    if (static_cast<double>(wide) != value && std::isfinite(wide)) {
      if (std::abs(static_cast<double>(wide)) > std::abs(value)) wide = std::nextafterf(wide, 0.0f);
      wide = std::bit_cast<float>(std::bit_cast<uint32_t>(wide) | 1);
    }
    bits = toBf16(wide);
    rounded = std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  } else {
    raiseNamed("UnsupportedError", "E_UNIMPLEMENTED",
               std::string(name) + ": a scalar of " + dtypeName(dtype) + " cannot be passed",
               "declare it f32 and cast it in the kernel");
    return false;
  }
  return std::isinf(rounded) == std::isinf(value) || refuseRange(object, dtype, name);
}

} // namespace

bool readScalar(PyObject *object, int dtype, const char *name, uint64_t &bits) {
  if (dtype == TSR_DTYPE_BOOL) {
    if (!isBool(object)) return refuseType(object, dtype, name, "a bool");
    bits = PyObject_IsTrue(object) == 1;
    return true;
  }
  const bool isFloat = dtype <= TSR_DTYPE_FP4_E2M1;
  return isFloat ? readFloat(object, dtype, name, bits) : readInt(object, dtype, name, bits);
}

int dtypeOfScalar(PyObject *object, const char *name, int ofFloat) {
  if (PyFloat_CheckExact(object)) return ofFloat;
  if (PyBool_Check(object)) return TSR_DTYPE_BOOL;
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) return refuseRange(object, TSR_DTYPE_I64, name), -1;
    return value == static_cast<int32_t>(value) ? TSR_DTYPE_I32 : TSR_DTYPE_I64;
  }
  Ref dtype(PyObject_GetAttrString(object, "dtype")); // of a NumPy scalar
  Ref itsName(dtype ? PyObject_GetAttrString(dtype.get(), "name") : nullptr);
  std::string known;
  if (itsName && text(itsName.get(), known)) {
    constexpr std::pair<const char *, int> kNames[] = {
        {"float64", TSR_DTYPE_F64},  {"float32", TSR_DTYPE_F32}, {"float16", TSR_DTYPE_F16},
        {"int64", TSR_DTYPE_I64},    {"int32", TSR_DTYPE_I32},   {"int16", TSR_DTYPE_I16},
        {"int8", TSR_DTYPE_I8},      {"uint64", TSR_DTYPE_U64},  {"uint32", TSR_DTYPE_U32},
        {"uint16", TSR_DTYPE_U16},   {"uint8", TSR_DTYPE_U8},    {"bool", TSR_DTYPE_BOOL},
        {"bfloat16", TSR_DTYPE_BF16}};
    for (auto [name, value] : kNames)
      if (known == name || known == dtypeName(value)) return value; // the latter of ts.f32(2.0)
  }
  clearError();
  if (PyFloat_Check(object)) return ofFloat;
  refuseType(object, name, ": expected an array or a number",
             "pass a NumPy array, a ts.Array, a tensor of DLPack, or a number");
  return -1;
}

} // namespace tessera::python
