// dtypes of the language as MLIR element types.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "numerics/DType.h"
#include <optional>

namespace tessera {

/// Element type of a dtype in values: tf32 is f32, u8 is i8, bool is i1.
mlir::Type elementTypeInValues(mlir::MLIRContext *, DType);

/// Element type of a dtype in views and buffers: as elementTypeInValues, but u8 is ui8.
mlir::Type elementTypeInMemory(mlir::MLIRContext *, DType);

/// What an element of memory becomes when it is loaded: ui8 gives i8, everything else itself.
mlir::Type loadedElementType(mlir::Type memory);

/// Bytes one element takes in memory (fp6, fp4 and bool: 1).
int64_t storageBytes(mlir::Type memory);

/// dtype of an element type of memory; none when the language has no such type. f32 reads as F32, never as
/// TF32.
std::optional<DType> dtypeOfMemory(mlir::Type memory);

} // namespace tessera
