#include "compiler/graph/Import/ImportParams.h"
#include "compiler/tile/IR/DTypes.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Param;

SmallVector<int> argumentOrder(const std::vector<Param> &params) {
  SmallVector<int> order;
  auto take = [&](auto wanted) {
    for (auto [index, param] : llvm::enumerate(params))
      if (wanted(param)) order.push_back(static_cast<int>(index));
  };
  take([](const Param &p) { return p.isTensor && !p.isResult; });
  take([](const Param &p) { return p.isTensor && p.isResult; });
  take([](const Param &p) { return !p.isTensor; });
  return order;
}

StringRef accessOf(const Param &param) {
  if (param.atomics || (param.reads && param.writes)) return "readwrite";
  return param.writes ? "write" : "read";
}

/// What the program asked for behind the dtype; null for the default policy.
static DictionaryAttr describePolicy(OpBuilder &b, const frontend::Policy &policy) {
  NamedAttrList entry;
  if (policy.accum) entry.append("accum", b.getStringAttr(tessera::name(*policy.accum)));
  if (policy.round != "rne") entry.append("round", b.getStringAttr(policy.round));
  if (policy.lossScale != 1.0) entry.append("loss_scale", b.getF64FloatAttr(policy.lossScale));
  return entry.empty() ? DictionaryAttr() : entry.getDictionary(b.getContext());
}

static Attribute numberAttr(OpBuilder &b, int64_t value) { return b.getI64IntegerAttr(value); }
static Attribute numberAttr(OpBuilder &b, double value) { return b.getF64FloatAttr(value); }

DictionaryAttr describeParam(OpBuilder &b, const Param &param) {
  NamedAttrList entry;
  entry.append("name", b.getStringAttr(param.name));
  entry.append("kind", b.getStringAttr(!param.isTensor ? "scalar" : param.isResult ? "result" : "tensor"));
  entry.append("dtype", b.getStringAttr(tessera::name(param.dtype)));
  if (param.isTensor) {
    entry.append("access", b.getStringAttr(accessOf(param)));
    SmallVector<Attribute> dims;
    for (const frontend::Dim &dim : param.dims)
      dims.push_back(b.getStringAttr(dim.symbol.empty() ? std::to_string(dim.constant) : dim.symbol));
    entry.append("dims", b.getArrayAttr(dims));
  }
  if (DictionaryAttr policy = describePolicy(b, param.policy)) entry.append("policy", policy);
  if (param.defaultValue)
    entry.append("default",
                 std::visit([&](auto value) { return numberAttr(b, value); }, *param.defaultValue));
  return entry.getDictionary(b.getContext());
}

DictionaryAttr describeDim(OpBuilder &b, const std::string &name) {
  return b.getDictionaryAttr(
      {b.getNamedAttr("name", b.getStringAttr(name)), b.getNamedAttr("kind", b.getStringAttr("dim"))});
}

DictionaryAttr describeInts(OpBuilder &b, const std::vector<std::pair<std::string, int64_t>> &entries) {
  NamedAttrList list;
  for (auto &[name, value] : entries)
    list.append(name, b.getI64IntegerAttr(value));
  return list.getDictionary(b.getContext());
}

ArrayAttr describeLines(OpBuilder &b, const std::vector<std::string> &lines) {
  return b.getStrArrayAttr(llvm::to_vector_of<StringRef>(lines));
}

TensorType tensorType(MLIRContext *context, const std::vector<frontend::Dim> &dims, DType dtype) {
  Builder b(context);
  SmallVector<Attribute> extents;
  for (const frontend::Dim &dim : dims)
    extents.push_back(dim.symbol.empty() ? Attribute(b.getI64IntegerAttr(dim.constant))
                                         : b.getStringAttr(dim.symbol));
  return TensorType::get(context, b.getArrayAttr(extents), elementTypeInMemory(context, dtype));
}

} // namespace tessera::graph
