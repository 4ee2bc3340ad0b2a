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
  return ReduceOp::create(b_, loc_, typeOf(v.dims, v.dtype), ReduceKind::Mean, square, allAxes(type), false,
                          IntegerAttr());
}

/// Each row's log(sum(exp(x - max))) + max - x[label]:
///   m = max(x, -1); s = x - m; picked = sum(where(iota == label, s, 0), -1); log(sum(exp(s), -1)) - picked
/// With weights this is multiplied by that of the label. Label smoothing by e makes it (1 - e) of that and e
/// of the mean over all classes. A row whose label is `ignore_index` adds 0 and is not counted. Any other
/// label outside [0, C) makes the loss NaN.
Value GraphImporter::importCrossEntropy(const GraphValue &v) {
  Value x = arg(v, 0), labels = arg(v, 1), weights = arg(v, 2);
  auto type = cast<TensorType>(x.getType()), labelType = cast<TensorType>(labels.getType());
  Type element = type.getElementType();
  ArrayRef<Attribute> dims = type.getDims().getValue();
  int64_t last = type.getRank() - 1;
  SmallVector<Attribute> one(dims.drop_back());
  one.push_back(b_.getI64IntegerAttr(1));
  TensorType column = withDims(type, one, element), rows = withDims(type, dims.drop_back(), element);
  auto number = [&](double n) -> Value {
    return arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(element, n));
  };
  auto binary = [&](TensorType t, BinaryKind kind, Value a, Value b) -> Value {
    return BinaryOp::create(b_, loc_, t, kind, a, b);
  };
  auto sumOf = [&](Value t) -> Value {
    return ReduceOp::create(b_, loc_, rows, ReduceKind::Sum, t, last, false, IntegerAttr());
  };

  Value maximum = ReduceOp::create(b_, loc_, column, ReduceKind::Max, x, last, true, IntegerAttr());
  Value shifted = binary(type, BinaryKind::Sub, x, maximum);
  Value exponentials = UnaryOp::create(b_, loc_, type, UnaryKind::Exp, shifted);
  Value logarithm = UnaryOp::create(b_, loc_, rows, UnaryKind::Log, sumOf(exponentials));

  Type index = labelType.getElementType();
  Value positions = IotaOp::create(b_, loc_, withDims(type, dims.back(), index), 0);
  Value label = ReshapeOp::create(b_, loc_, withDims(type, one, index), labels);
  Value hit = binary(withDims(type, dims, b_.getI1Type()), BinaryKind::Eq, positions, label);
  Value picked = SelectOp::create(b_, loc_, type, hit, shifted, number(0));
  Value loss = binary(rows, BinaryKind::Sub, logarithm, sumOf(picked)), weight;
  if (weights) {
    weight = sumOf(SelectOp::create(b_, loc_, type, hit, weights, number(0)));
    loss = binary(rows, BinaryKind::Mul, loss, weight);
  }
  if (v.number != 0) {
    // The mean over the classes of their weight times log(sum) - shifted.
    Value total = UnaryOp::create(
        b_, loc_, column, UnaryKind::Log,
        ReduceOp::create(b_, loc_, column, ReduceKind::Sum, exponentials, last, true, IntegerAttr()));
    Value all = binary(type, BinaryKind::Sub, total, shifted);
    if (weights) all = binary(type, BinaryKind::Mul, all, weights);
    Value mean = ReduceOp::create(b_, loc_, rows, ReduceKind::Mean, all, last, false, IntegerAttr());
    loss = binary(rows, BinaryKind::Add, binary(rows, BinaryKind::Mul, loss, number(1 - v.number)),
                  binary(rows, BinaryKind::Mul, mean, number(v.number)));
  }
  return importLabelled(v, loss, weight, dims.back());
}

/// rows = where(label == ignored, 0, where(0 <= label < extent, loss, NaN)), their sum, or
/// sum(rows) / sum(where(label == ignored, 0, weight)), with 1 for a missing weight
Value GraphImporter::importLabelled(const GraphValue &v, Value loss, Value weight, Attribute extent) {
  Value labels = arg(v, 1);
  enum Reduction { Mean, Sum, None };
  const auto reduction = static_cast<Reduction>(v.ints[1]);
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
  auto total = [&](Type t, Value x) -> Value {
    if (rows.getRank() == 0) return x;
    return ReduceOp::create(b_, loc_, scalarOf(t), ReduceKind::Sum, x, allAxes(rows), false, IntegerAttr());
  };
  if (cast<TensorType>(labels.getType()).getElementType() != i64)
    labels = CastOp::create(b_, loc_, rowsOf(i64), labels);
  Value end = isa<tile::IndexExprAttr>(extent)
                  ? DimOp::create(b_, loc_, scalarOf(i64), cast<tile::IndexExprAttr>(extent)).getResult()
                  : integer(cast<IntegerAttr>(extent).getInt());
  Value isLabel = BinaryOp::create(b_, loc_, rowsOf(b_.getI1Type()), BinaryKind::And,
                                   compare(BinaryKind::Ge, integer(0)), compare(BinaryKind::Lt, end));
  Value isIgnored = compare(BinaryKind::Eq, integer(v.ints[0]));
  loss = select(element, isLabel, loss, number(std::numeric_limits<double>::quiet_NaN()));
  loss = select(element, isIgnored, number(0), loss);
  if (reduction == None) return loss;
  loss = total(element, loss);
  if (reduction == Sum) return loss;
  Value count = weight ? total(element, select(element, isIgnored, number(0), weight))
                       : total(i64, select(i64, isIgnored, integer(0), integer(1)));
  if (!weight) count = CastOp::create(b_, loc_, scalarOf(element), count);
  return BinaryOp::create(b_, loc_, scalarOf(element), BinaryKind::Div, loss, count);
}

} // namespace tessera::graph
