#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/emit/SplitFunctions.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace tessera::emit {
namespace {

Error failure(std::string message) { return {"E_BACKEND", std::move(message), ""}; }

Expected<std::unique_ptr<llvm::TargetMachine>> machineFor(const LlvmTarget &target) {
  llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target *t = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!t) return failure(error);
  llvm::TargetOptions options;
  // Only an fma that the code generator emitted contracts.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(t->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_, std::nullopt, target.effort));
  if (!machine) return failure("LLVM has no code generator for " + target.triple);
  return machine;
}

/// Returns the first function that is called but not defined; empty if there is none.
std::string unresolved(const llvm::Module &module, const LlvmTarget &target) {
  for (const llvm::Function &f : module) {
    if (!f.isDeclaration() || f.use_empty()) continue;
    std::string_view name(f.getName());
    if (f.isIntrinsic() ? target.hasIntrinsic && !target.hasIntrinsic(f.getIntrinsicID())
                        : !target.mayCall || !target.mayCall(name))
      return std::string(name);
  }
  return {};
}

/// Returns the width of the first result that is an integer, or a vector of integers, of another width than
/// the target's; 0 if there is none.
unsigned foreignWidth(const llvm::Module &module, llvm::function_ref<bool(unsigned bits)> hasInteger) {
  for (const llvm::Function &f : module)
    for (const llvm::Instruction &i : llvm::instructions(f))
      if (const llvm::Type *type = i.getType()->getScalarType(); type->isIntegerTy())
        if (unsigned bits = type->getIntegerBitWidth(); !hasInteger(bits)) return bits;
  return 0;
}

/// Keeps the first error that LLVM reports about a module.
void collect(const llvm::DiagnosticInfo *info, void *context) {
  auto &first = *static_cast<std::string *>(context);
  if (info->getSeverity() != llvm::DS_Error || !first.empty()) return;
  llvm::raw_string_ostream stream(first);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

} // namespace

void optimise(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef text) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cam, mam);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, text));
  passes.run(module, mam);
}

namespace {

/// One module in translation.
struct Part {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir; // destroyed before its context
};

/// The first of the two steps: translates to LLVM IR. It reads the MLIR context.
MaybeError translate(mlir::ModuleOp module, Part &part) {
  part.ir = mlir::translateModuleToLLVMIR(module, part.context, "tessera");
  if (!part.ir) return failure("the LLVM dialect module does not translate to LLVM IR");
  return std::nullopt;
}

/// Returns a file of the type or, if none is given, the text of LLVM IR.
Expected<std::string> generate(Part &part, const LlvmTarget &target,
                               std::optional<llvm::CodeGenFileType> type) {
  auto found = machineFor(target);
  if (!found) return found.error();
  llvm::TargetMachine *machine = found->get();
  std::string error;
  part.context.setDiagnosticHandlerCallBack(collect, &error);
  llvm::Module &ir = *part.ir;
  ir.setDataLayout(machine->createDataLayout());
  ir.setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &f : ir) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target.cpu);
    f.addFnAttr("target-features", target.features);
  }
  if (target.prepare) target.prepare(ir);
  optimise(ir, *machine, target.passes);
  if (target.finish) target.finish(ir);
  if (std::string symbol = unresolved(ir, target); !symbol.empty())
    return failure("the code calls '" + symbol + "', which no library of " + target.triple + " defines");
  if (unsigned bits = target.hasInteger ? foreignWidth(ir, target.hasInteger) : 0)
    return failure("the code computes with integers of " + std::to_string(bits) + " bits, which " +
                   target.triple + " does not have");
  llvm::SmallVector<char, 0> file;
  llvm::raw_svector_ostream stream(file);
  if (!type) {
    std::string messages;
    llvm::raw_string_ostream words(messages);
    if (llvm::verifyModule(ir, &words)) return failure(messages);
    ir.print(stream, nullptr);
    return std::string(file.begin(), file.end());
  }
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, *type, /*DisableVerify=*/!target.verify))
    return failure("LLVM cannot emit this kind of file for " + target.triple);
  passes.run(ir);
  if (!error.empty()) return failure(error);
  return std::string(file.begin(), file.end());
}

Expected<std::string> emitAs(mlir::ModuleOp module, const LlvmTarget &target,
                             std::optional<llvm::CodeGenFileType> type) {
  Part part;
  if (auto e = translate(module, part)) return *e;
  return generate(part, target, type);
}

} // namespace

Expected<std::string> emitFile(mlir::ModuleOp module, const LlvmTarget &target, llvm::CodeGenFileType type) {
  return emitAs(module, target, type);
}

Expected<std::string> emitIr(mlir::ModuleOp module, const LlvmTarget &target) {
  return emitAs(module, target, std::nullopt);
}

Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp> module,
                                               const LlvmTarget &target) {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules =
      splitFunctions(std::move(module), target.keepsCallees);
  std::vector<Expected<std::string>> objects(modules.size(), failure(""));
  size_t next = 0;
  std::mutex reading; // the MLIR context is read under this lock, because its own threading may be off
  auto work = [&] {
    for (;;) {
      Part part;
      Expected<std::string> *object = nullptr;
      MaybeError error;
      {
        std::lock_guard lock(reading);
        if (next == modules.size()) return;
        object = &objects[next];
        error = translate(*modules[next++], part);
      }
      *object = error ? *error : generate(part, target, llvm::CodeGenFileType::ObjectFile);
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t threads =
        std::min<size_t>(modules.size(), std::max(1u, std::thread::hardware_concurrency()));
    try {
      while (others.size() + 1 < threads)
        others.emplace_back(work);
    } catch (const std::system_error &) { // no more threads can be started
    }
    work();
  }
  std::vector<std::string> out;
  for (Expected<std::string> &object : objects) {
    if (!object) return object.error();
    out.push_back(std::move(*object));
  }
  return out;
}

} // namespace tessera::emit
