#include "compiler/schedule/IR/LibraryVariant.h"
#include "compiler/tile/IR/DTypes.h"

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

/// Are the leading axes `a` those of the result, or all of extent 1?
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

} // namespace tessera::schedule
