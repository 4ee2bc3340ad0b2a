#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/emit/SplitFunctions.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

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
  for (const llvm::Function &f : module) {
    if (!f.isDeclaration() || f.use_empty()) continue;
    std::string_view name(f.getName());
    if (f.isIntrinsic() ? target.hasIntrinsic && !target.hasIntrinsic(f.getIntrinsicID())
                        : !target.mayCall || !target.mayCall(name))
      return std::string(name);
  }
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

namespace {

/// One module on its way to a file.
struct Part {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir;
  std::string bytes, why; // why: empty unless it failed
};

bool translate(mlir::ModuleOp module, Part &part) {
  part.ir = mlir::translateModuleToLLVMIR(module, part.context, "tessera");
  if (!part.ir) part.why = "the LLVM dialect module does not translate to LLVM IR";
  return part.ir != nullptr;
}

/// Makes a file of the type, or, without one, text of LLVM IR.
void generate(Part &part, const LlvmTarget &target, std::optional<llvm::CodeGenFileType> type) {
  std::unique_ptr<llvm::TargetMachine> machine = machineFor(target, part.why);
  if (!machine) return;
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
  if (std::string symbol = unresolved(ir, target); !symbol.empty()) {
    part.why = "the code calls '" + symbol + "', which no library of " + target.triple + " defines";
    return;
  }
  llvm::SmallVector<char, 0> file;
  llvm::raw_svector_ostream stream(file);
  if (!type) {
    llvm::raw_string_ostream words(part.why);
    if (!llvm::verifyModule(ir, &words)) ir.print(stream, nullptr);
    part.bytes.assign(file.begin(), file.end());
    part.ir.reset(); // before its context
    return;
  }
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, *type, /*DisableVerify=*/!target.verify)) {
    part.why = "LLVM cannot emit this kind of file for " + target.triple;
    return;
  }
  passes.run(ir);
  part.why = std::move(error);
  part.bytes.assign(file.begin(), file.end());
  part.ir.reset(); // before its context
}

} // namespace

bool emitFile(mlir::ModuleOp module, const LlvmTarget &target, llvm::CodeGenFileType type, std::string &bytes,
              std::string &why) {
  Part part;
  if (translate(module, part)) generate(part, target, type);
  why = std::move(part.why);
  if (why.empty()) bytes = std::move(part.bytes);
  return why.empty();
}

bool emitIr(mlir::ModuleOp module, const LlvmTarget &target, std::string &text, std::string &why) {
  Part part;
  if (translate(module, part)) generate(part, target, std::nullopt);
  why = std::move(part.why);
  if (why.empty()) text = std::move(part.bytes);
  return why.empty();
}

bool emitObjects(mlir::OwningOpRef<mlir::ModuleOp> module, const LlvmTarget &target,
                 std::vector<std::string> &objects, std::string &why) {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules = splitFunctions(std::move(module));
  std::deque<Part> parts(modules.size()); // which do not move
  size_t next = 0;
  std::mutex reading; // of the MLIR context, whose own threading may be off
  auto work = [&] {
    for (;;) {
      Part *part = nullptr;
      {
        std::lock_guard lock(reading);
        if (next == parts.size()) return;
        part = &parts[next];
        if (!translate(*modules[next++], *part)) continue;
      }
      generate(*part, target, llvm::CodeGenFileType::ObjectFile);
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t threads = std::min<size_t>(parts.size(), std::max(1u, std::thread::hardware_concurrency()));
    try {
      while (others.size() + 1 < threads)
        others.emplace_back(work);
    } catch (const std::system_error &) { // no more threads: those there are do the work
    }
    work();
  }
  for (Part &part : parts) {
    if (!part.why.empty()) {
      why = std::move(part.why);
      return false;
    }
    objects.push_back(std::move(part.bytes));
  }
  return true;
}

} // namespace tessera::emit
