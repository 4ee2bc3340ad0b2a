// Copies of tiles into shared memory that run beside computation: each thread copies 16 bytes at a time, or 8
// or 4 where the rows of the tensor begin at such addresses only.
//
// How they are aligned is known at run time. Where they are not at all, the elements are copied at once, with
// masks.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tessera::gpu {

namespace {
constexpr int64_t kPieces[] = {16, 8, 4}; // bytes of one copy
constexpr int64_t kMostUnrolled = 16;     // copies of a thread
} // namespace

LogicalResult KernelLowering::lowerCopy(tile::CpAsyncOp op) {
  Place to = bufferPlace(op.getBuffer());
  Window w = window(op.getView(), op.getStarts(), op.getExtents(), op.getInBounds());
  Vec<int64_t> shape(tile::tileShape(op.getExtents()));
  const bool isShared = cast<LLVM::LLVMPointerType>(to.data.getType()).getAddressSpace() == kSharedSpace;
  const int64_t bytes = target::inMemoryElement(to.element).getIntOrFloatBitWidth() / 8;
  if (isPacked(w.view.element) && w.isContiguous()) {
    copyPacked(w, to, shape);
    if (!hasCopies_) lowerBarrier();
    return success();
  }
  if (!hasCopies_) return TileLowering::lowerCopy(op);
  // The program waits for the copy before it reads the buffer: no barrier follows.
  auto copyAtOnce = [&] {
    versioned(insideCondition(w), [&](Mode mode) {
      spread(ShapedType::getNumElements(shape), [&](Value i) {
        Vec<Value> at = delinearize(i, shape);
        storePlace(to, loadWindow(w, at, 0, mode), at);
      });
    });
    return success();
  };
  if (!isShared || !w.isContiguous()) return copyAtOnce();
  // What is past the tensor's end becomes zeros; what may be before its begin is not copied this way.
  Vec<Value> ends;
  if (!w.inBounds) ends = windowEnds(w);
  Value isInside = ends.empty() ? insideCondition(w) : Value();
  OpBuilder::InsertionGuard guard(b_);
  for (int64_t piece : kPieces) {
    if (piece < bytes || shape.back() % (piece / bytes)) continue;
    Value isWide = both(isAligned(w, shape, piece), isInside);
    auto branch = scf::IfOp::create(b_, TypeRange(), isWide, /*withElseRegion=*/true);
    b_.setInsertionPointToStart(branch.thenBlock());
    copyPieces(w, to, shape, ends, piece);
    b_.setInsertionPointToStart(branch.elseBlock());
  }
  return copyAtOnce();
}

void KernelLowering::copyPieces(const Window &w, const Place &to, ArrayRef<int64_t> shape, Indices ends,
                                int64_t pieceBytes) {
  const int64_t bytes = target::inMemoryElement(to.element).getIntOrFloatBitWidth() / 8,
                elements = pieceBytes / bytes;
  Vec<int64_t> pieces(shape);
  pieces.back() /= elements;
  auto copyPiece = [&](Value i) {
    Vec<Value> at = delinearize(i, pieces);
    at.back() = arith::MulIOp::create(b_, at.back(), constant(elements));
    Value copied;
    if (!ends.empty()) {
      Value rest = arith::SubIOp::create(b_, ends.back(), at.back());
      rest = arith::MaxSIOp::create(b_, rest, constant(0));
      rest = arith::MulIOp::create(b_, arith::MinSIOp::create(b_, rest, constant(elements)), constant(bytes));
      for (size_t d = 0; d + 1 < ends.size(); ++d) {
        Value isInside = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, at[d], ends[d]);
        rest = arith::SelectOp::create(b_, isInside, rest, constant(0));
      }
      copied = arith::IndexCastOp::create(b_, b_.getI32Type(), rest);
    }
    vendor_.emitCopy(b_, placeAddress(to, at), windowAddress(w, at), pieceBytes, copied);
  };
  // A few copies of each thread are emitted one by one, so that their addresses have common parts. Those of
  // fewer bytes are in a loop, because their addresses would be in registers beside the others'.
  const int64_t count = ShapedType::getNumElements(pieces), perThread = count / threads_;
  if (pieceBytes < kPieces[0]) return spreadRolled(count, copyPiece);
  if (count % threads_ || perThread > kMostUnrolled) return spread(count, copyPiece);
  for (int64_t n = 0; n < perThread; ++n)
    copyPiece(arith::AddIOp::create(b_, thread_, i32(n * threads_)));
}

/// Elements that share bytes have bytes of their own in the buffer. A thread copies several at once where
/// rows begin at multiples of 8 bytes.
void KernelLowering::copyPacked(const Window &w, const Place &to, ArrayRef<int64_t> shape) {
  constexpr int64_t kMost = 8;
  const int64_t length = std::min(kMost, shape.back() & -shape.back());
  auto copy = [&](int64_t lanes, Mode mode) {
    return [&, lanes, mode](Indices at) { storePlace(to, loadWindow(w, at, lanes, mode), at); };
  };
  auto single = [&]() -> Vec<Value> {
    spread(ShapedType::getNumElements(shape), [&](Value i) { copy(0, {false})(delinearize(i, shape)); });
    return {};
  };
  auto vectors = [&]() -> Vec<Value> {
    spreadVectors(shape, length, copy(length, {true}));
    return {};
  };
  if (length > 1)
    choose(insideCondition(w), vectors, single);
  else
    single();
}

void KernelLowering::commitCopies() {
  if (hasCopies_) vendor_.emitCopyCommit(b_);
}

void KernelLowering::awaitCopies(int64_t pending) {
  if (hasCopies_) vendor_.emitCopyWait(b_, pending);
}

} // namespace tessera::gpu
