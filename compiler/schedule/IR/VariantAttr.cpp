// #schedule.variant: syntax.
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

/// Parses `, KEY =` if the next key is `key`.
bool acceptKey(AsmParser &p, StringRef key) {
  return succeeded(p.parseOptionalKeyword(key)) && succeeded(p.parseEqual());
}

/// "chain", or split("ceildiv(K, 4096)").
ParseResult parseOrder(AsmParser &p, OrderClass &order) {
  StringRef name;
  SMLoc where = p.getCurrentLocation();
  std::string text;
  if (p.parseKeyword(&name)) return failure();
  text = name.str();
  if (succeeded(p.parseOptionalLParen())) {
    std::string count;
    if (p.parseString(&count) || p.parseRParen()) return failure();
    text += "(" + count + ")";
  }
  tessera::Expected<OrderClass> parsed = OrderClass::parse(text);
  if (!parsed) return p.emitError(where) << parsed.error().message;
  order = std::move(*parsed);
  return success();
}

/// A parameter: 32, or "min(K, l2 // 1024)".
ParseResult parseParameter(AsmParser &p, NamedAttrList &params) {
  StringRef name;
  SMLoc where = p.getCurrentLocation();
  if (p.parseKeyword(&name) || p.parseEqual()) return failure();
  int64_t number = 0;
  tile::IndexExprAttr value;
  OptionalParseResult integer = p.parseOptionalInteger(number);
  if (integer.has_value()) {
    if (failed(*integer)) return failure();
    value = tile::IndexExprAttr::get(p.getContext(), IndexExpr::constant(number));
  } else if (tile::parseIndexExpr(p, value)) {
    return failure();
  }
  if (params.get(name)) return p.emitError(where) << "parameter " << name << " occurs twice";
  params.append(name, value);
  return success();
}

} // namespace

Attribute VariantAttr::parse(AsmParser &p, Type) {
  std::string name, body;
  Condition when;
  OrderClass order;
  NamedAttrList params;
  tile::IndexExprAttr cost;
  if (p.parseLess() || p.parseString(&name) || p.parseComma()) return {};
  if (acceptKey(p, "when")) {
    std::string text;
    SMLoc where = p.getCurrentLocation();
    if (p.parseString(&text) || p.parseComma()) return {};
    tessera::Expected<std::vector<Guard>> guards = Guard::parseAll(text);
    if (!guards) return p.emitError(where) << guards.error().message, Attribute();
    when.guards = std::move(*guards);
  }
  if (p.parseKeyword("body") || p.parseEqual() || p.parseString(&body) || p.parseComma() ||
      p.parseKeyword("order") || p.parseEqual() || parseOrder(p, order))
    return {};
  bool more = succeeded(p.parseOptionalComma());
  if (more && acceptKey(p, "params")) {
    if (p.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] { return parseParameter(p, params); }))
      return {};
    more = succeeded(p.parseOptionalComma());
  }
  if (more && (p.parseKeyword("cost") || p.parseEqual() || tile::parseIndexExpr(p, cost))) return {};
  if (p.parseGreater()) return {};
  Builder b(p.getContext());
  return get(p.getContext(), b.getStringAttr(name), when, b.getStringAttr(body), order,
             params.getDictionary(p.getContext()), cost);
}

void VariantAttr::print(AsmPrinter &p) const {
  p << "<" << getName();
  if (!getWhen().guards.empty()) p << ", when = \"" << getWhen().text() << '"';
  p << ", body = " << getBody() << ", order = " << OrderClass::nameOf(getOrder().kind);
  if (getOrder().count) p << "(\"" << getOrder().count->text() << "\")";
  if (!getParams().empty()) {
    p << ", params = {";
    llvm::interleaveComma(getParams(), p, [&](NamedAttribute param) {
      auto value = cast<tile::IndexExprAttr>(param.getValue());
      p << param.getName().getValue() << " = ";
      if (auto number = value.getExpr().asConstant())
        p << *number;
      else
        tile::printIndexExpr(p, nullptr, value);
    });
    p << "}";
  }
  if (getCost()) {
    p << ", cost = ";
    tile::printIndexExpr(p, nullptr, getCost());
  }
  p << ">";
}

} // namespace tessera::schedule
