// The CPU as a target: a program is a function of vector operations that one thread runs; images are shared
// objects.
#include "compiler/codegen/TileProposal.h"
#include "compiler/schedule/IR/VariantBodies.h"
#include "compiler/schedule/Transforms/GroupProgram.h"
#include "compiler/support/DiagnosticCode.h"
#include "compiler/target/Transforms/KernelMetadata.h"
#include "compiler/target/Transforms/Passes.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Product.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "plugins/cpu/codegen/Lowering.h"
#include "plugins/cpu/codegen/Passes.h"
#include "plugins/cpu/codegen/Variants.h"
#include "plugins/cpu/codegen/products/Archive.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera::cpu {

const codegen::TargetBackend &targetBackend();

namespace {

/// Elements of a tile of one value: 16 KiB of f32, so that a chain of a few values stays in a core's first
/// two caches.
constexpr int64_t kTileElements = 4096;

/// Rows that are read from one element to the next are read in pieces of up to so many, which the processor
/// foresees; as many of them as amortize a program where they are short (docs/decisions/0148).
constexpr int64_t kStreamedColumns = 4096, kStreamedRows = 32;

/// The most columns of a tile whose rows are reduced: their results stay in the first-level cache.
constexpr int64_t kMostOuterColumns = 1024;

/// A transpose with an axis of at most so many elements has longer tiles along the other one, without
/// AVX-512.
constexpr int64_t kNarrowSide = 8, kLongSide = 512;

class Target final : public codegen::Target, public codegen::LlvmLowering {
public:
  Target(std::string name, CpuTarget cpu) : name_(std::move(name)), cpu_(std::move(cpu)) {
    capabilities_.vectorBytes = cpu_.vectorBytes;
    capabilities_.vectorRegisters = cpu_.vectorRegisters;
    capabilities_.collapsesAxes = true;
    capabilities_.fixesReductions = !cpu_.isOther;
    capabilities_.prefetches = true;
    capabilities_.callsLibraries = true;
    for (const auto &[dtype, body] : cpu_.productBodies) {
      capabilities_.products.push_back(dtype);
      if (std::string_view tiles = product::tileInstructionOf(body); !tiles.empty())
        capabilities_.tileProducts.emplace_back(dtype, tiles);
    }
    auto bf16 = cpu_.chainBodies.find(DType::BF16);
    capabilities_.pairsOfBf16 = bf16 != cpu_.chainBodies.end() && bf16->second == "bf16.dot";
    if (!cpu_.isOther) capabilities_.narrowProducts = {DType::I16}; // pmaddwd, of every x86-64
  }

  const codegen::TargetBackend &backend() const override { return targetBackend(); }
  std::string name() const override { return name_; }
  std::string imageName() const override { return "cpu:" + cpu_.cpu; }
  const codegen::Capabilities &capabilities() const override { return capabilities_; }

  SmallVector<int64_t> proposeTile(const codegen::TileRequest &request) const override {
    const auto &[kind, rank, rows, columns, reducesOuterAxis, reduced, part, transposes, product, elements,
                 finds, scansExactly, readsNarrow, readsAgain, readsRows] = request;
    switch (kind) {
    case schedule::GroupKind::Matmul:
      // A body computes the product; the tile is what its epilogue gets at a time, which stays in the
      // first-level cache.
      if (product && llvm::is_contained(capabilities_.products, *product)) return {48, 64, 256};
      // The tile consists of the CPU's register blocks and fits its second-level cache
      // (docs/measurements/gemm.md).
      return {rows && *rows <= 48 ? std::max<int64_t>(6, llvm::alignTo(*rows, 6)) : 96,
              codegen::coverExtent(columns, 64, 256), 256};
    case schedule::GroupKind::Attention:
      // Three vectors of queries by eight rows of keys or values are a block (docs/decisions/0063). Four are
      // packed for fewer times where keys and values are packed (docs/decisions/0131).
      return {capabilities_.vectorBytes == 64 && !(capabilities_.pairsOfBf16 && product == DType::BF16) ? 48
                                                                                                        : 64,
              64};
    case schedule::GroupKind::Concat:
      // Nothing is computed, so a tile need not fit a cache; the shorter the rows, the more of them.
      if (rank > 1) {
        const int64_t width = codegen::coverExtent(columns, 16, kStreamedColumns);
        const int64_t least = columns && *columns > codegen::kMostColumns ? 1 : kStreamedRows;
        return {codegen::coverExtent(rows, 1, std::max(least, 4 * kTileElements / width)), width};
      }
      break;
    case schedule::GroupKind::Map:
      // Whole cache lines of both the tensor that is read and the tensor that is written.
      if (transposes) {
        const auto isShort = [&](std::optional<int64_t> extent) {
          return capabilities_.vectorBytes < 64 && extent && *extent <= kNarrowSide;
        };
        return {codegen::coverExtent(rows, 8, isShort(columns) ? kLongSide : 64),
                codegen::coverExtent(columns, 8, isShort(rows) ? kLongSide : 64)};
      }
      // Values stay in registers, so a tile need not fit the first cache; rows may be short.
      if (rank > 1 && readsRows && !columns)
        return {codegen::coverExtent(rows, 1, kStreamedRows), kStreamedColumns};
      if (rank > 1 && readsRows)
        return codegen::proposeCommonTile(request, 4 * kTileElements, kStreamedColumns);
      if (rank > 1) return codegen::proposeCommonTile(request, 4 * kTileElements);
      break;
    case schedule::GroupKind::Reduce:
      // The fewer rows are reduced, the more columns a program has; their order does not depend on it.
      if (reducesOuterAxis) {
        const int64_t height = codegen::coverExtent(reduced, 1, 64);
        return {height,
                codegen::coverExtent(columns, 16, std::min(kMostOuterColumns, 2 * kTileElements / height))};
      }
      // Processors foresee a row that is read from its start to its end, but not pieces of several rows. A
      // search looks once at a row that fits a tile.
      if (const StreamedRows streamed =
              StreamedRows::of(finds, readsNarrow, readsAgain, capabilities_.vectorBytes);
          rank > 1 && columns && streamed.includes(*columns, elements) &&
          !(finds && *columns <= kTileElements))
        return {1, codegen::kMostColumns};
      break;
    default:
      break;
    }
    // A single axis is as long as a tile of several; elements past its end are not computed.
    return codegen::proposeCommonTile(request, kTileElements,
                                      rank <= 1 ? kTileElements : codegen::kMostColumns);
  }

  std::vector<codegen::VariantProposal>
  proposeVariants(const codegen::VariantRequest &request) const override {
    return cpu::proposeVariants(request, capabilities_);
  }
  /// A product is a tile program until tile-extract-product; its kernel carries the way to cpu-lower-tile.
  LogicalResult buildBody(schedule::GroupOp group, schedule::VariantAttr variant, StringRef name,
                          SmallVectorImpl<Attribute> &dims) const override {
    StringRef way = variant.getBody().getValue();
    if (!way.consume_front(schedule::kProductBody))
      return codegen::Target::buildBody(group, variant, name, dims);
    if (failed(checkOrder(group, variant, way))) return failure();
    if (failed(schedule::GroupProgram(group, name, capabilities_.products).build(dims))) return failure();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<schedule::KernelOp>(
        group->getParentOp(), StringAttr::get(group.getContext(), name));
    kernel->setAttr(tile::kProductWay, StringAttr::get(group.getContext(), way));
    return success();
  }

  void addLoweringPasses(OpPassManager &pm) const override {
    // Private tables are placed after the tiles in scratch, so the tiles' offsets must be final.
    pm.addNestedPass<tile::KernelOp>(createCpuPrivatize());
    CpuLowerTileOptions lower;
    lower.targetName = name_;
    auto list = [](const std::map<DType, std::string> &bodies, auto &out) {
      for (const auto &[dtype, body] : bodies)
        out.push_back((llvm::StringRef(tessera::name(dtype)) + "=" + body).str());
    };
    list(cpu_.productBodies, lower.bodies);
    list(cpu_.chainBodies, lower.chainBodies);
    pm.addPass(createCpuLowerTile(lower));
    pm.addPass(createTargetLimitSize()); // before anything expands further
    pm.addPass(createCpuOutline());
    // Needs no canonicalizer: operations are folded when they are created. Functions expand after tiles have
    // become vectors.
    pm.addPass(createCSEPass());
    pm.addPass(createTileExpandMath());
    if (!cpu_.hasFma) {
      pm.addPass(createTileExpandHalf());
      pm.addPass(createCpuExpandFma());
    }
    if (cpu_.vectorBytes == 64 && !cpu_.isOther) {
      pm.addPass(createCpuExpandScaling());
      pm.addPass(createCpuExpandMinMax());
    }
    pm.addPass(createTileExpandMinMax()); // before arith-expand, which defines them differently
    pm.addPass(createSCFToControlFlowPass());
    pm.addPass(arith::createArithExpandOpsPass());
    pm.addPass(createCpuExpandDivision());
    pm.addPass(createCpuToLlvm());
    pm.addPass(createReconcileUnrealizedCastsPass());
    if (cpu_.isOther)
      pm.addPass(createCpuWrapTarget({cpu_.cpu, cpu_.triple, cpu_.features, cpu_.vectorBytes}));
    else
      pm.addPass(createCpuWrapTarget({.cpu = cpu_.isHost ? "" : cpu_.cpu}));
  }

  Expected<std::string> emitAssembly(ModuleOp module) const override {
    return cpu::emitAssembly(module, cpu_);
  }
  Expected<std::string> emitIr(ModuleOp module) const override { return cpu::emitIr(module, cpu_); }
  Expected<std::vector<std::string>> emitObjects(OwningOpRef<ModuleOp> module) const override {
    return cpu::emitObjects(std::move(module), cpu_);
  }
  Expected<std::string> joinObjects(std::vector<std::string> objects) const override {
    return cpu::joinObjects(objects, cpu_);
  }

  /// Links all units into one shared object.
  Expected<std::vector<BundleImage>> makeImages(std::vector<codegen::CodeUnit> units) const override {
    BundleImage image;
    image.target = imageName();
    image.features = cpu_.required;
    std::vector<std::string> objects, symbols;
    bool usesTiles = false;
    for (codegen::CodeUnit &unit : units) {
      llvm::move(unit.objects, std::back_inserter(objects));
      for (BundleEntry &entry : unit.entries) {
        usesTiles = usesTiles || (!capabilities_.tileProducts.empty() && multipliesTiles(entry));
        if (entry.kind == EntryKind::Kernel) symbols.push_back(entry.name);
        image.entries.push_back(std::move(entry));
      }
    }
    // Only products use AMX. Who asks the system for its tile registers pays for it (docs/bundles.md).
    if (!usesTiles)
      llvm::erase_if(image.features, [](StringRef feature) { return feature.starts_with("amx-"); });
    Expected<std::string> linked = linkShared(objects, symbols, cpu_);
    if (!linked) return linked.error();
    image.data = std::move(*linked);
    return std::vector{std::move(image)};
  }

private:
  /// Does a kernel multiply in tile registers?
  static bool multipliesTiles(const BundleEntry &entry) {
    KernelMetadata metadata;
    std::string why;
    return KernelMetadata::fromYaml(entry.metadata, metadata, why) &&
           llvm::any_of(metadata.products,
                        [](const MetadataProduct &product) { return product.usesTileRegisters(); });
  }

  /// Where the profile fixes the order of sums, a forced body has to declare its own. Panels compute what
  /// another way cannot, as a chain; they and `dot` are of two orders, between which extents choose.
  LogicalResult checkOrder(schedule::GroupOp group, schedule::VariantAttr variant, StringRef way) const {
    const std::optional<NumericsPermissions> permits = permitsOf(group->getParentOfType<graph::FuncOp>());
    if (!permits || permits->unorderedAtomics) return success();
    auto matmul = *group.getBody().front().getOps<graph::MatmulOp>().begin();
    const std::optional<DType> dtype = dtypeOfMemory(matmul.getA().getType().getElementType());
    if (!dtype) return success(); // no body computes it, which its lowering refuses
    const auto body = cpu_.productBodies.find(*dtype);
    const bool usesTiles = body != cpu_.productBodies.end() && !permits->fixedReductions &&
                           !product::tileInstructionOf(body->second).empty();
    const StringRef order = !isFloat(*dtype)            ? "exact"
                            : usesTiles || way == "dot" ? "extents"
                            : permits->fixedReductions  ? "leaves"
                                                        : "chain";
    const std::string declared = variant.getOrder().text();
    if (order == declared) return success();
    InFlightDiagnostic error = group.emitOpError()
                               << "has variants that cannot be chosen from: " << variant.getName()
                               << " declares order " << declared << "; numerics profile "
                               << group->getParentOfType<graph::FuncOp>().getNumerics()
                               << " fixes orders, and that of product." << way << " of "
                               << tessera::name(*dtype) << " is " << order << ": write order = " << order;
    setCode(error, "E_VARIANT");
    return error;
  }

  std::string name_;
  CpuTarget cpu_;
  codegen::Capabilities capabilities_;
};

class Backend final : public codegen::TargetBackend {
public:
  StringRef name() const override { return "cpu"; }
  std::vector<std::string> targetNames() const override {
    return {"cpu", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"};
  }
  std::string targets() const override { return "cpu (this machine's), cpu:<LLVM CPU name>"; }
  Expected<std::unique_ptr<const codegen::Target>> parse(StringRef architecture) const override {
    auto cpu = findCpu(architecture);
    if (!cpu) return cpu.error();
    std::string written = architecture.empty() ? "cpu" : "cpu:" + architecture.str();
    return std::unique_ptr<const codegen::Target>(
        std::make_unique<Target>(std::move(written), std::move(*cpu)));
  }
  void registerPasses() const override { registerCpuPasses(); }
  Expected<std::unique_ptr<const codegen::LlvmLowering>>
  lowerFor(std::string name, const codegen::LlvmMachine &machine) const override {
    auto cpu = describeMachine(machine);
    if (!cpu) return cpu.error();
    return std::unique_ptr<const codegen::LlvmLowering>(
        std::make_unique<Target>(std::move(name), std::move(*cpu)));
  }
};

} // namespace

const codegen::TargetBackend &targetBackend() {
  static const Backend instance;
  return instance;
}

} // namespace tessera::cpu
