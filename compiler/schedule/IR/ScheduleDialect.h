// The schedule dialect. See ScheduleOps.td for the conventions.
#pragma once
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/TileDialect.h"
#include "core/metadata/Guard.h"
#include "core/metadata/OrderClass.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera {

inline llvm::hash_code hash_value(const OrderClass &order) { return llvm::hash_value(order.text()); }

namespace schedule {

/// The condition of a variant, with free guards.
struct Condition {
  std::vector<Guard> guards;
  std::string text() const { return textOf(guards); }
  bool operator==(const Condition &) const = default;
};
inline llvm::hash_code hash_value(const Condition &when) { return llvm::hash_value(when.text()); }

} // namespace schedule
} // namespace tessera

#include "compiler/schedule/IR/ScheduleDialect.h.inc"
#include "compiler/schedule/IR/ScheduleEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/schedule/IR/ScheduleAttrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/schedule/IR/ScheduleOps.h.inc"

namespace tessera::schedule {

// Names of the dialect's discardable attributes (ScheduleOps.td). Those about fusion are in
// compiler/tile/IR/TileDialect.h, because Tile IR obeys them too.
inline constexpr llvm::StringLiteral kStages = ScheduleDialect::StagesAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kCopy = ScheduleDialect::CopyAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kBlock = ScheduleDialect::BlockAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kMostStages = ScheduleDialect::MostStagesAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kIterator = ScheduleDialect::IteratorAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kHints = ScheduleDialect::HintsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kVariants = ScheduleDialect::VariantsAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kChoice = ScheduleDialect::ChoiceAttrHelper::getNameStr();
inline constexpr llvm::StringLiteral kDecision = ScheduleDialect::DecisionAttrHelper::getNameStr();

} // namespace tessera::schedule
