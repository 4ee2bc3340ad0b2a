// Losses in terms of the operations the rest of the compiler knows.
#include "compiler/graph/Import/ImportGraph.h"
#include "compiler/tile/IR/DTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

static SmallVector<int64_t> allAxes(TensorType type) {
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

static TensorType withDims(TensorType like, ArrayRef<Attribute> dims, Type element) {
  return TensorType::get(like.getContext(), ArrayAttr::get(like.getContext(), dims), element);
}

/// mean((p - t)^2)
Value GraphImporter::importMse(const GraphValue &v) {
  Value p = arg(v, 0), t = arg(v, 1);
  auto type = cast<TensorType>(p.getType());
  Value difference = BinaryOp::create(b_, loc_, type, BinaryKind::Sub, p, t);
  Value square = BinaryOp::create(b_, loc_, type, BinaryKind::Mul, difference, difference);
  if (type.getRank() == 0) return square;
  return ReduceOp::create(b_, loc_, typeOf(v.dims, v.dtype), ReduceKind::Mean, square, allAxes(type), false);
}

/// The mean over the rows of log(sum(exp(x - max))) + max - x[label]:
///   m = max(x, -1); s = x - m; picked = sum(where(iota == label, s, 0), -1); mean(log(sum(exp(s), -1)) -
///   picked)
/// A label outside [0, C) picks nothing.
Value GraphImporter::importCrossEntropy(const GraphValue &v) {
  Value x = arg(v, 0), labels = arg(v, 1);
  auto type = cast<TensorType>(x.getType()), labelType = cast<TensorType>(labels.getType());
  Type element = type.getElementType();
  ArrayRef<Attribute> dims = type.getDims().getValue();
  int64_t last = type.getRank() - 1;
  SmallVector<Attribute> one(dims.drop_back());
  one.push_back(b_.getI64IntegerAttr(1));
  TensorType column = withDims(type, one, element), rows = withDims(type, dims.drop_back(), element);

  Value maximum = ReduceOp::create(b_, loc_, column, ReduceKind::Max, x, last, true);
  Value shifted = BinaryOp::create(b_, loc_, type, BinaryKind::Sub, x, maximum);
  Value exponentials = UnaryOp::create(b_, loc_, type, UnaryKind::Exp, shifted);
  Value sum = ReduceOp::create(b_, loc_, rows, ReduceKind::Sum, exponentials, last, false);
  Value logarithm = UnaryOp::create(b_, loc_, rows, UnaryKind::Log, sum);

  Type index = labelType.getElementType();
  Value positions = IotaOp::create(b_, loc_, withDims(type, dims.back(), index), 0);
  Value label = ReshapeOp::create(b_, loc_, withDims(type, one, index), labels);
  Value hit =
      BinaryOp::create(b_, loc_, withDims(type, dims, b_.getI1Type()), BinaryKind::Eq, positions, label);
  Value zero = arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(element, 0.0));
  Value picked = SelectOp::create(b_, loc_, type, hit, shifted, zero);
  Value target = ReduceOp::create(b_, loc_, rows, ReduceKind::Sum, picked, last, false);

  Value loss = BinaryOp::create(b_, loc_, rows, BinaryKind::Sub, logarithm, target);
  if (rows.getRank() == 0) return loss;
  return ReduceOp::create(b_, loc_, typeOf(v.dims, v.dtype), ReduceKind::Mean, loss, allAxes(rows), false);
}

} // namespace tessera::graph
