// Library calls of host plans in a form that streams can launch. Each call is wrapped as a kernel of one
// program, so that plans, streams and graphs need no knowledge of libraries.
#pragma once
#include "core/objects/Objects.h"
#include <string>

namespace tessera {

/// Prepares the call `name` ("blas.gemm.f32.nn") for a context. TSR_UNIMPLEMENTED: this version, or the
/// context's backend, has no such call. TSR_ENOTFOUND: the library is not installed. `why` names the
/// operation, the dtype, the library and the remedy. The object at `out` lives as long as the process.
tsr_status_t libraryCall(ContextObject &context, const std::string &name, StepKernel &out, std::string &why);

} // namespace tessera
