// The matrix product as a library call: its name and its arguments.
//
//   blas.gemm.f32.nt      C[M, N] = A[M, K] * B[N, K]^T     t: that operand is transposed, n: it is not
//   blas.gemm.f64.nn.ab   C[B, M, N] = A[B, M, K] * B[B, K, N] for each B; .a or .b: only that operand has B
//
// A call takes A, B, C and its dims in order of first appearance, as a kernel does (decision D15). C is
// written, never read. Static library tessera-metadata; pure.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

struct GemmCall {
  DType dtype = DType::F32; // F32 or F64; of A, B and C
  bool transA = false, transB = false;
  bool batchA = false, batchB = false; // C is batched if either is

  std::string name() const;
  /// Parses a call's name. Returns nullopt if there is no such call.
  static std::optional<GemmCall> parse(std::string_view name);
  /// Returns the dims in order, one letter each: "MKN", "BMKN".
  std::string dims() const;
  /// Returns the metadata of an equivalent kernel of one program.
  KernelMetadata metadata() const;
};

} // namespace tessera
