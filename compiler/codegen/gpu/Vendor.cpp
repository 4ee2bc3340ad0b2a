#include "compiler/codegen/gpu/Vendor.h"
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <mutex>

namespace tessera::gpu {

std::string Vendor::targets() const {
  auto names =
      llvm::map_range(architectures(), [&](const Architecture &a) { return (name() + ":" + a.name).str(); });
  return llvm::join(names, ", ");
}

Expected<std::unique_ptr<const codegen::Target>> Vendor::parse(llvm::StringRef architecture) const {
  for (const Architecture &known : architectures())
    if (known.name == architecture)
      return std::unique_ptr<const codegen::Target>(std::make_unique<GpuTarget>(*this, known));
  std::string found =
      architecture.empty() ? "names no architecture" : "unknown architecture '" + architecture.str() + "'";
  return Error{"E_TARGET_UNKNOWN", found + "; there are " + targets(), ""};
}

void Vendor::registerPasses() const {
  static std::once_flag once; // for all vendors
  std::call_once(once, registerGpuPasses);
}

} // namespace tessera::gpu
