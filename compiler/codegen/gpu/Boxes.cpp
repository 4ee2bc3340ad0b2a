// Copies of boxes of tensors into shared memory by an engine of the device. One thread starts them, each
// thread waits for the bytes to arrive. What is outside of the tensor becomes zeros, so there are no masks.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/layout/Products.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"

using namespace mlir;

namespace tessera::gpu {

/// The elements of a row in one box: the panels of the buffer (TileLowering::swizzle).
static int64_t panelOf(tile::BufferType buffer) {
  const int64_t bytes = tessera::storageBytes(buffer.getElementType());
  return layout::panelBytes(buffer.getShape().back() * bytes) / bytes;
}

static SmallVector<int64_t> boxOf(tile::CopyBoxOp op) {
  SmallVector<int64_t> box =
      llvm::map_to_vector(op.getExtents(), [](int64_t e) { return std::max<int64_t>(e, 1); });
  box.back() = panelOf(op.getBuffer().getType());
  return box;
}

void KernelLowering::collectTensorMaps() {
  kernel_.walk([&](tile::CopyBoxOp op) {
    const SmallVector<int64_t> box = boxOf(op);
    if (llvm::any_of(tensorMaps_, [&](const TensorMap &m) { return m.view == op.getView() && m.box == box; }))
      return;
    tensorMaps_.push_back({op.getView(), box, {}});
    const int64_t bytes = tessera::storageBytes(op.getView().getType().getElementType());
    resources_.tensorMaps.push_back(
        {kernel_.getParam(op.getView()).getName().str(), {box.begin(), box.end()}, box.back() * bytes});
  });
}

Value KernelLowering::arrivalsWord(Value arrivals, Value index) {
  return address(bufferPlace(arrivals).data, index, b_.getI64Type());
}

void KernelLowering::copyBox(tile::CopyBoxOp op) {
  const Vec<int64_t> box = boxOf(op);
  Value map = llvm::find_if(tensorMaps_, [&](const TensorMap &m) {
                return m.view == op.getView() && m.box == box;
              })->parameter;
  Value word = arrivalsWord(op.getArrivals(), scalar(op.getIndex()));
  const Place to = bufferPlace(op.getBuffer());
  auto coordinate = [&](Value start) -> Value { // far outside of the tensor everything is zero
    start = arith::MaxSIOp::create(b_, start, constant(INT32_MIN));
    return arith::IndexCastOp::create(b_, b_.getI32Type(),
                                      arith::MinSIOp::create(b_, start, constant(INT32_MAX)));
  };
  for (int64_t column = 0; column < to.shape[1]; column += to.panel) {
    Vec<Value> coordinates; // innermost first
    for (Value start : llvm::reverse(op.getStarts())) {
      Value first = scalar(start);
      if (coordinates.empty() && column) first = arith::AddIOp::create(b_, first, constant(column));
      coordinates.push_back(coordinate(first));
    }
    // Panels follow each other.
    Value place = address(to.data, constant(column * to.shape[0]), target::inMemoryElement(to.element));
    vendor_.emitCopyBox(b_, place, map, coordinates, word);
  }
}

LogicalResult KernelLowering::lowerBoxes(Operation *op) {
  auto byOne = [&](llvm::function_ref<void()> emit) {
    guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(0)), emit);
  };
  if (!target_.copiesBoxes) return notImplemented(op);
  if (auto init = dyn_cast<tile::InitArrivalsOp>(op)) {
    byOne([&] {
      Vec<Value> words;
      for (int64_t i = 0; i < init.getArrivals().getType().getShape()[0]; ++i)
        words.push_back(arrivalsWord(init.getArrivals(), constant(i)));
      vendor_.emitInitArrivals(b_, words);
    });
    lowerBarrier();
  } else if (auto expect = dyn_cast<tile::ExpectBytesOp>(op)) {
    byOne([&] {
      vendor_.emitExpectBytes(b_, arrivalsWord(expect.getArrivals(), scalar(expect.getIndex())),
                              int64_t(expect.getBytes()));
    });
  } else if (auto copy = dyn_cast<tile::CopyBoxOp>(op)) {
    byOne([&] { copyBox(copy); });
  } else if (auto await = dyn_cast<tile::AwaitBytesOp>(op)) {
    vendor_.emitAwaitBytes(b_, arrivalsWord(await.getArrivals(), scalar(await.getIndex())),
                           arith::IndexCastOp::create(b_, b_.getI32Type(), scalar(await.getPhase())));
  }
  return success();
}

} // namespace tessera::gpu
