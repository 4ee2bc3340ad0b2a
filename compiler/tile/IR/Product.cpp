#include "compiler/tile/IR/Product.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tessera::tile {

DictionaryAttr Product::toAttr(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList list;
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"a", a}, {"b", b}, {"c", c}})
    list.append(name, builder.getI64IntegerAttr(value));
  for (auto [name, value] : {std::pair<StringRef, bool>{"trans_a", transA},
                             {"trans_b", transB},
                             {"has_columns", hasColumns},
                             {"has_rows", hasRows}})
    list.append(name, builder.getBoolAttr(value));
  if (leaf) list.append("leaf", builder.getI64IntegerAttr(leaf));
  list.append("block", builder.getDenseI64ArrayAttr({blockRows, blockColumns}));
  list.append("batch_a", builder.getDenseI64ArrayAttr(batchA));
  list.append("batch_b", builder.getDenseI64ArrayAttr(batchB));
  list.append("batch_c", builder.getDenseI64ArrayAttr(batchC));
  return list.getDictionary(context);
}

/// Reads the fields; false if one is missing or of another type.
static bool read(DictionaryAttr attr, Product &p) {
  bool complete = true;
  auto integer = [&](StringRef name, int64_t &to) {
    auto value = attr.getAs<IntegerAttr>(name);
    complete &= value && value.getType().isInteger(64);
    if (complete) to = value.getInt();
  };
  auto flag = [&](StringRef name, bool &to) {
    auto value = attr.getAs<BoolAttr>(name);
    complete &= static_cast<bool>(value);
    if (complete) to = value.getValue();
  };
  auto array = [&](StringRef name, SmallVector<int64_t> &to) {
    auto value = attr.getAs<DenseI64ArrayAttr>(name);
    complete &= static_cast<bool>(value);
    if (complete) to.assign(value.asArrayRef().begin(), value.asArrayRef().end());
  };
  integer("a", p.a), integer("b", p.b), integer("c", p.c);
  flag("trans_a", p.transA), flag("trans_b", p.transB);
  flag("has_columns", p.hasColumns), flag("has_rows", p.hasRows);
  array("batch_a", p.batchA), array("batch_b", p.batchB), array("batch_c", p.batchC);
  SmallVector<int64_t> block;
  array("block", block);
  if (!complete || block.size() != 2) return false;
  if (attr.contains("leaf")) integer("leaf", p.leaf);
  if (!complete || p.leaf < 0) return false;
  p.blockRows = block[0], p.blockColumns = block[1];
  return true;
}

static std::string check(KernelOp kernel, const Product &p) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  auto view = [&](int64_t argument) {
    return argument >= 0 && argument < static_cast<int64_t>(types.size())
               ? dyn_cast<ViewType>(types[argument])
               : ViewType();
  };
  ViewType product = view(0);
  if (!product || product.getRank() != 2) return "a first argument that is a matrix";
  if (p.blockRows < 1 || p.blockColumns < 1 || p.blockRows > 4096 || p.blockColumns > 4096)
    return "a block of 1 to 4096 rows and columns";
  const auto batch = static_cast<int64_t>(kernel.getGrid().size()) - p.hasColumns - p.hasRows;
  if (batch < 0 || batch != static_cast<int64_t>(p.batchA.size())) return "a grid of batch, columns and rows";
  auto operand = [&](int64_t argument, ArrayRef<int64_t> axes, Type element) {
    ViewType type = view(argument);
    return type && argument > 0 && type.getElementType() == element && type.getRank() >= 2 &&
           static_cast<int64_t>(axes.size()) == batch &&
           llvm::all_of(axes, [&](int64_t d) { return d >= -1 && d < type.getRank() - 2; });
  };
  // Narrow operands are summed in f32 or i32.
  Type sum = product.getElementType(), factor = view(p.a) ? view(p.a).getElementType() : sum;
  const bool isNarrow = factor.getIntOrFloatBitWidth() < 32 &&
                        (isa<FloatType>(factor) ? sum.isF32() : factor.isInteger(8) && sum.isInteger(32));
  if (factor != sum && !isNarrow) return "operands of a dtype that it is summed in";
  if (!operand(p.a, p.batchA, factor) || !operand(p.b, p.batchB, factor) ||
      (p.c != -1 && !operand(p.c, p.batchC, sum)))
    return "operands that are tensors of one element type, and a result of the product's, with axes for the "
           "batch";
  return {};
}

static constexpr StringLiteral kFields =
    "a dictionary of a, b, c, trans_a, trans_b, has_columns, has_rows, block, batch_a, batch_b and batch_c";

std::string whyNoProduct(KernelOp kernel) {
  Product p;
  auto attr = kernel->getAttrOfType<DictionaryAttr>(kProduct);
  return attr && read(attr, p) ? check(kernel, p) : kFields.str();
}

std::optional<Product> Product::of(KernelOp kernel) {
  Product p;
  auto attr = kernel->getAttrOfType<DictionaryAttr>(kProduct);
  if (!attr || !read(attr, p) || !check(kernel, p).empty()) return std::nullopt;
  return p;
}

} // namespace tessera::tile
