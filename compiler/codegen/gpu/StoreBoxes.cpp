// Stores of boxes of tensors: each warp writes its elements to shared memory, from where an engine of the
// device stores them. One lane of the warp starts the stores and waits for them; no other warp waits.
//
//   box 0: write, fence of the proxy, lanes of the warp meet, lane 0 stores the box
//   box 2: lane 0 waits until box 0 has been read, lanes meet; write, ... as above
#include "compiler/codegen/gpu/StoreBoxes.h"
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tessera::gpu {

layout::BoxStore planOf(tile::StoreBoxOp op) {
  const layout::TileLayout &layout = tile::layoutOf(op.getValue()).getValue();
  return *layout::boxStore(layout, unsigned(tessera::storageBytes(op.getView().getType().getElementType())));
}

/// Groups of a lane's stores that may not have been read yet when it writes box `number` of `count` through
/// so many parts of memory; nullopt: all were read, or there are none.
static std::optional<int64_t> pendingBefore(int64_t number, int64_t count, int64_t parts, bool isRepeated) {
  if (number >= parts) return parts - 1;
  if (!isRepeated) return std::nullopt;
  int64_t last = count - 1; // that used this part
  while (last % parts != number % parts)
    --last;
  return count - 1 - last + number;
}

void KernelLowering::byFirstLane(llvm::function_ref<void()> effect) {
  Value lane = arith::RemUIOp::create(b_, thread_, i32(target_.warpSize));
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, lane, i32(0)), effect);
}

void KernelLowering::awaitStores() {
  if (storesBoxes_) byFirstLane([&] { vendor_.emitAwaitStores(b_, 0); });
}

LogicalResult KernelLowering::storeBox(tile::StoreBoxOp op) {
  const layout::TileLayout &layout = tile::layoutOf(op.getValue()).getValue();
  if (!isOnThreads(layout)) return notImplemented(op);
  storesBoxes_ = true;
  const layout::BoxStore plan = planOf(op);
  Type element = op.getView().getType().getElementType();
  const int64_t bytes = tessera::storageBytes(element), rowBytes = plan.columns * bytes,
                boxBytes = plan.rows * rowBytes, parts = op.getBuffer().getType().getShape().front();
  constexpr int64_t kChunk = 16, kLine = 128; // bytes
  // A lane's first address, and the others by flipping bits of the chunk: rows are swizzled.
  Value warp = warpNumber(), lane = arith::RemUIOp::create(b_, thread_, i32(target_.warpSize));
  Value row = plan.form == layout::BoxStore::Form::Pairs // of the first of two rows
                  ? arith::DivUIOp::create(b_, lane, i32(4)).getResult()
                  : arith::RemUIOp::create(b_, lane, i32(plan.rows)).getResult();
  Value line = arith::ShRUIOp::create(b_, row, i32(llvm::Log2_64(uint64_t(kLine / rowBytes))));
  Value chunk = arith::AndIOp::create(b_, line, i32(rowBytes / kChunk - 1));
  Value inChunk = i32(0); // bytes
  using Form = layout::BoxStore::Form;
  const layout::PairExchange exchange =
      plan.form == Form::Pairs ? layout::pairExchange(rowBytes) : layout::PairExchange();
  Value exchanges;                   // i1: the lane does
  if (plan.form == Form::Matrices) { // the upper lanes have the addresses of the matrices on the right
    chunk = arith::XOrIOp::create(b_, chunk, arith::DivUIOp::create(b_, lane, i32(plan.rows)));
  } else if (plan.form == Form::Pairs) { // a pair has half a chunk
    Value pair = arith::RemUIOp::create(b_, lane, i32(4));
    chunk = arith::XOrIOp::create(b_, chunk, arith::DivUIOp::create(b_, pair, i32(2)));
    inChunk = arith::MulIOp::create(b_, arith::RemUIOp::create(b_, pair, i32(2)), i32(kChunk / 2));
  }
  if (exchange.lane) {
    Value bit = arith::AndIOp::create(b_, lane, i32(exchange.lane));
    exchanges = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, bit, i32(0));
    Value other = arith::SelectOp::create(b_, exchanges, i32(2 * exchange.columns), i32(0));
    chunk = arith::XOrIOp::create(b_, chunk, other);
  }
  Value inBox = arith::AddIOp::create(b_, arith::MulIOp::create(b_, row, i32(rowBytes)),
                                      arith::MulIOp::create(b_, chunk, i32(kChunk)));
  inBox = arith::AddIOp::create(b_, inBox, inChunk);
  Value memory = bufferPlace(op.getBuffer()).data;
  auto partOf = [&](int64_t part, Value offset) { // of the warp, offset in i32
    Value sum = arith::AddIOp::create(b_, arith::MulIOp::create(b_, warp, i32(boxBytes)), offset);
    Value first = address(memory, arith::IndexCastUIOp::create(b_, b_.getIndexType(), sum), b_.getI8Type());
    return address(first, constant(part * layout.warps() * boxBytes), b_.getI8Type());
  };
  auto ofWarp = [&](size_t axis) { // the first row or column of the warp
    Value sum = i32(0);
    for (auto [i, image] : llvm::enumerate(layout.warp)) {
      Value bit = arith::AndIOp::create(b_, arith::ShRUIOp::create(b_, warp, i32(int64_t(i))), i32(1));
      Value part = b_.createOrFold<arith::MulIOp>(bit, i32(layout.unit.onAxis(image, axis)));
      sum = b_.createOrFold<arith::XOrIOp>(sum, part);
    }
    return arith::IndexCastUIOp::create(b_, b_.getIndexType(), sum).getResult();
  };
  const size_t rowAxis = rowAxisOf(op.getExtents());
  Value map = tensorMapOf(op.getView(), boxOf(op.getExtents(), plan.rows, plan.columns)),
        firstRow = ofWarp(0), firstColumn = ofWarp(1);
  auto start = [&](const layout::BoxStore::Box &box, int64_t part) {
    Vec<Value> coordinates; // innermost first
    for (size_t axis = op.getStarts().size(); axis-- > 0;) {
      Value first = scalar(op.getStarts()[axis]);
      auto move = [&](Value ofWarp, int64_t more) {
        first = arith::AddIOp::create(b_, arith::AddIOp::create(b_, first, ofWarp), constant(more));
      };
      if (coordinates.empty()) move(firstColumn, box.column);
      if (axis == rowAxis) move(firstRow, box.row);
      coordinates.push_back(boxCoordinate(first, coordinates.empty()));
    }
    vendor_.emitStoreBox(b_, map, coordinates, partOf(part, i32(0)));
  };

  Operation *computed = op.getValue().getDefiningOp();
  if (!computed || !isDeferred(computed)) computed = nullptr;
  Value condition;
  if (computed) condition = both(insideCondition(computed), beginDeferredLoads(computed->getOperands()));
  const Vec<Value> held = computed ? Vec<Value>() : elementsOf(op.getValue()), thread = threadIndex(layout);
  auto valueOf = [&](int64_t number, Mode mode) -> Value {
    if (!computed) return held[size_t(number)];
    mode_ = mode, register_ = number, at_ = registerIndex(layout, thread, number);
    return evaluateElementwise(computed, at_, 0, mode);
  };
  auto write = [&](const layout::BoxStore::Box &box, int64_t part, Mode mode) {
    // Elements of one access, as a vector: a pair, or a chunk.
    const int64_t width = plan.isOfPairs() ? 2 : kChunk / bytes;
    Vec<Value> vectors;
    for (int64_t r = 0; r < std::ssize(box.registers); r += width) {
      Vec<Value> elements;
      for (int64_t e = 0; e < width; ++e)
        elements.push_back(valueOf(box.registers[size_t(r + e)], mode));
      auto type = VectorType::get({width}, elements[0].getType());
      vectors.push_back(vector::FromElementsOp::create(b_, type, elements));
    }
    auto at = [&](int64_t column, int64_t more = 0) { // in bytes
      Value first = partOf(part, arith::XOrIOp::create(b_, inBox, i32(column)));
      return more ? address(first, constant(more), b_.getI8Type()) : first;
    };
    llvm::SaveAndRestore wide(isWide_, true);
    if (plan.form == Form::Rows) {
      for (auto [i, vector] : llvm::enumerate(vectors))
        store(element, vector, at(int64_t(i) * kChunk));
    } else if (plan.form == Form::Pairs) {
      for (auto [i, vector] : llvm::enumerate(vectors)) { // two of each 8 columns
        const size_t other = i ^ size_t(2 * exchange.columns);
        Value stored = vector;
        if (exchanges) stored = arith::SelectOp::create(b_, exchanges, vectors[other], vector);
        store(element, stored, at(int64_t(i / 2) * 2 * kChunk, int64_t(i % 2) * 8 * rowBytes));
      }
    } else {
      constexpr int64_t kMatrices = 4; // two, one below the other, and their neighbours
      for (int64_t i = 0; i < std::ssize(vectors); i += kMatrices) {
        Vec<Value> words;
        for (Value pair : ArrayRef(vectors).slice(size_t(i), kMatrices)) {
          pair = vector::BitCastOp::create(b_, VectorType::get({1}, b_.getI32Type()), pair);
          words.push_back(vector::ExtractOp::create(b_, pair, 0));
        }
        vendor_.emitStoreMatrix(b_, at(i / kMatrices * 2 * kChunk), words);
      }
    }
  };
  const bool isRepeated = op->getParentOfType<scf::ForOp>() != nullptr;
  auto emit = [&](Mode mode) {
    for (auto [i, box] : llvm::enumerate(plan.boxes)) {
      const int64_t number = int64_t(i), part = number % parts;
      if (auto pending = pendingBefore(number, std::ssize(plan.boxes), parts, isRepeated)) {
        byFirstLane([&] { vendor_.emitAwaitStores(b_, *pending); });
        vendor_.emitWarpBarrier(b_);
      }
      write(box, part, mode);
      vendor_.emitSharedFence(b_);
      vendor_.emitWarpBarrier(b_);
      byFirstLane([&] { start(box, part); });
    }
  };
  if (condition) { // the same for all threads
    auto branch = scf::IfOp::create(b_, TypeRange(), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(branch.thenBlock());
    emit({true});
    b_.setInsertionPointToStart(branch.elseBlock());
    emit({false});
  } else {
    emit({true});
  }
  deferred_.clear();
  return success();
}

} // namespace tessera::gpu
