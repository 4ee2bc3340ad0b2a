// Copies of boxes of tensors into shared memory by an engine of the device. One thread starts them, each
// thread waits for the bytes to arrive. What is outside of the tensor becomes zeros, so there are no masks.
#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/codegen/gpu/StoreBoxes.h"
#include "compiler/layout/Products.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileAccess.h"

using namespace mlir;

namespace tessera::gpu {

/// The elements of a row in one box: the panels of the buffer (TileLowering::swizzle).
static int64_t panelOf(tile::BufferType buffer) {
  const int64_t bytes = tessera::storageBytes(buffer.getElementType());
  return layout::panelBytes(buffer.getShape().back() * bytes) / bytes;
}

size_t rowAxisOf(ArrayRef<int64_t> extents) {
  size_t axis = extents.size() - 1;
  while (axis && extents[--axis] < 0) {
  }
  return axis;
}

/// How many programs copy a part of the rows each.
static int64_t partsOf(tile::CopyBoxOp op) {
  return op.getMulticast() ? op->getParentOfType<tile::KernelOp>().programsOfCluster() : 1;
}

SmallVector<int64_t> boxOf(ArrayRef<int64_t> extents, int64_t rows, int64_t columns) {
  SmallVector<int64_t> box = llvm::map_to_vector(extents, [](int64_t e) { return std::max<int64_t>(e, 1); });
  box.back() = columns;
  box[rowAxisOf(extents)] = rows;
  return box;
}

static SmallVector<int64_t> boxOf(tile::CopyBoxOp op) {
  tile::BufferType buffer = op.getBuffer().getType();
  return boxOf(op.getExtents(), buffer.getShape().front() / partsOf(op), panelOf(buffer));
}

void KernelLowering::collectTensorMaps() {
  auto add = [&](Value view, SmallVector<int64_t> box) {
    if (llvm::any_of(tensorMaps_, [&](const TensorMap &m) { return m.view == view && m.box == box; })) return;
    const int64_t bytes = tessera::storageBytes(cast<tile::ViewType>(view.getType()).getElementType());
    resources_.tensorMaps.push_back(
        {kernel_.getParam(view).getName().str(), {box.begin(), box.end()}, box.back() * bytes});
    tensorMaps_.push_back({view, std::move(box), {}});
  };
  kernel_.walk([&](tile::CopyBoxOp op) { add(op.getView(), boxOf(op)); });
  kernel_.walk([&](tile::StoreBoxOp op) {
    const layout::BoxStore plan = planOf(op);
    add(op.getView(), boxOf(op.getExtents(), plan.rows, plan.columns));
  });
}

Value KernelLowering::tensorMapOf(Value view, ArrayRef<int64_t> box) {
  return llvm::find_if(tensorMaps_,
                       [&](const TensorMap &m) { return m.view == view && ArrayRef<int64_t>(m.box) == box; })
      ->parameter;
}

Value KernelLowering::boxCoordinate(Value start, bool isColumn) { // far outside of the tensor all is zero
  const int64_t most = isColumn ? INT32_MAX - 15 : INT32_MAX;     // columns stay at multiples of 16 bytes
  start = arith::MaxSIOp::create(b_, start, constant(INT32_MIN));
  return arith::IndexCastOp::create(b_, b_.getI32Type(), arith::MinSIOp::create(b_, start, constant(most)));
}

Value KernelLowering::rankInCluster() {
  Value block = mlir::gpu::BlockIdOp::create(b_, mlir::gpu::Dimension::x);
  return arith::RemUIOp::create(b_, block, constant(resources_.cluster));
}

Value KernelLowering::arrivalsWord(Value arrivals, Value index) {
  return address(bufferPlace(arrivals).data, index, b_.getI64Type());
}

void KernelLowering::copyBox(tile::CopyBoxOp op) {
  Value map = tensorMapOf(op.getView(), boxOf(op));
  Value word = arrivalsWord(op.getArrivals(), scalar(op.getIndex()));
  const Place to = bufferPlace(op.getBuffer());
  const int64_t parts = partsOf(op), rows = to.shape[0] / parts, inAll = (int64_t(1) << parts) - 1;
  const size_t rowAxis = rowAxisOf(op.getExtents());
  Value firstRow =
      parts > 1 ? arith::MulIOp::create(b_, rankInCluster(), constant(rows)).getResult() : Value();
  for (int64_t column = 0; column < to.shape[1]; column += to.panel) {
    Vec<Value> coordinates; // innermost first
    for (size_t axis = op.getStarts().size(); axis-- > 0;) {
      Value first = scalar(op.getStarts()[axis]);
      if (coordinates.empty() && column) first = arith::AddIOp::create(b_, first, constant(column));
      if (firstRow && axis == rowAxis) first = arith::AddIOp::create(b_, first, firstRow);
      coordinates.push_back(boxCoordinate(first, coordinates.empty()));
    }
    // Panels follow each other.
    Value offset = constant(column * to.shape[0]);
    if (firstRow)
      offset = arith::AddIOp::create(b_, offset, arith::MulIOp::create(b_, firstRow, constant(to.panel)));
    Value place = address(to.data, offset, target::inMemoryElement(to.element));
    vendor_.emitCopyBox(b_, place, map, coordinates, word, parts > 1 ? inAll : 0);
  }
}

LogicalResult KernelLowering::lowerBoxes(Operation *op) {
  auto byOne = [&](llvm::function_ref<void()> emit) {
    guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(0)), emit);
  };
  if (!target_.copiesBoxes) return notImplemented(op);
  if (auto store = dyn_cast<tile::StoreBoxOp>(op)) return storeBox(store);
  if (auto init = dyn_cast<tile::InitArrivalsOp>(op)) {
    byOne([&] {
      Vec<Value> words;
      Vec<int64_t> counts;
      for (auto [arrivals, count] : llvm::zip(init.getArrivals(), init.getCounts()))
        for (int64_t i = 0; i < cast<tile::BufferType>(arrivals.getType()).getShape()[0]; ++i) {
          words.push_back(arrivalsWord(arrivals, constant(i)));
          counts.push_back(count);
        }
      vendor_.emitInitArrivals(b_, words, counts);
    });
    if (resources_.cluster > 1)
      vendor_.emitClusterBarrier(b_); // others copy to this block and arrive in its words
    else
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
  } else if (auto arrive = dyn_cast<tile::ArriveOp>(op)) {
    Value word = arrivalsWord(arrive.getArrivals(), scalar(arrive.getIndex()));
    vendor_.emitWarpBarrier(b_);
    Value lane = arith::RemUIOp::create(b_, thread_, i32(target_.warpSize));
    const bool isInCluster = arrive.getInCluster();
    const int64_t words = isInCluster ? resources_.cluster : 1;
    guarded(below(lane, words), [&] { vendor_.emitArrive(b_, word, isInCluster ? lane : Value()); });
  } else if (isa<tile::AwaitTurnOp>(op)) {
    meetTurn(groupNumber(), /*waits=*/true);
  } else if (isa<tile::PassTurnOp>(op)) {
    Value next = arith::AddIOp::create(b_, groupNumber(), i32(1));
    Value isLast = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, next, i32(threads_ / groupThreads()));
    meetTurn(arith::SelectOp::create(b_, isLast, i32(0), next), /*waits=*/false);
    if (std::exchange(owesAfterTurn_, false)) lowerBarrier();
  }
  return success();
}

Value KernelLowering::groupNumber() {
  return vendor_.emitUniform(b_, arith::DivUIOp::create(b_, thread_, i32(groupThreads())).getResult());
}

void KernelLowering::meetTurn(Value group, bool waits) {
  Value number = arith::AddIOp::create(b_, group, i32(kFirstTurn));
  vendor_.emitNamedBarrier(b_, number, 2 * groupThreads(), waits);
}

LogicalResult KernelLowering::lowerPrograms(tile::BlockProgramsOp op) {
  resources_.isPersistent = true;
  Value count = constant(1);
  for (Value axis : axisCounts_)
    count = arith::MulIOp::create(b_, count, axis);
  map_.map(op.getFirst(), mlir::gpu::BlockIdOp::create(b_, mlir::gpu::Dimension::x).getResult());
  map_.map(op.getCount(), count);
  map_.map(op.getBlocks(), mlir::gpu::GridDimOp::create(b_, mlir::gpu::Dimension::x).getResult());
  return success();
}

/// The first threads of the block compute. Each role gets its registers before anything else.
LogicalResult KernelLowering::lowerRoles(tile::RolesOp op) {
  const auto copyWarps = int64_t(op.getCopyWarps()), mathWarps = threads_ / target_.warpSize,
             copyRegisters = int64_t(op.getCopyRegisters()), mathRegisters = int64_t(op.getMathRegisters());
  const bool divides = copyRegisters && mathRegisters; // the registers
  const bool hasTensorMemory = llvm::any_of(target_.products, [](const MatrixProduct &row) {
    const layout::Fragment *fragment = layout::findFragment(row.instruction);
    return fragment && fragment->hasTensorMemory();
  });
  if (divides ? !target_.registers : op.getMultiply().empty() || !hasTensorMemory) return notImplemented(op);
  const int64_t atEntry =
      schedule::BlockAttr::registersAtEntry(copyWarps, copyRegisters, mathWarps, mathRegisters);
  if (divides && atEntry * blockThreads() > target_.registers)
    return op.emitOpError() << "needs " << atEntry * blockThreads() << " registers, " << atEntry
                            << " for each of " << blockThreads() << " threads; a unit of " << backend_ << ":"
                            << target_.name << " has " << target_.registers;
  Value warp =
      vendor_.emitUniform(b_, arith::DivUIOp::create(b_, thread_, i32(target_.warpSize)).getResult());
  Value copies = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, warp, i32(mathWarps));
  auto branch = scf::IfOp::create(b_, copies, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  hasRole_ = true;
  b_.setInsertionPointToStart(branch.thenBlock());
  if (divides) vendor_.emitSetRegisters(b_, copyRegisters, atEntry);
  LogicalResult lowered = success();
  auto byThread = [&](int64_t number, Region &part) {
    Value isOne = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(number));
    guarded(isOne, [&] {
      const Value thread = std::exchange(thread_, i32(0)); // the only one of its part
      if (succeeded(lowered)) lowered = lowerBlock(part.front());
      thread_ = thread;
    });
  };
  byThread(threads_, op.getCopy());
  if (!op.getMultiply().empty()) byThread(threads_ + copyWarps * target_.warpSize, op.getMultiply());
  if (failed(lowered)) return failure();
  b_.setInsertionPointToStart(branch.elseBlock());
  if (divides) vendor_.emitSetRegisters(b_, mathRegisters, atEntry);
  const bool takesTurns =
      op.getMath().walk([](tile::AwaitTurnOp) { return WalkResult::interrupt(); }).wasInterrupted();
  const int64_t groups = threads_ / groupThreads();
  auto ofGroup = [&](int64_t group, llvm::function_ref<void()> emit) {
    guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, groupNumber(), i32(group)), emit);
  };
  if (takesTurns) ofGroup(groups - 1, [&] { meetTurn(i32(0), /*waits=*/false); });
  if (failed(lowerBlock(op.getMath().front()))) return failure();
  if (takesTurns) ofGroup(0, [&] { meetTurn(i32(0), /*waits=*/true); });
  awaitStores();
  if (allColumns_) { // all products have been awaited
    lowerBarrier();
    freeTensorMemory();
  }
  // Other blocks arrive in this one's memory, and copy to it, until the threads of the cluster that compute
  // have ended their work. Those that copy may end before: the barrier does not count them then.
  if (resources_.cluster > 1) vendor_.emitClusterBarrier(b_);
  return success();
}

} // namespace tessera::gpu
