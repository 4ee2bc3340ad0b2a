// The rules that IR written or edited by a person must obey beside those of its operations. The passes rely
// on them, because the IR that the compiler creates obeys them.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string_view>

namespace tessera {

/// How deeply brackets may nest: MLIR's parser is recursive.
inline constexpr int kMaxIrDepth = 256;

/// Returns the line (from 1) where brackets nest deeper than kMaxIrDepth. Strings and comments do not count.
std::optional<uint32_t> lineTooDeep(std::string_view text);

/// Reports the first operation or type that the text may not contain. It may contain only kernels and graph
/// functions of one level, with operations of the tessera dialects, arith, math and structured control flow,
/// on scalars of the language and on tiles of a permitted size. The module must have been verified.
mlir::LogicalResult checkIrText(mlir::ModuleOp module);

/// Guards the divisions and shifts of a checked text as the frontend does: a divisor that may be 0, or -1 if
/// that overflows, becomes 1, and a shift amount is at most the width minus one. An operation that is already
/// guarded is not changed.
void guardArithmetic(mlir::ModuleOp module);

} // namespace tessera
