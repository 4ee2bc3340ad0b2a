// Registration of the passes of all levels.
#pragma once
#include "compiler/graph/Transforms/Passes.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/target/Transforms/Passes.h"
#include "compiler/tile/Transforms/Passes.h"

namespace tessera {

/// Registers every pass by name, for tools that read pipelines.
inline void registerPasses() {
  registerGraphPasses();
  registerSchedulePasses();
  registerTilePasses();
  registerTargetPasses();
}

} // namespace tessera
