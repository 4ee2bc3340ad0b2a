// Reference casts between all dtypes of the language (decision D13), on the host, one element or an array at
// a time.
//
//   float -> float  round to nearest even, once; fp8, fp6 and fp4 saturate overflow and +-inf to +-largest.
//                   NaN keeps its sign and leading payload bits and becomes quiet; in fp6 and fp4, which have
//                   no NaN, it becomes +largest. To tf32: rounded to 10 mantissa bits, kept as f32.
//   float -> int    truncated toward zero, saturated at the ends of the range, NaN gives 0
//   int -> float    round to nearest even, once; saturates in fp8, fp6 and fp4
//   int -> int      wraps (keeps the low bits)
//   any -> bool     value != 0, so NaN is true; bool -> any gives 0 or 1
//
// These equal LLVM's APFloat except for the saturation, and every backend's casts equal these. fp6, fp4 and
// bool are stored in the low bits of a byte; the bits above fp6 and fp4 are ignored when read and zero when
// written. A single i4 or u4 takes a byte, too; it is sign- or zero-extended when written, and the upper bits
// are ignored when read. All functions are pure and thread-safe.
#pragma once
#include "numerics/DType.h"
#include <cstddef>
#include <variant>

namespace tessera {

/// Converts one element. `bits` and the result are storage, zero-extended.
uint64_t castBits(uint64_t bits, DType from, DType to);

/// Returns the element's value, exact except for 64-bit integers beyond 2^53.
double toDouble(uint64_t bits, DType from);
uint64_t fromDouble(double value, DType to);

/// A constant of any dtype, exact: an integer or bool, or a float.
using Number = std::variant<int64_t, double>;
uint64_t fromNumber(const Number &, DType to);

/// Load and store one element in memory as zero-extended bits. No alignment is needed.
uint64_t loadBits(const void *element, DType t);
void storeBits(void *element, DType t, uint64_t bits);

/// Pack the elements of an i4 or u4 tensor, two to a byte as isPacked says, and unpack them to a byte each,
/// extended as castBits does. The arrays must not overlap.
void packElements(const void *bytes, void *packed, size_t count);
void unpackElements(const void *packed, DType t, void *bytes, size_t count);

/// Converts `count` contiguous elements, which take storageBytes each. The arrays may be identical if the
/// element sizes are equal; otherwise they must not overlap.
void castArray(const void *source, DType from, void *target, DType to, size_t count);

} // namespace tessera
