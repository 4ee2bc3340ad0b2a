// The schedule dialect. See ScheduleOps.td for the conventions.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/IR/ScheduleDialect.h.inc"
#include "compiler/schedule/IR/ScheduleEnums.h.inc"
#define GET_OP_CLASSES
#include "compiler/schedule/IR/ScheduleOps.h.inc"

namespace tessera::schedule {

// Names of the dialect's discardable attributes (ScheduleOps.td). Those about fusion are in
// compiler/tile/IR/TileDialect.h, because Tile IR obeys them too.
inline constexpr llvm::StringLiteral kStages = ScheduleDialect::StagesAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kIterator = ScheduleDialect::IteratorAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kHints = ScheduleDialect::HintsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kVariants = ScheduleDialect::VariantsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kChoice = ScheduleDialect::ChoiceAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kDecision = ScheduleDialect::DecisionAttrHelper::getNameStr();

} // namespace tessera::schedule
