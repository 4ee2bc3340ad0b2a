// The compiler's table of contents. The numbers are the normative phases of seed 003 §3.3; phase 2 decides
// tiling and fusion groups, 5 and 6 apply what was decided, after which the memory plan is made again.
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera {

namespace {

ScheduleDecideOptions decideOptions(const PipelineOptions &options) {
  ScheduleDecideOptions decide;
  if (auto lanes = options.target.capabilities().lanesPerProgram) decide.lanesPerProgram = *lanes;
  return decide;
}

void addSchedulePasses(PassManager &pm, const PipelineOptions &options) {
  // 1. Canonicalize & Simplify: before any decision, so that equal programs get equal decisions.
  // Masks are not explicit before phase 3: what they depend on is not folded away.
  // Formulas come apart first, so that CSE finds what they share. Addresses become index arithmetic in
  // between, so that it sees one form of each. Storage last: CSE makes one value of two that need memory
  // each.
  pm.addNestedPass<graph::FuncOp>(createGraphDecompose());
  pm.addPass(createTileSimplify());
  pm.addNestedPass<schedule::KernelOp>(createGraphSinkIndexCasts());
  pm.addPass(createCSEPass());
  pm.addNestedPass<graph::FuncOp>(createGraphOwnStorage());
  // 2. Tiling & Scheduling, the decisions: a mapper's first, since a library's product stands alone, then
  // groups and attributes, editable in the text.
  pm.addNestedPass<graph::FuncOp>(createScheduleChooseVariants());
  pm.addNestedPass<graph::FuncOp>(createScheduleFormGroups({options.target.name()}));
  pm.addNestedPass<schedule::KernelOp>(createScheduleDecide(decideOptions(options)));
}

void addTilePasses(PassManager &pm, const PipelineOptions &options) {
  // 2., carried out: groups become kernels like those a user writes, which are simplified and decided as
  // those were. Constants that only the schedule knew are folded afterwards.
  pm.addPass(createScheduleOutline({options.target.name()}));
  OpPassManager &scheduled = pm.nest<schedule::KernelOp>();
  scheduled.addPass(createTileSimplify());
  scheduled.addPass(createGraphSinkIndexCasts());
  scheduled.addPass(createCSEPass());
  scheduled.addPass(createScheduleDecide(decideOptions(options)));
  pm.addPass(createScheduleExpand());
  pm.addPass(createTileSimplify());
  pm.addPass(createCSEPass());
  OpPassManager &kernel = pm.nest<tile::KernelOp>();
  const codegen::Capabilities &target = options.target.capabilities();
  // 3. Vectorize & Fragment Lowering: masks first, since they fuse with what they guard.
  kernel.addPass(createTileLegalizeBounds());
  if (!target.threads) kernel.addPass(createTileNarrowComparisons()); // a thread has no vectors to fill
  kernel.addPass(createTileSimplify({/*explicitMasks=*/true}));
  kernel.addPass(createTileHoistInvariants());
  kernel.addPass(createCSEPass());
  const std::string backend = options.target.backend().name().str();
  kernel.addPass(createTileRelaxArithmetic({backend}));
  TileVectorizeOptions vectorize;
  vectorize.threads = target.threads;
  if (!target.threads) {
    vectorize.vectorBytes = target.vectorBytes;
    vectorize.vectorRegisters = target.vectorRegisters;
  }
  kernel.addPass(createTileVectorize(vectorize));
  // 4. Memory Planning: shared buffers are final here; the tiles' places are made again once 5 and 6 have
  // settled which tiles lie in memory.
  kernel.addPass(createTilePlanMemory());
  // 5. Fusion.
  kernel.addPass(createTileFuse());
  // 6. Quantization Legalization: after fusion, so that the casts it adds are computed where their operand
  // is.
  kernel.addPass(createTileLegalizeNumerics({backend}));
  kernel.addPass(createTileReportHints({backend, target.prefetches}));
  kernel.addPass(createTilePlanMemory());
}

void addTargetPasses(PassManager &pm, const PipelineOptions &options) {
  // 7. Lower to Backend IR + Kernel Metadata. Functions first: a plan names kernels, code does not.
  pm.addPass(createTargetDescribeFunctions({options.target.name()}));
  options.target.addLoweringPasses(pm);
}

} // namespace

void addPassesTo(Level level, PassManager &pm, const PipelineOptions &options) {
  switch (level) {
  case Level::Graph:
    return;
  case Level::Schedule:
    return addSchedulePasses(pm, options);
  case Level::Tile:
    return addTilePasses(pm, options);
  case Level::Target:
    return addTargetPasses(pm, options);
  }
}

} // namespace tessera
