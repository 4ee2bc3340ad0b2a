#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "numerics/Casts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <bit>

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
    if (p.parseKeyword("grid") || p.parseAttribute(grid, "grid", state.attributes)) return failure();
  }
  const SMLoc attributes = p.getCurrentLocation();
  if (p.parseOptionalAttrDictWithKeyword(state.attributes) || checkAttributes(p, state, attributes))
    return failure();
  call_interface_impl::addArgAndResultAttrs(b, state, args, resultAttrs, b.getStringAttr("arg_attrs"),
                                            b.getStringAttr("res_attrs"));
  return p.parseRegion(*state.addRegion(), args);
}

void printKernel(OpAsmPrinter &p, FunctionOpInterface op, bool withGrid) {
  p << ' ';
  p.printSymbolName(op.getName());
  function_interface_impl::printFunctionSignature(p, op, op.getArgumentTypes(), /*isVariadic=*/false,
                                                  op.getResultTypes());
  if (withGrid) p << " grid " << op->getAttr("grid");
  p.printOptionalAttrDictWithKeyword(op->getAttrs(),
                                     {SymbolTable::getSymbolAttrName(), "function_type", "arg_attrs",
                                      "res_attrs", withGrid ? "grid" : "function_type"});
  p << ' ';
  p.printRegion(op.getFunctionBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/withGrid);
}

void nameArguments(Region &body, ArrayAttr params, OpAsmSetValueNameFn setName) {
  for (auto [arg, attr] : llvm::zip(body.getArguments(), params)) // of one length only after verification
    if (auto param = dyn_cast<DictionaryAttr>(attr))
      if (auto name = param.getAs<StringAttr>("name")) setName(arg, name.getValue());
}

namespace {

enum Kind { Tensor, Result, Scalar, Dim, Unknown };

Kind kindOf(DictionaryAttr param) {
  auto kind = param.getAs<StringAttr>("kind");
  return llvm::StringSwitch<Kind>(kind ? kind.getValue() : "")
      .Case("tensor", Tensor)
      .Case("result", Result)
      .Case("scalar", Scalar)
      .Case("dim", Dim)
      .Default(Unknown);
}

/// An extent that the type does not know is a number, or a dim among the arguments.
LogicalResult verifySymbols(FunctionOpInterface op, ArrayAttr params) {
  for (auto [index, param] : llvm::enumerate(params.getAsRange<DictionaryAttr>())) {
    auto view = dyn_cast<ViewType>(op.getArgument(index).getType());
    if (!view) continue;
    for (auto [d, text] : llvm::enumerate(param.getAs<ArrayAttr>("dims").getAsRange<StringAttr>())) {
      int64_t extent = 0;
      if (!view.isDynamicDim(d) || findDim(op, params, text.getValue())) continue;
      if (!text.getValue().getAsInteger(10, extent) && extent >= 0) continue;
      return op.emitOpError() << "dim " << d << " of parameter '"
                              << param.getAs<StringAttr>("name").getValue() << "' is \"" << text.getValue()
                              << "\", which is no dim among the parameters";
    }
  }
  return success();
}

LogicalResult verifyTensor(FunctionOpInterface op, unsigned index, DictionaryAttr param, DType dtype) {
  StringRef name = param.getAs<StringAttr>("name").getValue();
  auto view = dyn_cast<ViewType>(op.getArgument(index).getType());
  if (!view) return op.emitOpError() << "parameter '" << name << "' is a tensor and must be a !tile.view";
  if (view.getElementType() != elementTypeInMemory(op.getContext(), dtype))
    return op.emitOpError() << "parameter '" << name << "' has dtype " << tessera::name(dtype) << " but type "
                            << view;
  auto access = param.getAs<StringAttr>("access");
  if (!access || !llvm::is_contained({"read", "write", "readwrite"}, access.getValue()))
    return op.emitOpError() << "parameter '" << name << "' needs access \"read\", \"write\" or \"readwrite\"";
  auto dims = param.getAs<ArrayAttr>("dims");
  if (!dims || static_cast<int64_t>(dims.size()) != view.getRank())
    return op.emitOpError() << "parameter '" << name << "' needs one entry of dims per dim of " << view;
  for (auto [d, attr] : llvm::enumerate(dims)) {
    auto text = dyn_cast<StringAttr>(attr);
    int64_t extent = 0;
    if (!text) return op.emitOpError() << "dims of parameter '" << name << "' are strings";
    bool isConstant = !text.getValue().getAsInteger(10, extent);
    if (!view.isDynamicDim(d) && isConstant && extent != view.getShape()[d])
      return op.emitOpError() << "dim " << d << " of parameter '" << name << "' is \"" << text.getValue()
                              << "\" but its type says " << view.getShape()[d];
  }
  return success();
}

LogicalResult verifyParam(FunctionOpInterface op, unsigned index, DictionaryAttr param, Kind kind) {
  StringRef name = param.getAs<StringAttr>("name").getValue();
  Type type = op.getArgument(index).getType();
  if (kind == Dim) {
    if (type.isIndex()) return success();
    return op.emitOpError() << "dim '" << name << "' must be of type index, not " << type;
  }
  auto text = param.getAs<StringAttr>("dtype");
  std::optional<DType> dtype = text ? parseDType(text.getValue()) : std::nullopt;
  if (!dtype) return op.emitOpError() << "parameter '" << name << "' needs a dtype of the language";
  if (kind != Scalar) return verifyTensor(op, index, param, *dtype);
  if (type == elementTypeInValues(op.getContext(), *dtype)) return verifyDefault(op, param, *dtype);
  return op.emitOpError() << "scalar '" << name << "' has dtype " << tessera::name(*dtype) << " but type "
                          << type;
}

} // namespace

LogicalResult verifyDefault(Operation *op, DictionaryAttr param, DType dtype) {
  Attribute value = param.get("default");
  if (!value) return success();
  auto isHeld = [&](uint64_t bits, DType wide) {
    return castBits(castBits(bits, wide, dtype), dtype, wide) == bits;
  };
  auto real = dyn_cast<FloatAttr>(value);
  auto integer = dyn_cast<IntegerAttr>(value);
  if (real && isFloat(dtype) && real.getType().isF64()) {
    if (real.getValue().isNaN() || isHeld(std::bit_cast<uint64_t>(real.getValueAsDouble()), DType::F64))
      return success();
  } else if (integer && !isFloat(dtype) && integer.getType().isInteger(64)) {
    if (isHeld(static_cast<uint64_t>(integer.getInt()), DType::I64)) return success();
  } else if (integer && dtype == DType::Bool && integer.getType().isInteger(1)) {
    return success();
  }
  return op->emitOpError() << "scalar '" << param.getAs<StringAttr>("name").getValue() << "' of dtype "
                           << tessera::name(dtype) << " cannot have the default " << value
                           << "; a default is an i64 or, of a float, an f64 that the dtype holds";
}

LogicalResult verifyParams(FunctionOpInterface op, ArrayAttr params) {
  if (params.size() != op.getNumArguments())
    return op.emitOpError() << "has " << op.getNumArguments() << " arguments but " << params.size()
                            << " params";
  if (op.getNumResults() != 0)
    return op.emitOpError() << "has no results: they are caller-allocated arguments";
  Kind last = Tensor;
  llvm::StringSet<> names;
  for (auto [index, attr] : llvm::enumerate(params)) {
    auto param = dyn_cast<DictionaryAttr>(attr);
    auto name = param ? param.getAs<StringAttr>("name") : StringAttr();
    if (!name) return op.emitOpError() << "entry " << index << " of params is no dictionary with a name";
    if (!names.insert(name.getValue()).second)
      return op.emitOpError() << "has two parameters named '" << name.getValue() << "'";
    Kind kind = kindOf(param);
    if (kind == Unknown)
      return op.emitOpError() << "parameter '" << name.getValue()
                              << "' needs kind \"tensor\", \"result\", \"scalar\" or \"dim\"";
    if (kind < last)
      return op.emitOpError() << "parameter '" << name.getValue()
                              << "' is out of order: tensors, results, scalars, dims";
    last = kind;
    if (failed(verifyParam(op, index, param, kind))) return failure();
  }
  return verifySymbols(op, params);
}

BlockArgument findDim(FunctionOpInterface op, ArrayAttr params, StringRef name) {
  for (auto [index, attr] : llvm::enumerate(params)) {
    auto param = cast<DictionaryAttr>(attr);
    if (kindOf(param) == Dim && param.getAs<StringAttr>("name").getValue() == name)
      return op.getArgument(index);
  }
  return {};
}

} // namespace tessera::tile
