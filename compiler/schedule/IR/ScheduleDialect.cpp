// Syntax and verification of the schedule dialect.
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/schedule/IR/FunctionVariants.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/KernelSyntax.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::schedule;

#include "compiler/schedule/IR/ScheduleDialect.cpp.inc"
#include "compiler/schedule/IR/ScheduleEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/schedule/IR/ScheduleAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/schedule/IR/ScheduleOps.cpp.inc"

void ScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/schedule/IR/ScheduleAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/schedule/IR/ScheduleOps.cpp.inc"
      >();
}

LogicalResult ScheduleDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto check = [&](bool isRight, StringRef expected) {
    return isRight ? success() : tile::refuseAttribute(op, attribute, expected);
  };
  auto text = dyn_cast<StringAttr>(value);
  auto integer = dyn_cast<IntegerAttr>(value);
  const bool isLoop = isa<scf::ForOp>(op);
  const bool isFunction = isa<graph::FuncOp>(op);
  if (name == kStages || name == kMostStages)
    return check(isLoop && integer && integer.getValue().sge(1), "an integer of at least 1 on scf.for");
  if (name == kCopy)
    return check(isLoop && text && (text == "async" || text == "tma"), "\"async\" or \"tma\" on scf.for");
  if (name == kBlock)
    return check(isa<KernelOp, tile::KernelOp>(op) && isa<BlockAttr>(value), "#schedule.block on a kernel");
  if (name == kIterator) return check(isLoop && text && text == "reduction", "\"reduction\" on scf.for");
  if (name == tile::kFusion)
    return check((isFunction || isa<KernelOp, tile::KernelOp>(op)) && text &&
                     (text == "auto" || text == "none"),
                 "\"auto\" or \"none\" on a function or kernel");
  if (name == tile::kFuse) return check(isa<BoolAttr>(value), "true or false");
  if (name == kHints || name == kVariants)
    return check(isFunction && isa<DictionaryAttr>(value), "a dictionary on graph.func");
  if (name == kVariantOf)
    return check(isFunction && isa<FlatSymbolRefAttr>(value) && op->hasAttr(kWhen),
                 "the symbol of a function on graph.func, beside schedule.when");
  if (name == kWhen) {
    auto conditions = dyn_cast<ArrayAttr>(value);
    return check(isFunction && conditions && !conditions.empty() && op->hasAttr(kVariantOf) &&
                     llvm::all_of(conditions, llvm::IsaPred<StringAttr>),
                 "conditions such as \"N == 64\" on graph.func, beside schedule.variant_of");
  }
  if (name == kChoice) return check(static_cast<bool>(integer), "an integer");
  if (name == kDecision) return check(isa<DictionaryAttr>(value), "a dictionary");
  return tile::refuseAttribute(op, attribute, "");
}

//===-- kernel
//--------------------------------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &p, OperationState &state) {
  if (tile::parseKernel(p, state, /*withGrid=*/false)) return failure();
  ensureTerminator(*state.regions.front(), p.getBuilder(), state.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &p) { tile::printKernel(p, *this, /*grid=*/{}); }

void KernelOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  tile::nameArguments(body, getParams(), setName);
}

LogicalResult KernelOp::verify() {
  if (failed(tile::verifyParams(*this, getParams()))) return failure();
  int64_t constructs = 0;
  for (Operation &op : getBody().front())
    constructs += isa<GridOp, LanesOp>(op);
  if (constructs == 1) return success();
  return emitOpError() << "holds " << constructs
                       << " parallel constructs; it needs one schedule.grid or schedule.lanes";
}

/// Checks that the expressions name integers of the enclosing kernel.
static LogicalResult verifyExprs(Operation *op, ArrayRef<Attribute> exprs) {
  auto kernel = cast<KernelOp>(op->getParentOp());
  return tessera::tile::verifyIndexExprs(
      op, exprs, tessera::tile::indexNames(kernel.getBody().getArgumentTypes(), kernel.getParams()));
}

//===-- grid
//----------------------------------------------------------------------------------------------===//

static ParseResult parseExprs(OpAsmParser &p, StringRef name, OperationState &state) {
  ArrayAttr exprs;
  if (tessera::tile::parseIndexExprs(p, exprs, AsmParser::Delimiter::Paren)) return failure();
  state.addAttribute(name, exprs);
  return success();
}

ParseResult GridOp::parse(OpAsmParser &p, OperationState &state) {
  SmallVector<OpAsmParser::Argument> variables;
  ArrayAttr names;
  if (p.parseArgumentList(variables, AsmParser::Delimiter::Paren) || p.parseEqual() ||
      parseExprs(p, "from", state) || p.parseKeyword("to") || parseExprs(p, "to", state) ||
      p.parseKeyword("step") || parseExprs(p, "step", state) || p.parseKeyword("names") ||
      p.parseAttribute(names, "names", state.attributes))
    return failure();
  const SMLoc attributes = p.getCurrentLocation();
  if (p.parseOptionalAttrDictWithKeyword(state.attributes) || tile::checkAttributes(p, state, attributes))
    return failure();
  for (OpAsmParser::Argument &variable : variables)
    variable.type = p.getBuilder().getIndexType();
  Region *body = state.addRegion();
  if (p.parseRegion(*body, variables)) return failure();
  ensureTerminator(*body, p.getBuilder(), state.location);
  return success();
}

void GridOp::print(OpAsmPrinter &p) {
  auto printExprs = [&](ArrayAttr exprs) {
    p << '(';
    llvm::interleaveComma(exprs.getAsRange<tile::IndexExprAttr>(), p,
                          [&](tile::IndexExprAttr expr) { tile::printIndexExpr(p, *this, expr); });
    p << ')';
  };
  p << " (";
  llvm::interleaveComma(getBody().getArguments(), p, [&](BlockArgument v) { p.printOperand(v); });
  p << ") = ";
  printExprs(getFrom());
  p << " to ";
  printExprs(getTo());
  p << " step ";
  printExprs(getStep());
  p << " names " << getNames();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"from", "to", "step", "names"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

void GridOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  for (auto [variable, name] : llvm::zip(body.getArguments(), getNames().getAsRange<StringAttr>()))
    setName(variable, name.getValue());
}

static LogicalResult verifyPlacement(Operation *op, std::optional<StringRef> placement) {
  if (!placement || *placement == "any") return success();
  return op->emitOpError() << "has placement \"" << *placement
                           << "\"; a launch chooses its device, so that only \"any\" is built";
}

LogicalResult GridOp::verify() {
  size_t axes = getBody().getNumArguments();
  if (getFrom().size() != axes || getTo().size() != axes || getStep().size() != axes ||
      getNames().size() != axes)
    return emitOpError() << "has " << axes << " variables but not as many bounds, steps and names";
  for (ArrayAttr exprs : {getFrom(), getTo(), getStep()})
    if (failed(verifyExprs(*this, exprs.getValue()))) return failure();
  if (failed(verifyPlacement(*this, getPlacement()))) return failure();
  if (getBatch() && getBatch()->size() != axes) return emitOpError() << "batch needs one entry per axis";
  if (getGroupRows() && axes < 2)
    return emitOpError() << "group_rows groups rows of two axes; the grid has " << axes;
  if (!getOrder()) return success();
  SmallVector<int64_t> sorted(*getOrder());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, axes)))
    return emitOpError() << "order must name each of the " << axes << " axes once";
  return success();
}

//===-- lanes
//---------------------------------------------------------------------------------------------===//

ParseResult LanesOp::parse(OpAsmParser &p, OperationState &state) {
  OpAsmParser::Argument lane;
  tile::IndexExprAttr count;
  if (p.parseArgument(lane) || p.parseKeyword("to") || tile::parseIndexExpr(p, count)) return failure();
  lane.type = p.getBuilder().getIndexType();
  state.addAttribute("count", count);
  Region *body = state.addRegion();
  if (p.parseRegion(*body, lane) || p.parseOptionalAttrDict(state.attributes)) return failure();
  ensureTerminator(*body, p.getBuilder(), state.location);
  return success();
}

void LanesOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printOperand(getBody().getArgument(0));
  p << " to ";
  tile::printIndexExpr(p, *this, getCount());
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
  p.printOptionalAttrDict((*this)->getAttrs(), {"count"});
}

void LanesOp::getAsmBlockArgumentNames(Region &body, OpAsmSetValueNameFn setName) {
  if (body.getNumArguments() == 1) setName(body.getArgument(0), "lane");
}

LogicalResult LanesOp::verify() {
  if (getBody().getNumArguments() != 1) return emitOpError() << "has one variable, the lane";
  if (failed(verifyPlacement(*this, getPlacement()))) return failure();
  return verifyExprs(*this, getCountAttr());
}
