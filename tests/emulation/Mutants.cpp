#include "tests/emulation/Mutants.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include <algorithm>
#include <fstream>
#include <sstream>

using namespace mlir;

namespace tessera::emulation {

Compiled::Compiled(const Sample &sample) : sample_(sample) {
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
  compilation_ = std::make_unique<Compilation>(options, diags_);
  if (compilation_->begin(source.str()) != CompileStatus::Ok ||
      compilation_->advance(Level::Schedule) != CompileStatus::Ok)
    return;
  if (!sample.block.empty())
    compilation_->module().walk([&](schedule::KernelOp kernel) {
      kernel->setAttr(schedule::kBlock, parseAttribute(sample.block, kernel->getContext()));
    });
  isCompiled_ = compilation_->advance(Level::Target) == CompileStatus::Ok;
}

Compiled::~Compiled() = default;

Outcome Compiled::run(llvm::function_ref<void(LLVM::LLVMFuncOp, Outcome &)> mutate) const {
  Outcome out;
  if (!isCompiled_) return out.error = diags_.empty() ? "not compiled" : diags_.front().message, out;
  OwningOpRef<ModuleOp> module = compilation_->module().clone();
  const std::string kernel = sample_.kernel.empty() ? sample_.name : sample_.kernel;
  // The kernel alone is mutated, and of several variants it alone is executed.
  std::string entry = "tsr_kernel_" + kernel;
  std::ranges::replace(entry, '.', '$');
  SmallVector<Operation *> others;
  module->walk([&](Operation *op) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    auto info = dyn_cast<target::KernelInfoOp>(op);
    if (function && function.getName() == entry)
      mutate(function, out);
    else if ((function && function.getName().starts_with("tsr_kernel_")) ||
             (info && info.getEntry() != entry))
      others.push_back(op);
  });
  if (!sample_.kernel.empty())
    for (Operation *op : others)
      op->erase();
  const std::string name = sample_.vendor + ":emulated:" + sample_.arch + "+check";
  const std::string bundle = bundleOf(*module, name, out.error);
  if (!out.error.empty()) return out;
  Device device(name);
  std::vector<uint64_t> arguments;
  for (auto [i, bytes] : llvm::enumerate(sample_.tensors)) {
    void *allocated = nullptr;
    EXPECT_EQ(tsrAlloc(device.handle, bytes + sample_.skew, TSR_MEM_DEVICE, &allocated), TSR_SUCCESS);
    auto *tensor = static_cast<char *>(allocated) + sample_.skew;
    EXPECT_EQ(tsrMemset(device.handle, tensor, 0, bytes), TSR_SUCCESS);
    if (i < sample_.contents.size())
      EXPECT_EQ(tsrMemcpyH2D(device.handle, tensor, sample_.contents[i].data(), sample_.contents[i].size()),
                TSR_SUCCESS);
    arguments.push_back(reinterpret_cast<uint64_t>(tensor));
  }
  arguments.insert(arguments.end(), sample_.dims.begin(), sample_.dims.end());
  out.error = launch(device, bundle, arguments, kernel);
  for (auto [i, bytes] : llvm::enumerate(sample_.tensors)) {
    auto *tensor = reinterpret_cast<char *>(arguments[i]);
    std::string &copied = out.tensors.emplace_back(bytes, '\0');
    if (out.error.empty()) EXPECT_EQ(tsrMemcpyD2H(device.handle, copied.data(), tensor, bytes), TSR_SUCCESS);
    EXPECT_EQ(tsrFree(device.handle, tensor - sample_.skew), TSR_SUCCESS);
  }
  return out;
}

Outcome run(const Sample &sample, llvm::function_ref<void(LLVM::LLVMFuncOp, Outcome &)> mutate) {
  return Compiled(sample).run(mutate);
}

Value constantBefore(Operation *op, int32_t value) {
  OpBuilder b(op);
  return LLVM::ConstantOp::create(b, op->getLoc(), b.getI32Type(), value);
}

} // namespace tessera::emulation
