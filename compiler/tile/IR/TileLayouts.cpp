// The layouts of tiles as attributes, and their conversion.
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

//===-- attributes
//----------------------------------------------------------------------------------------===//

/// Parses `name = [...]` with a list of whatever `element` parses.
static ParseResult parseList(AsmParser &p, StringRef name, llvm::function_ref<ParseResult()> element) {
  if (p.parseKeyword(name) || p.parseEqual()) return failure();
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, element);
}

static ParseResult parseBases(AsmParser &p, StringRef name, layout::Coordinates &bases) {
  return parseList(p, name, [&] {
    std::vector<int64_t> &base = bases.emplace_back();
    return p.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return p.parseInteger(base.emplace_back()); });
  });
}

static ParseResult parseRepeat(AsmParser &p, std::vector<int64_t> &repeat) {
  return parseList(p, "repeat", [&] { return p.parseInteger(repeat.emplace_back()); });
}

Attribute LayoutAttr::parse(AsmParser &p, Type) {
  SMLoc loc = p.getCurrentLocation();
  layout::Coordinates reg, lane, warp;
  std::vector<int64_t> repeat;
  if (p.parseLess() || parseBases(p, "reg", reg) || p.parseComma() || parseBases(p, "lane", lane) ||
      p.parseComma() || parseBases(p, "warp", warp) || p.parseComma() || parseRepeat(p, repeat) ||
      p.parseGreater())
    return {};
  auto layout = layout::TileLayout::fromCoordinates(reg, lane, warp, std::move(repeat));
  if (!layout) return p.emitError(loc) << layout.error().message, Attribute();
  return get(p.getContext(), *layout);
}

void LayoutAttr::print(AsmPrinter &p) const { p << '<' << getValue().text() << '>'; }

Attribute SharedLayoutAttr::parse(AsmParser &p, Type) {
  SMLoc loc = p.getCurrentLocation();
  layout::Coordinates offset;
  std::vector<int64_t> repeat;
  if (p.parseLess() || parseBases(p, "offset", offset) || p.parseComma() || parseRepeat(p, repeat) ||
      p.parseGreater())
    return {};
  auto layout = layout::SharedLayout::fromCoordinates(offset, std::move(repeat));
  if (!layout) return p.emitError(loc) << layout.error().message, Attribute();
  return get(p.getContext(), *layout);
}

void SharedLayoutAttr::print(AsmPrinter &p) const { p << '<' << getValue().text() << '>'; }

static LogicalResult verifyShape(const layout::Unit &unit, ArrayRef<int64_t> shape,
                                 llvm::function_ref<InFlightDiagnostic()> emitError) {
  std::vector<int64_t> own = unit.shape();
  if (shape == ArrayRef(own)) return success();
  InFlightDiagnostic error = emitError() << "a layout of ";
  llvm::interleave(own, error, "x");
  error << " elements is on a tile of ";
  llvm::interleave(shape, error, "x");
  return error;
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         llvm::function_ref<InFlightDiagnostic()> emitError) const {
  return verifyShape(getValue().unit, shape, emitError);
}

LogicalResult SharedLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                               llvm::function_ref<InFlightDiagnostic()> emitError) const {
  return verifyShape(getValue().unit, shape, emitError);
}

//===-- tile.convert
//--------------------------------------------------------------------------------------===//

static LogicalResult verifyEncodingKind(Operation *op, RankedTensorType type) {
  if (!type.getEncoding() || isa<LayoutAttr, SharedLayoutAttr>(type.getEncoding())) return success();
  return op->emitOpError() << "knows no layout " << type.getEncoding();
}

/// Warps, and lanes of a warp, of a tile in registers; nullopt if it is in memory.
static std::optional<std::pair<int64_t, int64_t>> threadsOf(Value v) {
  auto layout = dyn_cast_or_null<LayoutAttr>(tensorOf(v).getEncoding());
  if (!layout) return std::nullopt;
  return std::pair(layout.getValue().warps(), layout.getValue().lanes());
}

LogicalResult ConvertOp::verify() {
  auto from = tensorOf(getInput()), to = tensorOf(getResult());
  if (failed(verifyEncodingKind(*this, from)) || failed(verifyEncodingKind(*this, to))) return failure();
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "changes the layout only: " << from << " to " << to;
  auto source = threadsOf(getInput()), destination = threadsOf(getResult());
  if (!source || !destination || source == destination) return success();
  return emitOpError() << "converts between layouts of as many threads: " << source->first << " warps of "
                       << source->second << " lanes to " << destination->first << " of "
                       << destination->second;
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType()) return getInput();
  // A layout in between has no effect.
  auto inner = getInput().getDefiningOp<ConvertOp>();
  if (!inner) return {};
  if (inner.getInput().getType() == getResult().getType()) return inner.getInput();
  auto from = threadsOf(inner.getInput()), to = threadsOf(getResult());
  if (from && to && from != to) return {}; // the tile in between is in memory
  getInputMutable().assign(inner.getInput());
  return getResult();
}
