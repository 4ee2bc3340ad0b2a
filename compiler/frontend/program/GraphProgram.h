// The typed form of one graph function, which the frontend passes to Graph IR. It is straight-line code:
// helpers and called graph functions are inlined, loops over constants are unrolled, and weak literals have a
// dtype.
//
// Values are in order of definition: an operand is the index of an earlier value. It does not use MLIR, as
// Program.h.
#pragma once
#include "compiler/frontend/program/Program.h"
#include <array>

namespace tessera::frontend {

using ops::GraphOp;

/// A request of @ts.op.specialize.
struct Specialization {
  std::string backend, arch;          // empty: any
  std::array<int64_t, 3> tileSizes{}; // rows, columns and depth of a product's tile
};

struct GraphValue {
  GraphOp op;
  Range loc;
  bool isScalar = false; // a scalar parameter or a constant; everything else is a tensor, possibly of rank 0
  DType dtype = DType::F32;
  std::vector<Dim> dims; // an int, or {1, text} with a canonical index expression over the function's dims
  std::vector<int> args; // indices into GraphFunction::values
  Op function = Op::Add; // Elementwise, Reduce
  std::vector<int64_t> ints;
  std::vector<std::string> texts;
  bool keepDims = false; // Reduce, Mean: a reduced axis stays, with extent 1
  double number = 0;
  int64_t integer = 0;
  int param = -1;  // Param
  int kernel = -1; // Launch: index into GraphFunction::kernels
  /// Launch: the extents of the kernel's dims; absent if each dim is an extent of a tensor of the launch.
  std::vector<Dim> kernelDims;
  std::vector<Specialization> specializations; // Matmul: the first that holds for the target counts
};

struct GraphFunction {
  std::string name;
  Range loc;
  std::vector<Param> params;     // as Kernel::params: parameters in source order, then results
  std::vector<std::string> dims; // as Kernel::dims
  std::vector<std::pair<std::string, int64_t>> specialized;
  std::vector<std::string> unused; // as Kernel::unused
  std::vector<GraphValue> values;
  /// The final value of each written parameter and of each result: tensors in the order of the parameters,
  /// then the results.
  struct Output {
    int param = -1, value = -1;
  };
  std::vector<Output> outputs;
  /// What a call must check about its dims: an index expression that must be at least 0.
  struct Check {
    std::string value, says; // "N - K", "0:K is outside a dim of N of 'x' [N]"
  };
  std::vector<Check> checks;
  std::vector<Kernel> kernels; // instances of the user's kernels; each has a unique name
};

/// Prints stable, readable text: declarations, then one line per value.
std::string dump(const GraphFunction &);

} // namespace tessera::frontend
