#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

#define GET_OP_CLASSES
#include "compiler/tile/IR/TileFunctionOps.cpp.inc"
