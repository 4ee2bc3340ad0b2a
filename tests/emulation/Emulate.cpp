#include "tests/emulation/Emulate.h"
#include "compiler/codegen/emulate/Emulate.h"
#include "core/bundle/Bundle.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace tessera::emulation {

Device::Device(const std::string &backend) {
  tsr_context_options_t options = {};
  options.struct_size = sizeof options;
  options.backend = backend.c_str();
  EXPECT_EQ(tsrCreateContextEx(&options, &handle), TSR_SUCCESS) << tsrLastError();
}

Device::~Device() { (void)tsrDestroyContext(handle); }

std::string bundleOf(ModuleOp module, const std::string &name, std::string &why) {
  MLIRContext *context = module.getContext();
  ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &d) {
    why += d.str();
    return success();
  });
  PassManager passes(context);
  passes.addPass(emulate::createTargetEmulate({name.ends_with("+check")}));
  if (failed(passes.run(module))) return "";
  BundleImage image;
  image.target = name;
  image.format = ImageFormat::Emulated;
  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(context));
  OpBuilder b = OpBuilder::atBlockEnd(code->getBody());
  module.walk([&](target::ModuleOp m) {
    for (Operation &op : m.getBody().front())
      if (auto info = dyn_cast<target::KernelInfoOp>(op))
        image.entries.push_back({info.getEntry().str(), EntryKind::Kernel, info.getMetadata().str()});
      else
        b.clone(op);
  });
  auto made = emulate::emitHostImage(*code);
  if (!made) return why = made.error().message, "";
  image.data = std::move(*made);
  Bundle bundle;
  bundle.images.push_back(std::move(image));
  std::string bytes;
  BundleError error;
  if (!writeBundle(bundle, bytes, error)) why = error.text();
  return bytes;
}

std::string launch(Device &device, const std::string &bundle, std::vector<uint64_t> arguments,
                   const std::string &name) {
  tsr_module_t module = nullptr;
  tsr_kernel_t kernel = nullptr;
  std::vector<void *> slots;
  for (uint64_t &value : arguments)
    slots.push_back(&value);
  std::string why;
  if (tsrLoadModule(device.handle, bundle.data(), bundle.size(), &module) != TSR_SUCCESS)
    return std::string("not loaded: ") + tsrLastError();
  if (tsrGetKernel(module, name.empty() ? nullptr : name.c_str(), &kernel) != TSR_SUCCESS ||
      tsrLaunch(kernel, nullptr, tsr_launch_t{}, slots.data(), slots.size()) != TSR_SUCCESS)
    why = tsrLastError();
  (void)tsrUnloadModule(module);
  return why;
}

} // namespace tessera::emulation
