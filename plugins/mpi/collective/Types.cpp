#include "plugins/mpi/collective/Types.h"

namespace tessera::mpi {
namespace {

constexpr size_t kDTypes = size_t(DType::U64) + 1, kOps = size_t(CombineOp::Prod) + 1;

/// Returns whether MPI's op can be used. Integers of 8 and 16 bits and unsigned ones are excluded:
/// OpenMPI 4.1 saturates the sums of narrow ones if it has vector instructions, and MPICH 4.0 confuses some
/// of them with other types, and gives wrong maxima of u32.
bool isNative(DType t, CombineOp op) {
  if (t == DType::I64 || t == DType::I32) return true;
  return (t == DType::F32 || t == DType::F64) && (op == CombineOp::Sum || op == CombineOp::Prod);
}

/// The form of a user-defined MPI op: inout = in op inout. MPI passes only the MPI type to the function, so
/// there is one function for each pair of dtype and op.
template <size_t dtype, size_t op> void apply(void *in, void *inout, int *length, MPI_Datatype *) {
  const void *const sources[] = {in, inout};
  combine(inout, sources, 2, static_cast<size_t>(*length), static_cast<DType>(dtype),
          static_cast<CombineOp>(op));
}

using Function = void (*)(void *, void *, int *, MPI_Datatype *);
template <size_t... i> constexpr auto table(std::index_sequence<i...>) {
  return std::array<Function, sizeof...(i)>{apply<i / kOps, i % kOps>...};
}
constexpr auto kFunctions = table(std::make_index_sequence<kDTypes * kOps>());

} // namespace

MPI_Datatype typeOf(DType t) {
  switch (t) {
  case DType::F64:
    return MPI_DOUBLE;
  case DType::F32:
  case DType::TF32:
    return MPI_FLOAT;
  case DType::I64:
    return MPI_INT64_T;
  case DType::I32:
    return MPI_INT32_T;
  case DType::I16:
    return MPI_INT16_T;
  case DType::I8:
    return MPI_INT8_T;
  case DType::U64:
    return MPI_UINT64_T;
  case DType::U32:
    return MPI_UINT32_T;
  default:
    return storageBytes(t) == 2 ? MPI_UINT16_T : MPI_UINT8_T;
  }
}

bool mpiReduces(DType t, CombineOp op) {
  return isNative(t, op) || !isFloat(t) || op == CombineOp::Max || op == CombineOp::Min;
}

MPI_Op opOf(DType t, CombineOp op) {
  static MPI_Op own[kDTypes * kOps];
  static bool made[kDTypes * kOps];
  if (isNative(t, op)) {
    const MPI_Op native[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD};
    return native[static_cast<size_t>(op)];
  }
  const size_t i = static_cast<size_t>(t) * kOps + static_cast<size_t>(op);
  if (!made[i]) made[i] = MPI_Op_create(kFunctions[i], 1, &own[i]) == MPI_SUCCESS;
  return made[i] ? own[i] : MPI_OP_NULL;
}

} // namespace tessera::mpi
