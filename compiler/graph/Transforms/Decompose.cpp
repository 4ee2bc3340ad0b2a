// graph-decompose: replaces operations that are a formula of others by that formula, so that fusion sees only
// elementwise operations and reductions along one axis:
//
//   %y = graph.softmax %x axis 1        ->   %m = graph.reduce max %x axes [1] {keep_dims}
//                                            %d = graph.binary sub %x, %m
//                                            %e = graph.unary exp %d
//                                            %s = graph.reduce sum %e axes [1] {keep_dims}
//                                            %y = graph.binary div %e, %s
//
// Narrow floats are widened to f32 before a formula or a sum, and rounded once after it.
#include "compiler/graph/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {
#define GEN_PASS_DEF_GRAPHDECOMPOSE
#include "compiler/graph/Transforms/Passes.h.inc"

using namespace mlir;
using namespace tessera::graph;
using Tensor = tessera::graph::TensorType;

namespace {

/// Builds the formula in place of one operation.
class Formula {
public:
  Formula(OpBuilder &b, Operation *op) : b_(b), loc_(op->getLoc()) {}

  /// Casts a value to the dtype in which the formula computes.
  Value widen(Value v) {
    Type element = cast<Tensor>(v.getType()).getElementType();
    auto width = isa<FloatType>(element) ? cast<FloatType>(element).getWidth() : 32;
    return width < 32 ? cast_(v, b_.getF32Type()) : v;
  }
  Value round(Value v, Type element) {
    return cast<Tensor>(v.getType()).getElementType() == element ? v : cast_(v, element);
  }
  Value unary(UnaryKind kind, Value x) { return UnaryOp::create(b_, loc_, x.getType(), kind, x); }
  /// The result has the type of `x`, to which `y` broadcasts.
  Value binary(BinaryKind kind, Value x, Value y) {
    return BinaryOp::create(b_, loc_, x.getType(), kind, x, y);
  }
  Value reduce(ReduceKind kind, Value x, int64_t axis, bool keepDims = true) {
    auto type = cast<Tensor>(x.getType());
    SmallVector<Attribute> dims(type.getDims().getValue());
    if (keepDims)
      dims[axis] = b_.getI64IntegerAttr(1);
    else
      dims.erase(dims.begin() + axis);
    auto result = Tensor::get(b_.getContext(), b_.getArrayAttr(dims), type.getElementType());
    return ReduceOp::create(b_, loc_, result, kind, x, b_.getDenseI64ArrayAttr(axis), keepDims,
                            IntegerAttr());
  }
  Value constant(Value like, double value) {
    Type element = cast<Tensor>(like.getType()).getElementType();
    return arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(element, value));
  }
  /// Returns gamma or beta, widened, with its axis at `axis` of `rank`.
  Value alongAxis(Value scale, int64_t axis, int64_t rank) {
    scale = widen(scale);
    auto type = cast<Tensor>(scale.getType());
    if (axis == rank - 1) return scale;
    SmallVector<Attribute> dims(rank - axis, b_.getI64IntegerAttr(1));
    dims[0] = type.getDims()[0];
    auto result = Tensor::get(b_.getContext(), b_.getArrayAttr(dims), type.getElementType());
    return ReshapeOp::create(b_, loc_, result, scale);
  }

private:
  Value cast_(Value v, Type element) {
    auto type = Tensor::get(b_.getContext(), cast<Tensor>(v.getType()).getDims(), element);
    return CastOp::create(b_, loc_, type, v);
  }
  OpBuilder &b_;
  Location loc_;
};

Value softmax(Formula f, SoftmaxOp op) {
  Value x = f.widen(op.getInput());
  int64_t axis = op.getAxis();
  Value shifted = f.binary(BinaryKind::Sub, x, f.reduce(ReduceKind::Max, x, axis));
  Value exp = f.unary(UnaryKind::Exp, shifted);
  Value sum = f.reduce(ReduceKind::Sum, exp, axis);
  if (op.getLog()) return f.binary(BinaryKind::Sub, shifted, f.unary(UnaryKind::Log, sum));
  return f.binary(BinaryKind::Div, exp, sum);
}

/// The mean is subtracted first: otherwise the variance of values far from 0 would suffer cancellation.
Value layerNorm(Formula f, LayerNormOp op) {
  Value x = f.widen(op.getInput());
  int64_t axis = op.getAxis(), rank = op.getInput().getType().getRank();
  Value centred = f.binary(BinaryKind::Sub, x, f.reduce(ReduceKind::Mean, x, axis));
  Value variance = f.reduce(ReduceKind::Mean, f.binary(BinaryKind::Mul, centred, centred), axis);
  Value eps = f.constant(x, op.getEps().convertToDouble());
  Value scale = f.unary(UnaryKind::Rsqrt, f.binary(BinaryKind::Add, variance, eps));
  Value y = f.binary(BinaryKind::Mul, centred, scale);
  if (op.getGamma()) y = f.binary(BinaryKind::Mul, y, f.alongAxis(op.getGamma(), axis, rank));
  if (op.getBeta()) y = f.binary(BinaryKind::Add, y, f.alongAxis(op.getBeta(), axis, rank));
  return y;
}

Value rmsNorm(Formula f, RmsNormOp op) {
  Value x = f.widen(op.getInput());
  int64_t axis = op.getAxis(), rank = op.getInput().getType().getRank();
  Value mean = f.reduce(ReduceKind::Mean, f.binary(BinaryKind::Mul, x, x), axis);
  Value eps = f.constant(x, op.getEps().convertToDouble());
  Value y = f.binary(BinaryKind::Mul, x, f.unary(UnaryKind::Rsqrt, f.binary(BinaryKind::Add, mean, eps)));
  if (op.getGamma()) y = f.binary(BinaryKind::Mul, y, f.alongAxis(op.getGamma(), axis, rank));
  return y;
}

/// Splits a reduction of several axes into one per axis, the last axis first, so that many programs share the
/// work. Returns null if it has only one axis.
Value reduction(Formula f, ReduceOp op) {
  Type element = op.getInput().getType().getElementType();
  bool adds =
      op.getKind() == ReduceKind::Sum || op.getKind() == ReduceKind::Mean || op.getKind() == ReduceKind::Prod;
  bool isNarrow = isa<FloatType>(element) && cast<FloatType>(element).getWidth() < 32;
  if (op.getAxes().size() == 1 && !(adds && isNarrow)) return {};
  Value x = adds ? f.widen(op.getInput()) : Value(op.getInput());
  for (int64_t axis : llvm::reverse(op.getAxes()))
    x = f.reduce(op.getKind(), x, axis, op.getKeepDims());
  return x;
}

struct GraphDecompose : impl::GraphDecomposeBase<GraphDecompose> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      OpBuilder b(op);
      Formula f(b, op);
      Value formula;
      if (auto o = dyn_cast<SoftmaxOp>(op)) formula = softmax(f, o);
      if (auto o = dyn_cast<LayerNormOp>(op)) formula = layerNorm(f, o);
      if (auto o = dyn_cast<RmsNormOp>(op)) formula = rmsNorm(f, o);
      if (auto o = dyn_cast<ReduceOp>(op)) formula = reduction(f, o);
      if (!formula) return;
      Value old = op->getResult(0);
      old.replaceAllUsesWith(f.round(formula, cast<Tensor>(old.getType()).getElementType()));
      op->erase();
    });
  }
};

} // namespace
} // namespace tessera
