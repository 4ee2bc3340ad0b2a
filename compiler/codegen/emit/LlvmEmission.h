// LLVM dialect -> LLVM IR -> optimised LLVM IR -> a file of LLVM's code generator. Every target that LLVM
// supports uses it.
#pragma once
#include "core/support/Expected.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tessera::emit {

/// LLVM's names of a target, and what its modules need besides. The functions may be called by several
/// threads at once, for different modules.
struct LlvmTarget {
  std::string triple, cpu, features;
  /// Called before the module is optimised, to set module flags and attributes of functions.
  llvm::function_ref<void(llvm::Module &)> prepare = nullptr;
  /// Returns true for a declaration that the linker or the driver resolves. Any other function that is still
  /// called after optimisation is an error, since no GPU has a run-time library.
  llvm::function_ref<bool(std::string_view symbol)> mayCall = nullptr;
  /// The passes in LLVM's textual form, and the optimisation level of the code generator.
  llvm::StringRef passes = "default<O3>";
  llvm::CodeGenOptLevel effort = llvm::CodeGenOptLevel::Aggressive;
  /// Called after the module is optimised.
  llvm::function_ref<void(llvm::Module &)> finish = nullptr;
  /// Does the code generator have an instruction for an intrinsic that remains after optimisation? Null: it
  /// has all of them. An unsupported one would end the process.
  llvm::function_ref<bool(unsigned id)> hasIntrinsic = nullptr;
  /// Has the target integers of so many bits? Null: LLVM makes any width of those that it has. Another width
  /// in the optimised module is an error.
  llvm::function_ref<bool(unsigned bits)> hasInteger = nullptr;
  /// Must a function be compiled together with those that it calls?
  bool keepsCallees = false;
  /// Does LLVM verify the IR around code generation?
  bool verify = true;
};

/// Runs LLVM's `passes`, which must be well-formed text, on the module.
void optimise(llvm::Module &, llvm::TargetMachine &, llvm::StringRef passes);

/// Compiles the module's functions to assembly text or an object file. Arithmetic is kept as written: nothing
/// is contracted, and no function is approximated. On failure returns E_BACKEND with LLVM's message.
/// Thread-safe; each call has its own LLVMContext. The translations of the module's dialects to LLVM IR must
/// be registered in its context, and LLVM's target must be initialised.
Expected<std::string> emitFile(mlir::ModuleOp llvmDialect, const LlvmTarget &, llvm::CodeGenFileType);

/// Returns the module's functions as the text of LLVM IR, optimised for the target and verified.
Expected<std::string> emitIr(mlir::ModuleOp llvmDialect, const LlvmTarget &);

/// Compiles the functions to several object files with as many threads as there are cores. The files do not
/// depend on the number of threads, and have to be linked into one. Consumes `llvmDialect`.
Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp> llvmDialect,
                                               const LlvmTarget &);

} // namespace tessera::emit
