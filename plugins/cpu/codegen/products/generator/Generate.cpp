// product-kernels LEVEL DIR: writes one object file per family of micro-kernels of an instruction level.
// Run when Tessera is built; the same input gives the same bytes.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "plugins/cpu/codegen/products/generator/MicroKernels.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace tessera;
using namespace tessera::cpu::product;

namespace {

constexpr llvm::StringLiteral kPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,loop-mssa(loop-rotate,licm),instcombine,simplifycfg)";

constexpr auto initializeOnce =
    emit::initializeTarget<LLVMInitializeX86TargetInfo, LLVMInitializeX86Target, LLVMInitializeX86TargetMC,
                           LLVMInitializeX86AsmPrinter>;

bool write(const std::string &path, const std::string &bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) out << bytes;
  out.close();
  if (error || out.has_error()) llvm::errs() << "product-kernels: cannot write " << path << "\n";
  return !error && !out.has_error();
}

bool generate(const Level &level, const std::string &folder) {
  mlir::MLIRContext context;
  mlir::registerBuiltinDialectTranslation(context);
  mlir::registerLLVMDialectTranslation(context);
  emit::LlvmTarget target{"x86_64-unknown-linux-gnu", level.cpu, ""};
  auto prepare = [width = std::to_string(level.vectorBytes * 8)](llvm::Module &ir) {
    for (llvm::Function &f : ir)
      if (!f.isDeclaration()) {
        f.addFnAttr("prefer-vector-width", width);
        f.addFnAttr("min-legal-vector-width", width);
        f.addFnAttr(llvm::Attribute::NoUnwind); // no unwind tables
      }
  };
  target.prepare = prepare;
  target.passes = kPasses;
  for (const Family &family : families(level)) {
    target.features = family.features;
    auto module = microKernels(context, level, family);
    if (!module) return false;
    auto object = emit::emitFile(*module, target, llvm::CodeGenFileType::ObjectFile);
    if (!object) {
      llvm::errs() << "product-kernels: " << object.error().message << "\n";
      return false;
    }
    const std::string name = std::string(family.name) + (family.transposed ? ".t" : ".n");
    if (!write(folder + "/" + name + ".o", *object)) return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: product-kernels LEVEL FOLDER\n";
    return 2;
  }
  const char *options[] = {argv[0], "--disable-lsr"};
  llvm::cl::ParseCommandLineOptions(2, options);
  initializeOnce();
  for (const Level &level : levels())
    if (llvm::StringRef(level.name) == argv[1]) return generate(level, argv[2]) ? 0 : 1;
  llvm::errs() << "product-kernels: no level '" << argv[1] << "'\n";
  return 2;
}
