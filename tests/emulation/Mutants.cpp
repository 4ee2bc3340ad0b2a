#include "tests/emulation/Mutants.h"
#include "compiler/pipeline/Compilation.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include <algorithm>
#include <fstream>
#include <sstream>

using namespace mlir;

namespace tessera::emulation {

Outcome run(const Sample &sample, llvm::function_ref<void(LLVM::LLVMFuncOp, Outcome &)> mutate) {
  std::ifstream file(std::string(TESSERA_SAMPLES_DIR) + "/" + sample.name + "/" + sample.name + ".py");
  std::stringstream source;
  if (sample.source.empty())
    source << file.rdbuf();
  else
    source << sample.source;
  CompileOptions options;
  options.fileName = sample.name + ".py";
  options.targets = {sample.vendor + ":" + sample.arch};
  options.tunables = sample.tunables;
  std::vector<Diagnostic> diags;
  Compilation compilation(options, diags);
  Outcome out;
  if (compilation.begin(source.str()) != CompileStatus::Ok ||
      compilation.advance(Level::Schedule) != CompileStatus::Ok)
    return out.error = diags.empty() ? "not compiled" : diags.front().message, out;
  if (!sample.block.empty())
    compilation.module().walk([&](schedule::KernelOp kernel) {
      kernel->setAttr(schedule::kBlock, parseAttribute(sample.block, kernel->getContext()));
    });
  if (compilation.advance(Level::Target) != CompileStatus::Ok)
    return out.error = diags.empty() ? "not compiled" : diags.front().message, out;
  // The kernel alone is mutated.
  std::string entry = "tsr_kernel_" + (sample.kernel.empty() ? sample.name : sample.kernel);
  std::ranges::replace(entry, '.', '$');
  compilation.module().walk([&](LLVM::LLVMFuncOp function) {
    if (function.getName() == entry) mutate(function, out);
  });
  const std::string name = sample.vendor + ":emulated:" + sample.arch + "+check";
  const std::string bundle = bundleOf(compilation.module(), name, out.error);
  if (!out.error.empty()) return out;
  Device device(name);
  std::vector<uint64_t> arguments;
  for (auto [i, bytes] : llvm::enumerate(sample.tensors)) {
    void *tensor = nullptr;
    EXPECT_EQ(tsrAlloc(device.handle, bytes, TSR_MEM_DEVICE, &tensor), TSR_SUCCESS);
    EXPECT_EQ(tsrMemset(device.handle, tensor, 0, bytes), TSR_SUCCESS);
    if (i < sample.contents.size())
      EXPECT_EQ(tsrMemcpyH2D(device.handle, tensor, sample.contents[i].data(), sample.contents[i].size()),
                TSR_SUCCESS);
    arguments.push_back(reinterpret_cast<uint64_t>(tensor));
  }
  arguments.insert(arguments.end(), sample.dims.begin(), sample.dims.end());
  out.error = launch(device, bundle, arguments, sample.kernel.empty() ? sample.name : sample.kernel);
  for (size_t i = 0; i < sample.tensors.size(); ++i) {
    auto *tensor = reinterpret_cast<void *>(arguments[i]);
    std::string &bytes = out.tensors.emplace_back(sample.tensors[i], '\0');
    if (out.error.empty())
      EXPECT_EQ(tsrMemcpyD2H(device.handle, bytes.data(), tensor, bytes.size()), TSR_SUCCESS);
    EXPECT_EQ(tsrFree(device.handle, tensor), TSR_SUCCESS);
  }
  return out;
}

Value constantBefore(Operation *op, int32_t value) {
  OpBuilder b(op);
  return LLVM::ConstantOp::create(b, op->getLoc(), b.getI32Type(), value);
}

} // namespace tessera::emulation
