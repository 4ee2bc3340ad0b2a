#include "compiler/schedule/Transforms/IndexEmitter.h"
#include "compiler/tile/IR/IndexExprAttr.h"
#include "compiler/tile/IR/TileBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

/// Returns argument `position` as an index.
Value argumentAsIndex(OpBuilder &b, Location loc, tile::ParamAttr param, Value arg) {
  if (arg.getType().isIndex()) return arg;
  if (param.getDtype() && isUnsigned(*param.getDtype()))
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), arg);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), arg);
}

Value emitBinary(OpBuilder &builder, tile::TileBuilder &b, IndexExpr::Code code, Value x, Value y) {
  using Code = IndexExpr::Code;
  switch (code) {
  case Code::Add:
    return b.add(DType::I64, x, y);
  case Code::Sub:
    return b.sub(DType::I64, x, y);
  case Code::Mul:
    return b.mul(DType::I64, x, y);
  case Code::FloorDiv:
    return b.floorDiv(DType::I64, x, y);
  case Code::CeilDiv:
    if (matchPattern(y, m_NonZero())) return arith::CeilDivSIOp::create(builder, b.loc(), x, y);
    return b.neg(DType::I64, b.floorDiv(DType::I64, b.neg(DType::I64, x), y));
  case Code::Mod:
    return b.mod(DType::I64, x, y);
  case Code::Min:
    return b.minimum(DType::I64, x, y);
  case Code::Max:
    return b.maximum(DType::I64, x, y);
  default:
    llvm_unreachable("not a binary node");
  }
}

} // namespace

Value emitIndexExpr(OpBuilder &b, Location loc, const IndexExpr &expr,
                    llvm::function_ref<Value(int64_t)> valueOf) {
  tile::TileBuilder tile(b);
  tile.at(loc);
  SmallVector<Value> stack;
  expr.forEach([&](IndexExpr::Code code, int64_t value) {
    using Code = IndexExpr::Code;
    if (code == Code::Const) return stack.push_back(tile.constant(b.getIndexType(), value));
    if (code == Code::Slot) return stack.push_back(valueOf(value));
    Value top = stack.pop_back_val();
    if (code == Code::Neg) return stack.push_back(tile.neg(DType::I64, top));
    stack.back() = emitBinary(b, tile, code, stack.back(), top);
  });
  return stack.back();
}

Value emitIndexExpr(OpBuilder &b, Location loc, ArrayAttr params, ValueRange args, const IndexExpr &expr) {
  SmallVector<Type> types =
      llvm::map_to_vector(args, [&](Value arg) -> Type { return arg ? arg.getType() : b.getNoneType(); });
  Expected<IndexExpr> bound = expr.bind(tile::indexNames(types, params)); // the verifier has bound it before
  return emitIndexExpr(b, loc, *bound, [&](int64_t position) {
    return argumentAsIndex(b, loc, cast<tile::ParamAttr>(params[position]), args[position]);
  });
}

} // namespace tessera::schedule
