#include "compiler/codegen/gpu/Vendor.h"
#include "compiler/codegen/emulate/Emulate.h"
#include "compiler/codegen/gpu/ConvertToLlvm.h"
#include "compiler/codegen/gpu/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include <mutex>

using namespace mlir;

namespace tessera::gpu {
namespace {

struct GpuPipelineOptions : PassPipelineOptions<GpuPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("GPU, as in ptx:sm_90"),
                             llvm::cl::init("ptx:sm_90")};
};

void registerAll() {
  registerGpuPasses();
  emulate::registerEmulatePasses();
  static PassPipelineRegistration<GpuPipelineOptions> registration(
      "gpu-to-target", "turn thread programs into a vendor's Target IR",
      [](OpPassManager &pm, const GpuPipelineOptions &options) {
        auto target = findGpuTarget(options.target);
        if (!target) llvm::report_fatal_error(llvm::StringRef(target.error().message), false);
        addLlvmPasses(pm, **target);
      });
}

} // namespace

std::vector<std::string> Vendor::targetNames() const {
  std::vector<std::string> names;
  for (const Architecture &architecture : architectures())
    names.push_back((name() + ":" + StringRef(architecture.name)).str());
  return names;
}

std::string Vendor::targets() const {
  return TargetBackend::targets() + ", " + name().str() + ":emulated:ARCHITECTURE";
}

Expected<std::unique_ptr<const codegen::Target>> Vendor::parse(llvm::StringRef architecture) const {
  const auto [known, emulation] = parseEmulation(architecture);
  for (const Architecture &row : architectures())
    if (StringRef(row.name) == known)
      return std::unique_ptr<const codegen::Target>(std::make_unique<GpuTarget>(*this, row, emulation));
  std::string found =
      architecture.empty() ? "names no architecture" : "unknown architecture '" + architecture.str() + "'";
  return Error{"E_TARGET_UNKNOWN", found + "; there are " + targets(), ""};
}

Value Vendor::emitBytes(ImplicitLocOpBuilder &b, Value low, Value high, std::array<int64_t, 4> bytes) const {
  auto four = VectorType::get({4}, b.getI8Type());
  auto single = VectorType::get({1}, b.getI32Type());
  auto bytesOf = [&](Value word) -> Value {
    return vector::BitCastOp::create(b, four, vector::FromElementsOp::create(b, single, word));
  };
  Value word = vector::ShuffleOp::create(b, bytesOf(low), bytesOf(high), bytes);
  return vector::ExtractOp::create(b, vector::BitCastOp::create(b, single, word), 0);
}

void Vendor::registerPasses() const {
  static std::once_flag once; // for all vendors
  std::call_once(once, registerAll);
}

} // namespace tessera::gpu
