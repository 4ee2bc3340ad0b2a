// Barriers that are left out between two copies or conversions that do not touch each other's memory.
//
// Each of them ends in a barrier of its own: what one has written, and what both have read, is ordered
// against the code that follows the second one by that one's barrier. What came before the first one must
// have been ordered against the second one by a barrier in front of the first.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/TileAccess.h"

using namespace mlir;

namespace tessera::gpu {

namespace {

/// A part of the memory that the plan divides: offsets of bytes.
struct Bytes {
  int64_t begin, end;
};

bool overlap(Bytes a, Bytes b) { return a.begin < b.end && b.begin < a.end; }

Bytes bytesOfBuffer(Value buffer) {
  auto slot = buffer.getDefiningOp<tile::SlotOp>();
  auto alloc = (slot ? slot.getRing() : buffer).getDefiningOp<tile::AllocSharedOp>();
  const int64_t begin = *alloc.getOffset();
  return {begin, begin + cast<tile::BufferType>(alloc->getResult(0).getType()).getSizeInBytes()};
}

/// Returns the place of a tile that is alone in its operation's plan.
std::optional<Bytes> bytesOfTile(Value tile) {
  Operation *op = tile.getDefiningOp();
  auto planned = op ? op->getAttrOfType<DenseI64ArrayAttr>(tile::kScratch) : DenseI64ArrayAttr();
  if (!planned || planned.size() != 1) return std::nullopt;
  auto type = tile::tileType(tile);
  const int64_t bits = target::inMemoryElement(type.getElementType()).getIntOrFloatBitWidth();
  return Bytes{planned[0], planned[0] + type.getNumElements() * std::max<int64_t>(1, bits / 8)};
}

/// What an operation reads, which may be nothing, and writes. It accesses no tensor but to read.
struct Touched {
  SmallVector<Bytes, 2> reads;
  Bytes written{};
};

/// Adds the memory that computing the tile where it is used reads; false if it is not known.
bool addReads(Value tile, Touched &out) {
  Operation *op = tile.getDefiningOp();
  if (!op || tile::isInRegisters(tile)) return false;
  if (tile::inMemory(tile)) {
    const std::optional<Bytes> place = bytesOfTile(tile);
    if (place) out.reads.push_back(*place);
    return place.has_value();
  }
  if (auto read = dyn_cast<tile::BufferReadOp>(op)) {
    out.reads.push_back(bytesOfBuffer(read.getBuffer()));
    return true;
  }
  if (auto cast = dyn_cast<tile::CastOp>(op)) return addReads(cast.getInput(), out);
  return isa<tile::LoadOp>(op);
}

/// Nothing if the operation is neither a copy by the threads nor a conversion in memory.
std::optional<Touched> touchedBy(Operation *op) {
  Touched out;
  if (auto copy = dyn_cast<tile::CpAsyncOp>(op)) {
    out.written = bytesOfBuffer(copy.getBuffer());
    return out;
  }
  auto cast = dyn_cast<tile::CastOp>(op);
  if (!cast || tile::isInRegisters(cast.getResult()) || !tile::inMemory(cast.getResult()))
    return std::nullopt;
  const std::optional<Bytes> place = bytesOfTile(cast.getResult());
  if (!place || !addReads(cast.getInput(), out)) return std::nullopt;
  out.written = *place;
  return out;
}

bool touchTheSame(const Touched &a, const Touched &b) {
  auto reads = [](const Touched &t, Bytes written) {
    return llvm::any_of(t.reads, [&](Bytes read) { return overlap(read, written); });
  };
  return overlap(a.written, b.written) || reads(a, b.written) || reads(b, a.written);
}

/// Is there code for the operation where it is?
bool hasCode(Operation *op) {
  if (isa<tile::AllocSharedOp, tile::SlotOp>(op)) return false;
  if (op->getNumResults() != 1 || op->getNumRegions()) return true;
  Value result = op->getResult(0);
  if (tile::isTile(result) && (tile::isInRegisters(result) || tile::inMemory(result))) return true;
  if (isa<tile::LoadOp, tile::BufferReadOp>(op)) return !tile::isTile(result);
  return !isMemoryEffectFree(op) ||
         (!tile::isTile(result) && llvm::any_of(op->getOperands(), [](Value v) { return tile::isTile(v); }));
}

/// Is a barrier the last thing in front of the operation `first`, of the block of the kernel that `op` is in,
/// besides what accesses no memory? `last` is the last operation that has been emitted.
bool followsBarrier(Operation *op, Block *block, Operation *last) {
  while (true) {
    for (; last; last = last->getPrevNode()) {
      if (isa<mlir::gpu::BarrierOp>(last)) return true;
      if (last->getNumRegions() || !isMemoryEffectFree(last)) return false;
    }
    // The begin of a loop follows its end, too.
    Operation *parent = block->getParentOp();
    if (isa<mlir::gpu::GPUFuncOp>(parent)) return true;
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || !isa<scf::ForOp>(parent)) return false;
    Operation *end = loop.getBody()->getTerminator()->getPrevNode();
    if (!isa_and_nonnull<tile::BarrierOp, tile::WaitGroupOp>(end)) return false;
    op = loop;
    block = parent->getBlock();
    last = parent->getPrevNode();
  }
}

} // namespace

void KernelLowering::beforeOp(Operation *op) {
  awaitUnlessBeside(op);
  Block *block = b_.getInsertionBlock();
  auto next = b_.getInsertionPoint();
  const auto last = next == block->begin() ? nullptr : &*std::prev(next);
  mayLackBarrier_ = !hasCopies_ && touchedBy(op) && followsBarrier(op, block, last);
}

void KernelLowering::afterOp(Operation *op) {
  if (!std::exchange(mayLackBarrier_, false)) return;
  auto next = b_.getInsertionPoint();
  auto barrier = next == b_.getInsertionBlock()->begin() ? mlir::gpu::BarrierOp()
                                                         : dyn_cast<mlir::gpu::BarrierOp>(*std::prev(next));
  Operation *following = op->getNextNode();
  while (following && !isDeferred(following) && !hasCode(following))
    following = following->getNextNode();
  if (!barrier || !following || isDeferred(following)) return;
  const std::optional<Touched> own = touchedBy(op), others = touchedBy(following);
  if (own && others && !touchTheSame(*own, *others)) barrier.erase();
}

} // namespace tessera::gpu
