// The compiler's table of contents. The numbers are the normative phases of docs/decisions/0005. Phase 2
// decides tiling and fusion groups; phases 5 and 6 apply the decisions, after which memory is planned again.
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera {

namespace {

ScheduleDecideOptions decideOptions(const PipelineOptions &options) {
  ScheduleDecideOptions decide;
  if (auto lanes = options.target.capabilities().lanesPerProgram) decide.lanesPerProgram = *lanes;
  const codegen::Capabilities &target = options.target.capabilities();
  decide.pipelines = target.pipelines;
  decide.warps = target.warps;
  decide.mostWarps = target.mostWarps;
  decide.lanes = target.warpSize;
  decide.units = target.units;
  decide.chiplets = target.chiplets;
  for (const MatrixProduct &product : target.matrixInstructions)
    forEachWord(product.dtypes, [&](std::string_view dtype) {
      decide.factors.push_back(std::string(dtype));
      return true;
    });
  return decide;
}

/// Does the target add products of such factors with fewer bits than their sums have? A dtype without an
/// instruction is multiplied in the narrowest one that has all of its values, as tile-assign-layouts does.
bool addsShort(ArrayRef<MatrixProduct> products, DType factor) {
  bool isShort = false;
  std::optional<int> bits; // of the narrowest so far
  for (const MatrixProduct &product : products)
    forEachWord(product.dtypes, [&](std::string_view word) {
      const std::optional<DType> dtype = parseDType(word);
      if (!dtype || !holds(*dtype, factor) || (bits && info(*dtype).bits > *bits)) return true;
      isShort = product.addsShort || (isShort && info(*dtype).bits == bits);
      bits = info(*dtype).bits;
      return true;
    });
  return isShort;
}

void addSchedulePasses(PassManager &pm, const PipelineOptions &options) {
  // 1. Canonicalize & Simplify: before any decision, so that equal programs get equal decisions. Masks become
  // explicit only in phase 3, so what they depend on is not folded here. Reductions and scans are split while
  // they still have all their axes, and short ones become elementwise once adjacent axes are merged. Formulas
  // are decomposed next, so that CSE finds common parts. Index casts sink between them, so that CSE sees one
  // form of each address. Storage comes last, because CSE merges values that need separate memory.
  pm.addPass(createScheduleSpecializeLongVectors({options.target.name()}));
  pm.addNestedPass<graph::FuncOp>(createScheduleSplitReductions({options.target.name()}));
  pm.addNestedPass<graph::FuncOp>(createScheduleUnrollReductions({options.target.name()}));
  pm.addNestedPass<graph::FuncOp>(createScheduleSplitScans({options.target.name()}));
  pm.addNestedPass<graph::FuncOp>(createGraphDecompose());
  pm.addNestedPass<graph::FuncOp>(createGraphSinkReshapes());
  pm.addPass(createTileSimplify());
  pm.addNestedPass<schedule::KernelOp>(createGraphSinkIndexCasts());
  pm.addPass(createCSEPass());
  pm.addNestedPass<graph::FuncOp>(createGraphOwnStorage());
  pm.addPass(createScheduleDropFills());
  // 2. Tiling & Scheduling, the decisions: a mapper's first, because a library's product cannot be fused,
  // then groups and attributes, which can be edited in the IR's text.
  pm.addNestedPass<graph::FuncOp>(createScheduleChooseVariants());
  pm.addNestedPass<graph::FuncOp>(createScheduleFormGroups({options.target.name()}));
  pm.addNestedPass<schedule::KernelOp>(createScheduleDecide(decideOptions(options)));
}

/// Which tiles are in registers, and where the others are in memory.
void addLayoutPasses(OpPassManager &kernel, const PipelineOptions &options,
                     ArrayRef<std::string> instructions) {
  const codegen::Capabilities &target = options.target.capabilities();
  const std::string backend = options.target.backend().name().str();
  if (!target.matrixInstructions.empty()) {
    TileAssignLayoutsOptions layouts;
    layouts.backend = backend;
    llvm::append_range(layouts.instructions, instructions);
    layouts.unused = std::string(target.unusedInstructions);
    layouts.warps = target.warps;
    layouts.registers = target.registers;
    kernel.addPass(createTileAssignLayouts(layouts));
  }
  if (target.shuffles) kernel.addPass(createTileAssignRowLayouts({backend, target.warpSize, target.warps}));
  if (target.shuffles || !target.matrixInstructions.empty())
    kernel.addPass(createTileKeepInRegisters({target.shuffles}));
  TileVectorizeOptions vectorize;
  vectorize.threads = target.threads;
  if (!target.threads) {
    vectorize.vectorBytes = target.vectorBytes;
    vectorize.vectorRegisters = target.vectorRegisters;
  }
  kernel.addPass(createTileVectorize(vectorize));
  // 4. Memory Planning: this is final for shared buffers. The places of tiles are planned again after 5 and
  // 6, which decide which tiles are in memory.
  kernel.addPass(createTilePlanMemory());
  // 5. Fusion.
  kernel.addPass(createTileFuse());
  // 6. Quantization Legalization: after fusion, so that the casts it inserts are computed where their operand
  // is.
  TileLegalizeNumericsOptions legalize;
  legalize.backend = backend;
  for (DType product : target.narrowProducts)
    legalize.products.push_back(name(product));
  legalize.pairsOfBf16 = target.pairsOfBf16;
  kernel.addPass(createTileLegalizeNumerics(legalize));
  kernel.addPass(createTileOrderReductions({target.threads}));
}

void addTilePasses(PassManager &pm, const PipelineOptions &options) {
  const codegen::Capabilities &target = options.target.capabilities();
  // 2., applied: groups become kernels like those that a user writes, and are simplified and decided in the
  // same way. Then the constants that the schedule introduced are folded.
  pm.addPass(createScheduleOutline({options.target.name()}));
  OpPassManager &scheduled = pm.nest<schedule::KernelOp>();
  scheduled.addPass(createTileSimplify());
  scheduled.addPass(createGraphSinkIndexCasts());
  scheduled.addPass(createCSEPass());
  scheduled.addPass(createScheduleDecide(decideOptions(options)));
  pm.addPass(createScheduleExpand({target.warpSize}));
  // What a profile with fixed reductions promises, while sums and products are still those of the program.
  pm.addNestedPass<tile::KernelOp>(createTileFixReductions());
  pm.addPass(createTileSimplify());
  pm.addPass(createCSEPass());
  OpPassManager &kernel = pm.nest<tile::KernelOp>();
  // Products that the target has bodies for leave the tile program while their loops have the plain form.
  if (!target.products.empty()) {
    TileExtractProductOptions extract;
    extract.backend = options.target.backend().name().str();
    for (DType product : target.products)
      extract.dtypes.push_back(name(product));
    kernel.addPass(createTileExtractProduct(extract));
  }
  // 3. Vectorize & Fragment Lowering: bounds become masks first, so that they fuse with what they guard.
  kernel.addPass(createTileLegalizeBounds());
  // A choice has bounds of its own, so NaNs follow.
  kernel.addPass(createTileCanonicalizeNans());
  // one thread computes one element: no lanes to fill
  if (!target.threads) kernel.addPass(createTileNarrowComparisons());
  kernel.addPass(createTileSimplifyIndices());
  kernel.addPass(createTileSimplify({/*explicitMasks=*/true}));
  kernel.addPass(createTileHoistInvariants());
  kernel.addPass(createCSEPass());
  const std::string backend = options.target.backend().name().str();
  TileRelaxArithmeticOptions relax;
  relax.backend = backend;
  relax.approximates = target.approximates;
  for (const DTypeInfo &factor : allDTypes())
    if (addsShort(target.matrixInstructions, factor.dtype))
      relax.shortSums.push_back(std::string(name(factor.dtype)));
  kernel.addPass(createTileRelaxArithmetic(relax));
  kernel.addPass(createTileSkipHidden());
  if (target.approximates) kernel.addPass(createTileScaleExponents());
  // Vectors of 32 bytes and more come with fused multiply-adds and registers enough for blocks whose left
  // operand is broadcast from where it is (docs/decisions/0063, 0180).
  if (!target.threads && target.vectorBytes >= 32) {
    const int64_t fewRows = target.vectorBytes == 64 ? 24 : 12; // as many are dots on the CPU
    kernel.addPass(createTileTransposeProducts({target.vectorBytes, fewRows}));
  }
  SmallVector<std::string> instructions;
  for (const MatrixProduct &product : target.matrixInstructions)
    instructions.push_back(std::string(product.instruction) + ":" + std::string(product.dtypes) +
                           (product.addsShort ? ":short" : ""));
  if (target.readsBlocks) { // it makes further kernels
    TileReadBlocksOptions blocks;
    blocks.instructions = instructions;
    blocks.warps = target.warps;
    pm.addPass(createTileReadBlocks(blocks));
  }
  addLayoutPasses(pm.nest<tile::KernelOp>(), options, instructions);
  // Rings of shared buffers: after fusion, when it is known which factors are in memory and how much is free.
  // It makes further kernels.
  if (target.pipelines)
    pm.addPass(createTilePipelineLoops({backend, options.target.name(), target.stages, target.threads,
                                        target.sharedBytes, target.copiesBoxes, target.registers}));
  OpPassManager &last = pm.nest<tile::KernelOp>();
  last.addPass(createTileReportHints({backend, target.prefetches, target.swizzles, target.pipelines}));
  last.addPass(createTilePlanMemory());
}

void addTargetPasses(PassManager &pm, const PipelineOptions &options) {
  // 7. Lower to Backend IR + Kernel Metadata. Functions first: their plans name kernels, which the lowering
  // removes.
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
