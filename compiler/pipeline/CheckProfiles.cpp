#include "compiler/pipeline/CheckProfiles.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/pipeline/DiagnosticCode.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileDialect.h"

using namespace mlir;

namespace tessera {
namespace {

/// "f32": of the op's first result or operand that has one.
std::string dtypeText(Operation *op) {
  auto of = [](TypeRange types) -> std::string {
    for (Type type : types) {
      if (auto tensor = dyn_cast<graph::TensorType>(type))
        type = tensor.getElementType();
      else
        type = getElementTypeOrSelf(type);
      if (std::optional<DType> dtype = dtypeOfMemory(type)) return name(*dtype);
    }
    return "";
  };
  std::string out = of(op->getResultTypes());
  return out.empty() ? of(op->getOperandTypes()) : out;
}

bool isReduction(Operation *op) {
  return isa<tile::MmaOp, tile::ReduceOp, tile::ScanOp, tile::GroupReduceOp, graph::MatmulOp, graph::ReduceOp,
             graph::SoftmaxOp, graph::LayerNormOp, graph::RmsNormOp, graph::AttentionOp>(op);
}

/// "tile.mma on f32"
std::string describe(Operation *op) {
  const std::string dtype = dtypeText(op);
  return op->getName().getStringRef().str() + (dtype.empty() ? "" : " on " + dtype);
}

LogicalResult refuse(Operation *at, Operation *kernel, const char *permission, const std::string &what,
                     StringRef backend) {
  return at->emitError() << "TSR_UNIMPLEMENTED: numerics profile '" << profileOf(kernel) << "' ("
                         << permission << ") is not honoured by backend " << backend << ": " << what;
}

LogicalResult checkKernel(Operation *kernel, StringRef backend) {
  const std::optional<NumericsPermissions> permits = permitsOf(kernel);
  if (!permits) {
    InFlightDiagnostic error = kernel->emitError() << "unknown numerics profile '" << profileOf(kernel)
                                                   << "': neither built in nor in the module's " << kProfiles;
    setCode(error, "E_NUMERICS_UNKNOWN");
    return error;
  }
  if (permits->fixedReductions) {
    Operation *found = nullptr;
    kernel->walk([&](Operation *op) {
      if (!found && isReduction(op)) found = op;
    });
    return refuse(found ? found : kernel, kernel, "fixed_reductions",
                  (found ? describe(found) + " does" : "reductions do") +
                      std::string(" not follow the fixed tree"),
                  backend);
  }
  if (permits->unorderedAtomics) return success();
  WalkResult walked = kernel->walk([&](tile::AtomicOp op) {
    if (op.getKind() != tile::AtomicKind::Add ||
        !isa<FloatType>(getElementTypeOrSelf(op.getValue().getType())))
      return WalkResult::advance();
    (void)refuse(op, kernel, "no unordered_atomics",
                 "atomic_add on " + dtypeText(op) + " depends on the order of arrival", backend);
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace

LogicalResult checkProfiles(ModuleOp module, StringRef backend) {
  if (failed(checkProfileTable(module))) return failure();
  for (Operation &op : *module.getBody())
    if (isa<graph::FuncOp, schedule::KernelOp, tile::KernelOp>(op) && failed(checkKernel(&op, backend)))
      return failure();
  return success();
}

} // namespace tessera
