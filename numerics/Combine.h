// The element-wise reduction of collectives: out[i] = op over sources[0..ranks)[i], with one definition for
// every implementation.
//
//   order      pairwise by rank: neighbours 2i and 2i + 1 combine, level by level, an odd last one moves up.
//              So the bits depend only on the values and the number of ranks.
//   f64, f32   IEEE operations, no flushing of subnormals whatever the thread's modes
//   f16 bf16 tf32 fp8 fp6 fp4
//              computed in f32 and rounded once at the end, as numerics/Casts.h casts (fp8, fp6 and fp4
//              saturate)
//   integers   sums and products wrap
//   bool       sum and max are `or`, prod and min are `and`; any non-zero byte is true, results are 0 or 1
//   max, min   a NaN makes the result NaN, -0 is less than +0
//
// A NaN's payload is unspecified. Pure and thread-safe.
#pragma once
#include "numerics/DType.h"
#include <cstddef>

namespace tessera {

enum class CombineOp : uint8_t { Sum, Max, Min, Prod }; // the numbers of TSR_REDUCE_*

/// `out` may be one of the sources, but must not overlap them otherwise. A single source is copied unchanged.
/// All arrays are aligned to the element.
void combine(void *out, const void *const *sources, int ranks, size_t count, DType t, CombineOp op);

} // namespace tessera
