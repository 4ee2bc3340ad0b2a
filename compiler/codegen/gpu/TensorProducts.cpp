// Products whose sums are in tensor memory, lanes x columns of 32 bits that a block allocates. One thread
// starts them; they arrive in a word of shared memory when they are done, and every warp loads the sums of
// its lanes. In a loop that only adds to them, the sums stay in tensor memory until its end.
//
// Product i arrives in word i modulo 2, so that one may be awaited while the next one runs.
#include "compiler/codegen/gpu/SharedOperand.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;

namespace tessera::gpu {

/// What gives the sums of the product to the part that stores them, if a part of its own starts it.
static tile::CommitProductsOp passOf(tile::MmaOp op) {
  auto roles = op->getParentOfType<tile::RolesOp>();
  scf::ForOp loop = tile::sumOfLoop(op);
  if (!roles || !loop || !roles.getMultiply().isAncestor(op->getParentRegion())) return {};
  const unsigned i = cast<BlockArgument>(op.getAcc()).getArgNumber() - loop.getNumInductionVars();
  for (Operation *user : loop.getResult(i).getUsers())
    if (auto pass = dyn_cast<tile::CommitProductsOp>(user)) return pass;
  return {};
}

LogicalResult KernelLowering::planTensorMemory() {
  constexpr int64_t kFewest = 32; // of an allocation
  int64_t columns = 0;
  const WalkResult found = kernel_.walk([&](tile::MmaOp op) {
    if (!tile::hasTensorMemory(op)) return WalkResult::advance();
    auto type = tile::tileType(op.getResult());
    tensorColumns_[op] = columns;
    const int64_t own = type.getDimSize(0) / op.getFragment()->getM() * type.getDimSize(1);
    columns += own;
    if (tile::CommitProductsOp pass = passOf(op)) {
      passedProduct_ = op, setColumns_ = own;
      columns += own * (pass.getArrivals().getType().getShape()[0] - 1);
    }
    if (columns <= layout::kTensorColumns) return WalkResult::advance();
    op.emitOpError() << "by " << op.getFragment()->getRow()->name << " needs column " << columns
                     << " of tensor memory with the products before it; a block has "
                     << layout::kTensorColumns << " columns";
    return WalkResult::interrupt();
  });
  if (columns) allColumns_ = std::max<int64_t>(kFewest, int64_t(llvm::PowerOf2Ceil(uint64_t(columns))));
  return failure(found.wasInterrupted());
}

Value KernelLowering::commitWord(Value number) {
  Value words = address(exchange_, constant(exchangeBytes_ - tile::kTensorWords * 8), b_.getI8Type());
  Value odd = arith::AndIOp::create(b_, number, i32(1));
  return address(words, arith::IndexCastUIOp::create(b_, b_.getIndexType(), odd), b_.getI64Type());
}

void KernelLowering::allocateTensorMemory() {
  if (!allColumns_) return;
  Value place = address(exchange_, constant(exchangeBytes_ - 8), b_.getI8Type());
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, thread_, i32(target_.warpSize)),
          [&] { vendor_.emitTensorAlloc(b_, place, allColumns_); });
  if (!passedProduct_)
    guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(0)),
            [&] { vendor_.emitInitArrivals(b_, {commitWord(i32(0)), commitWord(i32(1))}, {1, 1}); });
  lowerBarrier();
  tensorMemory_ = load(b_.getI32Type(), place, 0);
  if (passedProduct_) return;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(b_.getInsertionBlock()); // so that LLVM keeps it in a register
  commits_ = LLVM::AllocaOp::create(b_, LLVM::LLVMPointerType::get(b_.getContext()), b_.getI32Type(), i32(1));
  LLVM::StoreOp::create(b_, i32(0), commits_);
}

/// Threads have met since they have loaded the last sums.
void KernelLowering::freeTensorMemory() {
  if (!allColumns_) return;
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, thread_, i32(target_.warpSize)), [&] {
    vendor_.emitTensorFence(b_, /*isAfterMeeting=*/true);
    vendor_.emitTensorFree(b_, tensorMemory_, allColumns_);
  });
}

LogicalResult KernelLowering::lowerTensorProduct(tile::MmaOp op, const layout::Fragment &f) {
  auto factors = sharedFactors(op, f);
  if (failed(factors)) return failure();
  const auto &[a, b, dtype] = *factors;
  auto type = tile::tileType(op.getResult());
  const int64_t depth = a.shape[op.getTransA() ? 0 : 1];
  SharedOperand left(*this, f, a, !op.getTransA(), constant(0)),
      right(*this, f, b, op.getTransB(), constant(0));
  scf::ForOp loop = tile::sumOfLoop(op);
  Value isLater = arith::ConstantOp::create(b_, b_.getBoolAttr(true)),
        isLaterStep =
            loop ? arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, scalar(loop.getInductionVar()),
                                         scalar(loop.getLowerBound()))
                       .getResult()
                 : arith::ConstantOp::create(b_, b_.getBoolAttr(false)).getResult();
  tile::CommitProductsOp pass = passOf(op);
  Value number = pass ? Value() : LLVM::LoadOp::create(b_, b_.getI32Type(), commits_).getResult();
  Value set = pass ? tensorSet(scalar(pass.getIndex())) : tensorMemory_;
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(0)), [&] {
    vendor_.emitTensorFence(b_, /*isAfterMeeting=*/true);
    for (int64_t i = 0; i < type.getDimSize(0); i += f.m)
      for (int64_t j = 0; j < type.getDimSize(1); j += f.n) {
        const int64_t column = tensorColumns_.at(op) + i / f.m * type.getDimSize(1) + j;
        Value sums = arith::AddIOp::create(b_, set, i32(column));
        for (int64_t k = 0; k < depth; k += f.k)
          vendor_.emitTensorProduct(b_, f, dtype, left.at(i, k), right.at(j, k), sums,
                                    k ? isLater : isLaterStep);
      }
    if (!pass) vendor_.emitTensorCommit(b_, commitWord(number));
  });
  if (pass) { // the loop's variable is never read
    Vec<Value> before = elementsOf(op.getAcc());
    return endProduct(op, before, before), success();
  }
  LLVM::StoreOp::create(b_, arith::AddIOp::create(b_, number, i32(1)), commits_);
  started_ = StartedProduct{op, {}, {}};
  if (!op.getInFlight()) return success();
  if (!loop) return op.emitOpError() << "is in flight, but its sum is used in the loop";
  awaitProduct(1); // the one of the step before
  return success();
}

/// Each thread waits: the one that starts the next product for the sums' turn, the others before they write
/// what the product has read.
void KernelLowering::awaitCommits(int64_t pending) {
  Value number = LLVM::LoadOp::create(b_, b_.getI32Type(), commits_);
  number = arith::SubIOp::create(b_, number, i32(1 + pending)); // -1 is awaited at once: its parity is 1
  Value parity = arith::AndIOp::create(b_, arith::ShRUIOp::create(b_, number, i32(1)), i32(1));
  vendor_.emitAwaitBytes(b_, commitWord(number), parity);
}

void KernelLowering::awaitTensorProduct(tile::MmaOp op, int64_t pending) {
  awaitCommits(pending);
  Vec<Value> before = elementsOf(op.getAcc());
  if (tile::sumOfLoop(op)) {
    // A thread that is late must not find the word of its product used by the next one but one. Products in
    // flight have a barrier in each step.
    if (!op.getInFlight()) lowerBarrier();
    return endProduct(op, before, before);
  }
  endProduct(op, before, loadTensorSums(op, before, target::isZeroTile(op.getAcc())));
}

Value KernelLowering::tensorSet(Value set) {
  Value number = arith::IndexCastUIOp::create(b_, b_.getI32Type(), set);
  return arith::AddIOp::create(b_, tensorMemory_, arith::MulIOp::create(b_, number, i32(setColumns_)));
}

static bool isZeroInit(Value init) {
  auto convert = init.getDefiningOp<tile::ConvertOp>();
  return target::isZeroTile(convert ? convert.getInput() : init);
}

LogicalResult KernelLowering::lowerTensorSums(Operation *op) {
  if (!passedProduct_) return notImplemented(op);
  if (auto commit = dyn_cast<tile::CommitProductsOp>(op)) {
    vendor_.emitTensorCommit(b_, arrivalsWord(commit.getArrivals(), scalar(commit.getIndex())));
    return success();
  }
  auto take = cast<tile::TakeSumsOp>(op);
  Vec<Value> before = elementsOf(take.getInit());
  auto load = [&] {
    return loadTensorSums(passedProduct_, before, isZeroInit(take.getInit()), scalar(take.getSet()));
  };
  bindElements(take.getResult(), choose(scalar(take.getAny()), load, [&] { return before; }));
  return success();
}

SmallVector<Value> KernelLowering::loadTensorSums(tile::MmaOp op, ValueRange before, bool isZero, Value set) {
  constexpr int64_t kPiece = 8, kMost = 32; // columns that are loaded together, and of one load
  const layout::Fragment f = *op.getFragment()->getRow();
  const layout::TileLayout &sums = sumsOf(op);
  const int64_t width = tile::tileType(op.getResult()).getDimSize(1);
  vendor_.emitTensorFence(b_, /*isAfterMeeting=*/true);
  // The warp's lanes, and its first column.
  Value warp = warpNumber();
  Value lane = arith::MulIOp::create(b_, arith::AndIOp::create(b_, warp, i32(f.warps() - 1)),
                                     i32(target_.warpSize << 16));
  Value rows = arith::DivUIOp::create(b_, firstOfGroup(sums, f, warp, 0), i32(f.m));
  Value column =
      arith::AddIOp::create(b_, arith::MulIOp::create(b_, rows, i32(width)), firstOfGroup(sums, f, warp, 1));
  Value memory = set ? tensorSet(set) : tensorMemory_;
  Value first = arith::AddIOp::create(b_, arith::AddIOp::create(b_, memory, lane), column);
  // Rows and columns that pieces begin with, by columns of tensor memory.
  std::map<int64_t, std::array<int64_t, 2>> pieces;
  for (int64_t r = 0; r < sums.registers(); ++r) {
    const std::vector<int64_t> at = sums.at(r, 0, 0);
    if (at[0] % f.m == 0 && at[1] % kPiece == 0)
      pieces[tensorColumns_.at(op) + at[0] / f.m * width + at[1]] = {at[0], at[1]};
  }
  const layout::RegisterNumbers registers(sums);
  Vec<Value> loaded(size_t(sums.registers()));
  for (auto it = pieces.begin(); it != pieces.end();) {
    const auto [start, from] = *it;
    int64_t count = 0;
    // the next block of rows begins right after the last column
    auto continues = [&](const auto &piece) {
      return piece.first == start + count && piece.second[0] == from[0] && piece.second[1] == from[1] + count;
    };
    for (auto next = it; next != pieces.end() && continues(*next) && count < kMost; ++next)
      count += kPiece;
    count = int64_t(llvm::bit_floor(uint64_t(count)));
    std::advance(it, count / kPiece);
    const layout::TileLayout one = f.ofColumns(int(count)).layout(layout::Operand::C);
    const Vec<Value> words =
        vendor_.emitTensorLoad(b_, f, arith::AddIOp::create(b_, first, i32(start)), count);
    for (auto [r, word] : llvm::enumerate(words)) {
      std::vector<int64_t> at = one.at(int64_t(r), 0, 0);
      at[0] += from[0], at[1] += from[1];
      loaded[size_t(registers.at(at))] = word;
    }
  }
  vendor_.emitTensorLoadWait(b_);
  vendor_.emitTensorFence(b_, /*isAfterMeeting=*/false);
  if (!set) lowerBarrier(); // the next product overwrites them
  for (auto [word, old] : llvm::zip(loaded, before)) {
    if (isa<FloatType>(old.getType())) {
      word = arith::BitcastOp::create(b_, old.getType(), word);
      if (!isZero) word = arith::AddFOp::create(b_, old, word);
    } else if (!isZero) {
      word = arith::AddIOp::create(b_, old, word);
    }
  }
  return loaded;
}

/// A loop without steps has computed nothing.
void KernelLowering::endTensorSums(scf::ForOp loop) {
  for (tile::MmaOp op : loop.getBody()->getOps<tile::MmaOp>()) {
    if (!tile::hasTensorMemory(op) || tile::sumOfLoop(op) != loop || passOf(op)) continue;
    const unsigned i = cast<BlockArgument>(op.getAcc()).getArgNumber() - loop.getNumInductionVars();
    Value init = loop.getInitArgs()[i];
    Vec<Value> before = elementsOf(init);
    const bool isZero = isZeroInit(init);
    Value any = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, scalar(loop.getLowerBound()),
                                      scalar(loop.getUpperBound()));
    bindElements(loop.getResult(i),
                 choose(any, [&] { return loadTensorSums(op, before, isZero); }, [&] { return before; }));
  }
}

} // namespace tessera::gpu
