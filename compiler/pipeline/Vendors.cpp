#include "compiler/pipeline/Vendors.h"
#include "compiler/target/gpu/ConvertToLlvm.h"
#include "mlir/Pass/PassRegistry.h"
#include "plugins/levelzero/codegen/Target.h"
#include "plugins/ptx/codegen/Target.h"
#include "plugins/rocm/codegen/Target.h"

namespace tessera {

llvm::ArrayRef<const gpu::Vendor *> gpuVendors() {
  static const gpu::Vendor *const vendors[] = {&ptx::vendor(), &rocm::vendor(), &levelzero::vendor()};
  return vendors;
}

const gpu::Vendor *findVendor(llvm::StringRef kind) {
  for (const gpu::Vendor *vendor : gpuVendors())
    if (vendor->kind() == kind) return vendor;
  return nullptr;
}

namespace {
struct GpuPipelineOptions : mlir::PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("kind:architecture"),
                             llvm::cl::init("ptx:sm_90")};
};
} // namespace

void registerGpuPipelines() {
  static mlir::PassPipelineRegistration<GpuPipelineOptions> registration(
      "gpu-to-target", "turn thread programs into a vendor's Target IR",
      [](mlir::OpPassManager &pm, const GpuPipelineOptions &options) {
        std::string why;
        const gpu::GpuTarget *target = gpu::findGpuTarget(options.target, why);
        if (!target) llvm::report_fatal_error(llvm::StringRef("target " + why), false);
        gpu::addLlvmPasses(pm, *target, *findVendor(target->kind));
      });
}

} // namespace tessera
