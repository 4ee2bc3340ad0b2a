#include "tests/emulation/Emulator.h"
#include "compiler/codegen/gpu/GpuTarget.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tests/emulation/Fibres.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <vector>

using namespace mlir;

namespace tessera::emulation {
namespace {

constexpr size_t kGuard = 256;
constexpr uint8_t kPattern = 0xcd;
constexpr const char *kShared = "emulated_shared";

Fibres *fibres = nullptr; // of the running launch
int64_t block = 0;

int64_t threadId() { return fibres->current(); }
int64_t blockId() { return block; }
void barrier() { fibres->barrier(__builtin_return_address(0)); }

/// The kernel as a function with one pointer to its arguments, 8 bytes each.
void makeHostFunction(ModuleOp module, mlir::gpu::GPUFuncOp kernel, int64_t sharedBytes) {
  ImplicitLocOpBuilder b(kernel.getLoc(), module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto declare = [&](const char *name, TypeRange results) {
    auto f = func::FuncOp::create(b, name, b.getFunctionType({}, results));
    f.setPrivate();
    return f;
  };
  auto thread = declare("emulated_thread", b.getI64Type()), group = declare("emulated_block", b.getI64Type()),
       sync = declare("emulated_barrier", {});
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), uint64_t(sharedBytes) + kGuard);
  auto shared = LLVM::GlobalOp::create(b, bytes, false, LLVM::Linkage::External, kShared, Attribute(), 128,
                                       tessera::gpu::kSharedSpace);
  Block *init = b.createBlock(&shared.getInitializerRegion());
  b.setInsertionPointToStart(init);
  LLVM::ReturnOp::create(b, LLVM::ZeroOp::create(b, bytes).getResult());

  b.setInsertionPointToEnd(module.getBody());
  auto host = func::FuncOp::create(b, "emulated_kernel", b.getFunctionType({pointer}, {}));
  host.getBody().takeBody(kernel.getBody());
  Block &entry = host.getBody().front();
  b.setInsertionPointToStart(&entry);
  Value values = entry.insertArgument(0u, pointer, b.getLoc());
  for (unsigned i = 0, n = entry.getNumArguments() - 1; i < n; ++i) {
    Value slot = LLVM::GEPOp::create(b, pointer, b.getI64Type(), values, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    entry.getArgument(1).replaceAllUsesWith(LLVM::LoadOp::create(b, entry.getArgument(1).getType(), slot));
    entry.eraseArgument(1);
  }
  host.walk([&](Operation *op) {
    b.setInsertionPoint(op);
    auto call = [&](func::FuncOp f) {
      auto made = func::CallOp::create(b, f, ValueRange());
      if (op->getNumResults())
        op->replaceAllUsesWith(
            arith::IndexCastOp::create(b, b.getIndexType(), made.getResult(0)).getOperation());
      op->erase();
    };
    if (isa<mlir::gpu::ThreadIdOp>(op)) return call(thread);
    if (isa<mlir::gpu::BlockIdOp>(op)) return call(group);
    if (isa<mlir::gpu::BarrierOp>(op)) return call(sync);
    if (isa<mlir::gpu::ReturnOp>(op)) {
      func::ReturnOp::create(b);
      op->erase();
    } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
      address.setGlobalName(kShared);
    }
  });
}

} // namespace

struct Emulator::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*kernel)(const uint64_t *) = nullptr;
  uint8_t *shared = nullptr;
  KernelMetadata metadata;
};

Emulator::Emulator() : impl_(std::make_unique<Impl>()) {}
Emulator::~Emulator() = default;

std::unique_ptr<Emulator> Emulator::load(ModuleOp module, const KernelMetadata &metadata, std::string &why) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  mlir::gpu::GPUModuleOp gpuModule = *module.getOps<mlir::gpu::GPUModuleOp>().begin();
  makeHostFunction(module, *gpuModule.getOps<mlir::gpu::GPUFuncOp>().begin(), metadata.sharedBytes);
  gpuModule.erase();
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(module))) return why = "the gpu.module does not lower to the host", nullptr;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto ir = translateModuleToLLVMIR(module, *context, "emulated");
  if (!ir) return why = "the gpu.module does not translate to LLVM IR", nullptr;

  auto fail = [&](llvm::Error e) { return why = llvm::toString(std::move(e)), nullptr; };
  auto self = std::make_unique<Emulator>();
  Impl &impl = *self->impl_;
  impl.metadata.sharedBytes = metadata.sharedBytes;
  impl.metadata.workspaceBytes = metadata.workspaceBytes;
  impl.metadata.block[0] = metadata.block[0];
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host) return fail(host.takeError());
  auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*host)).create();
  if (!made) return fail(made.takeError());
  impl.jit = std::move(*made);
  auto &lib = impl.jit->getMainJITDylib();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      impl.jit->getDataLayout().getGlobalPrefix());
  if (!process) return fail(process.takeError());
  lib.addGenerator(std::move(*process));
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[impl.jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                llvm::JITSymbolFlags::Exported};
  };
  define("emulated_thread", &threadId);
  define("emulated_block", &blockId);
  define("emulated_barrier", &barrier);
  if (auto e = lib.define(llvm::orc::absoluteSymbols(std::move(symbols)))) return fail(std::move(e));
  if (auto e = impl.jit->addIRModule({std::move(ir), std::move(context)})) return fail(std::move(e));
  auto kernel = impl.jit->lookup("emulated_kernel");
  if (!kernel) return fail(kernel.takeError());
  impl.kernel = kernel->toPtr<void (*)(const uint64_t *)>();
  auto shared = impl.jit->lookup(kShared);
  if (!shared) return fail(shared.takeError());
  impl.shared = shared->toPtr<uint8_t *>();
  return self;
}

bool Emulator::launch(std::span<const uint64_t> values, int64_t blocks, Order order, std::string &why) {
  const size_t sharedBytes = size_t(impl_->metadata.sharedBytes);
  std::vector<uint8_t> workspace(size_t(impl_->metadata.workspaceBytes * blocks), kPattern);
  std::vector<uint64_t> arguments(values.begin(), values.end());
  arguments.push_back(reinterpret_cast<uint64_t>(workspace.data()));
  Fibres all(impl_->metadata.block[0], 64 << 10);
  fibres = &all;
  for (block = 0; block < blocks; ++block) {
    std::memset(impl_->shared, kPattern, sharedBytes + kGuard);
    if (!all.run([&](int64_t) { impl_->kernel(arguments.data()); }, order == Order::Descending, why))
      return false;
    for (size_t i = 0; i < kGuard; ++i)
      if (impl_->shared[sharedBytes + i] != kPattern) return why = "wrote past its shared memory", false;
  }
  return true;
}

} // namespace tessera::emulation
