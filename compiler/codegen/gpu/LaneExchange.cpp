// Conversions between layouts in registers whose elements stay in their warp: lanes exchange words.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/layout/Conversion.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

/// A choice among a few values by a number that depends on the lane: 0, or what combines `bases`.
class Choice {
public:
  Choice(ImplicitLocOpBuilder &b, Value number, const layout::BitsList &bases) : b_(b) {
    const layout::BitsList independent = layout::independent(bases);
    for (layout::Bits i = 1; i < layout::Bits(1) << independent.size(); ++i) {
      const layout::Bits candidate = layout::applyBases(independent, i);
      Value constant = arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(candidate)));
      others_.emplace_back(candidate, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, constant));
    }
  }

  Value operator()(llvm::function_ref<Value(layout::Bits)> valueOf) const {
    Value chosen = valueOf(0);
    for (auto [candidate, isIt] : others_)
      chosen = arith::SelectOp::create(b_, isIt, valueOf(candidate), chosen);
    return chosen;
  }

private:
  ImplicitLocOpBuilder &b_;
  SmallVector<std::pair<layout::Bits, Value>> others_;
};

/// Packs integers of up to 32 bits together into a word.
Value packed(ImplicitLocOpBuilder &b, ValueRange elements) {
  const unsigned bits = elements[0].getType().getIntOrFloatBitWidth() * unsigned(elements.size());
  Type whole = b.getIntegerType(bits);
  auto type = VectorType::get({int64_t(elements.size())}, elements[0].getType());
  Value v = vector::FromElementsOp::create(b, type, elements);
  v = vector::ExtractOp::create(b, vector::BitCastOp::create(b, VectorType::get({1}, whole), v), 0);
  return bits == 32 ? v : arith::ExtUIOp::create(b, b.getI32Type(), v).getResult();
}

SmallVector<Value> unpacked(ImplicitLocOpBuilder &b, Value word, Type element, int64_t count) {
  const unsigned bits = element.getIntOrFloatBitWidth() * unsigned(count);
  if (bits < 32) word = arith::TruncIOp::create(b, b.getIntegerType(bits), word);
  Value v = vector::BroadcastOp::create(b, VectorType::get({1}, word.getType()), word);
  v = vector::BitCastOp::create(b, VectorType::get({count}, element), v);
  SmallVector<Value> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(vector::ExtractOp::create(b, v, i));
  return all;
}

} // namespace

LogicalResult KernelLowering::exchangeLanes(tile::ConvertOp op) {
  const layout::TileLayout &from = tile::layoutOf(op.getInput()).getValue(),
                           &to = tile::layoutOf(op.getResult()).getValue();
  const Vec<Value> elements = elementsOf(op.getInput());
  Type element = elements[0].getType();
  const unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  if (!isOnThreads(from) || !bytes || bytes > 4) return notImplemented(op);
  const layout::Conversion conversion = layout::planConversion(from, to, bytes);
  const auto *plan = std::get_if<layout::LaneExchange>(&conversion);
  if (!plan || (!plan->isRenaming() && !vendor_.hasShuffles())) return notImplemented(op);

  auto ofLane = [&](const layout::BitsList &images) -> Value {
    return b_.createOrFold<arith::IndexCastUIOp>(b_.getI32Type(),
                                                 threadPart(Vec<int64_t>(images.begin(), images.end())));
  };
  const Choice offer(b_, ofLane(plan->offered), plan->offered), put(b_, ofLane(plan->placed), plan->placed);
  const bool readsItself = plan->lanes == layout::unitVectors(unsigned(plan->lanes.size()));
  Value reads = ofLane(plan->lanes);
  const int64_t registers = int64_t(1) << from.reg.size(), width = int64_t(1) << plan->packedBits;
  Vec<Value> result(elements.size());
  for (int64_t first = 0; first < int64_t(elements.size()); first += registers) { // copies of the unit
    Vec<Value> words, got;
    for (int64_t i = 0; i < registers; i += width) {
      Vec<Value> word;
      for (int64_t e = 0; e < width; ++e)
        word.push_back(elements[size_t(first) + layout::applyBases(plan->source, layout::Bits(i + e))]);
      words.push_back(packed(b_, word));
    }
    for (int64_t step = 0; step < registers; step += width) {
      const layout::Bits other = layout::applyBases(plan->steps, layout::Bits(step)),
                         taken = layout::applyBases(plan->taken, layout::Bits(step)) ^
                                 layout::applyBases(plan->offered, other);
      Value word = offer([&](layout::Bits candidate) { return words[(taken ^ candidate) / width]; });
      if (other || !readsItself)
        word = vendor_.emitShuffle(b_, word, arith::XOrIOp::create(b_, reads, i32(int64_t(other))));
      got.push_back(word);
    }
    for (int64_t i = 0; i < registers; i += width) {
      Value word = put([&](layout::Bits candidate) { return got[(layout::Bits(i) ^ candidate) / width]; });
      for (auto [e, value] : llvm::enumerate(unpacked(b_, word, element, width)))
        result[size_t(first) + layout::applyBases(plan->destination, layout::Bits(i) + e)] = value;
    }
  }
  bindElements(op.getResult(), result);
  return success();
}

} // namespace tessera::gpu
