// Syntax and verification of the graph dialect.
#include "compiler/graph/IR/GraphDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "compiler/tile/IR/Product.h"
#include "compiler/tile/IR/TileDialect.h"
#include "core/library/GemmCall.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::graph;
using tessera::tile::Access;
using tessera::tile::ParamAttr;

#include "compiler/graph/IR/GraphDialect.cpp.inc"
#include "compiler/graph/IR/GraphEnums.cpp.inc"
using tessera::tile::parseIndexExpr;
using tessera::tile::parseIndexExprs;
using tessera::tile::printIndexExpr;
using tessera::tile::printIndexExprs;

/// The dims of a tensor: ["M", 64].
static ParseResult parseExtents(AsmParser &p, ArrayAttr &dims) {
  SmallVector<Attribute> extents;
  auto parse = [&]() -> ParseResult {
    int64_t extent = 0;
    if (OptionalParseResult number = p.parseOptionalInteger(extent); number.has_value()) {
      extents.push_back(p.getBuilder().getI64IntegerAttr(extent));
      return *number;
    }
    tessera::tile::IndexExprAttr expr;
    if (parseIndexExpr(p, expr)) return failure();
    extents.push_back(expr);
    return success();
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, parse)) return failure();
  dims = p.getBuilder().getArrayAttr(extents);
  return success();
}

static void printExtents(AsmPrinter &p, ArrayAttr dims) { p << tessera::graph::extentsText(dims); }

#define GET_TYPEDEF_CLASSES
#include "compiler/graph/IR/GraphTypes.cpp.inc"

/// `(read %x, readwrite %y, %alpha)`
static ParseResult parseLaunchOperands(OpAsmParser &p,
                                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                                       ArrayAttr &effects) {
  SmallVector<Attribute> list;
  auto parseOperand = [&] {
    StringRef keyword = "none";
    (void)p.parseOptionalKeyword(&keyword, {"read", "write", "readwrite"});
    list.push_back(tessera::tile::AccessAttr::get(p.getContext(), *tessera::tile::symbolizeAccess(keyword)));
    return p.parseOperand(operands.emplace_back());
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOperand)) return failure();
  effects = p.getBuilder().getArrayAttr(list);
  return success();
}

static void printLaunchOperands(OpAsmPrinter &p, Operation *, OperandRange operands, ArrayAttr effects) {
  p << '(';
  llvm::interleaveComma(llvm::zip(operands, effects.getAsRange<tessera::tile::AccessAttr>()), p,
                        [&](auto entry) {
                          auto [operand, effect] = entry;
                          if (effect.getValue() != Access::None)
                            p << stringifyAccess(effect.getValue()) << ' ';
                          p << operand;
                        });
  p << ')';
}

Attribute tessera::graph::extentAttr(MLIRContext *context, const IndexExpr &expr) {
  if (std::optional<int64_t> extent = expr.asConstant()) return Builder(context).getI64IntegerAttr(*extent);
  return tessera::tile::IndexExprAttr::get(context, expr);
}

std::string tessera::graph::extentsText(ArrayAttr dims) {
  std::string text;
  for (Attribute dim : dims) {
    auto extent = dyn_cast<IntegerAttr>(dim);
    text += text.empty() ? "" : ", ";
    text += extent ? std::to_string(extent.getInt())
                   : "\"" + cast<tessera::tile::IndexExprAttr>(dim).text() + "\"";
  }
  return "[" + text + "]";
}

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
    auto extent = dyn_cast<IntegerAttr>(dim);
    if (isa<tessera::tile::IndexExprAttr>(dim) || (extent && extent.getInt() >= 0)) continue;
    return emitError() << "dim " << dim << " is neither an index expression nor a non-negative integer";
  }
  if (!dtypeOfMemory(element))
    return emitError() << "element type " << element << " is no dtype of the language";
  return success();
}

bool tessera::graph::TensorType::isOne(int64_t d) const {
  auto extent = dyn_cast<IntegerAttr>(getDims()[d]);
  return extent && extent.getInt() == 1;
}

tessera::IndexExpr tessera::graph::TensorType::getExtent(int64_t d) const {
  if (auto extent = dyn_cast<IntegerAttr>(getDims()[d])) return tessera::IndexExpr::constant(extent.getInt());
  return cast<tessera::tile::IndexExprAttr>(getDims()[d]).getExpr();
}

//===-- func and return
//-----------------------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &p, OperationState &state) {
  auto build = [](Builder &b, ArrayRef<Type> args, ArrayRef<Type> results,
                  function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  const SMLoc where = p.getCurrentLocation();
  return failure(function_interface_impl::parseFunctionOp(
                     p, state, /*allowVariadic=*/false, getFunctionTypeAttrName(state.name), build,
                     getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name)) ||
                 tile::checkAttributes(p, state, where));
}

void FuncOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

namespace {

/// Checks one entry of a function's params; `argument` is the next tensor or scalar argument that has no
/// entry yet.
LogicalResult verifyFunctionParam(FuncOp op, ParamAttr param, BlockArgument argument) {
  if (param.isDim() || param.isResult()) return success();
  if (param.isScalar()) {
    if (argument && argument.getType() == tessera::elementTypeInValues(op.getContext(), *param.getDtype()))
      return success();
    return op.emitOpError() << "scalar '" << param.getName().getValue() << "' has no argument of dtype "
                            << tessera::name(*param.getDtype());
  }
  auto type =
      argument ? dyn_cast<tessera::graph::TensorType>(argument.getType()) : tessera::graph::TensorType();
  if (type && type.getRank() == static_cast<int64_t>(param.getDims().size()) &&
      type.getElementType() == tessera::elementTypeInMemory(op.getContext(), *param.getDtype()))
    return success();
  return op.emitOpError() << "tensor '" << param.getName().getValue()
                          << "' has no argument of its dtype and rank";
}

/// Checks `params` of a function against its arguments, tensors before scalars.
LogicalResult verifyFunctionParams(FuncOp op, ArrayAttr params, llvm::StringSet<> &returnable) {
  SmallVector<BlockArgument> tensors, scalars;
  for (BlockArgument arg : op.getBody().getArguments())
    (isa<tessera::graph::TensorType>(arg.getType()) ? tensors : scalars).push_back(arg);
  size_t tensor = 0, scalar = 0;
  llvm::StringSet<> names;
  for (auto param : params.getAsRange<ParamAttr>()) {
    if (!names.insert(param.getName().getValue()).second)
      return op.emitOpError() << "has two parameters named '" << param.getName().getValue() << "'";
    BlockArgument argument;
    if (param.isTensor() && tensor < tensors.size()) argument = tensors[tensor++];
    if (param.isScalar() && scalar < scalars.size()) argument = scalars[scalar++];
    if (failed(verifyFunctionParam(op, param, argument))) return failure();
    if (param.isTensor() || param.isResult()) returnable.insert(param.getName().getValue());
  }
  if (tensor == tensors.size() && scalar == scalars.size()) return success();
  return op.emitOpError() << "has arguments that params does not describe";
}

} // namespace

LogicalResult FuncOp::verify() {
  if (isExternal()) return emitOpError() << "has no body";
  if (getChecksAttr())
    for (auto check : getChecksAttr().getAsRange<DictionaryAttr>())
      if (!check.getAs<StringAttr>("value") || !check.getAs<StringAttr>("says"))
        return emitOpError() << "has a check without a value or what it says";
  if (!getParamsAttr()) return success();
  llvm::StringSet<> returnable;
  if (failed(verifyFunctionParams(*this, getParamsAttr(), returnable))) return failure();
  if (!getReturnsAttr() || getReturnsAttr().size() != getNumResults())
    return emitOpError() << "needs returns to name its " << getNumResults() << " results";
  for (auto name : getReturnsAttr().getAsRange<StringAttr>())
    if (!returnable.contains(name.getValue()))
      return emitOpError() << "returns " << name << ", which is no tensor among its parameters";
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
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    if (!isa<tessera::graph::TensorType>(operand.getType()) && getEffect(index) != Access::None)
      return emitOpError() << "has an effect on a scalar of type " << operand.getType();
    if (!writes(index)) continue;
    if (written < getNumResults() && getResult(written).getType() != operand.getType())
      return emitOpError() << "updates " << operand.getType() << " but gives "
                           << getResult(written).getType();
    ++written;
  }
  if (getNumResults() < written)
    return emitOpError() << "writes " << written << " operands but has " << getNumResults() << " results";
  return success();
}

/// May a launch pass `tensor` as `view`? A kernel views a tensor of rank 0 as one element.
static bool fitsView(tessera::graph::TensorType tensor, tessera::tile::ViewType view) {
  if (tensor.getElementType() != view.getElementType()) return false;
  return tensor.getRank() == view.getRank() ||
         (tensor.getRank() == 0 && view.getShape() == ArrayRef<int64_t>{1});
}

/// Checks operands and results against the parameters of the kernel: element types, ranks and effects must be
/// equal.
static LogicalResult verifyOperands(LaunchOp launch, FunctionOpInterface kernel, ArrayAttr params) {
  size_t next = 0, results = 0, dims = 0;
  const unsigned unpassed = tessera::tile::unpassedArguments(kernel);
  for (auto [attribute, type] : llvm::zip_equal(params.getValue().drop_front(unpassed),
                                                kernel.getArgumentTypes().drop_front(unpassed))) {
    auto param = cast<ParamAttr>(attribute);
    results += param.isResult();
    dims += param.isDim();
    if (!param.isTensor() && !param.isScalar()) continue;
    size_t index = next++;
    Type operand = launch.getOperands()[index].getType();
    Access effect = launch.getEffect(index);
    auto tensor = dyn_cast<tessera::graph::TensorType>(operand);
    auto view = dyn_cast<tessera::tile::ViewType>(type);
    const bool fits = tensor && view ? fitsView(tensor, view) : operand == type;
    if (!fits)
      return launch.emitOpError() << "passes " << operand << " as operand " << index << " to "
                                  << launch.getKernelAttr() << ", which takes " << type;
    if (view && param.getAccess() != effect)
      return launch.emitOpError() << "has effect " << stringifyAccess(effect) << " on operand " << index
                                  << " but " << launch.getKernelAttr() << " has access "
                                  << stringifyAccess(param.getAccess());
    results += launch.writes(index);
  }
  if (launch.getNumResults() != results)
    return launch.emitOpError() << "has " << launch.getNumResults() << " results but "
                                << launch.getKernelAttr() << " gives " << results;
  if (launch.getDims() && launch.getDims()->size() != dims)
    return launch.emitOpError() << "gives " << launch.getDims()->size() << " dims to "
                                << launch.getKernelAttr() << ", which takes " << dims;
  return success();
}

LogicalResult LibraryCallOp::verify() {
  auto call = tessera::GemmCall::parse(std::string_view(getCallee().data(), getCallee().size()));
  if (!call) return emitOpError() << "there is no library call \"" << getCallee() << "\"";
  if (getOperands().size() != 2) return emitOpError() << "takes 2 operands, found " << getOperands().size();
  if (getDims().size() != call->dims().size())
    return emitOpError() << "has " << call->dims().size() << " dims, found " << getDims().size();
  return success();
}

Access LaunchOp::getEffect(unsigned operand) {
  return cast<tessera::tile::AccessAttr>(getEffects()[operand]).getValue();
}

bool LaunchOp::writes(unsigned number) { return tessera::tile::writes(getEffect(number)); }

Value LaunchOp::updatedOperand(unsigned number) {
  for (auto [i, operand] : llvm::enumerate(getOperands()))
    if (writes(static_cast<unsigned>(i)) && number-- == 0) return operand;
  return {};
}

std::optional<BinaryKind> tessera::graph::combinationOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return BinaryKind::Add;
  case ReduceKind::Prod:
    return BinaryKind::Mul;
  case ReduceKind::Max:
    return BinaryKind::Maximum;
  case ReduceKind::Min:
    return BinaryKind::Minimum;
  default:
    return std::nullopt;
  }
}

Value tessera::graph::storageOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    Value next;
    if (auto reshape = dyn_cast<ReshapeOp>(op)) next = reshape.getInput();
    if (auto launch = dyn_cast<LaunchOp>(op))
      next = launch.updatedOperand(cast<OpResult>(v).getResultNumber());
    if (!next) return v;
    v = next;
  }
  return v;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  ArrayAttr params = isa_and_nonnull<FuncOp>(kernel) ? ArrayAttr() : tessera::tile::paramsOf(kernel);
  if (!params) return emitOpError() << "launches " << getKernelAttr() << ", which is no kernel";
  size_t expected = llvm::count_if(params.getAsRange<ParamAttr>(),
                                   [](ParamAttr param) { return param.isTensor() || param.isScalar(); });
  expected -= tessera::tile::unpassedArguments(kernel);
  if (getOperands().size() != expected)
    return emitOpError() << "passes " << getOperands().size() << " operands to " << getKernelAttr()
                         << ", which takes " << expected;
  return verifyOperands(*this, kernel, params);
}
