#include "compiler/pipeline/CheckProfiles.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/support/DiagnosticCode.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/Product.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileDialect.h"
#include "numerics/NumericsProfile.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera {
namespace {

/// Returns the dtype of the op's first result or operand that has one: "f32".
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
             graph::ScanOp, graph::SoftmaxOp, graph::LayerNormOp, graph::RmsNormOp, graph::AttentionOp>(op);
}

/// "tile.mma on f32"
std::string describe(Operation *op) {
  const std::string dtype = dtypeText(op);
  return op->getName().getStringRef().str() + (dtype.empty() ? "" : " on " + dtype);
}

InFlightDiagnostic refuse(Operation *at, Operation *kernel, const char *permission, const std::string &what,
                          StringRef backend) {
  return at->emitError() << "TSR_UNIMPLEMENTED: numerics profile '" << profileOf(kernel) << "' ("
                         << permission << ") is not honoured by backend " << backend << ": " << what;
}

/// Returns what depends on the order in which programs execute an atomic, and what to write instead.
struct OrderDependence {
  std::string what;
  const char *hint;
};

/// Sums of integers and extremes do not depend on the order. Sums of floats do, as do exchanges, and the old
/// value that any atomic returns.
std::optional<OrderDependence> orderDependence(Operation *op) {
  if (isa<tile::AtomicCasOp>(op))
    return OrderDependence{"atomic_cas", "combine with atomic_add on integers, atomic_max or atomic_min"};
  auto atomic = dyn_cast<tile::AtomicOp>(op);
  if (!atomic) return std::nullopt;
  const std::string name = "atomic_" + tile::stringifyAtomicKind(atomic.getKind()).str();
  if (atomic.getKind() == tile::AtomicKind::Xchg)
    return OrderDependence{name, "store the element where one program writes it"};
  if (atomic.getKind() == tile::AtomicKind::Add &&
      isa<FloatType>(getElementTypeOrSelf(atomic.getValue().getType())))
    return OrderDependence{name + " on " + dtypeText(op), "sum integers, or reduce within one program"};
  if (!atomic->use_empty()) return OrderDependence{"the old value of " + name, "leave the old value unused"};
  return std::nullopt;
}

/// Is it an atomic of print or assert_? The host sorts their records by program.
bool isReport(Operation *op) {
  auto atomic = dyn_cast<tile::AtomicOp>(op);
  auto argument = atomic ? dyn_cast<BlockArgument>(atomic.getView()) : BlockArgument();
  auto kernel = op->getParentOfType<FunctionOpInterface>();
  if (!argument || !kernel || argument.getOwner() != &kernel.getFunctionBody().front()) return false;
  ArrayAttr params = tile::paramsOf(kernel);
  auto param = params ? dyn_cast<tile::ParamAttr>(params[argument.getArgNumber()]) : tile::ParamAttr();
  return param && param.getPolicy() && param.getPolicy().contains("reports");
}

/// What keeps an operation, or the product of a kernel, from the orders of fixed_reductions, and what to do
/// instead.
struct OtherOrder {
  std::string what;
  std::string hint;
};

/// IR text may ask for orders that no program has.
std::optional<OtherOrder> otherOrder(Operation *op) {
  auto ofFloats = [&] {
    Type type = op->getResult(0).getType();
    if (auto tensor = dyn_cast<graph::TensorType>(type)) type = tensor.getElementType();
    return isa<FloatType>(getElementTypeOrSelf(type));
  };
  if (auto group = dyn_cast<tile::GroupReduceOp>(op)) {
    if (group.getKind() != tile::GroupReduceKind::Sum || !ofFloats()) return std::nullopt;
    return OtherOrder{describe(op) + " does not follow the fixed tree",
                      "the width of a group depends on the backend: reduce a tile, by ts.tile.sum"};
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    const tile::OrderAttr order = reduce.getOrderAttr();
    const bool rounds =
        reduce.getKind() == tile::ReduceKind::Sum || reduce.getKind() == tile::ReduceKind::Prod;
    // Tile IR has been through tile-fix-reductions.
    const bool mayLack = !op->getParentOfType<tile::KernelOp>();
    if ((!order && mayLack) || !rounds || !ofFloats()) return std::nullopt;
    const auto ofRows = tile::OrderAttr::fixed(op->getContext(), /*alongLast=*/true),
               ofLeaves = tile::OrderAttr::fixed(op->getContext(), /*alongLast=*/false);
    if (order == ofRows || order == ofLeaves) return std::nullopt;
    auto text = [](tile::OrderAttr known) {
      return llvm::formatv("order <lanes = {0}, block = {1}>", known.getLanes(), known.getBlock()).str();
    };
    return OtherOrder{describe(op) + (order ? " has another order than the fixed ones" : " has no order"),
                      "write " + text(ofRows) + " or " + text(ofLeaves)};
  }
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    using graph::ReduceKind;
    const ReduceKind kind = reduce.getKind();
    const bool rounds = kind == ReduceKind::Sum || kind == ReduceKind::Mean || kind == ReduceKind::Prod;
    if (!reduce.getParts() || !rounds || !ofFloats()) return std::nullopt;
    return OtherOrder{describe(op) + " in parts does not follow the fixed tree",
                      "reduce the axis as a whole"};
  }
  auto leaf = op->getAttrOfType<IntegerAttr>(tile::kLeaf);
  if (auto product = op->getAttrOfType<DictionaryAttr>(tile::kProduct))
    leaf = product.getAs<IntegerAttr>("leaf");
  if (!leaf || leaf.getInt() == 0 || leaf.getInt() == kReductionLeaf) return std::nullopt;
  return OtherOrder{"a product has leaves of " + std::to_string(leaf.getInt()) + " steps",
                    "write " + std::to_string(kReductionLeaf)};
}

/// Refuses what the backend does not compute in the order of fixed_reductions.
LogicalResult checkReductions(Operation *kernel, StringRef backend, bool fixesReductions) {
  constexpr const char *asked = "fixed_reductions";
  if (!fixesReductions) {
    Operation *found = nullptr;
    kernel->walk([&](Operation *op) {
      if (!found && isReduction(op)) found = op;
    });
    return refuse(found ? found : kernel, kernel, asked,
                  (found ? describe(found) + " does" : "reductions do") + " not follow the fixed tree",
                  backend);
  }
  WalkResult walked = kernel->walk([&](Operation *op) {
    std::optional<OtherOrder> found = otherOrder(op);
    if (!found) return WalkResult::advance();
    InFlightDiagnostic error = refuse(op, kernel, asked, found->what, backend);
    setHint(error, found->hint);
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult checkKernel(Operation *kernel, StringRef backend, bool fixesReductions) {
  const std::optional<NumericsPermissions> permits = permitsOf(kernel);
  if (!permits) {
    InFlightDiagnostic error = kernel->emitError() << "unknown numerics profile '" << profileOf(kernel)
                                                   << "': neither built in nor in the module's " << kProfiles;
    setCode(error, "E_NUMERICS_UNKNOWN");
    return error;
  }
  if (permits->fixedReductions && failed(checkReductions(kernel, backend, fixesReductions))) return failure();
  if (permits->unorderedAtomics) return success();
  WalkResult walked = kernel->walk([&](Operation *op) {
    if (isReport(op)) return WalkResult::advance();
    std::optional<OrderDependence> found = orderDependence(op);
    if (!found) return WalkResult::advance();
    InFlightDiagnostic error =
        refuse(op, kernel, "no unordered_atomics", found->what + " depends on the order of arrival", backend);
    setHint(error, found->hint);
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace

LogicalResult checkProfiles(ModuleOp module, StringRef backend, bool fixesReductions) {
  if (failed(checkProfileTable(module))) return failure();
  for (Operation &op : *module.getBody())
    if (isa<graph::FuncOp, schedule::KernelOp, tile::KernelOp>(op) &&
        failed(checkKernel(&op, backend, fixesReductions)))
      return failure();
  return success();
}

} // namespace tessera
