// Tessera's dtypes and ops in MPI's terms.
#pragma once
#include "numerics/Combine.h"
#include "plugins/mpi/collective/Session.h"

namespace tessera::mpi {

/// An MPI type of the dtype's size; of its meaning, where MPI has that.
MPI_Datatype typeOf(DType t);

/// Is the op MPI's own, or exact in any order, so that MPI may reduce by it? If not (sums and products of
/// low-precision floats, which are rounded once), ranks gather and reduce by themselves.
bool mpiReduces(DType t, CombineOp op);

/// MPI's op where its meaning is Tessera's, else one of Tessera's own (max and min, which keep NaN in Tessera
/// and not in MPI; small integers; bool). With MPI to itself; MPI_OP_NULL on failure.
MPI_Op opOf(DType t, CombineOp op);

} // namespace tessera::mpi
