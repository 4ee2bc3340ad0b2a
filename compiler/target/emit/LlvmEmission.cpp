#include "compiler/target/emit/LlvmEmission.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace tessera::emit {
namespace {

std::unique_ptr<llvm::TargetMachine> machineFor(const LlvmTarget &target, std::string &why) {
  llvm::Triple triple(target.triple);
  const llvm::Target *t = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!t) return nullptr;
  llvm::TargetOptions options;
  // Contraction happens only where the code generator wrote an fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(t->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_, std::nullopt, target.effort));
  if (!machine) why = "LLVM has no code generator for " + target.triple;
  return machine;
}

/// The first function that is called but exists nowhere; empty when there is none.
std::string unresolved(const llvm::Module &module, const LlvmTarget &target) {
  for (const llvm::Function &f : module)
    if (f.isDeclaration() && !f.isIntrinsic() && !f.use_empty())
      if (std::string_view name(f.getName()); !target.mayCall || !target.mayCall(name))
        return std::string(name);
  return {};
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

bool emitFile(mlir::ModuleOp module, const LlvmTarget &target, llvm::CodeGenFileType type, std::string &bytes,
              std::string &why) {
  std::unique_ptr<llvm::TargetMachine> machine = machineFor(target, why);
  if (!machine) return false;
  llvm::LLVMContext context;
  std::string error;
  context.setDiagnosticHandlerCallBack(collect, &error);
  std::unique_ptr<llvm::Module> ir = mlir::translateModuleToLLVMIR(module, context, "tessera");
  if (!ir) {
    why = "the LLVM dialect module does not translate to LLVM IR";
    return false;
  }
  ir->setDataLayout(machine->createDataLayout());
  ir->setTargetTriple(machine->getTargetTriple());
  for (llvm::Function &f : *ir) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", target.cpu);
    f.addFnAttr("target-features", target.features);
  }
  if (target.prepare) target.prepare(*ir);
  optimise(*ir, *machine, target.passes);
  if (target.finish) target.finish(*ir);
  if (std::string symbol = unresolved(*ir, target); !symbol.empty()) {
    why = "the code calls '" + symbol + "', which no library of " + target.triple + " defines";
    return false;
  }
  llvm::SmallVector<char, 0> file;
  llvm::raw_svector_ostream stream(file);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/!target.verify)) {
    why = "LLVM cannot emit this kind of file for " + target.triple;
    return false;
  }
  passes.run(*ir);
  if (!error.empty()) {
    why = std::move(error);
    return false;
  }
  bytes.assign(file.begin(), file.end());
  return true;
}

} // namespace tessera::emit
