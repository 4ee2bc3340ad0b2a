// The typed form of one graph function: what the frontend hands to Graph IR. Straight-line: helpers and
// called graph functions are inlined, loops over constants unrolled, weak literals have a dtype.
//
// Values are in order of definition: an operand is the index of an earlier one. No MLIR here, as in
// Program.h.
#pragma once
#include "compiler/frontend/program/Program.h"

namespace tessera::frontend {

using ops::GraphOp;

struct GraphValue {
  GraphOp op;
  Range loc;
  bool isScalar = false; // a scalar parameter or a constant; everything else is a tensor, of rank 0 maybe
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
};

struct GraphFunction {
  std::string name;
  Range loc;
  std::vector<Param> params;     // as Kernel::params: parameters in source order, then results
  std::vector<std::string> dims; // as Kernel::dims
  std::vector<std::pair<std::string, int64_t>> specialized;
  std::vector<std::string> unused; // as Kernel::unused
  std::vector<GraphValue> values;
  /// The value each written parameter and each result ends with: tensors in order of parameters, then
  /// results.
  struct Output {
    int param = -1, value = -1;
  };
  std::vector<Output> outputs;
  /// What a call has to check about its dims: an index expression that is 0 or more.
  struct Check {
    std::string value, says; // "N - K", "0:K is outside a dim of N of 'x' [N]"
  };
  std::vector<Check> checks;
  std::vector<Kernel> kernels; // instances of the user's kernels; each has a name of its own
};

/// A stable, readable text: declarations, then one line per value.
std::string dump(const GraphFunction &);

} // namespace tessera::frontend
