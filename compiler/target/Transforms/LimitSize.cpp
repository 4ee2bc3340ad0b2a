// target-limit-size: checks the budget of operations at the point where loops over tiles exist and functions
// are still calls. LLVM would take minutes and gigabytes for a program that is too large, and would end the
// process when memory is exhausted.
#include "compiler/support/DiagnosticCode.h"
#include "compiler/target/Transforms/Passes.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "core/support/AddressSpace.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tessera {
#define GEN_PASS_DEF_TARGETLIMITSIZE
#include "compiler/target/Transforms/Passes.h.inc"

using namespace mlir;

namespace {

constexpr int64_t kOperationsOfFunction = 50; // sin has 60, exp 20

struct TargetLimitSize : impl::TargetLimitSizeBase<TargetLimitSize> {
  using TargetLimitSizeBase::TargetLimitSizeBase;

  void runOnOperation() override {
    int64_t total = 0, most = 0;
    Operation *largest = nullptr;
    for (Operation &kernel : *getOperation().getBody()) {
      int64_t size = 0;
      kernel.walk([&](Operation *op) {
        size += isa_and_nonnull<math::MathDialect>(op->getDialect()) || tile::isFunction(op)
                    ? kOperationsOfFunction
                    : 1;
      });
      total += size;
      if (size > most) most = size, largest = &kernel;
    }
    if (!largest) return;
    if (total > limit) {
      InFlightDiagnostic error = mlir::emitError(largest->getLoc()) << "the program becomes about " << total
                                                                    << " operations of machine code; at most "
                                                                    << limit.getValue() << " are compiled";
      setCode(error, "E_IR_SIZE");
      signalPassFailure();
    } else if (size_t bytes = kCompilationBytes + size_t(total) * kOperationBytes; !canMap(bytes)) {
      InFlightDiagnostic error = mlir::emitError(largest->getLoc())
                                 << "the program becomes about " << total
                                 << " operations of machine code, for which the process has too little memory"
                                    " left ("
                                 << (bytes >> 20) << " MB)";
      setCode(error, "E_OUT_OF_MEMORY");
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace tessera
