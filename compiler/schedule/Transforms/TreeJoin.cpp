#include "compiler/schedule/Transforms/TreeJoin.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/bit.h"
#include <algorithm>

using namespace mlir;

namespace tessera::schedule {

using graph::BinaryKind;

/// Of an axis of unknown length: 2^39 elements in leaves of 256. 2^24 nodes are too few, since an axis of
/// fp8, or of what is computed from positions, may have more.
constexpr int64_t kMostNodes = int64_t{1} << 31;

TreeJoin::TreeJoin(GroupBuilder &b, const Values &none, std::optional<int64_t> most) : b_(b), none_(none) {
  const auto nodes = static_cast<uint64_t>(std::clamp<int64_t>(most.value_or(kMostNodes), 1, kMostNodes));
  for (const TypedValue &x : none_) {
    Shape shape = x.shape();
    shape.insert(shape.begin(), llvm::bit_width(nodes));
    auto type = tile::BufferType::get(b_.builder().getContext(), shape,
                                      getElementTypeOrSelf(x.value.getType()), tile::Swizzle::None);
    levels_.push_back(tile::AllocSharedOp::create(b_.builder(), b_.loc(), type, /*align=*/64, IntegerAttr()));
  }
}

/// The level of a partial result comes first, the rest is whole.
static std::pair<SmallVector<Value>, SmallVector<int64_t>> partOf(GroupBuilder &b, const TypedValue &level,
                                                                  const Shape &shape) {
  SmallVector<Value> starts(shape.size() + 1, b.toIndex(b.integer(0)));
  SmallVector<int64_t> extents{-1};
  starts.front() = b.toIndex(level);
  llvm::append_range(extents, shape);
  return {starts, extents};
}

TreeJoin::Values TreeJoin::read(const TypedValue &level) {
  Values out;
  for (auto [x, levels] : llvm::zip_equal(none_, levels_)) {
    auto [starts, extents] = partOf(b_, level, x.shape());
    Value value = tile::BufferReadOp::create(b_.builder(), b_.loc(), x.value.getType(), levels, starts,
                                             b_.builder().getDenseI64ArrayAttr(extents));
    out.push_back({value, x.dtype});
  }
  return out;
}

void TreeJoin::write(const TypedValue &level, const Values &values) {
  for (auto [x, levels] : llvm::zip_equal(values, levels_)) {
    auto [starts, extents] = partOf(b_, level, x.shape());
    tile::BufferWriteOp::create(b_.builder(), b_.loc(), x.value, levels, starts,
                                b_.builder().getDenseI64ArrayAttr(extents));
  }
}

void TreeJoin::push(const TypedValue &index, Values node, Join join) {
  // The trailing ones of n are the trailing zeros of n + 1.
  TypedValue next = b_.add(index, b_.integer(1));
  TypedValue ones{math::CountTrailingZerosOp::create(b_.builder(), b_.loc(), next.value), DType::I64};
  b_.barrier(); // another thread may have written what this one reads
  Values joined = b_.loop(ones, 1, node, /*stages=*/0, [&](const TypedValue &level, const Values &right) {
    return join(read(level), right);
  });
  b_.barrier();
  write(ones, joined);
}

TreeJoin::Values TreeJoin::joined(const TypedValue &count, Join join) {
  b_.barrier();
  // From the last node back: each digit that is set comes before what has been joined.
  TypedValue zero = b_.integer(0), one = b_.integer(1);
  TypedValue bits = b_.integer(64);
  TypedValue leading{math::CountLeadingZerosOp::create(b_.builder(), b_.loc(), count.value), DType::I64};
  TypedValue lowest{math::CountTrailingZerosOp::create(b_.builder(), b_.loc(), count.value), DType::I64};
  TypedValue isSome = b_.binary(BinaryKind::Gt, count, zero);
  Values last = b_.branch(isSome, none_, [&] { return read(lowest); });
  return b_.loop(
      b_.sub(bits, leading), 1, last, /*stages=*/0, [&](const TypedValue &level, const Values &right) {
        TypedValue digit = b_.binary(BinaryKind::And, b_.binary(BinaryKind::Shr, count, level), one);
        TypedValue isBefore = b_.binary(BinaryKind::And, b_.binary(BinaryKind::Gt, level, lowest),
                                        b_.binary(BinaryKind::Eq, digit, one));
        return b_.branch(isBefore, right, [&] { return join(read(level), right); });
      });
}

} // namespace tessera::schedule
