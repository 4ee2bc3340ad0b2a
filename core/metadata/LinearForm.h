// Index expressions as linear functions of one of their slots.
#pragma once
#include "core/metadata/IndexExpr.h"

namespace tessera {

/// factor * slot + offset
struct LinearForm {
  int64_t factor, offset;
};

/// Returns the form of a bound expression in slot `slot`, whose value is not read; the other slots have
/// values. Returns nothing if the expression is not linear in the slot, or cannot be evaluated.
std::optional<LinearForm> linearForm(const IndexExpr &, size_t slot, const int64_t *slots);

} // namespace tessera
