// The dtypes of the language as MLIR element types.
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "numerics/DType.h"
#include <optional>

namespace tessera {

/// Returns the element type of a dtype in values: tf32 is f32, u8 is i8, bool is i1, i4 and u4 are i8.
mlir::Type elementTypeInValues(mlir::MLIRContext *, DType);

/// Returns the element type of a dtype in views: as elementTypeInValues, but u8 is ui8, i4 is i4 and u4 is
/// ui4.
mlir::Type elementTypeInMemory(mlir::MLIRContext *, DType);

/// The same in shared buffers, where an i4 or u4 takes a byte.
mlir::Type elementTypeInBuffer(mlir::MLIRContext *, DType);

/// Do two elements of a tensor share a byte (i4 and ui4)?
bool isPacked(mlir::Type memory);

/// Returns the type of an element after it is loaded: i8 for ui8, i4 and ui4, otherwise the same type.
mlir::Type loadedElementType(mlir::Type memory);

/// Returns the bytes that one element takes in memory (fp6, fp4 and bool: 1), and a packed one when it is
/// alone.
int64_t storageBytes(mlir::Type memory);

/// Returns the dtype of an element type in memory; none if the language has no such type. f32 is F32, never
/// TF32.
std::optional<DType> dtypeOfMemory(mlir::Type memory);

} // namespace tessera
