// Translates Tessera's dtypes and ops to MPI's.
#pragma once
#include "numerics/Combine.h"
#include "plugins/mpi/collective/Session.h"

namespace tessera::mpi {

/// Returns an MPI type of the dtype's size, and with its meaning if MPI has such a type.
MPI_Datatype typeOf(DType t);

/// Returns whether MPI may reduce with the op, because it is MPI's own or exact in any order. If not (sums
/// and products of low-precision floats, which are rounded once), the ranks gather the operands and reduce
/// them themselves.
bool mpiReduces(DType t, CombineOp op);

/// Returns MPI's op if it has the same meaning as Tessera's, else a user-defined op (max and min, which keep
/// NaN in Tessera but not in MPI; small integers; bool). The caller holds MPI's lock. Returns MPI_OP_NULL on
/// failure.
MPI_Op opOf(DType t, CombineOp op);

} // namespace tessera::mpi
