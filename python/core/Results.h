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
  /// The object to return. Arguments of DLPack get the array as `first`'s library has it.
  PyObject *take(TypeKind kind, PyObject *first);
};

} // namespace tessera::python
