// Syntax and verification of the graph dialect.
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::graph;

#include "compiler/graph/IR/GraphDialect.cpp.inc"
#include "compiler/graph/IR/GraphEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/graph/IR/GraphTypes.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/graph/IR/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/graph/IR/GraphTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/graph/IR/GraphOps.cpp.inc"
      >();
}

LogicalResult tessera::graph::TensorType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                                 ArrayAttr dims, Type element) {
  for (Attribute dim : dims) {
    auto text = dyn_cast<StringAttr>(dim);
    auto extent = dyn_cast<IntegerAttr>(dim);
    if ((text && !text.getValue().empty()) || (extent && extent.getInt() >= 0)) continue;
    return emitError() << "dim " << dim << " is neither a symbol nor a non-negative integer";
  }
  if (!dtypeOfMemory(element))
    return emitError() << "element type " << element << " is no dtype of the language";
  return success();
}

bool tessera::graph::TensorType::isOne(int64_t d) const {
  auto extent = dyn_cast<IntegerAttr>(getDims()[d]);
  return extent && extent.getInt() == 1;
}

std::string tessera::graph::TensorType::dimText(int64_t d) const {
  if (auto extent = dyn_cast<IntegerAttr>(getDims()[d])) return std::to_string(extent.getInt());
  return cast<StringAttr>(getDims()[d]).str();
}

//===-- func and return
//-----------------------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &p, OperationState &state) {
  auto build = [](Builder &b, ArrayRef<Type> args, ArrayRef<Type> results,
                  function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      p, state, /*allowVariadic=*/false, getFunctionTypeAttrName(state.name), build,
      getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name));
}

void FuncOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult FuncOp::verify() {
  if (isExternal()) return emitOpError() << "has no body";
  return success();
}

LogicalResult ReturnOp::verify() {
  auto function = cast<FuncOp>((*this)->getParentOp());
  if (TypeRange(getValues()) == TypeRange(function.getResultTypes())) return success();
  return emitOpError() << "gives (" << getValues().getTypes() << ") in a function of ("
                       << function.getResultTypes() << ")";
}

//===-- launch
//--------------------------------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getEffects().size() != getOperands().size())
    return emitOpError() << "has " << getOperands().size() << " operands but " << getEffects().size()
                         << " effects";
  size_t written = 0;
  for (auto [operand, attr] : llvm::zip_equal(getOperands(), getEffects())) {
    StringRef effect = cast<StringAttr>(attr).getValue();
    if (!llvm::is_contained({"none", "read", "write", "readwrite"}, effect))
      return emitOpError() << "effect \"" << effect
                           << "\" is not \"none\", \"read\", \"write\" or \"readwrite\"";
    if (!isa<tessera::graph::TensorType>(operand.getType()) && effect != "none")
      return emitOpError() << "a scalar of type " << operand.getType() << " has no effect but \"none\"";
    if (effect == "none" || effect == "read") continue;
    if (written < getNumResults() && getResult(written).getType() != operand.getType())
      return emitOpError() << "updates " << operand.getType() << " but gives "
                           << getResult(written).getType();
    ++written;
  }
  if (getNumResults() < written)
    return emitOpError() << "writes " << written << " operands but has " << getNumResults() << " results";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  auto params = kernel ? kernel->getAttrOfType<ArrayAttr>("params") : ArrayAttr();
  if (!params) return emitOpError() << "launches " << getKernelAttr() << ", which is no kernel";
  size_t expected = llvm::count_if(params, [](Attribute param) {
    auto kind = cast<DictionaryAttr>(param).getAs<StringAttr>("kind");
    return kind && (kind.getValue() == "tensor" || kind.getValue() == "scalar");
  });
  if (getOperands().size() != expected)
    return emitOpError() << "passes " << getOperands().size() << " operands to " << getKernelAttr()
                         << ", which takes " << expected;
  return success();
}
