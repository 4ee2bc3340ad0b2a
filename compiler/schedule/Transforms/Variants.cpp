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

SmallVector<std::string> gemmDims(const GemmCall &call, graph::MatmulOp op) {
  Tensor a = op.getA().getType(), c = op.getResult().getType();
  int64_t rankA = a.getRank(), rank = c.getRank();
  std::string batch;
  for (int64_t d = 0; d + 2 < rank; ++d) {
    std::string text = c.dimText(d);
    bool isName = llvm::all_of(text, [](char ch) { return llvm::isAlnum(ch) || ch == '_'; });
    batch += (batch.empty() ? "" : "*") + (isName ? text : "(" + text + ")");
  }
  SmallVector<std::string> out;
  for (char dim : call.dims())
    switch (dim) {
    case 'B':
      out.push_back(batch);
      break;
    case 'M':
      out.push_back(c.dimText(rank - 2));
      break;
    case 'N':
      out.push_back(c.dimText(rank - 1));
      break;
    default:
      out.push_back(a.dimText(call.transA ? rankA - 2 : rankA - 1));
    }
  return out;
}

} // namespace tessera::schedule
