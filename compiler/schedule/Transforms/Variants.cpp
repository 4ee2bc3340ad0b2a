#include "compiler/schedule/Transforms/Variants.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"

using namespace mlir;

namespace tessera::schedule {

using Tensor = graph::TensorType;
std::string whyNoLibrary(graph::FuncOp function, const codegen::Target &target) {
  if (!target.capabilities().callsLibraries)
    return "backend " + target.backend().name().str() + " calls no libraries";
  if (auto permits = permitsOf(function); permits && !permits->libraryCalls())
    return "numerics profile " + function.getNumerics().str() +
           " fixes the order of summation, and a library has its own";
  return "";
}

SmallVector<Attribute> gemmDims(const GemmCall &call, graph::MatmulOp op) {
  Tensor a = op.getA().getType(), c = op.getResult().getType();
  int64_t rankA = a.getRank(), rank = c.getRank();
  SmallVector<Attribute> out;
  auto put = [&](const IndexExpr &dim) { out.push_back(tile::IndexExprAttr::get(op.getContext(), dim)); };
  for (char dim : call.dims())
    switch (dim) {
    case 'B': {
      IndexExpr batch;
      for (int64_t d = 0; d + 2 < rank; ++d)
        batch = d == 0 ? c.getExtent(d)
                       : IndexExpr::binary(IndexExpr::Code::Mul, std::move(batch), c.getExtent(d));
      put(batch);
      break;
    }
    case 'M':
      put(c.getExtent(rank - 2));
      break;
    case 'N':
      put(c.getExtent(rank - 1));
      break;
    default:
      put(a.getExtent(call.transA ? rankA - 2 : rankA - 1));
    }
  return out;
}

} // namespace tessera::schedule
