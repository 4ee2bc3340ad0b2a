// Imports arithmetic, comparisons and functions, of scalars and tiles alike.
#include "compiler/graph/Import/Importer.h"
#include "compiler/tile/IR/TileFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Op;

Value KernelImporter::importArith(const Expr &e) {
  Value x = import(*e.args[0]);
  Value y = e.args.size() > 1 ? import(*e.args[1]) : Value();
  tile_.at(locationOf(e.loc));
  DType dtype = e.type.dtype;
  bool isBitwise = e.op == Op::And || e.op == Op::Or || e.op == Op::Xor || e.op == Op::Invert ||
                   e.op == Op::Shl || e.op == Op::Shr;
  if (isFloat(dtype) ? isBitwise : e.op == Op::Div)
    return emitUnimplemented(e, "this operation on dtype " + std::string(tessera::name(dtype)));
  switch (e.op) {
  case Op::Neg:
    return tile_.neg(dtype, x);
  case Op::Abs:
    return tile_.abs(dtype, x);
  case Op::Invert:
    return tile_.invert(x);
  case Op::Add:
    return tile_.add(dtype, x, y);
  case Op::Sub:
    return tile_.sub(dtype, x, y);
  case Op::Mul:
    return tile_.mul(dtype, x, y);
  case Op::Div:
    return tile_.div(x, y);
  case Op::FloorDiv:
    return tile_.floorDiv(dtype, x, y);
  case Op::Mod:
    return tile_.mod(dtype, x, y);
  case Op::Pow:
    return tile_.pow(dtype, x, y);
  case Op::Fmod:
    return tile_.fmod(x, y);
  case Op::And:
    return arith::AndIOp::create(b_, tile_.loc(), x, y);
  case Op::Or:
    return arith::OrIOp::create(b_, tile_.loc(), x, y);
  case Op::Xor:
    return arith::XOrIOp::create(b_, tile_.loc(), x, y);
  case Op::Shl:
    return tile_.shl(dtype, x, y);
  case Op::Shr:
    return tile_.shr(dtype, x, y);
  case Op::Minimum:
    return tile_.minimum(dtype, x, y);
  case Op::Maximum:
    return tile_.maximum(dtype, x, y);
  default:
    llvm_unreachable("not an arithmetic operation");
  }
}

Value KernelImporter::importCompare(const Expr &e) {
  Value x = import(*e.args[0]), y = import(*e.args[1]);
  tile_.at(locationOf(e.loc));
  auto relation = static_cast<tile::TileBuilder::Relation>(static_cast<int>(e.op) - static_cast<int>(Op::Lt));
  return tile_.compare(relation, e.args[0]->type.dtype, x, y);
}

Value KernelImporter::importFunction(const Expr &e) {
  SmallVector<Value> args;
  for (const frontend::ExprPtr &arg : e.args)
    args.push_back(import(*arg));
  tile_.at(locationOf(e.loc));
  using namespace tile;
  switch (e.op) {
#define TSR_FLOAT_FUNCTION(id, name, text)                                                                   \
  case Op::id:                                                                                               \
    return id##Op::create(b_, tile_.loc(), args[0].getType(), args[0]);
#define TSR_FLOAT_FUNCTION2(id, name, parameters, text)                                                      \
  case Op::id:                                                                                               \
    return id##Op::create(b_, tile_.loc(), args[0], args[1]);
#include "compiler/ops/Functions.def"
#define TSR_EXACT_FUNCTION(id, mathOp, name, text)                                                           \
  case Op::id:                                                                                               \
    return math::mathOp::create(b_, tile_.loc(), args[0]);
#include "compiler/ops/Functions.def"
  case Op::Popcount:
    return math::CtPopOp::create(b_, tile_.loc(), args[0]);
  case Op::Clz:
    return math::CountLeadingZerosOp::create(b_, tile_.loc(), args[0]);
  case Op::UMulHi:
    return tile_.multiplyHigh(args[0], args[1]);
  case Op::Bitcast:
    return arith::BitcastOp::create(b_, tile_.loc(), typeOf(e.type), args[0]);
  case Op::Fma:
    return math::FmaOp::create(b_, tile_.loc(), args[0], args[1], args[2]);
  default:
    return emitUnimplemented(e, "this function");
  }
}

} // namespace tessera::graph
