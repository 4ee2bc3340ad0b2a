// Elements of packed tensors: i4 and u4, two to a byte, an even element in the low four bits.
//
// The address of such an element counts half bytes: bindKernelArguments doubles the data pointer, and pointer
// arithmetic then takes elements for bytes, so that addresses, windows and vectors of addresses need no case
// of their own. Loads and stores divide the address by two; the remainder is the half of the byte.
//
// A vector may begin with either half. Its even elements are in the bytes from address // 2 on, its odd ones
// in those from (address + 1) // 2 on. These are the same bytes if the first element is even, and neighbours
// if it is odd. So two loads and two shifts by the same amount in all lanes read any vector, without a branch
// and without touching a byte that holds none of its elements. If the parity is known, LLVM merges the loads.
//
// If vectors are known to begin with a whole byte, one load of their bytes and a shift give both halves.
//
// A store writes a byte of which it has both elements plainly. Of which it has only one it clears and sets
// four bits with atomic operations, because the other ones may be another program's. On GPUs an element is
// loaded alone by an atomic load for the same reason, if the kernel stores any.
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tessera::target {

namespace {

Type sameShape(Type of, Type element) {
  auto vector = dyn_cast<VectorType>(of);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

} // namespace

Value TileLowering::halfByteAddress(Value data) {
  Value number = LLVM::PtrToIntOp::create(b_, b_.getI64Type(), data);
  Value twice = arith::AddIOp::create(b_, number, number);
  return LLVM::IntToPtrOp::create(b_, data.getType(), twice);
}

/// The bytes of the elements at `number`, one or a vector of addresses in half bytes, as pointers like
/// `address`.
static Value bytesAt(OpBuilder &b, Location loc, Value number, Type address) {
  Value one = arith::ConstantOp::create(b, loc, b.getIntegerAttr(b.getI64Type(), 1));
  if (auto vector = dyn_cast<VectorType>(number.getType()))
    one = vector::BroadcastOp::create(b, loc, vector, one);
  Type pointer = sameShape(number.getType(), getElementTypeOrSelf(address));
  Value half = arith::ShRUIOp::create(b, loc, number, one);
  return LLVM::IntToPtrOp::create(b, loc, pointer, half);
}

Value TileLowering::byteAddress(Type memory, Value address) {
  if (!isPacked(memory)) return address;
  return bytesAt(b_, b_.getLoc(), LLVM::PtrToIntOp::create(b_, b_.getI64Type(), address), address.getType());
}

namespace {

/// Arithmetic on integers of one type with constants.
struct Bits {
  ImplicitLocOpBuilder &b;

  Value number(Type type, int64_t v) {
    auto vector = dyn_cast<VectorType>(type);
    auto attr = b.getIntegerAttr(vector ? vector.getElementType() : type, v);
    if (!vector) return arith::ConstantOp::create(b, attr);
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(attr)));
  }
  Value all(Value x, int64_t mask) { return arith::AndIOp::create(b, x, number(x.getType(), mask)); }
  Value left(Value x, Value by) { return arith::ShLIOp::create(b, x, by); }
  Value right(Value x, Value by) { return arith::ShRUIOp::create(b, x, by); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  /// Bytes in integers of `width` bits, of which there are few operations on many bytes.
  Value words(Value bytes, unsigned width) {
    const int64_t count = cast<VectorType>(bytes.getType()).getDimSize(0) * 8 / width;
    return vector::BitCastOp::create(b, VectorType::get({count}, b.getIntegerType(width)), bytes);
  }
  /// `byte` in each byte of such an integer; at most 127.
  Value repeated(Type words, uint64_t byte) {
    const unsigned width = cast<VectorType>(words).getElementTypeBitWidth();
    return number(words, int64_t(~uint64_t(0) >> (64 - width)) / 255 * int64_t(byte));
  }
  Value low(Value words) { return arith::AndIOp::create(b, words, repeated(words.getType(), 15)); }
  /// Elements in the low halves of the bytes of words, extended to the bytes: nothing reaches the next byte.
  Value extendedInWords(Value low, Type memory) {
    if (memory.isUnsignedInteger()) return low;
    Type type = low.getType();
    Value sign = arith::AndIOp::create(b, low, repeated(type, 8));
    return either(low, arith::MulIOp::create(b, sign, number(type, 0xf0 / 8)));
  }
  Value narrow(Value x, unsigned bits) {
    return arith::TruncIOp::create(b, sameShape(x.getType(), b.getIntegerType(bits)), x);
  }
  /// 0 or 4: the place of an element in its byte.
  Value shiftOf(Value number) { return left(all(number, 1), this->number(number.getType(), 2)); }
  /// The value of four bits, extended to the byte.
  Value extended(Value low, Type memory) {
    if (memory.isUnsignedInteger()) return low;
    Value sign = number(low.getType(), 8);
    return arith::SubIOp::create(b, arith::XOrIOp::create(b, low, sign), sign);
  }
  /// Lanes first, first + 2, ... of a vector.
  Value everyOther(Value v, int64_t first) {
    SmallVector<int64_t> taken;
    for (int64_t i = first; i < cast<VectorType>(v.getType()).getDimSize(0); i += 2)
      taken.push_back(i);
    return vector::ShuffleOp::create(b, v, v, taken);
  }
};

/// The widest integer that `bytes` bytes are a multiple of.
unsigned widthOfWords(int64_t bytes) {
  return bytes % 8 == 0 ? 64 : bytes % 4 == 0 ? 32 : bytes % 2 == 0 ? 16 : 8;
}

/// Indices of a shuffle that interleaves two vectors.
SmallVector<int64_t> alternating(int64_t length) {
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < length; ++i)
    order.append({i, length + i});
  return order;
}

} // namespace

/// Words of 32 bits at most: GPUs compute with two of them where an integer has 64.
Value TileLowering::loadWholeBytes(Type memory, Value address, int64_t lanes) {
  Bits bits{b_};
  Value bytes = load(b_.getI8Type(), byteAddress(memory, address), lanes / 2);
  Value words = bits.words(bytes, std::min(32u, widthOfWords(lanes / 2)));
  auto elements = [&](Value low) {
    return vector::BitCastOp::create(b_, bytes.getType(), bits.extendedInWords(low, memory)).getResult();
  };
  Value even = elements(bits.low(words)),
        odd = elements(bits.low(bits.right(words, bits.number(words.getType(), 4))));
  return vector::ShuffleOp::create(b_, even, odd, alternating(lanes / 2));
}

void TileLowering::storeWholeBytes(Value v, Value bytes) {
  Bits bits{b_};
  const unsigned width = std::min(32u, widthOfWords(cast<VectorType>(v.getType()).getDimSize(0) / 2));
  Value low = bits.low(bits.words(bits.everyOther(v, 0), width)),
        high = bits.low(bits.words(bits.everyOther(v, 1), width));
  Value words = bits.either(low, bits.left(high, bits.number(high.getType(), 4)));
  auto type = VectorType::get({cast<VectorType>(v.getType()).getDimSize(0) / 2}, b_.getI8Type());
  store(b_.getI8Type(), vector::BitCastOp::create(b_, type, words), bytes);
}

Value TileLowering::loadPacked(Type memory, Value address, int64_t lanes, Value mask) {
  Bits bits{b_};
  Type byte = b_.getI8Type();
  if (lanes % 2) { // one
    Value one = loadPacked(memory, address, 0, mask ? lane(mask, 0) : Value());
    return splat(one, lanes);
  }
  Value number = LLVM::PtrToIntOp::create(b_, b_.getI64Type(), address);
  if (!lanes) return loadHalfByte(memory, number, address.getType(), mask);
  if (!mask && beginsWithByte()) return loadWholeBytes(memory, address, lanes);
  // The shifts take words, which processors can shift; what crosses from byte to byte is cut off.
  const int64_t half = lanes / 2;
  const unsigned width = widthOfWords(half);
  auto part = [&](Value at, int64_t first, Value shift) {
    Value v = load(byte, bytesAt(b_, b_.getLoc(), at, address.getType()), half,
                   mask ? bits.everyOther(mask, first) : Value());
    Value by = width < 64 ? bits.narrow(shift, width) : shift;
    Value words = bits.words(v, width);
    Value shifted = bits.right(words, splat(by, cast<VectorType>(words.getType()).getDimSize(0)));
    return bits.all(vector::BitCastOp::create(b_, v.getType(), shifted), 15);
  };
  Value shift = bits.shiftOf(number), one = bits.number(number.getType(), 1);
  Value even = part(number, 0, shift);
  Value odd = part(arith::AddIOp::create(b_, number, one), 1,
                   arith::SubIOp::create(b_, bits.number(number.getType(), 4), shift));
  return bits.extended(vector::ShuffleOp::create(b_, even, odd, alternating(half)), memory);
}

Value TileLowering::loadPackedLanes(Type memory, Value addresses, Value mask) {
  Bits bits{b_};
  Value numbers = LLVM::PtrToIntOp::create(b_, sameShape(addresses.getType(), b_.getI64Type()), addresses);
  if (loadsBesideStores()) {
    const int64_t lanes = cast<VectorType>(addresses.getType()).getDimSize(0);
    Vec<Value> each;
    for (int64_t i = 0; i < lanes; ++i)
      each.push_back(loadHalfByte(memory, lane(numbers, i), getElementTypeOrSelf(addresses.getType()),
                                  mask ? lane(mask, i) : Value()));
    return vector::FromElementsOp::create(b_, VectorType::get({lanes}, b_.getI8Type()), each);
  }
  Value v = loadLanes(b_.getI8Type(), bytesAt(b_, b_.getLoc(), numbers, addresses.getType()), mask);
  return bits.extended(bits.all(bits.right(v, bits.narrow(bits.shiftOf(numbers), 8)), 15), memory);
}

/// The value of four bits of a byte.
Value TileLowering::loadHalfByte(Type memory, Value number, Type address, Value mask) {
  Bits bits{b_};
  Type byte = b_.getI8Type();
  Value from = bytesAt(b_, b_.getLoc(), number, address);
  auto atomically = [&] {
    return LLVM::LoadOp::create(b_, byte, from, /*alignment=*/1, /*isVolatile=*/false,
                                /*isNonTemporal=*/false, /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                LLVM::AtomicOrdering::monotonic, syncScope(tile::MemoryScope::Device))
        .getResult();
  };
  Value v;
  if (!loadsBesideStores()) {
    v = load(byte, from, 0, mask);
  } else if (mask) {
    auto branch = scf::IfOp::create(b_, byte, mask, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b_, atomically());
    b_.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b_, zeroOf(byte));
    v = branch.getResult(0);
  } else {
    v = atomically();
  }
  return bits.extended(bits.all(bits.right(v, bits.narrow(bits.shiftOf(number), 8)), 15), memory);
}

/// Sets four bits of a byte. Others may set the other four at the same time.
void TileLowering::storeHalfByte(Value v, Value number, Type address) {
  Bits bits{b_};
  Value shift = bits.narrow(bits.shiftOf(number), 8), to = bytesAt(b_, b_.getLoc(), number, address);
  Value place = bits.left(bits.number(v.getType(), 15), shift);
  Value others = arith::XOrIOp::create(b_, place, bits.number(v.getType(), -1));
  constexpr auto order = LLVM::AtomicOrdering::monotonic;
  const StringRef scope = syncScope(tile::MemoryScope::Device);
  LLVM::AtomicRMWOp::create(b_, LLVM::AtomicBinOp::_and, to, others, order, scope);
  LLVM::AtomicRMWOp::create(b_, LLVM::AtomicBinOp::_or, to, bits.left(bits.all(v, 15), shift), order, scope);
}

void TileLowering::forEachLane(Value chosen, llvm::function_ref<void(Value lane)> body) {
  const auto lanes = unsigned(cast<VectorType>(chosen.getType()).getDimSize(0));
  Type i64 = b_.getI64Type();
  Value flags = vector::BitCastOp::create(b_, VectorType::get({1}, b_.getIntegerType(lanes)), chosen);
  Value left = lane(flags, 0);
  if (lanes < 64) left = arith::ExtUIOp::create(b_, i64, left);
  auto loop = scf::WhileOp::create(b_, i64, left);
  OpBuilder::InsertionGuard guard(b_);
  Value before = b_.createBlock(&loop.getBefore(), {}, i64, b_.getLoc())->getArgument(0);
  Value any = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, before, zeroOf(i64));
  scf::ConditionOp::create(b_, any, before);
  Value now = b_.createBlock(&loop.getAfter(), {}, i64, b_.getLoc())->getArgument(0);
  body(arith::IndexCastOp::create(b_, b_.getIndexType(), math::CountTrailingZerosOp::create(b_, now)));
  Value one = constantOf(i64, b_.getI64IntegerAttr(1));
  scf::YieldOp::create(b_, arith::AndIOp::create(b_, now, arith::SubIOp::create(b_, now, one)).getResult());
}

void TileLowering::storePacked(Value v, Value address, Value mask) {
  Bits bits{b_};
  Type i64 = b_.getI64Type(), byte = b_.getI8Type();
  OpBuilder::InsertionGuard guard(b_);
  auto vector = dyn_cast<VectorType>(v.getType());
  const int64_t lanes = vector ? vector.getDimSize(0) : 0;
  Value number = LLVM::PtrToIntOp::create(b_, i64, address);
  if (lanes < 2) { // one
    if (vector && mask) mask = lane(mask, 0);
    if (mask) {
      auto branch = scf::IfOp::create(b_, TypeRange(), mask, false);
      b_.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    return storeHalfByte(vector ? lane(v, 0) : v, number, address.getType());
  }
  if (!mask && beginsWithByte())
    return storeWholeBytes(v, bytesAt(b_, b_.getLoc(), number, address.getType()));
  auto joined = [&](Value nibbles) {
    Value high = bits.everyOther(nibbles, 1);
    return bits.either(bits.all(bits.everyOther(nibbles, 0), 15),
                       bits.left(high, bits.number(high.getType(), 4)));
  };
  Value start = bytesAt(b_, b_.getLoc(), number, address.getType()), zero = zeroOf(i64);
  Value isEven = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, bits.all(number, 1), zero),
        isWhole = isEven;
  if (mask) {
    Value all = vector::ReductionOp::create(b_, vector::CombiningKind::AND, mask);
    isWhole = arith::AndIOp::create(b_, isEven, all);
  }
  auto choice = scf::IfOp::create(b_, TypeRange(), isWhole, true);
  b_.setInsertionPointToStart(&choice.getThenRegion().front());
  store(byte, joined(v), start);
  b_.setInsertionPointToStart(&choice.getElseRegion().front());
  // All lanes at their places in the bytes from the first one on, and which of them there are.
  auto placed = [&](Value lanesOf, Value nothing) {
    auto from = [&](int64_t first) -> Value {
      Vec<int64_t> order;
      for (int64_t i = 0; i < 2 * lanes; ++i)
        order.push_back(i < first || i >= first + lanes ? lanes : i - first);
      return vector::ShuffleOp::create(b_, lanesOf, nothing, order);
    };
    return arith::SelectOp::create(b_, isEven, from(0), from(1)).getResult();
  };
  if (!mask) mask = splat(arith::ConstantOp::create(b_, b_.getBoolAttr(true)), lanes);
  Value nibbles = placed(v, zeroOf(v.getType())), flags = placed(mask, zeroOf(mask.getType()));
  Value low = bits.everyOther(flags, 0), high = bits.everyOther(flags, 1);
  store(byte, joined(nibbles), start, arith::AndIOp::create(b_, low, high));
  Value first = arith::SubIOp::create(b_, number, bits.all(number, 1));
  Value single = arith::SelectOp::create(b_, low, bits.everyOther(nibbles, 0), bits.everyOther(nibbles, 1));
  forEachLane(arith::XOrIOp::create(b_, low, high), [&](Value k) {
    Value isHigh =
        arith::ExtUIOp::create(b_, i64, vector::ExtractOp::create(b_, high, ArrayRef<OpFoldResult>{k}));
    Value twice = bits.left(toI64(k), bits.number(i64, 1));
    Value at = arith::AddIOp::create(b_, first, bits.either(twice, isHigh));
    storeHalfByte(vector::ExtractOp::create(b_, single, ArrayRef<OpFoldResult>{k}), at, address.getType());
  });
}

void TileLowering::storePackedLanes(Value v, Value addresses, Value mask) {
  Value numbers = LLVM::PtrToIntOp::create(b_, sameShape(addresses.getType(), b_.getI64Type()), addresses);
  if (!mask)
    mask = splat(arith::ConstantOp::create(b_, b_.getBoolAttr(true)),
                 cast<VectorType>(v.getType()).getDimSize(0));
  forEachLane(mask, [&](Value k) {
    storeHalfByte(vector::ExtractOp::create(b_, v, ArrayRef<OpFoldResult>{k}),
                  vector::ExtractOp::create(b_, numbers, ArrayRef<OpFoldResult>{k}),
                  getElementTypeOrSelf(addresses.getType()));
  });
}

} // namespace tessera::target
