// What IR that a person wrote or edited must obey besides the rules of its operations, so that the passes,
// which otherwise see only what the compiler made, need not ask.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string_view>

namespace tessera {

/// How deep brackets may nest: MLIR's parser goes down the stack with them.
inline constexpr int kMaxIrDepth = 256;

/// The line (from 1) where brackets nest deeper than kMaxIrDepth; strings and comments do not count.
std::optional<uint32_t> lineTooDeep(std::string_view text);

/// Reports the first operation or type that belongs to no level: only kernels and graph functions of one
/// level, of the tessera dialects, arith, math and structured control flow, on scalars of the language and on
/// tiles of a size that programs have. Pre: the module is verified.
mlir::LogicalResult checkIrText(mlir::ModuleOp module);

/// Gives divisions and shifts of a checked text the guards that the frontend's have: a divisor that may be 0,
/// or -1 where that overflows, becomes 1, and an amount is at most the width less one. What is guarded stays
/// as it is.
void guardArithmetic(mlir::ModuleOp module);

} // namespace tessera
