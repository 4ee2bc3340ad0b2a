// graph-decompose: replaces operations that are a formula of others by that formula, so that fusion sees only
// elementwise operations and reductions along one axis:
//
//   %y = graph.softmax %x axis 1        ->   %m = graph.reduce max %x axes [1] {keep_dims}
//                                            %d = graph.binary sub %x, %m
//                                            %e = graph.unary exp %d
//                                            %s = graph.reduce sum %e axes [1] {keep_dims}
//                                            %y = graph.binary div %e, %s
//
// Narrow floats are widened to f32 before a formula or a sum, and rounded once after it. Attention whose
// query heads share key heads becomes attention of as many heads as the keys have, with more queries. Slices
// of a converted input are converted slices.
#include "compiler/graph/Transforms/Passes.h"
#include "core/metadata/IndexExpr.h"
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

/// Returns x / y for extents that are numbers or products of names, of which `x` contains those of `y`.
std::optional<IndexExpr> quotient(const IndexExpr &x, const IndexExpr &y) {
  auto split = [](const IndexExpr &extent, int64_t &number, SmallVector<std::string> &names) {
    number = extent.asConstant().value_or(1);
    if (extent.asConstant()) return true;
    SmallVector<StringRef> parts;
    const std::string text(extent.asSymbol());
    StringRef(text).split(parts, '*');
    for (StringRef part : parts) {
      int64_t factor = 0;
      if (part.getAsInteger(10, factor))
        names.push_back(part.str());
      else
        number *= factor;
    }
    return !text.empty();
  };
  int64_t ofX = 0, ofY = 0;
  SmallVector<std::string> names, divisors;
  if (!split(x, ofX, names) || !split(y, ofY, divisors) || ofY <= 0 || ofX % ofY) return std::nullopt;
  for (const std::string &divisor : divisors) {
    auto *it = llvm::find(names, divisor);
    if (it == names.end()) return std::nullopt;
    names.erase(it);
  }
  if (names.empty()) return IndexExpr::constant(ofX / ofY);
  // "G*H" may be the only name that a launch knows. It is 0 where H is.
  const IndexExpr divisor =
      y.asConstant() ? y : IndexExpr::binary(IndexExpr::Code::Max, y, IndexExpr::constant(1));
  return IndexExpr::binary(IndexExpr::Code::FloorDiv, x, divisor);
}

/// Query heads that share a key head become queries of one head, so that its keys and values are read once:
///
///   %y = graph.attention %q, %k, %v : ([8, S, D], [2, T, D], ...)  ->  %r = graph.reshape %q : [2, 4*S, D]
///                                                                      %a = graph.attention %r, %k, %v
///                                                                      %y = graph.reshape %a : [8, S, D]
///
/// Null if heads or queries must be told apart: a causal mask of more than one query, a bias or mask of
/// theirs.
Value shareKeys(OpBuilder &b, AttentionOp op) {
  Tensor q = op.getQ().getType(), k = op.getK().getType();
  const int64_t heads = q.getRank() - 3, rows = heads + 1;
  if (heads < 0 || q.getDims()[heads] == k.getDims()[heads]) return {};
  if (op.getCausal() && !q.isOne(rows)) return {};
  for (Value beside : {op.getBias(), op.getMask()}) {
    if (!beside) continue;
    auto type = cast<Tensor>(beside.getType());
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (int64_t axis = d + q.getRank() - type.getRank(); (axis == heads || axis == rows) && !type.isOne(d))
        return {};
  }
  auto extent = [](Attribute dim) {
    auto known = dyn_cast<IntegerAttr>(dim);
    return known ? IndexExpr::constant(known.getInt()) : cast<tile::IndexExprAttr>(dim).getExpr();
  };
  std::optional<IndexExpr> shared = quotient(extent(q.getDims()[heads]), extent(k.getDims()[heads]));
  if (!shared) return {};
  std::optional<IndexExpr> queries = IndexExpr::product({*shared, extent(q.getDims()[rows])});
  if (!queries || queries->checkText()) return {};
  SmallVector<Attribute> dims(q.getDims().getValue());
  dims[heads] = k.getDims()[heads];
  dims[rows] = extentAttr(b.getContext(), *queries);
  auto type = Tensor::get(b.getContext(), b.getArrayAttr(dims), q.getElementType());
  Location loc = op.getLoc();
  Value joined = ReshapeOp::create(b, loc, type, op.getQ());
  auto attention = cast<AttentionOp>(b.clone(*op));
  attention.getQMutable().assign(joined);
  attention.getResult().setType(type);
  attention.setCausal(false);
  return ReshapeOp::create(b, loc, q, attention.getResult());
}

/// Do the slices take no more elements than the tensor has, as the channels of a picture or the halves of a
/// row do? Along some axis they then have constant extents that together fit, or steps of at least their
/// number.
bool takeEachOnce(ResultRange::user_range slices, Tensor whole) {
  for (int64_t d = 0; d < whole.getRank(); ++d) {
    const auto extent = dyn_cast<IntegerAttr>(whole.getDims()[d]);
    int64_t taken = 0, leastStep = INT64_MAX;
    bool isConstant = extent != nullptr;
    for (Operation *user : slices) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice) return false;
      const auto part = dyn_cast<IntegerAttr>(slice.getType().getDims()[d]);
      isConstant &= part != nullptr;
      taken += part ? part.getInt() : 0;
      leastStep = std::min(leastStep, slice.getSteps() ? std::abs((*slice.getSteps())[d]) : 1);
    }
    if (isConstant && taken <= extent.getInt()) return true;
    if (leastStep >= std::distance(slices.begin(), slices.end())) return true;
  }
  return false;
}

/// Parts of a converted input are converted parts, so that the conversion is computed where they are used:
///
///   %c = graph.cast %x          ->   %t = graph.slice %x
///   %s = graph.slice %c              %s = graph.cast %t
///
/// The reshape that drops an axis of one element follows its slice. Null if the whole is used too, or if the
/// parts overlap: each would be read and converted again.
Value castParts(OpBuilder &b, Operation *op) {
  auto whole = op->getOperand(0).getDefiningOp<CastOp>();
  if (!whole || !isa<Tensor>(whole.getInput().getType())) return {};
  Value input = whole.getInput();
  const bool isPart = input.getDefiningOp<SliceOp>() != nullptr;
  if (!isPart && (!isa<BlockArgument>(input) || !isa<SliceOp>(op))) return {};
  if (!isPart && !takeEachOnce(whole->getUsers(), whole.getType())) return {};
  if (!llvm::all_of(whole->getUsers(), llvm::IsaPred<SliceOp, ReshapeOp>)) return {};
  Operation *part = b.clone(*op);
  part->setOperand(0, input);
  auto type = cast<Tensor>(op->getResult(0).getType());
  part->getResult(0).setType(
      Tensor::get(b.getContext(), type.getDims(), cast<Tensor>(input.getType()).getElementType()));
  return CastOp::create(b, whole.getLoc(), type, part->getResult(0));
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
      if (auto o = dyn_cast<AttentionOp>(op)) formula = shareKeys(b, o);
      if (isa<SliceOp, ReshapeOp>(op)) formula = castParts(b, op);
      if (!formula) return;
      Value old = op->getResult(0);
      old.replaceAllUsesWith(f.round(formula, cast<Tensor>(old.getType()).getElementType()));
      op->erase();
    });
  }
};

} // namespace
} // namespace tessera
