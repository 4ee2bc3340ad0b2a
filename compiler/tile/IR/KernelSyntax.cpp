#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/KernelChecks.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;

namespace tessera::tile {

ParseResult checkAttributes(OpAsmParser &p, const OperationState &state, SMLoc where) {
  NamedAttrList attributes = state.attributes;
  return state.name.verifyInherentAttrs(
      attributes, [&] { return p.emitError(where) << "'" << state.name.getStringRef() << "' op "; });
}

ParseResult parseKernel(OpAsmParser &p, OperationState &state, bool withGrid) {
  Builder &b = p.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> results;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  if (p.parseSymbolName(name, SymbolTable::getSymbolAttrName(), state.attributes)) return failure();
  if (function_interface_impl::parseFunctionSignatureWithArguments(p, /*allowVariadic=*/false, args,
                                                                   isVariadic, results, resultAttrs))
    return failure();
  SmallVector<Type> types = llvm::map_to_vector(args, [](const OpAsmParser::Argument &a) { return a.type; });
  state.addAttribute("function_type", TypeAttr::get(b.getFunctionType(types, results)));
  if (withGrid) {
    ArrayAttr grid;
    if (p.parseKeyword("grid") || parseIndexExprs(p, grid)) return failure();
    state.addAttribute("grid", grid);
  }
  const SMLoc attributes = p.getCurrentLocation();
  if (p.parseOptionalAttrDictWithKeyword(state.attributes) || checkAttributes(p, state, attributes))
    return failure();
  call_interface_impl::addArgAndResultAttrs(b, state, args, resultAttrs, b.getStringAttr("arg_attrs"),
                                            b.getStringAttr("res_attrs"));
  return p.parseRegion(*state.addRegion(), args);
}

void printKernel(OpAsmPrinter &p, FunctionOpInterface op, ArrayAttr grid) {
  p << ' ';
  p.printSymbolName(op.getName());
  function_interface_impl::printFunctionSignature(p, op, op.getArgumentTypes(), /*isVariadic=*/false,
                                                  op.getResultTypes());
  if (grid) {
    p << " grid ";
    printIndexExprs(p, op, grid);
  }
  p.printOptionalAttrDictWithKeyword(
      op->getAttrs(), {SymbolTable::getSymbolAttrName(), "function_type", "arg_attrs", "res_attrs", "grid"});
  p << ' ';
  p.printRegion(op.getFunctionBody(), /*printEntryBlockArgs=*/false,
                /*printBlockTerminators=*/static_cast<bool>(grid));
}

void nameArguments(Region &body, ArrayAttr params, OpAsmSetValueNameFn setName) {
  // equal lengths are guaranteed only after verification
  for (auto [arg, attr] : llvm::zip(body.getArguments(), params))
    if (auto param = dyn_cast<ParamAttr>(attr)) setName(arg, param.getName());
}

namespace {

/// Returns whether `text` is an index expression over the integers among the arguments.
bool isIndexExpr(FunctionOpInterface op, ArrayAttr params, StringRef text) {
  const SmallVector<Type> types(op.getArgumentTypes());
  Expected<IndexExpr> expr = IndexExpr::parse(std::string_view(text.data(), text.size()));
  return expr && expr->bind(indexNames(types, params));
}

/// Checks that an extent which the type leaves open, and a stride, is a number, a dim among the arguments, or
/// an expression of these.
LogicalResult verifySymbols(FunctionOpInterface op, ArrayAttr params) {
  for (auto [index, param] : llvm::enumerate(params.getAsRange<ParamAttr>())) {
    auto view = dyn_cast<ViewType>(op.getArgument(index).getType());
    auto isKnown = [&](StringRef text) {
      int64_t number = 0;
      if (!text.getAsInteger(10, number)) return number >= 0;
      return findDim(op, params, text) || isIndexExpr(op, params, text);
    };
    for (int64_t d = 0; view && d < view.getRank(); ++d) {
      auto refuse = [&](const char *what, StringRef text) {
        return op.emitOpError() << what << " " << d << " of parameter '" << param.getName().getValue()
                                << "' is \"" << text
                                << "\", which is no expression of dims among the parameters";
      };
      if (view.isDynamicDim(d) && !isKnown(param.getDim(d))) return refuse("dim", param.getDim(d));
      if (param.getStrides() && !isKnown(param.getStride(d))) return refuse("stride", param.getStride(d));
    }
  }
  return success();
}

LogicalResult verifyTensor(FunctionOpInterface op, Type type, ParamAttr param) {
  auto view = dyn_cast<ViewType>(type);
  if (!view)
    return op.emitOpError() << "parameter '" << param.getName().getValue()
                            << "' is a tensor and must be a !tile.view";
  if (view.getElementType() != elementTypeInMemory(op.getContext(), *param.getDtype()))
    return op.emitOpError() << "parameter '" << param.getName().getValue() << "' has dtype "
                            << tessera::name(*param.getDtype()) << " but type " << view;
  if (static_cast<int64_t>(param.getDims().size()) != view.getRank())
    return op.emitOpError() << "parameter '" << param.getName().getValue()
                            << "' needs one entry of dims per dim of " << view;
  for (int64_t d = 0; d < view.getRank(); ++d) {
    int64_t extent = 0;
    bool isConstant = !param.getDim(d).getAsInteger(10, extent);
    if (!view.isDynamicDim(d) && isConstant && extent != view.getShape()[d])
      return op.emitOpError() << "dim " << d << " of parameter '" << param.getName().getValue() << "' is \""
                              << param.getDim(d) << "\" but its type says " << view.getShape()[d];
  }
  return success();
}

LogicalResult verifyParam(FunctionOpInterface op, Type type, ParamAttr param) {
  if (param.isDim()) {
    if (type.isIndex()) return success();
    return op.emitOpError() << "dim '" << param.getName().getValue() << "' must be of type index, not "
                            << type;
  }
  if (!param.isScalar()) return verifyTensor(op, type, param);
  if (type == elementTypeInValues(op.getContext(), *param.getDtype())) return success();
  return op.emitOpError() << "scalar '" << param.getName().getValue() << "' has dtype "
                          << tessera::name(*param.getDtype()) << " but type " << type;
}

/// Checks the values of `tile.checks`, whose form the dialect checks.
LogicalResult verifyChecks(FunctionOpInterface op, ArrayAttr params) {
  ArrayAttr checks = checksOf(op);
  for (Attribute entry : checks ? checks.getValue() : ArrayRef<Attribute>())
    if (auto check = dyn_cast<DictionaryAttr>(entry))
      if (auto value = check.getAs<StringAttr>("value"); value && !isIndexExpr(op, params, value.getValue()))
        return op.emitOpError() << "checks " << value
                                << ", which is no expression of dims and integer scalars";
  return success();
}

} // namespace

LogicalResult verifyParams(FunctionOpInterface op, ArrayAttr params) {
  if (params.size() != op.getNumArguments())
    return op.emitOpError() << "has " << op.getNumArguments() << " arguments but " << params.size()
                            << " params";
  if (op.getNumResults() != 0)
    return op.emitOpError() << "has no results: they are caller-allocated arguments";
  ParamKind last = ParamKind::Tensor;
  llvm::DenseSet<StringAttr> names;
  for (auto [index, param] : llvm::enumerate(params.getAsRange<ParamAttr>())) {
    if (!names.insert(param.getName()).second)
      return op.emitOpError() << "has two parameters named '" << param.getName().getValue() << "'";
    if (param.getKind() < last)
      return op.emitOpError() << "parameter '" << param.getName().getValue()
                              << "' is out of order: tensors, results, scalars, dims";
    last = param.getKind();
    if (failed(verifyParam(op, op.getArgument(index).getType(), param))) return failure();
  }
  return failed(verifySymbols(op, params)) ? failure() : verifyChecks(op, params);
}

/// An inherent attribute of kernels of two dialects. This file does not know one of them.
static constexpr llvm::StringLiteral kParams = "params";

ArrayAttr paramsOf(Operation *op) {
  auto params = op ? op->getAttrOfType<ArrayAttr>(kParams) : ArrayAttr();
  return params && llvm::all_of(params, llvm::IsaPred<ParamAttr>) ? params : ArrayAttr();
}

BlockArgument findDim(FunctionOpInterface op, ArrayAttr params, StringRef name) {
  for (auto [index, param] : llvm::enumerate(params.getAsRange<ParamAttr>()))
    if (param.isDim() && param.getName() == name) return op.getArgument(index);
  return {};
}

} // namespace tessera::tile
