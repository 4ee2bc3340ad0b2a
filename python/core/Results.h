// The results of a call, allocated as the kind of array that its arguments are.
#pragma once
#include "python/core/Array.h"

namespace tessera::python {

struct Result {
  Ref object;
  void *data = nullptr;
  bool isHost = false;

  /// For arguments of `kind`: an array of NumPy, or a ts.Array where NumPy has no such dtype or the arguments
  /// are of other kinds. Returns false after raising.
  bool allocate(Context &, TypeKind kind, int dtype, int rank, const int64_t *shape);
  /// The object to return, converted if there is something to convert with.
  PyObject *take(PyObject *convert);
};

/// from_dlpack() of the library that a tensor is of, borrowed; null without raising if it has none.
PyObject *converterTo(PyObject *like);

} // namespace tessera::python
