// Numbers of Python as scalars of a dtype.
#pragma once
#include "python/core/Core.h"

namespace tessera::python {

/// Writes the bits of `object` as a scalar of `dtype`, checked against its range. `name` is what errors call
/// it. Returns false after raising.
bool readScalar(PyObject *object, int dtype, const char *name, uint64_t &bits);
/// The dtype of a scalar whose parameter has no type: that of a NumPy scalar, bool, i32 (i64 if it does not
/// fit), `ofFloat`. -1 after raising.
int dtypeOfScalar(PyObject *object, const char *name, int ofFloat);
/// The name of an object's type; "" after raising.
std::string nameOfType(PyObject *object);

} // namespace tessera::python
