// Which tensors of integers have no negative element, whatever the inputs are.
#pragma once
#include "compiler/frontend/sema/ElabGraph.h"

namespace tessera::frontend {

/// Is this tensor of integers at least 0 whatever the inputs are, as far as the operations show?
bool isNeverNegative(const GraphState &, int node);

} // namespace tessera::frontend
