// Library calls of host plans as what a stream launches. Each is dressed as a kernel of one program, so that
// plans, streams and graphs know nothing of libraries.
#pragma once
#include "core/objects/Objects.h"
#include <string>

namespace tessera {

/// Prepares the call `name` ("blas.gemm.f32.nn") for a context. TSR_UNIMPLEMENTED: this version, or the
/// context's backend, has no such call; TSR_ENOTFOUND: the library is not installed. `why` names operation,
/// dtype, library and remedy. What `out` points at stands for ever.
tsr_status_t libraryCall(ContextObject &context, const std::string &name, StepKernel &out, std::string &why);

} // namespace tessera
