// The CPU that a kernel is compiled for, and the LLVM half of its compilation: LLVM dialect -> LLVM IR ->
// machine code.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace tessera::cpu {

/// A CPU by name and features.
struct CpuTarget {
  std::string triple, cpu, features;
  bool isHost = false;
  bool isOther = false;     // a machine named by its triple, for which this backend makes no images
  std::string productLevel; // instruction level of the bodies of products; empty: there are none
  std::map<DType, std::string> productBodies; // by the operands' dtype
  std::map<DType, std::string> chainBodies;   // the best of those whose sums are a chain over k
  bool hasFma = false;                        // also: converts f16 in one instruction
  int64_t vectorBytes = 16;                   // widest vector register worth using
  int64_t vectorRegisters = 16;               // of that width
  std::vector<std::string> required;          // features of sdk/schema/cpu_features.def that the code may use
};

/// Returns the CPU `name`: "" or "native" (the host, detected at run time), or a name LLVM knows for x86-64
/// ("skylake-avx512", "x86-64-v3", ...).
Expected<CpuTarget> findCpu(llvm::StringRef name);

/// Returns a machine of any 64-bit little-endian triple that LLVM knows.
Expected<CpuTarget> describeMachine(const codegen::LlvmMachine &);

// The functions below are thread-safe and do not throw. On failure they return E_BACKEND.

/// Returns the module's functions as text of LLVM IR, optimised and verified.
Expected<std::string> emitIr(mlir::ModuleOp llvmDialect, const CpuTarget &);

/// Optimises and compiles the module's functions. A large module becomes several objects, which are linked
/// together.
Expected<std::string> emitAssembly(mlir::ModuleOp llvmDialect, const CpuTarget &);
Expected<std::vector<std::string>> emitObjects(mlir::OwningOpRef<mlir::ModuleOp> llvmDialect,
                                               const CpuTarget &);
/// Joins the objects of one module, with the bodies of products that they call, into one.
Expected<std::string> joinObjects(llvm::ArrayRef<std::string> objects, const CpuTarget &);

/// Links objects into one shared object that exports `symbols` and needs the C library only. Bodies of
/// products are taken from the archive. An undefined symbol is an error. Links run one after another.
Expected<std::string> linkShared(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> symbols,
                                 const CpuTarget &);

} // namespace tessera::cpu
