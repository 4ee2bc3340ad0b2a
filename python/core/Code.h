// A loaded kernel or graph function with its signature, as the call path needs it.
#pragma once
#include "python/core/Core.h"

namespace tessera::python {

/// One extent or stride: a constant, a dim, or an expression, which only the library evaluates.
struct Extent {
  int32_t kind = TSR_DIM_CONSTANT; // tsr_dim_kind_t
  int32_t dim = -1;                // of TSR_DIM_NAMED: index among the dims
  int64_t value = -1; // of TSR_DIM_CONSTANT; of TSR_DIM_NAMED the only value it was compiled for, or -1
  std::string text;
};

/// An argument of a launch.
struct Argument {
  std::string name;
  int32_t kind = TSR_ARG_TENSOR; // tsr_arg_kind_t
  int32_t dtype = -1;            // tsr_dtype_t; -1: a packed one, which no call can pass
  std::string dtypeName;
  uint32_t bytes = 0;
  bool isRead = false, isWritten = false;
  std::vector<Extent> extents, strides; // strides: empty if the tensor is contiguous
};

/// tessera._core.Code. Immutable.
struct Code {
  PyObject_HEAD Context *context;
  tsr_module_t module;
  tsr_kernel_t kernel;
  PyObject *keep;                   // of a module with several kernels: the object that unloads it; else null
  std::vector<Argument> *arguments; // in the order of the ABI: tensors, results, scalars, dims
  size_t tensors, results, scalars, dims;
  bool isSpecialized;         // it was compiled for one value of a dim
  bool isPacked;              // an argument is of a packed dtype
  bool hasExpressions;        // an extent of a tensor or a result is an expression
  std::vector<int> *returned; // by returned value: an index into `arguments`
  bool isFunction;
};

/// Null after raising. Takes over the module, unless `keep` does. `returns`: None, or what each value that
/// the source returns is: a parameter's name, or "".
PyObject *newCode(Context *, tsr_module_t, tsr_kernel_t, PyObject *keep, PyObject *returns);

/// The number of a dtype, and the name of one; -1 and "" if there is none.
int dtypeOf(const std::string &name);
const char *dtypeName(int dtype);
/// The bytes of an element, by tsr_dtype_t.
constexpr uint8_t kDTypeBytes[] = {8, 4, 2, 2, 4, 1, 1, 1, 1, 1, 8, 4, 2, 1, 1, 1, 2, 4, 8};
inline uint32_t dtypeBytes(int dtype) { return kDTypeBytes[dtype]; }
/// Is that a dtype whose elements share bytes, which has no number here?
bool isPacked(const std::string &name);
/// Raises ts.UnsupportedError.
void refusePacked(const std::string &what, const std::string &dtype);

} // namespace tessera::python
