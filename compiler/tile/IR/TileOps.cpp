// The generated definitions of the operations, and the assembly directives that they use.
#include "compiler/tile/IR/TileDialect.h"
#include "mlir/IR/Builders.h"
#include "numerics/DType.h"

using namespace mlir;
using namespace tessera::tile;

using Operands = SmallVectorImpl<OpAsmParser::UnresolvedOperand>;

/// `(%lo0 to %hi0, %lo1 to %hi1)`
static ParseResult parseBounds(OpAsmParser &p, Operands &lower, Operands &upper) {
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return failure(p.parseOperand(lower.emplace_back()) || p.parseKeyword("to") ||
                   p.parseOperand(upper.emplace_back()));
  });
}

static void printBounds(OpAsmPrinter &p, Operation *, OperandRange lower, OperandRange upper) {
  p << '(';
  llvm::interleaveComma(llvm::zip_equal(lower, upper), p,
                        [&](auto bound) { p << std::get<0>(bound) << " to " << std::get<1>(bound); });
  p << ')';
}

/// `value, view -> old`: the type of the indices follows from the type of the value.
static ParseResult parseAtomicTypes(OpAsmParser &p, const Operands &indices, Type &value, Type &view,
                                    SmallVectorImpl<Type> &indexTypes, Type &result) {
  if (p.parseType(value) || p.parseComma() || p.parseType(view) || p.parseArrow() || p.parseType(result))
    return failure();
  Type index = p.getBuilder().getIndexType();
  if (auto tensor = dyn_cast<RankedTensorType>(value)) index = tensor.clone(index);
  indexTypes.assign(indices.size(), index);
  return success();
}

static void printAtomicTypes(OpAsmPrinter &p, Operation *, OperandRange, Type value, Type view, TypeRange,
                             Type result) {
  p << value << ", " << view << " -> " << result;
}

/// A dtype of the language as a keyword.
static ParseResult parseDTypeName(OpAsmParser &p, StringAttr &dtype) {
  StringRef word;
  SMLoc loc = p.getCurrentLocation();
  if (p.parseKeyword(&word)) return failure();
  if (!tessera::parseDType(std::string_view(word.data(), word.size())))
    return p.emitError(loc) << "'" << word << "' is no dtype of the language";
  dtype = p.getBuilder().getStringAttr(word);
  return success();
}

static void printDTypeName(OpAsmPrinter &p, Operation *, StringAttr dtype) { p << dtype.getValue(); }

#define GET_OP_CLASSES
#include "compiler/tile/IR/TileOps.cpp.inc"
