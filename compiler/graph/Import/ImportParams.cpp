#include "compiler/graph/Import/ImportParams.h"
#include "compiler/tile/IR/DTypes.h"
#include "core/metadata/Reports.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Param;

SmallVector<int> argumentOrder(const std::vector<Param> &params) {
  SmallVector<int> order;
  auto take = [&](auto wanted) {
    for (auto [index, param] : llvm::enumerate(params))
      if (wanted(param)) order.push_back(static_cast<int>(index));
  };
  take([](const Param &p) { return !p.reports.empty(); });
  take([](const Param &p) { return p.isTensor && !p.isResult && p.reports.empty(); });
  take([](const Param &p) { return p.isTensor && p.isResult; });
  take([](const Param &p) { return !p.isTensor; });
  return order;
}

tile::Access accessOf(const Param &param) {
  if (!param.isTensor) return tile::Access::None;
  if (param.atomics || (param.reads && param.writes)) return tile::Access::ReadWrite;
  return param.writes ? tile::Access::Write : tile::Access::Read;
}

/// The statements that write to a hidden tensor, in the terms of kernel metadata.
static ArrayAttr describeReports(OpBuilder &b, const std::vector<frontend::Report> &reports) {
  return b.getArrayAttr(llvm::map_to_vector(reports, [&](const frontend::Report &r) -> Attribute {
    auto text = [&](StringRef name, const std::string &value) {
      return b.getNamedAttr(name, b.getStringAttr(value));
    };
    std::vector<std::string> types;
    for (const frontend::Type &type : r.values)
      types.push_back(reports::typeText({type.dtype, type.shape}));
    return b.getDictionaryAttr({text("kind", r.isAssert ? "assert" : "print"),
                                text("of", r.isOfLane ? "lane" : "program"),
                                text("at", r.file + ":" + std::to_string(r.loc.line)), text("text", r.text),
                                b.getNamedAttr("values", describeLines(b, types))});
  }));
}

/// Returns what the program asked for beside the dtype; null for the default policy.
static DictionaryAttr describePolicy(OpBuilder &b, const Param &param) {
  const frontend::Policy &policy = param.policy;
  NamedAttrList entry;
  if (policy.accum) entry.append("accum", b.getStringAttr(tessera::name(*policy.accum)));
  if (policy.round != "rne") entry.append("round", b.getStringAttr(policy.round));
  if (policy.lossScale != 1.0) entry.append("loss_scale", b.getF64FloatAttr(policy.lossScale));
  if (!param.reports.empty()) entry.append("reports", describeReports(b, param.reports));
  return entry.empty() ? DictionaryAttr() : entry.getDictionary(b.getContext());
}

static Attribute numberAttr(OpBuilder &b, int64_t value) { return b.getI64IntegerAttr(value); }
static Attribute numberAttr(OpBuilder &b, double value) { return b.getF64FloatAttr(value); }

tile::ParamAttr describe(OpBuilder &b, const Param &param) {
  const tile::ParamKind kind = !param.isTensor  ? tile::ParamKind::Scalar
                               : param.isResult ? tile::ParamKind::Result
                                                : tile::ParamKind::Tensor;
  auto texts = [&](const std::vector<frontend::Dim> &dims) {
    return b.getArrayAttr(llvm::map_to_vector(dims, [&](const frontend::Dim &dim) -> Attribute {
      return b.getStringAttr(dim.symbol.empty() ? std::to_string(dim.constant) : dim.symbol);
    }));
  };
  Attribute defaultValue;
  if (param.defaultValue)
    defaultValue = std::visit([&](auto value) { return numberAttr(b, value); }, *param.defaultValue);
  return tile::ParamAttr::get(b.getContext(), b.getStringAttr(param.name), kind, param.dtype, accessOf(param),
                              param.isTensor ? texts(param.dims) : ArrayAttr(),
                              param.strides.empty() ? ArrayAttr() : texts(param.strides), defaultValue,
                              describePolicy(b, param));
}

DictionaryAttr describeCheck(OpBuilder &b, StringRef value, StringRef says) {
  return b.getDictionaryAttr(
      {b.getNamedAttr("says", b.getStringAttr(says)), b.getNamedAttr("value", b.getStringAttr(value))});
}

ArrayAttr describeLines(OpBuilder &b, const std::vector<std::string> &lines) {
  return b.getStrArrayAttr(llvm::to_vector_of<StringRef>(lines));
}

TensorType tensorType(MLIRContext *context, const std::vector<frontend::Dim> &dims, DType dtype) {
  Builder b(context);
  SmallVector<Attribute> extents;
  for (const frontend::Dim &dim : dims)
    extents.push_back(dim.symbol.empty() ? Attribute(b.getI64IntegerAttr(dim.constant))
                                         : tile::IndexExprAttr::fromText(context, dim.symbol));
  return TensorType::get(context, b.getArrayAttr(extents), elementTypeInMemory(context, dtype));
}

} // namespace tessera::graph
