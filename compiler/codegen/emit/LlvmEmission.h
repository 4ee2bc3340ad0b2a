// LLVM dialect -> LLVM IR -> optimised -> a file of LLVM's code generator: what every target that LLVM serves
// has in common.
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

/// How LLVM names a target, and what its modules need besides.
/// `prepare`, `mayCall`, `finish` and `hasIntrinsic` may be called by several threads at once, for different
/// modules.
struct LlvmTarget {
  std::string triple, cpu, features;
  /// Sees the module before it is optimised: module flags, attributes of functions.
  llvm::function_ref<void(llvm::Module &)> prepare = nullptr;
  /// A declaration that the linker or the driver resolves; every other one that is still called after
  /// optimisation is an error, since no GPU has a run-time library.
  llvm::function_ref<bool(std::string_view symbol)> mayCall = nullptr;
  /// LLVM's text of the passes, and how hard the code generator tries.
  llvm::StringRef passes = "default<O3>";
  llvm::CodeGenOptLevel effort = llvm::CodeGenOptLevel::Aggressive;
  /// Sees the module after it was optimised.
  llvm::function_ref<void(llvm::Module &)> finish = nullptr;
  /// Whether the code generator has an instruction for an intrinsic that is left then; null: it has all.
  /// Another one would end the process.
  llvm::function_ref<bool(unsigned id)> hasIntrinsic = nullptr;
  /// Whether LLVM checks its own work around code generation.
  bool verify = true;
};

/// Runs LLVM's `passes` on the module, which must be well-formed text.
void optimise(llvm::Module &, llvm::TargetMachine &, llvm::StringRef passes);

/// Compiles the module's functions to assembly text or an object file. Arithmetic is as written: nothing is
/// contracted, no function is approximated. On failure returns E_BACKEND with LLVM's message. Thread-safe;
/// each call has its own LLVMContext. The module's dialects must have their translation to LLVM IR registered
/// in its context, and LLVM's target must have been initialised.
Expected<std::string> emitFile(mlir::ModuleOp llvmDialect, const LlvmTarget &, llvm::CodeGenFileType);

/// Returns the module's functions as text of LLVM IR, optimised for the target and verified.
Expected<std::string> emitIr(mlir::ModuleOp llvmDialect, const LlvmTarget &);

/// Compiles the functions to several object files with as many threads as there are cores. The files do not
/// depend on the number of threads, and have to be linked into one. Consumes `llvmDialect`.
Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp> llvmDialect,
                                               const LlvmTarget &);

} // namespace tessera::emit
