// Expands losses to operations that the rest of the compiler supports.
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
/// A row whose label is `ignore_index` adds 0 and is not counted. Any other label outside [0, C) makes the
/// loss NaN.
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
  return importMeanOfLabelled(loss, labels, dims.back(), v.ints[0]);
}

/// sum(where(label == ignored, 0, where(0 <= label < extent, loss, NaN))) / count(label != ignored)
Value GraphImporter::importMeanOfLabelled(Value loss, Value labels, Attribute extent, int64_t ignored) {
  auto rows = cast<TensorType>(loss.getType());
  Type element = rows.getElementType(), i64 = b_.getI64Type();
  auto rowsOf = [&](Type t) { return withDims(rows, rows.getDims().getValue(), t); };
  auto scalarOf = [&](Type t) { return withDims(rows, {}, t); };
  auto integer = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getI64IntegerAttr(n));
  };
  auto number = [&](double x) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(element, x));
  };
  auto compare = [&](BinaryKind kind, Value y) -> Value {
    return BinaryOp::create(b_, loc_, rowsOf(b_.getI1Type()), kind, labels, y);
  };
  auto select = [&](Type t, Value c, Value x, Value y) -> Value {
    return SelectOp::create(b_, loc_, rowsOf(t), c, x, y);
  };
  if (cast<TensorType>(labels.getType()).getElementType() != i64)
    labels = CastOp::create(b_, loc_, rowsOf(i64), labels);
  Value end = isa<tile::IndexExprAttr>(extent)
                  ? DimOp::create(b_, loc_, scalarOf(i64), cast<tile::IndexExprAttr>(extent)).getResult()
                  : integer(cast<IntegerAttr>(extent).getInt());
  Value isLabel = BinaryOp::create(b_, loc_, rowsOf(b_.getI1Type()), BinaryKind::And,
                                   compare(BinaryKind::Ge, integer(0)), compare(BinaryKind::Lt, end));
  Value isIgnored = compare(BinaryKind::Eq, integer(ignored));
  loss = select(element, isLabel, loss, number(std::numeric_limits<double>::quiet_NaN()));
  loss = select(element, isIgnored, number(0), loss);
  Value count = select(i64, isIgnored, integer(0), integer(1));
  if (rows.getRank() != 0) {
    loss = ReduceOp::create(b_, loc_, scalarOf(element), ReduceKind::Sum, loss, allAxes(rows), false);
    count = ReduceOp::create(b_, loc_, scalarOf(i64), ReduceKind::Sum, count, allAxes(rows), false);
  }
  count = CastOp::create(b_, loc_, scalarOf(element), count);
  return BinaryOp::create(b_, loc_, scalarOf(element), BinaryKind::Div, loss, count);
}

} // namespace tessera::graph
