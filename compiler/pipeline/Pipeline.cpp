// The compiler's table of contents. The numbers are the normative phases of seed 003 §3.3; phase 2 decides
// tiling and fusion groups, 5 and 6 apply what was decided, after which the memory plan is made again.
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Passes.h"
#include "compiler/pipeline/Vendors.h"
#include "compiler/target/gpu/ConvertToLlvm.h"
#include "compiler/target/gpu/Lowering.h"
#include "compiler/tile/Transforms/ExpandHalf.h"
#include "compiler/tile/Transforms/ExpandMath.h"
#include "compiler/tile/Transforms/ExpandMinMax.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "plugins/cpu/codegen/ExpandFma.h"
#include "plugins/cpu/codegen/Lowering.h"

using namespace mlir;

namespace tessera {

namespace {

ScheduleDecideOptions decideOptions(const PipelineOptions &options) {
  ScheduleDecideOptions decide;
  if (options.gpu) decide.lanesPerProgram = options.gpu->threads * 4;
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
  ScheduleFormGroupsOptions groups;
  groups.gpu = options.gpu != nullptr;
  pm.addNestedPass<graph::FuncOp>(createScheduleFormGroups(groups));
  pm.addNestedPass<schedule::KernelOp>(createScheduleDecide(decideOptions(options)));
}

void addTilePasses(PassManager &pm, const PipelineOptions &options) {
  // 2., carried out: groups become kernels like those a user writes, which are simplified and decided as
  // those were. Constants that only the schedule knew are folded afterwards.
  pm.addPass(createScheduleOutline({options.gpu ? options.gpu->kind.str() : "cpu"}));
  OpPassManager &scheduled = pm.nest<schedule::KernelOp>();
  scheduled.addPass(createTileSimplify());
  scheduled.addPass(createGraphSinkIndexCasts());
  scheduled.addPass(createCSEPass());
  scheduled.addPass(createScheduleDecide(decideOptions(options)));
  pm.addPass(createScheduleExpand());
  pm.addPass(createTileSimplify());
  pm.addPass(createCSEPass());
  OpPassManager &kernel = pm.nest<tile::KernelOp>();
  // 3. Vectorize & Fragment Lowering: masks first, since they fuse with what they guard.
  kernel.addPass(createTileLegalizeAbsence());
  if (!options.gpu) kernel.addPass(createTileNarrowComparisons());
  kernel.addPass(createTileSimplify({/*explicitMasks=*/true}));
  kernel.addPass(createTileHoistInvariants());
  kernel.addPass(createCSEPass());
  TileVectorizeOptions vectorize;
  TileLegalizeNumericsOptions numerics;
  if (options.gpu) {
    vectorize.threads = options.gpu->threads;
    numerics.backend = options.gpu->kind.str();
  } else {
    vectorize.vectorBytes = options.target.vectorBytes;
    vectorize.vectorRegisters = options.target.vectorRegisters;
  }
  kernel.addPass(createTileVectorize(vectorize));
  // 4. Memory Planning: shared buffers are final here; the tiles' places are made again once 5 and 6 have
  // settled which tiles lie in memory.
  kernel.addPass(createTilePlanMemory());
  // 5. Fusion.
  kernel.addPass(createTileFuse());
  // 6. Quantization Legalization: after fusion, so that the casts it adds are computed where their operand
  // is.
  kernel.addPass(createTileLegalizeNumerics(numerics));
  kernel.addPass(createTilePlanMemory());
}

/// 7. for a GPU: thread programs, the same for every vendor, then a vendor's own. Functions expand once tiles
/// have become scalars.
void addGpuTargetPasses(PassManager &pm, const PipelineOptions &options) {
  gpu::addKernelPasses(pm, *options.gpu);
  pm.addPass(createTargetLimitSize());
  gpu::addLlvmPasses(pm, *options.gpu, *findVendor(options.gpu->kind));
}

void addTargetPasses(PassManager &pm, const PipelineOptions &options) {
  // 7. Lower to Backend IR + Kernel Metadata. Functions first: a plan names kernels, code does not.
  pm.addPass(createTargetDescribeFunctions({options.targetName}));
  if (options.gpu) return addGpuTargetPasses(pm, options);
  // Private tables follow the tiles in scratch, whose offsets are final.
  pm.addNestedPass<tile::KernelOp>(cpu::createPrivatizePass());
  pm.addPass(cpu::createLowerTilePass(options.targetName));
  pm.addPass(createTargetLimitSize()); // before anything expands further
  pm.addPass(cpu::createOutlinePass());
  // Folded as it was made; functions expand after tiles became vectors.
  pm.addPass(createCSEPass());
  pm.addPass(tile::createExpandMathPass());
  if (options.target.vectorBytes < 32) { // F16C and FMA came before AVX2
    pm.addPass(tile::createExpandHalfPass());
    pm.addPass(cpu::createExpandFmaPass());
  }
  pm.addPass(tile::createExpandMinMaxPass()); // before arith-expand, which has another idea of them
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(cpu::createToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(cpu::createWrapTargetPass(options.target));
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
