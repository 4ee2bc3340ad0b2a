// Samples whose Target IR a test changes before the checker runs them.
#pragma once
#include "compiler/pipeline/Compilation.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tests/emulation/Emulate.h"
#include <gtest/gtest.h>
#include <memory>

namespace tessera::emulation {

struct Outcome {
  int barriers = 0;
  std::string error;
  std::vector<std::string> tensors = {}; // the bytes of each after the launch
};

/// A sample's kernel with the arguments of a launch.
struct Sample {
  std::string name, vendor, arch;
  std::vector<uint64_t> tensors; // bytes of each
  std::vector<uint64_t> dims;
  int needless =
      0; // barriers that separate nothing: a neighbour does, or the accesses are of one warp or lane
  std::string kernel = ""; // a variant of the sample's; "": the sample's
  std::vector<std::pair<std::string, int64_t>> tunables = {};
  std::string block = "";                 // schedule.block of its kernel
  std::string source = "";                // its text; "": that of the sample
  std::vector<std::string> contents = {}; // the bytes of the first tensors; the others are zeros
  uint64_t skew = 0;                      // bytes of an allocation before its tensor
};

/// A sample as Target IR, for several mutants of it.
class Compiled {
public:
  explicit Compiled(const Sample &);
  ~Compiled();
  /// Runs what `mutate` has made of a copy of the Target IR.
  Outcome run(llvm::function_ref<void(mlir::LLVM::LLVMFuncOp, Outcome &)> mutate) const;

private:
  Sample sample_;
  std::vector<Diagnostic> diags_;
  std::unique_ptr<Compilation> compilation_;
  bool isCompiled_ = false;
};

/// Runs the sample after `mutate` has changed its Target IR.
Outcome run(const Sample &, llvm::function_ref<void(mlir::LLVM::LLVMFuncOp, Outcome &)> mutate);

/// Runs the sample after `mutate` has changed each operation of this kind, or only number `one`.
template <typename Op>
std::string mutantOf(llvm::function_ref<void(Op)> mutate, int one, const Sample &sample) {
  int changed = 0;
  const Outcome out = run(sample, [&](mlir::LLVM::LLVMFuncOp kernel, Outcome &) {
    std::vector<Op> ops;
    kernel.walk([&](Op op) { ops.push_back(op); });
    for (auto [i, op] : llvm::enumerate(ops))
      if (one < 0 || int(i) == one) mutate(op), ++changed;
  });
  EXPECT_GT(changed, 0);
  return out.error;
}

/// Emits a constant (i32) before the operation.
mlir::Value constantBefore(mlir::Operation *, int32_t value);

#define EXPECT_FOUND(code, error)                                                                            \
  {                                                                                                          \
    const std::string found = error;                                                                         \
    EXPECT_NE(found.find("[" + std::string(code) + "] gemm.py:"), std::string::npos) << found;               \
  }

} // namespace tessera::emulation
