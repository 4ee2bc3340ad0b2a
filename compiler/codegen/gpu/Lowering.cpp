#include "compiler/codegen/gpu/Lowering.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "llvm/Support/MathExtras.h"
#include <tessera/backend.hpp>

using namespace mlir;

namespace tessera::gpu {

namespace {

constexpr int64_t kAlign = 128;
constexpr unsigned kTensorMapBytes = 128, kTensorMapAlign = 64; // a CUtensorMap
constexpr int64_t kPanelAlign = 1024; // of tiles that instructions read (tile-plan-memory)

Type pointerTo(MLIRContext *context, unsigned space) { return LLVM::LLVMPointerType::get(context, space); }

/// A value that is the same for every lane of `lanes`: defined outside of the loop, or computed only from
/// such values.
bool isUniform(Value v, scf::ForOp lanes) {
  if (!lanes.getRegion().isAncestor(v.getParentRegion())) return true;
  if (v == lanes.getInductionVar()) return false;
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
    return loop && arg == loop.getInductionVar() && isUniform(loop.getLowerBound(), lanes) &&
           isUniform(loop.getStep(), lanes);
  }
  Operation *op = v.getDefiningOp();
  return op->getNumRegions() == 0 && isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand, lanes); });
}

/// Does every lane of the group reach `op`?
bool reachedByAll(Operation *op, scf::ForOp lanes) {
  for (Operation *outer = op->getParentOp(); outer != lanes; outer = outer->getParentOp()) {
    bool uniform = isa<scf::IfOp, scf::ForOp>(outer) &&
                   llvm::all_of(outer->getOperands(), [&](Value v) { return isUniform(v, lanes); });
    if (!uniform) return false;
  }
  return true;
}

} // namespace

/// Buffers and tiles share one allocation, buffers first, then tiles, then the exchange area. If it does not
/// fit, the tiles, and then the buffers too, move to the workspace.
void KernelLowering::planMemory() {
  int64_t total = kernel_.getScratchBytes().value_or(0), buffers = kernel_.getSharedBytes().value_or(0);
  exchangeBytes_ = tile::exchangeBytes(kernel_, threads_);
  int64_t room = target_.maxShared - exchangeBytes_;
  sharedTiles_ = total <= room ? total : buffers <= room ? buffers : 0;
  resources_.shared = exchangeBytes_ + sharedTiles_;
  resources_.dynamicShared = resources_.shared > target_.staticShared ? resources_.shared : 0;
  resources_.workspace = total == sharedTiles_ ? 0 : llvm::alignTo(total, kAlign);
}

FailureOr<mlir::gpu::GPUFuncOp> KernelLowering::lower(mlir::gpu::GPUModuleOp module) {
  readsShared_ = kernel_
                     .walk([](tile::MmaOp mma) {
                       const auto row = mma.getFragment() ? mma.getFragment()->getRow() : std::nullopt;
                       return row && row->readsShared() ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
  if (!hasWord(target_.dtypes, "f64")) {
    auto isDouble = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
    const auto found = kernel_.walk([&](Operation *op) {
      if (llvm::none_of(op->getResultTypes(), isDouble) && llvm::none_of(op->getOperandTypes(), isDouble))
        return WalkResult::advance();
      op->emitError() << "f64 is not implemented on " << backend_ << ":" << target_.name
                      << ", which has no instructions for it (TSR_UNIMPLEMENTED)";
      return WalkResult::interrupt();
    });
    if (found.wasInterrupted()) return failure();
  }
  for (auto roles : kernel_.getBody().front().getOps<tile::RolesOp>())
    roleWarps_ = int64_t(roles.getCopyWarps() + roles.getMultiplyWarps());
  if (blockThreads() > target_.maxThreads)
    return kernel_.emitOpError() << "has a block of " << blockThreads() << " threads; " << backend_ << ":"
                                 << target_.name << " has at most " << target_.maxThreads;
  resources_.cluster = kernel_.programsOfCluster();
  if (resources_.cluster > target_.mostInCluster)
    return kernel_.emitOpError() << "has clusters of " << resources_.cluster << " programs; " << backend_
                                 << ":" << target_.name << " has at most " << target_.mostInCluster;
  planMemory();
  if (failed(planTensorMemory())) return failure();
  collectTensorMaps();
  hasCopies_ = target_.copiesAsync &&
               kernel_.walk([](tile::CpAsyncOp) { return WalkResult::interrupt(); }).wasInterrupted();
  MLIRContext *context = b_.getContext();
  Type global = pointerTo(context, kGlobalSpace);
  Vec<Type> types;
  for (BlockArgument arg : kernel_.getBody().front().getArguments())
    types.push_back(isa<tile::ViewType>(arg.getType()) ? global
                    : arg.getType().isIndex()          ? Type(b_.getI64Type())
                                                       : target::inMemoryElement(arg.getType()));
  if (resources_.workspace) types.push_back(global);
  types.append(tensorMaps_.size(), pointerTo(context, 0));
  b_.setInsertionPointToEnd(module.getBody());
  auto function = mlir::gpu::GPUFuncOp::create(b_, entrySymbol(kernel_.getName()),
                                               b_.getFunctionType(types, TypeRange()));
  function->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b_.getUnitAttr());
  function.setKnownBlockSizeAttr(b_.getDenseI32ArrayAttr({static_cast<int32_t>(blockThreads()), 1, 1}));

  Block &entry = function.getBody().front();
  const size_t firstMap = types.size() - tensorMaps_.size();
  for (auto [i, map] : llvm::enumerate(tensorMaps_)) { // by value
    const auto number = unsigned(firstMap + i);
    map.parameter = entry.getArgument(number);
    function.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(LLVM::LLVMArrayType::get(b_.getI8Type(), kTensorMapBytes)));
    function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(), b_.getI64IntegerAttr(kTensorMapAlign));
  }
  if (resources_.cluster > 1) vendor_.markCluster(function, resources_.cluster);
  b_.setInsertionPointToStart(&entry);
  programId_ = mlir::gpu::BlockIdOp::create(b_, mlir::gpu::Dimension::x);
  thread_ = arith::IndexCastUIOp::create(b_, b_.getI32Type(),
                                         mlir::gpu::ThreadIdOp::create(b_, mlir::gpu::Dimension::x));
  bindKernelArguments([&](BlockArgument arg) -> Value {
    Value given = entry.getArgument(arg.getArgNumber());
    if (arg.getType().isIndex()) return arith::IndexCastOp::create(b_, b_.getIndexType(), given);
    if (!arg.getType().isInteger(1)) return given;
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, given, zeroOf(given.getType()));
  });
  emitMemory(module, entry.getArgument(unsigned(firstMap - 1)));
  allocateTensorMemory();
  emitProgramIds(programId_);
  if (failed(lowerBlock(kernel_.getBody().front()))) {
    function.erase();
    return failure();
  }
  if (!roleWarps_) {
    awaitStores();
    freeTensorMemory();
  }
  // No code follows the last barrier.
  if (auto last = b_.getInsertionPoint(); last != entry.begin())
    if (auto barrier = dyn_cast<mlir::gpu::BarrierOp>(*std::prev(last))) barrier.erase();
  mlir::gpu::ReturnOp::create(b_);
  // With two blocks on a unit one multiplies while the other waits. A lane has half as many registers then.
  const bool isTwiceInShared = 2 * resources_.shared <= target_.maxShared;
  if (products_ == 1 && mostSums_ <= tile::kSumsOfTwoBlocks && !roleWarps_ && threads_ <= 256 &&
      isTwiceInShared)
    function->setAttr(kResidentBlocks, b_.getI64IntegerAttr(2));
  // One block has all of tensor memory. Without this ptxas assumes that two are to share a unit, and spills.
  if (roleWarps_ && 2 * allColumns_ > layout::kTensorColumns)
    function->setAttr(kResidentBlocks, b_.getI64IntegerAttr(1));
  return function;
}

void KernelLowering::emitMemory(mlir::gpu::GPUModuleOp module, BlockArgument workspace) {
  if (resources_.shared) {
    // Shared memory whose size the launch sets is one symbol without a size.
    bool dynamic = resources_.dynamicShared;
    std::string name = dynamic ? "dynamic_shared" : "shared_" + entrySymbol(kernel_.getName());
    if (!module.lookupSymbol(name)) {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToStart(module.getBody());
      auto bytes = LLVM::LLVMArrayType::get(b_.getI8Type(), dynamic ? 0 : resources_.shared);
      LLVM::GlobalOp::create(b_, bytes, /*isConstant=*/false,
                             dynamic ? LLVM::Linkage::External : LLVM::Linkage::Internal, name, Attribute(),
                             readsShared_ || !tensorMaps_.empty() ? kPanelAlign : kAlign, kSharedSpace);
    }
    buffers_ = scratch_ = LLVM::AddressOfOp::create(b_, pointerTo(b_.getContext(), kSharedSpace), name);
    exchange_ = address(buffers_, constant(sharedTiles_), b_.getI8Type());
  }
  if (!resources_.workspace) return;
  // A launch has one part for each block, which may run several programs, in another order than their
  // numbers.
  Value block = mlir::gpu::BlockIdOp::create(b_, mlir::gpu::Dimension::x);
  Value offset = arith::MulIOp::create(b_, block, constant(resources_.workspace));
  scratch_ = address(workspace, offset, b_.getI8Type());
  if (!sharedTiles_) buffers_ = scratch_;
}

/// What the threads have written before a barrier may be read by products after it, or be overwritten by
/// boxes.
void KernelLowering::lowerBarrier() {
  if (readsShared_ || !tensorMaps_.empty()) vendor_.emitSharedFence(b_);
  if (hasRole_)
    vendor_.emitNamedBarrier(b_, i32(kMathBarrier), threads_, /*waits=*/true);
  else
    mlir::gpu::BarrierOp::create(b_);
}

/// LLVM's bfloat is only the operand of the instruction; registers have the bits.
Value KernelLowering::convert(Value v, DType from, DType to) {
  if (to != DType::BF16 || !isFloat(from) || from == DType::F64 || !vendor_.roundsToBf16(target_))
    return TileLowering::convert(v, from, to);
  Value wide = TileLowering::convert(v, from, DType::F32);
  auto like = [&](Type element) {
    auto vector = dyn_cast<VectorType>(wide.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Value narrow = arith::TruncFOp::create(b_, like(b_.getBF16Type()), wide);
  return arith::BitcastOp::create(b_, like(b_.getI16Type()), narrow);
}

// ---- Once for the program

void KernelLowering::once(llvm::function_ref<void()> effect) {
  if (lanes_) return effect();
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(0)), effect);
  lowerBarrier();
}

Value KernelLowering::onceValue(llvm::function_ref<Value()> effect) {
  if (lanes_) return effect();
  Type type;
  guarded(arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, thread_, i32(0)), [&] {
    Value v = effect();
    type = v.getType();
    store(type, v, exchange_);
  });
  lowerBarrier();
  Value result = load(type, exchange_, 0);
  lowerBarrier();
  return result;
}

/// Could threads read at different times what the kernel writes?
bool KernelLowering::mayChange(const View &view) {
  if (lanes_) return false;
  for (BlockArgument arg : kernel_.getBody().getArguments())
    if (isa<tile::ViewType>(arg.getType()) && views_[arg].data == view.data)
      return kernel_.getParam(arg).getAccess() != tile::Access::Read;
  return true;
}

/// Not only loads from the tensors that the kernel writes: they may be the memory of those that it reads
/// (docs/c-abi.md).
bool KernelLowering::loadsBesideStores() {
  return llvm::any_of(kernel_.getBody().getArguments(), [&](BlockArgument arg) {
    auto view = dyn_cast<tile::ViewType>(arg.getType());
    return view && isPacked(view.getElementType()) && kernel_.getParam(arg).getAccess() != tile::Access::Read;
  });
}

LogicalResult KernelLowering::lowerFor(scf::ForOp op) {
  const bool outer = std::exchange(owesBarrier_, false);
  if (failed(TileLowering::lowerFor(op))) return failure();
  // Products in flight are awaited once, after the loop.
  for (tile::MmaOp mma : op.getBody()->getOps<tile::MmaOp>())
    if (mma.getInFlight()) tile::hasTensorMemory(mma) ? awaitCommits(0) : vendor_.emitProductWait(b_, 0);
  endTensorSums(op);
  boundSums(op);
  // A group that has the turn passes it first: the others wait for it before they reach the barrier.
  if (owesBarrier_ && isa_and_nonnull<tile::PassTurnOp>(op->getNextNode()))
    owesAfterTurn_ = true;
  else if (owesBarrier_)
    lowerBarrier();
  owesBarrier_ = outer;
  return success();
}

// ---- Lanes

/// Without a reduction over the group, each thread strides through its lanes. With one, all threads execute
/// every iteration, so that they meet in the reduction: where an iteration has no lane for a thread, its
/// loads give 0, and its stores and updates are dropped.
LogicalResult KernelLowering::lowerLanes(scf::ForOp op) {
  lanes_ = op;
  Value begin = scalar(op.getLowerBound()), end = scalar(op.getUpperBound());
  Value thread = arith::IndexCastUIOp::create(b_, b_.getIndexType(), thread_);
  bool together = op.walk([](tile::GroupReduceOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (!together) begin = arith::AddIOp::create(b_, begin, thread);
  auto loop = scf::ForOp::create(b_, begin, end, constant(threads_));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Value lane = loop.getInductionVar();
  if (together) {
    lane = arith::AddIOp::create(b_, lane, thread);
    laneActive_ = arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, lane, end);
  }
  enterLanes(op, lane);
  LogicalResult result = lowerBlock(*op.getBody());
  laneIndex_ = laneLimit_ = laneActive_ = {};
  lanes_ = {};
  return result;
}

/// A group is a thread block in one iteration over its lanes; in a tile program it is the program.
Value KernelLowering::groupInfo(tile::GroupInfoKind kind) {
  switch (kind) {
  case tile::GroupInfoKind::GroupId: {
    if (!lanes_) return arith::IndexCastOp::create(b_, b_.getI32Type(), programId_);
    int64_t turns = llvm::divideCeil(kernel_.getLanesPerProgram().value_or(1), threads_);
    Value position = arith::SubIOp::create(b_, laneIndex_, scalar(lanes_.getLowerBound()));
    Value turn = arith::DivUIOp::create(b_, position, constant(threads_));
    Value first = arith::MulIOp::create(b_, programId_, constant(turns));
    return arith::IndexCastOp::create(b_, b_.getI32Type(), arith::AddIOp::create(b_, first, turn));
  }
  case tile::GroupInfoKind::LocalId:
    return lanes_ ? thread_ : i32(0);
  case tile::GroupInfoKind::LaneId:
    return lanes_ ? arith::RemUIOp::create(b_, thread_, i32(target_.warpSize)).getResult() : i32(0);
  case tile::GroupInfoKind::GroupSize:
    return i32(lanes_ ? threads_ : 1);
  }
  llvm_unreachable("all kinds are listed");
}

FailureOr<mlir::Value> KernelLowering::groupReduce(tile::GroupReduceOp op) {
  Value v = scalar(op.getInput());
  if (!lanes_) return v;
  if (!reachedByAll(op, lanes_)) {
    op.emitOpError() << "on " << op.getInput().getType()
                     << " under a condition that may differ between lanes is not implemented on " << backend_
                     << " (TSR_UNIMPLEMENTED)";
    return failure();
  }
  Type type = v.getType();
  bool isUnsigned = op.getIsUnsigned() || type.isInteger(1);
  auto kind = op.getKind() == tile::GroupReduceKind::Sum   ? tile::ReduceKind::Sum
              : op.getKind() == tile::GroupReduceKind::Max ? tile::ReduceKind::Max
                                                           : tile::ReduceKind::Min;
  Value nothing = neutral(kind, isUnsigned, type);
  store(type, arith::SelectOp::create(b_, laneActive_, v, nothing), exchange(type, thread_));
  tree(threads_, threads_, [&](Value mine, Value other) {
    Value x = load(type, exchange(type, mine), 0), y = load(type, exchange(type, other), 0);
    store(type, combine(kind, isUnsigned, x, y), exchange(type, mine));
  });
  Value result = load(type, exchange(type, i32(0)), 0);
  lowerBarrier();
  return result;
}

// ---- Atomics

llvm::StringRef KernelLowering::syncScope(tile::MemoryScope scope) {
  if (scope == tile::MemoryScope::System) return {};
  return scope == tile::MemoryScope::Group ? target_.groupSync : target_.deviceSync;
}

bool KernelLowering::hasAtomic(tile::AtomicOp op) const {
  if (op.getKind() == tile::AtomicKind::Xchg) return true;
  if (!isa<FloatType>(getElementTypeOrSelf(op.getValue()))) return true;
  return op.getKind() == tile::AtomicKind::Add && target_.floatAtomicAdd;
}

/// Without an instruction: compare and swap until no other thread wrote in between.
Value KernelLowering::emitUpdate(tile::AtomicOp op, Value address, Value value) {
  if (hasAtomic(op)) return TileLowering::emitUpdate(op, address, value);
  Type element = value.getType(), bits = b_.getIntegerType(element.getIntOrFloatBitWidth());
  unsigned align = element.getIntOrFloatBitWidth() / 8;
  auto kind = op.getKind() == tile::AtomicKind::Add   ? tile::ReduceKind::Sum
              : op.getKind() == tile::AtomicKind::Max ? tile::ReduceKind::Max
                                                      : tile::ReduceKind::Min;
  auto success = target::ordering(op.getOrder());
  // Atomic, because other threads update the element meanwhile.
  Value first = LLVM::LoadOp::create(b_, bits, address, align, /*isVolatile=*/false, /*isNonTemporal=*/false,
                                     /*isInvariant=*/false, /*isInvariantGroup=*/false,
                                     LLVM::AtomicOrdering::monotonic, syncScope(op.getScope()));
  Value no = arith::ConstantOp::create(b_, b_.getBoolAttr(true));
  auto loop = scf::WhileOp::create(b_, TypeRange{bits, b_.getI1Type()}, ValueRange{first, no});
  Vec<Location> locs(2, b_.getLoc());
  Block *test = b_.createBlock(&loop.getBefore(), {}, TypeRange{bits, b_.getI1Type()}, locs);
  scf::ConditionOp::create(b_, test->getArgument(1), test->getArguments());
  Block *turn = b_.createBlock(&loop.getAfter(), {}, TypeRange{bits, b_.getI1Type()}, locs);
  Value old = turn->getArgument(0);
  Value next = combine(kind, op.getIsUnsigned(), arith::BitcastOp::create(b_, element, old), value);
  Value pair =
      LLVM::AtomicCmpXchgOp::create(b_, address, old, arith::BitcastOp::create(b_, bits, next), success,
                                    target::failureOrdering(success), syncScope(op.getScope()));
  Value seen = LLVM::ExtractValueOp::create(b_, pair, ArrayRef<int64_t>{0});
  Value done = LLVM::ExtractValueOp::create(b_, pair, ArrayRef<int64_t>{1});
  Value again = arith::XOrIOp::create(b_, done, arith::ConstantOp::create(b_, b_.getBoolAttr(true)));
  scf::YieldOp::create(b_, ValueRange{seen, again});
  b_.setInsertionPointAfter(loop);
  return arith::BitcastOp::create(b_, element, loop.getResult(0));
}

} // namespace tessera::gpu
