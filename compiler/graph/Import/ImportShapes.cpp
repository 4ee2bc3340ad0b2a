// Imports casts, shapes, reductions and matrix products.
#include "compiler/graph/Import/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Op;

Value KernelImporter::importShape(const Expr &e) {
  SmallVector<Value> args;
  for (const frontend::ExprPtr &arg : e.args)
    args.push_back(import(*arg));
  tile_.at(locationOf(e.loc));
  Type type = typeOf(e.type);
  switch (e.op) {
  case Op::Cast:
    return tile_.cast(args[0], e.args[0]->type.dtype, e.type.dtype);
  case Op::Broadcast:
    return tile_.broadcast(args[0], type);
  case Op::ExpandDims:
    return tile::ExpandDimsOp::create(b_, tile_.loc(), type, args[0], e.ints[0]);
  case Op::SliceTile:
    return tile::SliceOp::create(b_, tile_.loc(), type, args[0], e.ints);
  case Op::Reshape:
    return tile::ReshapeOp::create(b_, tile_.loc(), type, args[0]);
  case Op::Transpose:
    return tile::TransposeOp::create(b_, tile_.loc(), type, args[0]);
  case Op::Flip:
    return tile::FlipOp::create(b_, tile_.loc(), type, args[0], e.ints[0]);
  case Op::Sort:
    return tile::SortOp::create(b_, tile_.loc(), type, args[0], e.ints[0]);
  case Op::Concat:
    return tile::ConcatOp::create(b_, tile_.loc(), type, args, e.ints[0]);
  default:
    return tile::IotaOp::create(b_, tile_.loc(), type, args[0]);
  }
}

Value KernelImporter::importReduction(const Expr &e) {
  Value x = import(*e.args[0]);
  tile_.at(locationOf(e.loc));
  Type type = typeOf(e.type);
  int64_t axis = e.ints[0];
  DType dtype = e.args[0]->type.dtype;
  bool isUnsigned = tessera::isUnsigned(dtype) || dtype == DType::Bool;
  auto reduce = [&](tile::ReduceKind kind) { return tile_.reduce(kind, dtype, x, axis); };
  auto find = [&](tile::ArgKind kind) -> Value {
    return tile::ArgReduceOp::create(b_, tile_.loc(), type, kind, x, axis, isUnsigned);
  };
  auto scan = [&](tile::ScanKind kind) -> Value {
    return tile::ScanOp::create(b_, tile_.loc(), type, kind, x, axis, isUnsigned);
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
    return scan(tile::ScanKind::Sum);
  case Op::CumProd:
    return scan(tile::ScanKind::Prod);
  case Op::CumMin:
    return scan(tile::ScanKind::Min);
  default:
    return scan(tile::ScanKind::Max);
  }
}

Value KernelImporter::importMma(const Expr &e) {
  // A whole buffer is multiplied without loading it.
  auto operand = [&](const Expr &arg) {
    return arg.op == Op::BufferRead && arg.args.empty() ? values_[arg.symbol] : import(arg);
  };
  Value a = operand(*e.args[0]), b = operand(*e.args[1]);
  Value acc = e.args.size() > 2 ? import(*e.args[2]) : Value();
  tile_.at(locationOf(e.loc));
  if (!acc) acc = tile_.constant(typeOf(e.type), int64_t{0});
  return tile_.mma(e.args[0]->type.dtype, a, b, acc, e.ints.size() > 0 && e.ints[0] != 0,
                   e.ints.size() > 1 && e.ints[1] != 0);
}

Value KernelImporter::importCausalMask(const Expr &e) {
  Value scores = import(*e.args[0]), q0 = import(*e.args[1]), k0 = import(*e.args[2]);
  tile_.at(locationOf(e.loc));
  return tile_.causalMask(scores, q0, k0);
}

} // namespace tessera::graph
