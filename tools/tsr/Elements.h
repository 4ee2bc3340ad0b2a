// Converts between the elements of .npy files and those of device tensors.
#pragma once
#include "numerics/Casts.h"
#include "tools/npy/Npy.h"

namespace tessera::cli {

/// Returns the file type that stores a dtype: the same type if NumPy has it, else float32; with `raw`, for
/// bf16, fp8, fp6 and fp4, the unsigned integer that holds their bits. i4 and u4 are a byte per element, with
/// `raw` two elements per byte.
npy::ElementType fileType(DType, bool raw);

/// Converts file elements (of `fileType(dtype, raw)`) to storageBytes each, rounding as the language's cast
/// does. Works in place if both are the same type. Returns false when memory runs out.
[[nodiscard]] bool toDevice(npy::Bytes file, DType, bool raw, npy::Bytes &device);

/// The inverse of toDevice(); exact. With `raw` the number of i4 and u4 elements is even.
[[nodiscard]] bool toFile(npy::Bytes device, DType, bool raw, npy::Bytes &file);

/// Parses a scalar argument: a decimal integer, a float, inf, nan, true or false. Returns the value's storage
/// in the low bytes. E_SCALAR_VALUE: the text is malformed or out of range.
Expected<uint64_t> parseScalar(std::string_view text, DType);
Expected<uint64_t> scalarFromNumber(const Number &, DType);

} // namespace tessera::cli
