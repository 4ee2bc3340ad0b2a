// Stores of part of a vector.
//
// Processors without AVX-512 have no cheap masked store: the one of AVX takes 10 ns on a Zen 4, whatever it
// stores, and narrow elements have none, so LLVM emits a branch per lane. At the end of a row a few plain
// stores replace it: of half a vector if that many elements are left, then of a quarter, and so on.
#include "plugins/cpu/codegen/Lowering.h"
#include <numeric>

using namespace mlir;

namespace tessera::cpu {

void KernelLowering::storeLeading(Type element, Value v, Value to, Value count) {
  int64_t lanes = cast<VectorType>(v.getType()).getDimSize(0);
  if (vectorBytes_ >= 64) return TileLowering::storeLeading(element, v, to, count);
  OpBuilder::InsertionGuard guard(b_);
  auto branch = [&](TypeRange results, Value condition, bool hasElse) {
    auto op = scf::IfOp::create(b_, results, condition, hasElse);
    b_.setInsertionPointToStart(&op.getThenRegion().front());
    return op;
  };
  Value isWhole = arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, count, constant(lanes));
  auto whole = branch(TypeRange(), isWhole, lanes > 1);
  store(element, v, to);
  if (lanes == 1) return;
  b_.setInsertionPointToStart(&whole.getElseRegion().front());
  for (int64_t width = lanes / 2; width; width /= 2) {
    auto part = [&](int64_t first) -> Value {
      Vec<int64_t> taken(width);
      std::iota(taken.begin(), taken.end(), first);
      return vector::ShuffleOp::create(b_, v, v, taken);
    };
    Value low = part(0), high = width > 1 ? part(width) : Value();
    Value isLeft = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne,
                                         arith::AndIOp::create(b_, count, constant(width)), constant(0));
    Vec<Type> rest;
    if (high) rest = {high.getType(), to.getType()};
    auto choice = branch(rest, isLeft, bool(high));
    store(element, low, to);
    if (!high) return;
    scf::YieldOp::create(b_, ValueRange{high, address(to, constant(width), element)});
    b_.setInsertionPointToStart(&choice.getElseRegion().front());
    scf::YieldOp::create(b_, ValueRange{low, to});
    b_.setInsertionPointAfter(choice);
    v = choice.getResult(0), to = choice.getResult(1);
  }
}

void KernelLowering::replaceMasked(Type element, Value v, Value to, Value mask) {
  if (vectorBytes_ >= 64) return store(element, v, to, mask);
  int64_t lanes = cast<VectorType>(v.getType()).getDimSize(0);
  store(element, arith::SelectOp::create(b_, mask, v, load(element, to, lanes)), to);
}

} // namespace tessera::cpu
