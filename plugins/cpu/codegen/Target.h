// The CPU a kernel is compiled for, and the LLVM half of the way: LLVM dialect -> LLVM IR -> machine code.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
class MemoryBuffer;
} // namespace llvm

namespace tessera::cpu {

/// A CPU by name and features. `host()` is the one this process runs on.
struct CpuTarget {
  std::string triple, cpu, features;
  bool isHost = false;
  int64_t vectorBytes = 16;     // widest vector register worth using
  int64_t vectorRegisters = 16; // of that width
};

/// Reads "cpu" (the host, detected at run time), "cpu:native" or "cpu:NAME" with a name LLVM knows for x86-64
/// ("skylake-avx512", "x86-64-v3", ...). Returns false and the reason for anything else.
[[nodiscard]] bool parseTarget(llvm::StringRef text, CpuTarget &out, std::string &why);

/// Optimises and compiles the module's functions.
/// Each returns false with the reason; none throws. Thread-safe.
[[nodiscard]] bool emitAssembly(mlir::ModuleOp llvmDialect, const CpuTarget &, std::string &text,
                                std::string &why);
[[nodiscard]] bool emitObject(mlir::ModuleOp llvmDialect, const CpuTarget &, std::string &bytes,
                              std::string &why);

/// Machine code in this process; `owner` keeps it alive. `symbol` is looked up with its plain name.
[[nodiscard]] bool jit(mlir::ModuleOp llvmDialect, const CpuTarget &, llvm::StringRef symbol,
                       std::shared_ptr<void> &owner, void *&address, std::string &why);

} // namespace tessera::cpu
