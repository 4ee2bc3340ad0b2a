#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/KernelVariants.h"
#include "compiler/tile/IR/Product.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::tile;

#include "compiler/tile/IR/TileDialect.cpp.inc"
#include "compiler/tile/IR/TileEnums.cpp.inc"

void TileDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "compiler/tile/IR/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/tile/IR/TileFunctionOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(b, value, type, loc);
}

LogicalResult tessera::tile::refuseAttribute(Operation *op, NamedAttribute attribute, StringRef expected) {
  InFlightDiagnostic error = op->emitOpError();
  if (expected.empty()) return error << "has an unknown attribute " << attribute.getName();
  error << "has " << attribute.getName();
  if (!isa<UnitAttr>(attribute.getValue())) error << " = " << attribute.getValue();
  return error << "; it must be " << expected;
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto check = [&](bool isRight, StringRef expected) {
    return isRight ? success() : refuseAttribute(op, attribute, expected);
  };
  if (name == kLanes)
    return check(isa<UnitAttr>(value) && isa<scf::ForOp>(op), "a unit attribute on scf.for");
  if (name == kMaterialize) return check(isa<UnitAttr>(value), "a unit attribute");
  if (name == kScratch) {
    auto offsets = dyn_cast<DenseI64ArrayAttr>(value);
    return check(offsets && llvm::all_of(offsets.asArrayRef(), [](int64_t offset) { return offset >= 0; }),
                 "an array of byte offsets");
  }
  if (name == kPrivate) {
    auto offset = dyn_cast<IntegerAttr>(value);
    return check(isa<AtomicOp>(op) && offset && !offset.getValue().isNegative(),
                 "a byte offset on tile.atomic");
  }
  if (name == kPrivateValue)
    return check(isa<UnitAttr>(value) && isa<AtomicOp>(op), "a unit attribute on tile.atomic");
  if (name == kReadBlocks)
    return check(isa<UnitAttr>(value) && isa<LoadOp>(op) && (op->use_empty() || op->hasOneUse()),
                 "a unit attribute on a tile.load that one product uses");
  if (name == kStrided) return check(isa<UnitAttr>(value) && isa<MmaOp>(op), "a unit attribute on tile.mma");
  if (name == kLeaf) {
    auto steps = dyn_cast<IntegerAttr>(value);
    return check(isa<MmaOp>(op) && steps && steps.getValue().isStrictlyPositive(),
                 "a number of steps on tile.mma");
  }
  if (name == kProduct) {
    auto kernel = dyn_cast<KernelOp>(op);
    const std::string needs = kernel ? whyNoProduct(kernel) : "a tile.kernel";
    return check(needs.empty(), needs);
  }
  if (name == kProductWay) return check(isa<StringAttr>(value) && paramsOf(op), "a name on a kernel");
  if (name == kChecks) {
    auto list = dyn_cast<ArrayAttr>(value);
    auto isCheck = [](Attribute entry) {
      auto check = dyn_cast<DictionaryAttr>(entry);
      return check && check.size() == 2 && check.getAs<StringAttr>("value") &&
             check.getAs<StringAttr>("says");
    };
    return check(list && llvm::all_of(list, isCheck) && paramsOf(op),
                 "an array of {says, value} on a kernel");
  }
  if (name == kVariants)
    return check(isVariantList(value) && paramsOf(op), "an array of variants on a kernel");
  return refuseAttribute(op, attribute, "");
}

#define GET_OP_CLASSES
#include "compiler/tile/IR/TileFunctionOps.cpp.inc"
