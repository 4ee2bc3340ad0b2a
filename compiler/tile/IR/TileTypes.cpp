// Types and attributes of the tile dialect.
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "numerics/NumericsProfile.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

static FailureOr<std::optional<DType>> parseDTypeKeyword(AsmParser &p) {
  StringRef keyword;
  SMLoc loc = p.getCurrentLocation();
  if (p.parseKeyword(&keyword)) return failure();
  std::optional<DType> dtype = parseDType({keyword.data(), keyword.size()});
  if (!dtype) return p.emitError(loc) << "'" << keyword << "' is not a dtype of the language";
  return dtype;
}

#define GET_TYPEDEF_CLASSES
#include "compiler/tile/IR/TileTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/tile/IR/TileAttrs.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/tile/IR/TileTypes.cpp.inc"
      >();
}

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/tile/IR/TileAttrs.cpp.inc"
      >();
}

static LogicalResult verifyElement(llvm::function_ref<InFlightDiagnostic()> emitError, Type element) {
  if (dtypeOfMemory(element)) return success();
  return emitError() << "element type " << element << " is no dtype of the language";
}

static void printShaped(AsmPrinter &p, ArrayRef<int64_t> shape, Type element) {
  for (int64_t extent : shape) {
    if (ShapedType::isDynamic(extent))
      p << '?';
    else
      p << extent;
    p << 'x';
  }
  p << element;
}

//===-- !tile.view
//----------------------------------------------------------------------------------------===//

Type ViewType::parse(AsmParser &p) {
  SmallVector<int64_t> shape;
  Type element;
  if (p.parseLess() || p.parseDimensionList(shape, /*allowDynamic=*/true) || p.parseType(element) ||
      p.parseGreater())
    return {};
  return p.getChecked<ViewType>(p.getContext(), shape, element);
}

void ViewType::print(AsmPrinter &p) const {
  p << '<';
  printShaped(p, getShape(), getElementType());
  p << '>';
}

LogicalResult ViewType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                               Type element) {
  for (int64_t extent : shape)
    if (!ShapedType::isDynamic(extent) && extent < 0)
      return emitError() << "extent " << extent << " is negative";
  return verifyElement(emitError, element);
}

//===-- !tile.buffer
//--------------------------------------------------------------------------------------===//

Type BufferType::parse(AsmParser &p) {
  SmallVector<int64_t> shape;
  Type element;
  StringRef keyword;
  if (p.parseLess() || p.parseDimensionList(shape, /*allowDynamic=*/false) || p.parseType(element) ||
      p.parseComma())
    return {};
  SMLoc loc = p.getCurrentLocation();
  if (p.parseKeyword(&keyword)) return {};
  std::optional<Swizzle> swizzle = symbolizeSwizzle(keyword);
  if (!swizzle) return p.emitError(loc, "expected 'none' or 'xor'"), Type();
  if (p.parseGreater()) return {};
  return p.getChecked<BufferType>(p.getContext(), shape, element, *swizzle);
}

void BufferType::print(AsmPrinter &p) const {
  p << '<';
  printShaped(p, getShape(), getElementType());
  p << ", " << stringifySwizzle(getSwizzle()) << '>';
}

LogicalResult BufferType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 Type element, Swizzle) {
  if (shape.empty()) return emitError() << "a shared buffer has at least one axis";
  for (int64_t extent : shape)
    if (extent <= 0) return emitError() << "extent " << extent << " of a shared buffer is not positive";
  return verifyElement(emitError, element);
}

int64_t BufferType::getNumElements() const {
  int64_t count = 1;
  for (int64_t extent : getShape())
    count *= extent;
  return count;
}

int64_t BufferType::getSizeInBytes() const { return getNumElements() * storageBytes(getElementType()); }

//===-- #tile.fragment
//------------------------------------------------------------------------------------===//

Attribute FragmentAttr::parse(AsmParser &p, Type) {
  SmallVector<int64_t> mnk, warps;
  StringAttr instruction;
  SMLoc loc = p.getCurrentLocation();
  if (p.parseLess() || p.parseDimensionList(mnk, /*allowDynamic=*/false, /*withTrailingX=*/false)) return {};
  if (mnk.size() != 3) return p.emitError(loc, "expected rows x columns x depth"), Attribute();
  auto parseWarps = [&] { return p.parseInteger(warps.emplace_back()); };
  if (succeeded(p.parseOptionalComma()) &&
      (p.parseAttribute(instruction) || p.parseComma() || p.parseKeyword("warps") || p.parseEqual() ||
       p.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseWarps)))
    return {};
  if (p.parseGreater()) return {};
  return p.getChecked<FragmentAttr>(p.getContext(), mnk[0], mnk[1], mnk[2], instruction, warps);
}

void FragmentAttr::print(AsmPrinter &p) const {
  p << '<' << shape();
  if (getInstruction()) p << ", " << getInstruction() << ", warps = [" << getWarps() << "]";
  p << '>';
}

LogicalResult FragmentAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t m, int64_t n,
                                   int64_t k, StringAttr instruction, ArrayRef<int64_t> warps) {
  if (m <= 0 || n <= 0 || k <= 0) return emitError() << "fragment extents must be positive";
  if (m > 256 || n > 256 || k > 256) return emitError() << "fragment extents are at most 256";
  if (!instruction) return success();
  const layout::Fragment *row = layout::findFragment({instruction.data(), instruction.size()});
  if (!row) return emitError() << "no matrix instruction " << instruction << " in docs/layouts.md";
  // A warpgroup's instructions come in widths that are multiples of the row's.
  if (m != row->m || n % row->n || (n != row->n && row->warps() == 1) || k != row->k)
    return emitError() << instruction << " computes " << row->m << "x" << row->n << "x" << row->k << ", not "
                       << m << "x" << n << "x" << k;
  auto isCount = [](int64_t count) { return count > 0 && count <= 128 && llvm::isPowerOf2_64(count); };
  if (warps.size() != 2 || !llvm::all_of(warps, isCount))
    return emitError() << "warps are two powers of two up to 128, along rows and columns";
  if (warps[0] % row->warps())
    return emitError() << instruction << " is executed by " << row->warps() << " warps along the rows, not "
                       << warps[0];
  if (row->hasTensorMemory() && n % (8 * warps[1]))
    return emitError() << instruction << " of " << n << " columns is not shared by " << warps[1]
                       << " warps, each of which holds a multiple of 8 columns";
  return success();
}

std::optional<layout::Fragment> FragmentAttr::getRow() const {
  if (!getInstruction()) return std::nullopt;
  return layout::findFragment({getInstruction().data(), getInstruction().size()})
      ->ofColumns(static_cast<int>(getN()));
}

Attribute OrderAttr::parse(AsmParser &p, Type) {
  int64_t lanes = 0, block = 0;
  SmallVector<int64_t> chains;
  if (p.parseLess() || p.parseKeyword("lanes") || p.parseEqual() || p.parseInteger(lanes)) return {};
  auto parseChains = [&] { return p.parseInteger(chains.emplace_back()); };
  if (succeeded(p.parseOptionalComma())) {
    if (succeeded(p.parseOptionalKeyword("block"))) {
      if (p.parseEqual() || p.parseInteger(block)) return {};
    } else if (p.parseKeyword("chains") || p.parseEqual() ||
               p.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseChains)) {
      return {};
    }
  }
  if (p.parseGreater()) return {};
  return p.getChecked<OrderAttr>(p.getContext(), lanes, chains, block);
}

void OrderAttr::print(AsmPrinter &p) const {
  p << "<lanes = " << getLanes();
  if (!getChains().empty()) p << ", chains = [" << getChains() << "]";
  if (isFixed()) p << ", block = " << getBlock();
  p << '>';
}

OrderAttr OrderAttr::fixed(MLIRContext *context, bool alongLast) {
  return alongLast ? get(context, kReductionLanes, {}, kReductionBlock) : get(context, 1, {}, kReductionLeaf);
}

LogicalResult OrderAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t lanes,
                                ArrayRef<int64_t> chains, int64_t block) {
  auto isCount = [](int64_t n) { return n > 0 && n <= 1024 && llvm::isPowerOf2_64(n); };
  if (!isCount(lanes)) return emitError() << "lanes must be a power of two up to 1024, found " << lanes;
  if (!llvm::all_of(chains, isCount))
    return emitError() << "numbers of chains must be powers of two up to 1024";
  if (!chains.empty() && (chains.back() != 1 || !llvm::is_sorted(llvm::reverse(chains))))
    return emitError() << "numbers of chains must descend to 1, so that every element has a place";
  if (block && (!chains.empty() || !llvm::isPowerOf2_64(block) || block < lanes || block > (1 << 20)))
    return emitError()
           << "a block must be a power of two from the number of lanes up to 2^20, without chains, found "
           << block;
  return success();
}

std::string FragmentAttr::str() const {
  auto extents = [&](int64_t n) { return llvm::formatv("m{0}n{1}k{2}", getM(), n, getK()).str(); };
  const auto row = getRow();
  if (!row) return "fma." + extents(getN());
  if (row->isPermuted()) return row->executed();
  // Only names of this form are of instructions whose columns vary.
  std::string name = row->name;
  const int64_t columns = layout::findFragment(row->name)->n;
  if (const size_t at = name.find(extents(columns)); at != std::string::npos)
    name.replace(at, extents(columns).size(), extents(getN()));
  return name;
}

std::string FragmentAttr::shape() const {
  return std::to_string(getM()) + "x" + std::to_string(getN()) + "x" + std::to_string(getK());
}
