#include "compiler/codegen/gpu/GpuTarget.h"
#include "compiler/codegen/TileProposal.h"
#include "compiler/codegen/emulate/Emulate.h"
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/schedule/IR/VariantBodies.h"
#include "compiler/target/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

/// Elements of a tile of an elementwise chain. A few such tiles fit in the smallest shared memory, 48 KiB.
constexpr int64_t kTileElements = 1024;

/// Rows and columns of a tile that is transposed: 64 bytes of f16, 128 of f32.
constexpr int64_t kTransposed = 32;

/// Elements of a part of a reduction, which one block adds. A million elements are then 128 blocks.
constexpr int64_t kPart = 8192;

/// Elements of rows in registers: 32 for each thread of 256, also of f64.
constexpr int64_t kWarpRow = 1024, kBlockRow = 8192;

/// Elements of a tile of a row whose length is unknown, and which is read tile after tile.
constexpr int64_t kStreamedRow = 2048;

/// Rows of the smallest matrix instructions that have their factors in registers.
constexpr int64_t kFewRows = 16;

/// Columns of a head whose sums of 64 rows four warps hold: 128 registers of each lane.
constexpr int64_t kWidestHead = 256;

/// In names of targets: ptx:emulated:sm_80+check
constexpr llvm::StringLiteral kEmulated = ":emulated:", kCheckOption = "+check";

} // namespace

std::pair<llvm::StringRef, Emulation> parseEmulation(llvm::StringRef architecture) {
  if (!architecture.consume_front(kEmulated.drop_front())) return {architecture, Emulation::None};
  const bool checks = architecture.consume_back(kCheckOption);
  return {architecture, checks ? Emulation::Checked : Emulation::Plain};
}

GpuTarget::GpuTarget(const Vendor &vendor, const Architecture &architecture, Emulation emulation)
    : vendor_(vendor), architecture_(architecture), emulation_(emulation) {
  capabilities_.threads = architecture.threads;
  capabilities_.lanesPerProgram = architecture.threads * 4;
  capabilities_.collapsesAxes = true;
  capabilities_.fixesReductions = true;
  capabilities_.partElements = kPart;
  capabilities_.swizzles = true;
  capabilities_.approximates = true;
  capabilities_.pipelines = true;
  capabilities_.stages = architecture.stages;
  capabilities_.copiesBoxes = architecture.copiesBoxes;
  capabilities_.readsBlocks = architecture.readsBlocks;
  capabilities_.registers = architecture.registers;
  capabilities_.units = architecture.units;
  capabilities_.chiplets = architecture.chiplets;
  capabilities_.sharedBytes = architecture.maxShared;
  capabilities_.warps = architecture.threads / architecture.warpSize;
  capabilities_.mostWarps = architecture.maxThreads / architecture.warpSize;
  capabilities_.warpSize = architecture.warpSize;
  capabilities_.shuffles = vendor.hasShuffles();
  for (const MatrixProduct &product : architecture.products)
    if (!product.instruction.empty()) capabilities_.matrixInstructions.push_back(product);
  capabilities_.unusedInstructions = architecture.unusedProducts;
}

const codegen::TargetBackend &GpuTarget::backend() const { return vendor_; }

std::string GpuTarget::name() const {
  return (vendor_.name() + (emulation_ == Emulation::None ? ":" : kEmulated) + StringRef(architecture_.name) +
          (emulation_ == Emulation::Checked ? kCheckOption : ""))
      .str();
}

/// Returns the architecture's tile for a product; an extent that is not known counts as middle-sized. A row
/// of a factor has as many bytes in each dtype. Sums that have to be promoted are there twice, which leaves
/// no room for the largest tiles. Few rows, as in decoding, are those of one instruction: most of 64 would be
/// multiplied in vain.
std::optional<std::array<int64_t, 3>> GpuTarget::productTile(const codegen::TileRequest &request) const {
  constexpr int64_t kUsual = 2048, kMostPromoted = 128 * 128;
  static constexpr std::array<std::array<int64_t, 3>, 4> kOfFewRows = {
      {{kFewRows, 256, 64}, {kFewRows, 128, 64}, {kFewRows, 64, 64}, {kFewRows, 32, 64}}};
  const auto &tiles = request.rows.value_or(kUsual) <= kFewRows ? kOfFewRows : architecture_.productTiles;
  if (!architecture_.productTiles[0][0] || !request.product) return std::nullopt;
  const std::string_view dtype = tessera::name(*request.product);
  if (!hasWord("f16 bf16 fp8_e4m3 fp8_e5m2", dtype)) return std::nullopt;
  const auto *row = llvm::find_if(architecture_.products,
                                  [&](const MatrixProduct &known) { return hasWord(known.dtypes, dtype); });
  const bool isPromoted = row != architecture_.products.end() && row->addsShort;
  std::array<int64_t, 3> chosen{};
  for (const auto &tile : tiles) {
    if (isPromoted && tile[0] * tile[1] > kMostPromoted) continue;
    chosen = {tile[0], tile[1], tile[2] * 2 / info(*request.product).storageBytes};
    const int64_t down = llvm::divideCeil(request.rows.value_or(kUsual), tile[0]),
                  across = llvm::divideCeil(request.columns.value_or(kUsual), tile[1]);
    if (down * across >= architecture_.units) break;
  }
  return chosen;
}

SmallVector<int64_t> GpuTarget::proposeTile(const codegen::TileRequest &request) const {
  // Factors that are copied ahead of a matrix instruction: a warp has 64 x 32 sums of 128 x 128, and a row of
  // A has 64 bytes.
  const bool isCopiedAhead = architecture_.copiesAsync && request.product &&
                             architecture_.multiplies(tessera::name(*request.product));
  switch (request.kind) {
  case schedule::GroupKind::Matmul:
    if (auto tile = productTile(request)) return SmallVector<int64_t>(tile->begin(), tile->end());
    if (isCopiedAhead)
      return {codegen::coverExtent(request.rows, kFewRows, 128),
              codegen::coverExtent(request.columns, 64, 128), 64 / info(*request.product).storageBytes};
    // Operands and accumulator within 48 KiB of shared memory; a row of bytes as deep as an instruction. Few
    // rows as above; 64 columns are an instruction's for each of four warps.
    return {codegen::coverExtent(request.rows, kFewRows, 64), 64,
            request.product && info(*request.product).storageBytes == 1 ? 32 : 16};
  case schedule::GroupKind::Attention:
    // Elements of 64 bits take two registers each: with more of them threads of four warps spill.
    if (request.product && info(*request.product).bits == 64) return {32, 32};
    // Four warps together multiply at least 64 rows. Sums of wider heads are in shared memory, which leaves
    // no room for the factors; 32 rows are multiplied by single warps.
    if (isCopiedAhead && architecture_.registers && request.columns.value_or(0) > kWidestHead)
      return {32, 64};
    // Two groups of warps take turns where warps have roles (docs/measurements/gpu.md).
    if (isCopiedAhead && architecture_.registers) return {codegen::coverExtent(request.rows, 64, 128), 128};
    if (isCopiedAhead) return {64, 64};
    return {32, 32};
  case schedule::GroupKind::Map:
    // Whole sectors of both the tensor that is read and the tensor that is written.
    if (request.transposes)
      return {codegen::coverExtent(request.rows, 1, kTransposed),
              codegen::coverExtent(request.columns, 1, kTransposed)};
    // Of one axis, vectors of 16 bytes of f32 for each of 256 threads.
    return codegen::proposeCommonTile(request, kTileElements,
                                      request.rank > 1 ? codegen::kMostColumns : kTileElements);
  case schedule::GroupKind::Reduce: {
    // A row that fits into the registers of a block is read once. Up to kWarpRow elements are one warp's. The
    // lanes of a block exchange their sums once for each tile, so that of an only row is as long as can be.
    std::optional<int64_t> columns = request.columns;
    if (request.rank == 1 || request.part)
      columns = std::min({columns.value_or(kBlockRow), request.part.value_or(kBlockRow), kBlockRow});
    if (capabilities_.shuffles && !request.reducesOuterAxis && columns.value_or(0) > kTileElements / 2 &&
        *columns <= kBlockRow) {
      const int64_t width = codegen::coverExtent(columns, 1, kBlockRow);
      const int64_t rows = width <= kWarpRow ? capabilities_.warps : kBlockRow / 2 / width;
      return {codegen::coverExtent(request.rows, 1, std::max<int64_t>(rows, 1)), width};
    }
    // A row of unknown length is read in tiles that are as long as is worth it for long rows; short ones have
    // a variant (proposeVariants).
    if (capabilities_.shuffles && !request.reducesOuterAxis && !columns) return {1, kStreamedRow};
    return codegen::proposeCommonTile(request, kTileElements);
  }
  case schedule::GroupKind::Scan: {
    // Threads share a row where the order of a scan does not matter; a row of unknown length is one of
    // several.
    if (!request.scansExactly || request.reducesOuterAxis)
      return codegen::proposeCommonTile(request, kTileElements);
    const int64_t width =
        codegen::coverExtent(request.columns, 16, request.columns || request.rank == 1 ? kTileElements : 256);
    return {codegen::coverExtent(request.rows, 1, kTileElements / width), width};
  }
  default:
    return codegen::proposeCommonTile(request, kTileElements);
  }
}

/// Rows of unknown length have a tile for short ones beside the wide tile, of which they would use little.
/// Rows that are read again after they have been reduced are kept in registers where they fit: of a warp, or
/// of the block.
std::vector<codegen::VariantProposal>
GpuTarget::proposeVariants(const codegen::VariantRequest &request) const {
  schedule::GroupOp group = request.group;
  const ArrayRef<int64_t> tile = group.getTile();
  const bool isMap = group.getKind() == schedule::GroupKind::Map,
             isReduction = group.getKind() == schedule::GroupKind::Reduce && !request.reducesOuterAxis,
             keepsRows = isReduction && request.readsAgain && capabilities_.shuffles;
  const std::optional<int64_t> likely = request.extent("columns");
  if (tile.size() != 2 || !(isMap || isReduction)) return {};
  std::vector<codegen::VariantProposal> variants;
  auto propose = [&](const char *name, int64_t longest, int64_t rows, int64_t columns) {
    const bool isRow = keepsRows && longest;
    variants.push_back({.name = name,
                        .when = longest ? "columns <= " + std::to_string(longest) : "",
                        .body = (isRow ? schedule::kRowBody : schedule::kTileBody).str(),
                        .order = isMap ? "exact" : "tiles(" + std::to_string(columns) + ")",
                        .cost = "",
                        .params = {{"rows", std::to_string(rows)}, {"columns", std::to_string(columns)}}});
  };
  if (likely) {
    if (!keepsRows || !request.isForCall || *likely > tile[1]) return {};
    propose("row", tile[1], tile[0], tile[1]);
    propose("general", 0, 1, kStreamedRow);
    return variants;
  }
  if (tile[1] != (isMap ? codegen::kMostColumns : kStreamedRow)) return {}; // a transpose, or an only row
  if (isMap)
    propose("short", 64, 64, 64);
  else
    propose("short", 256, kTileElements / 256, 256);
  if (keepsRows) {
    propose("warp", kWarpRow, capabilities_.warps, kWarpRow);
    propose("block", kBlockRow, 1, kBlockRow);
  }
  propose("general", 0, tile[0], tile[1]);
  return variants;
}

void GpuTarget::addLoweringPasses(OpPassManager &pm) const {
  // First the passes that are the same for every vendor, then the vendor's own. Functions are expanded after
  // tiles have become scalars.
  addKernelPasses(pm, *this);
  pm.addPass(createTargetLimitSize());
  addLlvmPasses(pm, *this);
  if (emulation_ != Emulation::None)
    pm.addPass(emulate::createTargetEmulate({emulation_ == Emulation::Checked}));
}

Expected<std::string> GpuTarget::emitAssembly(ModuleOp module) const {
  return emulation_ == Emulation::None ? vendor_.emitAssembly(module, architecture_)
                                       : emulate::emitHostAssembly(module);
}

Expected<std::vector<std::string>> GpuTarget::emitObjects(OwningOpRef<ModuleOp> module) const {
  Expected<std::string> bytes = emulation_ == Emulation::None
                                    ? vendor_.emitObject(std::move(module), architecture_)
                                    : emulate::emitHostImage(*module);
  if (!bytes) return bytes.error();
  return std::vector{std::move(*bytes)};
}

Expected<std::string> GpuTarget::joinObjects(std::vector<std::string> objects) const {
  return std::move(objects.front());
}

Expected<std::vector<BundleImage>> GpuTarget::makeImages(std::vector<codegen::CodeUnit> units) const {
  std::vector<BundleImage> images;
  for (codegen::CodeUnit &unit : units) {
    BundleImage &image = images.emplace_back();
    image.target = imageName();
    image.format = emulation_ == Emulation::None ? vendor_.format() : ImageFormat::Emulated;
    image.data = std::move(unit.objects.front());
    image.entries = std::move(unit.entries);
  }
  return images;
}

std::vector<const GpuTarget *> gpuTargets() {
  std::vector<const GpuTarget *> all;
  for (const codegen::TargetBackend *backend : codegen::targetBackends())
    if (auto vendor = dynamic_cast<const Vendor *>(backend))
      for (const Architecture &architecture : vendor->architectures())
        all.push_back(*findGpuTarget((vendor->name() + ":" + StringRef(architecture.name)).str()));
  return all;
}

Expected<const GpuTarget *> findGpuTarget(llvm::StringRef text) {
  auto target = codegen::findTarget(text);
  if (!target) return target.error();
  if (auto gpu = dynamic_cast<const GpuTarget *>(*target)) return gpu;
  return Error{"E_TARGET_UNKNOWN", "target '" + text.str() + "' is no GPU", ""};
}

} // namespace tessera::gpu
