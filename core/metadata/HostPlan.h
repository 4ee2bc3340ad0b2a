// The host plan of a function: the kernels it launches, in stream order, and the temporaries between them. A
// graph function's metadata document holds it as its section `plan`, in place of `launch`:
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
//     checks:                      # of the dims of a call: what has to be 0 or more, and what is wrong else
//       - {value: "M - 2", says: "0:2 is outside a dim of M of 'x' [M, D]"}
//     steps:
//       - {kernel: mlp.g0, args: [x, t0, M, "4*D", D]}    # one per parameter of that kernel, D15 order
//       - {kernel: mlp.g1, args: [t0, result, scale, M, D, "4*D"]}
//       - {call: blas.gemm.f32.nn, args: [x, w, t0, M, D, "4*D"]}    # of a library: core/library/GemmCall.h
//
// A step's argument is text. For a tensor it names a parameter, a result or a buffer; for a scalar it names a
// scalar parameter of the same dtype or is a literal (1.5, .inf, true), or an expression when the scalar is
// an integer; for a dim it is an expression. Expressions are those of core/metadata/KernelMetadata.h, over
// the function's dims and integer scalars. A buffer lives from the first to the last step that names it, and
// steps may name it with different dims as long as its bytes suffice: a reshape costs nothing.
//
// The document alone is checked when it is read; steps are checked against their kernels' parameters when a
// module is loaded (core/function/FunctionPlan.h), which is also where a buffer read before it is written is
// found.
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
  std::string kernel; // "mlp.g0", an entry of the same module; of a library call "blas.gemm.f32.nn"
  std::vector<std::string> args;
  bool isLibraryCall = false;
};

struct PlanCheck {
  std::string value, says;
};

struct HostPlan {
  std::vector<PlanBuffer> buffers;
  std::vector<PlanCheck> checks;
  std::vector<PlanStep> steps; // in stream order
};

} // namespace tessera
