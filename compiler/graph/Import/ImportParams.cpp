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

schedule::ParamDescription description(OpBuilder &b, const Param &param) {
  schedule::ParamDescription entry;
  entry.name = param.name;
  entry.kind = !param.isTensor ? "scalar" : param.isResult ? "result" : "tensor";
  entry.dtype = param.dtype;
  entry.access = accessOf(param);
  for (const frontend::Dim &dim : param.dims)
    entry.dims.push_back(dim.symbol.empty() ? std::to_string(dim.constant) : dim.symbol);
  entry.policy = describePolicy(b, param.policy);
  if (param.defaultValue)
    entry.defaultValue = std::visit([&](auto value) { return numberAttr(b, value); }, *param.defaultValue);
  return entry;
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
