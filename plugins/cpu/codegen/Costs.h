// How long variants take on the CPU, as expressions in nanoseconds over extents and machine constants.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include <string>

namespace tessera::cpu {

/// How a body reduces or scans rows: as tiles of several rows, as narrow tiles for short rows, or one row
/// after the other.
enum class RowBody { General, Short, Streamed };

/// The cost of a reduction or scan whose programs have tiles of `rows` rows. Conditions say where each body
/// applies; of those that apply, the one that was made for the extents costs least.
std::string costOfRows(const codegen::VariantRequest &, RowBody, int64_t rows);

/// The cost of a product of these operands by the body of its dtype, which chooses by extents.
std::string costOfProduct(const codegen::VariantRequest &, DType operand, bool hasPairsOfBf16);

} // namespace tessera::cpu
