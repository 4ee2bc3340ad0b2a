// Host code of an emulated image. The processor features are fixed, so that results do not depend on the
// machine: converting to bf16, for example, is another instruction where AVX512-BF16 exists.
#include "compiler/codegen/emit/InitializeTarget.h"
#include "compiler/codegen/emit/Linker.h"
#include "compiler/codegen/emit/LlvmEmission.h"
#include "compiler/codegen/emulate/Emulate.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera::emulate {
namespace {

void initializeNative() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
}

Expected<std::string> emit(mlir::ModuleOp module, llvm::CodeGenFileType type) {
  emit::initializeTarget<initializeNative>();
  const std::string triple = llvm::sys::getProcessTriple();
  auto anything = [](std::string_view) { return true; }; // the dynamic linker checks the symbols
  emit::LlvmTarget target{triple, llvm::Triple(triple).isX86() ? "x86-64-v3" : "", ""};
  target.mayCall = anything;
  // Most programs are compiled for longer than they run. Further passes cost more time than they save, even
  // in products of large tiles.
  target.passes = "function(sroa,early-cse,simplifycfg)";
  target.effort = llvm::CodeGenOptLevel::None;
  target.verify = false;
  return emit::emitFile(module, target, type);
}

} // namespace

Expected<std::string> emitHostAssembly(mlir::ModuleOp module) {
  return emit(module, llvm::CodeGenFileType::AssemblyFile);
}

Expected<std::string> emitHostImage(mlir::ModuleOp module) {
  Expected<std::string> object = emit(module, llvm::CodeGenFileType::ObjectFile);
  if (!object) return object;
  emit::MemoryFile input(*object);
  if (!input.good()) return Error{"E_BACKEND", "no memory file for the linker", ""};
  // The calls tsr_emu_* stay undefined: the emulator, which loads the image, defines them.
  return emit::link(
      {"-shared", "-Bsymbolic", "-z", "now", "--hash-style=gnu", "--build-id=none", "-s", input.path()});
}

} // namespace tessera::emulate
