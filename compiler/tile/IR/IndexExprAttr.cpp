// #tile.index: syntax and verification.
#include "compiler/tile/IR/IndexExprAttr.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tessera::tile {

Attribute IndexExprAttr::parse(AsmParser &p, Type) {
  IndexExprAttr attr;
  if (p.parseLess() || parseIndexExpr(p, attr) || p.parseGreater()) return {};
  return attr;
}

void IndexExprAttr::print(AsmPrinter &p) const {
  p << '<';
  printIndexExpr(p, nullptr, *this);
  p << '>';
}

LogicalResult IndexExprAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, IndexExpr expr) {
  MaybeError error = expr.checkText();
  if (!error) return success();
  return emitError() << "\"" << expr.text() << "\" is no index expression: " << error->message;
}

IndexExprAttr IndexExprAttr::fromText(MLIRContext *context, StringRef text) {
  const std::string_view view(text.data(), text.size());
  Expected<IndexExpr> expr = IndexExpr::parse(view);
  return get(context, expr ? *expr : IndexExpr::symbol(view));
}

ParseResult parseIndexExpr(AsmParser &p, IndexExprAttr &attr) {
  std::string text;
  SMLoc where = p.getCurrentLocation();
  if (p.parseString(&text)) return failure();
  Expected<IndexExpr> expr = IndexExpr::parse(text);
  if (!expr)
    return p.emitError(where) << "\"" << text << "\" is no index expression: " << expr.error().message;
  attr = p.getChecked<IndexExprAttr>(where, p.getContext(), *expr);
  return success(static_cast<bool>(attr));
}

void printIndexExpr(AsmPrinter &p, Operation *, IndexExprAttr attr) { p << '"' << attr.text() << '"'; }

ParseResult parseIndexExprs(AsmParser &p, ArrayAttr &attr, AsmParser::Delimiter delimiter) {
  SmallVector<Attribute> exprs;
  auto parse = [&] {
    IndexExprAttr expr;
    if (parseIndexExpr(p, expr)) return failure();
    exprs.push_back(expr);
    return success();
  };
  if (p.parseCommaSeparatedList(delimiter, parse)) return failure();
  attr = p.getBuilder().getArrayAttr(exprs);
  return success();
}

void printIndexExprs(AsmPrinter &p, Operation *op, ArrayAttr attr) {
  p << '[';
  llvm::interleaveComma(attr.getAsRange<IndexExprAttr>(), p,
                        [&](IndexExprAttr expr) { printIndexExpr(p, op, expr); });
  p << ']';
}

std::vector<std::string> indexNames(TypeRange arguments, ArrayAttr params) {
  std::vector<std::string> names;
  for (auto [type, param] : llvm::zip_equal(arguments, params.getAsRange<ParamAttr>()))
    names.push_back(type.isIntOrIndex() && !type.isInteger(1) ? param.getName().str() : "");
  return names;
}

LogicalResult verifyIndexExprs(Operation *op, ArrayRef<Attribute> exprs,
                               const std::vector<std::string> &names) {
  for (Attribute attr : exprs) {
    auto expr = cast<IndexExprAttr>(attr);
    Expected<IndexExpr> bound = expr.getExpr().bind(names);
    if (!bound)
      return op->emitOpError() << "\"" << expr.text()
                               << "\" is no index expression: " << bound.error().message;
  }
  return success();
}

} // namespace tessera::tile
