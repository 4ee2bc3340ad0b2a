// The passes of every level.
#pragma once
#include "compiler/graph/Transforms/Passes.h"
#include "compiler/schedule/Transforms/Passes.h"
#include "compiler/target/Transforms/Passes.h"
#include "compiler/tile/Transforms/Passes.h"

namespace tessera {

/// Makes every pass known by its name to tools that read pipelines.
inline void registerPasses() {
  registerGraphPasses();
  registerSchedulePasses();
  registerTilePasses();
  registerTargetPasses();
}

} // namespace tessera
