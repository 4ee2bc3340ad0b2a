#include "compiler/schedule/Transforms/IndexEmitter.h"
#include "core/metadata/KernelMetadata.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::schedule {
namespace {

/// Argument `position` as an index; u8 is unsigned, every other integer signed.
Value argumentAsIndex(OpBuilder &b, Location loc, DictionaryAttr param, Value arg) {
  if (arg.getType().isIndex()) return arg;
  bool isUnsigned = param.getAs<StringAttr>("dtype").getValue() == "u8";
  if (isUnsigned) return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), arg);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), arg);
}

Value floorMod(OpBuilder &b, Location loc, Value x, Value y) {
  Value quotient = arith::FloorDivSIOp::create(b, loc, x, y);
  return arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, loc, quotient, y));
}

Value emitBinary(OpBuilder &b, Location loc, IndexExpr::Code code, Value x, Value y) {
  using Code = IndexExpr::Code;
  switch (code) {
  case Code::Add:
    return arith::AddIOp::create(b, loc, x, y);
  case Code::Sub:
    return arith::SubIOp::create(b, loc, x, y);
  case Code::Mul:
    return arith::MulIOp::create(b, loc, x, y);
  case Code::FloorDiv:
    return arith::FloorDivSIOp::create(b, loc, x, y);
  case Code::CeilDiv:
    return arith::CeilDivSIOp::create(b, loc, x, y);
  case Code::Mod:
    return floorMod(b, loc, x, y);
  case Code::Min:
    return arith::MinSIOp::create(b, loc, x, y);
  case Code::Max:
    return arith::MaxSIOp::create(b, loc, x, y);
  default:
    llvm_unreachable("not a binary node");
  }
}

} // namespace

Value emitIndexExpr(OpBuilder &b, Location loc, ArrayAttr params, ValueRange args, StringRef text) {
  std::vector<unsigned> positions;
  std::vector<std::string> names;
  for (auto [position, param] : llvm::enumerate(params.getAsRange<DictionaryAttr>())) {
    Type type = args[position] ? args[position].getType() : Type();
    if (!type || !type.isIntOrIndex() || type.isInteger(1)) continue;
    positions.push_back(position);
    names.push_back(param.getAs<StringAttr>("name").str());
  }
  IndexExpr expr;
  std::string why;
  bool parsed = IndexExpr::parse(std::string_view(text.data(), text.size()), names, expr, why);
  assert(parsed && "the verifier accepts index expressions only");
  (void)parsed;

  SmallVector<Value> stack;
  expr.forEach([&](IndexExpr::Code code, int64_t value) {
    using Code = IndexExpr::Code;
    if (code == Code::Const) return stack.push_back(arith::ConstantIndexOp::create(b, loc, value));
    if (code == Code::Slot) {
      unsigned position = positions[value];
      auto param = cast<DictionaryAttr>(params[position]);
      return stack.push_back(argumentAsIndex(b, loc, param, args[position]));
    }
    Value top = stack.pop_back_val();
    if (code == Code::Neg) {
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      return stack.push_back(arith::SubIOp::create(b, loc, zero, top));
    }
    stack.back() = emitBinary(b, loc, code, stack.back(), top);
  });
  return stack.back();
}

} // namespace tessera::schedule
