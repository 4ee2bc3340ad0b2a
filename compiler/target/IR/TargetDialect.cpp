// Verification of the target dialect.
#include "compiler/target/IR/TargetDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera::target;

#include "compiler/target/IR/TargetDialect.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/target/IR/TargetOps.cpp.inc"

void TargetDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/target/IR/TargetOps.cpp.inc"
      >();
}

LogicalResult KernelInfoOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (symbols.lookupNearestSymbolFrom(*this, getEntryAttr())) return success();
  return emitOpError() << "entry " << getEntryAttr() << " is not in its module";
}
