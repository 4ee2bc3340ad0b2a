#include "compiler/codegen/gpu/GpuTarget.h"
#include "compiler/codegen/TileProposal.h"
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/target/Transforms/Passes.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

/// Elements of a tile of an elementwise chain. A few such tiles fit in the smallest shared memory, 48 KiB.
constexpr int64_t kTileElements = 1024;

} // namespace

GpuTarget::GpuTarget(const Vendor &vendor, const Architecture &architecture)
    : vendor_(vendor), architecture_(architecture) {
  capabilities_.threads = architecture.threads;
  capabilities_.lanesPerProgram = architecture.threads * 4;
}

const codegen::TargetBackend &GpuTarget::backend() const { return vendor_; }

std::string GpuTarget::name() const { return (vendor_.name() + ":" + architecture_.name).str(); }

SmallVector<int64_t> GpuTarget::proposeTile(const codegen::TileRequest &request) const {
  switch (request.kind) {
  case schedule::GroupKind::Matmul:
    return {64, 64, 16}; // operands and accumulator within 48 KiB of shared memory
  case schedule::GroupKind::Attention:
    return {32, 32};
  default:
    return codegen::proposeCommonTile(request, kTileElements);
  }
}

void GpuTarget::addLoweringPasses(OpPassManager &pm) const {
  // First the passes that are the same for every vendor, then the vendor's own. Functions are expanded after
  // tiles have become scalars.
  addKernelPasses(pm, *this);
  pm.addPass(createTargetLimitSize());
  addLlvmPasses(pm, *this);
}

Expected<std::string> GpuTarget::emitAssembly(ModuleOp module) const {
  return vendor_.emitAssembly(module, architecture_);
}

Expected<std::vector<std::string>> GpuTarget::emitObjects(OwningOpRef<ModuleOp> module) const {
  Expected<std::string> bytes = vendor_.emitObject(*module, architecture_);
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
    image.format = vendor_.format();
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
        all.push_back(*findGpuTarget((vendor->name() + ":" + architecture.name).str()));
  return all;
}

Expected<const GpuTarget *> findGpuTarget(llvm::StringRef text) {
  auto target = codegen::findTarget(text);
  if (!target) return target.error();
  if (auto gpu = dynamic_cast<const GpuTarget *>(*target)) return gpu;
  return Error{"E_TARGET_UNKNOWN", "target '" + text.str() + "' is no GPU", ""};
}

} // namespace tessera::gpu
