#include "compiler/schedule/Transforms/Variants.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/Profiles.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

using Tensor = graph::TensorType;

ArrayRef<Attribute> leading(Tensor t) { return t.getDims().getValue().drop_back(2); }

bool isOnes(ArrayRef<Attribute> dims) {
  return llvm::all_of(dims, [](Attribute d) {
    auto n = dyn_cast<IntegerAttr>(d);
    return n && n.getInt() == 1;
  });
}

/// Are leading axes `a` those of the result, or all of extent 1?
bool isBatch(ArrayRef<Attribute> a, ArrayRef<Attribute> result, bool &batched) {
  batched = !isOnes(a);
  return !batched || a == result;
}

} // namespace

std::optional<GemmCall> gemmCallOf(graph::MatmulOp op, std::string &why) {
  Tensor a = op.getA().getType(), b = op.getB().getType(), c = op.getResult().getType();
  GemmCall call;
  std::optional<DType> dtype = dtypeOfMemory(c.getElementType());
  if (!dtype || (*dtype != DType::F32 && *dtype != DType::F64) || a.getElementType() != c.getElementType() ||
      b.getElementType() != c.getElementType()) {
    auto nameOf = [](Tensor t) {
      std::optional<DType> d = dtypeOfMemory(t.getElementType());
      return std::string(d ? name(*d) : "?");
    };
    why = "a BLAS multiplies f32 by f32 into f32 and f64 by f64 into f64, not " + nameOf(a) + " by " +
          nameOf(b) + " into " + nameOf(c);
    return std::nullopt;
  }
  call.dtype = *dtype;
  call.transA = op.getTransA();
  call.transB = op.getTransB();
  if (a.getRank() < 2 || b.getRank() < 2 || c.getRank() < 2) {
    why = "a BLAS multiplies matrices, and an operand is a vector";
    return std::nullopt;
  }
  if (isBatch(leading(a), leading(c), call.batchA) && isBatch(leading(b), leading(c), call.batchB))
    return call;
  why = "its leading axes broadcast, which no BLAS call does";
  return std::nullopt;
}

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
