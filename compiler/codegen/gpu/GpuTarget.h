// A GPU that kernels are compiled for: the row of its vendor's table that the shared lowering needs.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <string>
#include <tessera/gpu_architecture.hpp>
#include <vector>

namespace tessera::gpu {

class Vendor;

/// A row of the vendor's table.
using Architecture = GpuArchitecture;

/// What is made of a kernel's Target IR: the vendor's image, or one for the emulator, which may report each
/// access to the checker.
enum class Emulation { None, Plain, Checked };

/// The target of one architecture.
class GpuTarget final : public codegen::Target {
public:
  GpuTarget(const Vendor &, const Architecture &, Emulation = Emulation::None);

  const Vendor &vendor() const { return vendor_; }
  const Architecture &architecture() const { return architecture_; }

  const codegen::TargetBackend &backend() const override;
  std::string name() const override;
  const codegen::Capabilities &capabilities() const override { return capabilities_; }
  llvm::SmallVector<int64_t> proposeTile(const codegen::TileRequest &) const override;
  std::vector<codegen::VariantProposal> proposeVariants(const codegen::VariantRequest &) const override;
  void addLoweringPasses(mlir::OpPassManager &) const override;
  Expected<std::string> emitAssembly(mlir::ModuleOp) const override;
  /// One file, which the driver loads.
  Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp>) const override;
  Expected<std::string> joinObjects(std::vector<std::string> objects) const override;
  /// One image for each kernel: drivers load one without the others.
  Expected<std::vector<BundleImage>> makeImages(std::vector<codegen::CodeUnit> units) const override;

private:
  std::optional<std::array<int64_t, 3>> productTile(const codegen::TileRequest &) const;

  const Vendor &vendor_;
  const Architecture &architecture_;
  const Emulation emulation_;
  codegen::Capabilities capabilities_;
};

/// Splits what follows the vendor in a target's name: "sm_80", or "emulated:sm_80[+check]".
std::pair<llvm::StringRef, Emulation> parseEmulation(llvm::StringRef architecture);

/// Every GPU that this compiler generates code for, oldest first within a vendor.
std::vector<const GpuTarget *> gpuTargets();

/// Calls codegen::findTarget; a target that is no GPU is an error.
Expected<const GpuTarget *> findGpuTarget(llvm::StringRef text);

// Address spaces of the pointers in a lowered kernel; the same numbers in NVVM, ROCDL and SPIR-V for OpenCL.
inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;

} // namespace tessera::gpu
