// The CPU a kernel is compiled for, and the LLVM half of the way: LLVM dialect -> LLVM IR -> machine code.
#pragma once
#include "compiler/codegen/TargetBackend.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace tessera::cpu {

/// A CPU by name and features.
struct CpuTarget {
  std::string triple, cpu, features;
  bool isHost = false;
  bool isOther = false;              // a machine by its triple, for which this backend makes no images
  bool hasFma = false;               // and conversions of f16 in one instruction
  int64_t vectorBytes = 16;          // widest vector register worth using
  int64_t vectorRegisters = 16;      // of that width
  std::vector<std::string> required; // features the code may use, of sdk/schema/cpu_features.def
};

/// The CPU `name`: "" or "native" (the host, detected at run time), or a name LLVM knows for x86-64
/// ("skylake-avx512", "x86-64-v3", ...).
Expected<CpuTarget> findCpu(llvm::StringRef name);

/// A machine of any triple that is 64-bit and little-endian, and that LLVM knows.
Expected<CpuTarget> describeMachine(const codegen::LlvmMachine &);

/// LLVM IR as text of the module's functions, optimised and verified. False with the reason. Thread-safe.
[[nodiscard]] bool emitIr(mlir::ModuleOp llvmDialect, const CpuTarget &, std::string &text, std::string &why);

/// Optimises and compiles the module's functions; a large module becomes several objects, which belong
/// together. Each returns false with the reason; none throws. Thread-safe.
[[nodiscard]] bool emitAssembly(mlir::ModuleOp llvmDialect, const CpuTarget &, std::string &text,
                                std::string &why);
[[nodiscard]] bool emitObjects(mlir::OwningOpRef<mlir::ModuleOp> llvmDialect, const CpuTarget &,
                               std::vector<std::string> &objects, std::string &why);
/// The objects of one module as one object.
[[nodiscard]] bool joinObjects(llvm::ArrayRef<std::string> objects, std::string &object, std::string &why);

/// Links objects into one shared object that exports `symbols` and needs nothing but the C library. Every
/// symbol it refers to is there, else this fails. Thread-safe; links run one after another.
[[nodiscard]] bool linkShared(llvm::ArrayRef<std::string> objects, llvm::ArrayRef<std::string> symbols,
                              std::string &bytes, std::string &why);

} // namespace tessera::cpu
