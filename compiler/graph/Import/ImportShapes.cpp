// Casts, shapes, reductions and matrix products.
#include "compiler/graph/Import/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Op;

Value KernelImporter::importShape(const Expr &e) {
  SmallVector<Value> args;
  for (const frontend::ExprPtr &arg : e.args)
    args.push_back(import(*arg));
  loc_ = locationOf(e.loc);
  Type type = typeOf(e.type);
  switch (e.op) {
  case Op::Cast:
    return tile::CastOp::create(b_, loc_, type, args[0], tessera::name(e.args[0]->type.dtype),
                                tessera::name(e.type.dtype));
  case Op::Broadcast:
    return splat(args[0], type);
  case Op::ExpandDims:
    return tile::ExpandDimsOp::create(b_, loc_, type, args[0], e.ints[0]);
  case Op::Reshape:
    return tile::ReshapeOp::create(b_, loc_, type, args[0]);
  case Op::Transpose:
    return tile::TransposeOp::create(b_, loc_, type, args[0]);
  case Op::Concat:
    return tile::ConcatOp::create(b_, loc_, type, args, e.ints[0]);
  default:
    return tile::IotaOp::create(b_, loc_, type, args[0]);
  }
}

Value KernelImporter::importReduction(const Expr &e) {
  Value x = import(*e.args[0]);
  loc_ = locationOf(e.loc);
  Type type = typeOf(e.type);
  int64_t axis = e.ints[0];
  DType dtype = e.args[0]->type.dtype;
  bool isUnsigned = tessera::isUnsigned(dtype) || dtype == DType::Bool;
  auto reduce = [&](tile::ReduceKind kind) -> Value {
    return tile::ReduceOp::create(b_, loc_, type, kind, x, axis, isUnsigned);
  };
  auto find = [&](tile::ArgKind kind) -> Value {
    return tile::ArgReduceOp::create(b_, loc_, type, kind, x, axis, isUnsigned);
  };
  switch (e.op) {
  case Op::Sum:
    return reduce(tile::ReduceKind::Sum);
  case Op::Prod:
    return reduce(tile::ReduceKind::Prod);
  case Op::Max:
    return reduce(tile::ReduceKind::Max);
  case Op::Min:
    return reduce(tile::ReduceKind::Min);
  case Op::ArgMax:
    return find(tile::ArgKind::Max);
  case Op::ArgMin:
    return find(tile::ArgKind::Min);
  case Op::CumSum:
    return tile::ScanOp::create(b_, loc_, type, tile::ScanKind::Sum, x, axis, isUnsigned);
  default:
    return tile::ScanOp::create(b_, loc_, type, tile::ScanKind::Max, x, axis, isUnsigned);
  }
}

Value KernelImporter::importMma(const Expr &e) {
  // A whole buffer is multiplied where it lies.
  auto operand = [&](const Expr &arg) {
    return arg.op == Op::BufferRead && arg.args.empty() ? values_[arg.symbol] : import(arg);
  };
  Value a = operand(*e.args[0]), b = operand(*e.args[1]);
  Value acc = e.args.size() > 2 ? import(*e.args[2]) : Value();
  loc_ = locationOf(e.loc);
  if (!acc) acc = constant(typeOf(e.type), int64_t{0});
  return tile::MmaOp::create(b_, loc_, acc.getType(), a, b, acc, ValueRange(),
                             e.ints.size() > 0 && e.ints[0] != 0, e.ints.size() > 1 && e.ints[1] != 0,
                             isUnsigned(e.args[0]->type.dtype), tile::FragmentAttr());
}

/// -inf where k0 + j > q0 + i, that is where j - i > q0 - k0.
Value KernelImporter::importCausalMask(const Expr &e) {
  Value scores = import(*e.args[0]), q0 = import(*e.args[1]), k0 = import(*e.args[2]);
  loc_ = locationOf(e.loc);
  auto type = cast<RankedTensorType>(scores.getType());
  int64_t rank = type.getRank();
  auto positions = type.clone(b_.getI32Type());

  // The position along `axis`, in the shape of the scores.
  auto along = [&](int64_t axis) -> Value {
    int64_t extent = type.getShape()[axis];
    auto line = RankedTensorType::get({extent}, b_.getI32Type());
    Value index = tile::IotaOp::create(b_, loc_, line, constant(b_.getI32Type(), int64_t{0}));
    SmallVector<int64_t> shape = {extent};
    for (int64_t other = 0; other < rank; ++other) {
      if (other == axis) continue;
      shape.insert(shape.begin() + other, 1);
      index =
          tile::ExpandDimsOp::create(b_, loc_, RankedTensorType::get(shape, b_.getI32Type()), index, other);
    }
    return splat(index, positions);
  };
  Value distance = arith::SubIOp::create(b_, loc_, along(rank - 1), along(rank - 2));

  // The limit fits in 32 bits once it is cut to what distances can be. q0 - k0 has wrapped if the operands'
  // signs differ and the result does not have the sign of q0.
  Type i64 = b_.getI64Type(), i32 = b_.getI32Type();
  Value difference = arith::SubIOp::create(b_, loc_, q0, k0);
  Value signs = arith::AndIOp::create(b_, loc_, arith::XOrIOp::create(b_, loc_, q0, k0),
                                      arith::XOrIOp::create(b_, loc_, q0, difference));
  Value wrapped =
      arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, signs, constant(i64, int64_t{0}));
  // The largest or the smallest i64, by the sign of q0.
  Value distant = arith::XOrIOp::create(
      b_, loc_, arith::ShRSIOp::create(b_, loc_, q0, constant(i64, int64_t{63})), constant(i64, INT64_MAX));
  Value limit = arith::SelectOp::create(b_, loc_, wrapped, distant, difference);
  limit = arith::MinSIOp::create(b_, loc_, limit, constant(i64, int64_t{INT32_MAX}));
  limit = arith::MaxSIOp::create(b_, loc_, limit, constant(i64, int64_t{INT32_MIN}));
  limit = arith::TruncIOp::create(b_, loc_, i32, limit);
  Value hidden =
      arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::sgt, distance, splat(limit, positions));

  auto element = cast<FloatType>(type.getElementType());
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  llvm::APFloat lowest = llvm::APFloat::semanticsHasInf(semantics)
                             ? llvm::APFloat::getInf(semantics, /*Negative=*/true)
                             : llvm::APFloat::getLargest(semantics, /*Negative=*/true);
  Value fill = arith::ConstantOp::create(b_, loc_, SplatElementsAttr::get(type, lowest));
  return arith::SelectOp::create(b_, loc_, hidden, fill, scores);
}

} // namespace tessera::graph
