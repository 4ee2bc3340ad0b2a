// The host plan of a function: the kernels it launches, in stream order, and its temporary buffers. A graph
// function's metadata document contains it as the section `plan`, in place of `launch`:
//
//   name: mlp
//   target: cpu
//   numerics: standard
//   params:                        # as a kernel's: decision D15 order
//     - {name: x, kind: tensor, dtype: f32, dims: [M, D], access: read}
//     - {name: result, kind: result, dtype: f32, dims: [M, D], access: write}
//     - {name: scale, kind: scalar, dtype: f32}
//     - {name: M, kind: dim}
//     - {name: D, kind: dim}
//   plan:
//     buffers:                     # temporaries; dims are expressions, [] is one element
//       - {name: t0, dtype: f32, dims: [M, "4*D"]}
//     checks:                      # conditions on dims: an error with this text if the value is negative
//       - {value: "M - 2", says: "0:2 is outside a dim of M of 'x' [M, D]"}
//     steps:
//       - {kernel: mlp.g0, args: [x, t0, M, "4*D", D]}    # one per parameter of that kernel, D15 order
//       - {kernel: mlp.g1, args: [t0, result, scale, M, D, "4*D"]}
//       - {call: blas.gemm.f32.nn, args: [x, w, t0, M, D, "4*D"]}    # of a library: core/library/GemmCall.h
//
// A step's argument is text. For a tensor it names a parameter, a result or a buffer. For a scalar it names a
// scalar parameter of the same dtype or is a literal (1.5, .inf, true), or an expression if the scalar is an
// integer. For a dim it is an expression. The syntax of expressions is defined in
// core/metadata/IndexExpr.h; they may use the function's dims and integer scalars. A buffer lives from
// the first to the last step that names it. Steps may name it with different dims if its bytes suffice, so a
// reshape costs nothing.
//
// Reading a document checks only the document. Loading a module checks the steps against their kernels'
// parameters, and that no buffer is read before it is written (core/function/FunctionPlan.h).
//
// Static library tessera-metadata. The structs are values.
#pragma once
#include "numerics/DType.h"
#include <string>
#include <vector>

namespace tessera {

struct PlanBuffer {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::string> dims; // expressions
};

struct PlanStep {
  std::string kernel; // "mlp.g0", an entry of the same module; or a library call such as "blas.gemm.f32.nn"
  std::vector<std::string> args;
  bool isLibraryCall = false;
};

/// A condition on dims and integer scalars: a call is refused, with the text, if the value is negative.
struct PlanCheck {
  std::string value, says;
};

struct HostPlan {
  std::vector<PlanBuffer> buffers;
  std::vector<PlanCheck> checks;
  std::vector<PlanStep> steps; // in stream order
};

} // namespace tessera
