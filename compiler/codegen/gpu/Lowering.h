// tile.kernel -> gpu.func: one program is one thread block, whose threads share the elements of every tile.
//
// Thread t of T computes the elements t, t + T, ... of a tile in row-major order, or, where memory allows it,
// the vectors of neighbours with these numbers. Tiles that need memory are in shared memory, or in the
// block's part of a global workspace if they do not fit. All threads execute the code between the loop nests
// (loops, branches, scalars) alike, so that all of them reach every barrier; only thread 0 executes scalar
// side effects. The lanes of a linear_id program are distributed over the threads and run code of their own,
// without barriers.
#pragma once
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/codegen/gpu/Vendor.h"
#include "core/metadata/KernelMetadata.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace tessera::gpu {

/// The extents of a tile without those along `axis`.
inline llvm::SmallVector<int64_t> withoutAxis(llvm::ArrayRef<int64_t> shape, int64_t axis) {
  llvm::SmallVector<int64_t> kept(shape);
  kept.erase(kept.begin() + axis);
  return kept;
}

/// The index that is `at` without `axis` and k along it.
inline llvm::SmallVector<mlir::Value> withAxis(llvm::ArrayRef<mlir::Value> at, int64_t axis, mlir::Value k) {
  llvm::SmallVector<mlir::Value> index(at);
  index.insert(index.begin() + axis, k);
  return index;
}

/// State of lowering one kernel. Not thread-safe; lives for one call of lower().
class KernelLowering final : public target::TileLowering {
public:
  KernelLowering(tile::KernelOp kernel, const GpuTarget &target)
      : TileLowering(kernel, target.vendor().name()), vendor_(target.vendor()),
        target_(target.architecture()), threads_(kernel.getThreads().value_or(target_.threads)) {}

  /// Emits the kernel at the end of `module`. Its parameters are pointers (address space 1), scalars and i64
  /// dims in the order of the tile kernel; then, if resources().workspace is not 0, a pointer to that
  /// many bytes for each block of the launch; last, a pointer to each of resources().tensorMaps. Fails with
  /// a diagnostic if an operation cannot be lowered.
  mlir::FailureOr<mlir::gpu::GPUFuncOp> lower(mlir::gpu::GPUModuleOp module);

  /// Valid after lower().
  struct Resources {
    int64_t shared = 0;        // bytes of shared memory in total
    int64_t dynamicShared = 0; // of these, bytes that the launch has to ask for
    int64_t workspace = 0;     // bytes of global memory per block
    std::vector<MetadataTensorMap> tensorMaps;
    bool isPersistent = false; // blocks run several programs
    int64_t cluster = 1;       // blocks of a cluster
  };
  const Resources &resources() const { return resources_; }
  /// Of a thread block: those that compute, and those that start copies and products beside them.
  int64_t blockThreads() const { return threads_ + roleWarps_ * target_.warpSize; }

private:
  // Lowering.cpp: the kernel's frame, effects that happen once, lanes.
  void planMemory();
  void emitMemory(mlir::gpu::GPUModuleOp, mlir::BlockArgument workspace);
  void once(llvm::function_ref<void()> effect) override;
  Value onceValue(llvm::function_ref<Value()> effect) override;
  bool mayChange(const View &) override;
  bool loadsBesideStores() override;
  LogicalResult lowerLanes(mlir::scf::ForOp) override;
  LogicalResult lowerFor(mlir::scf::ForOp) override;
  void lowerBarrier() override;
  /// A hint that is dropped: no instruction for it exists on every GPU.
  LogicalResult lowerPrefetch(tile::PrefetchOp) override { return mlir::success(); }
  bool swizzles() const override { return true; }
  Value convert(Value v, DType from, DType to) override;

  // Copies.cpp: copies into shared memory beside computation
  LogicalResult lowerCopy(tile::CpAsyncOp) override;
  /// The elements past `ends` (empty: none) become zeros.
  void copyPieces(const Window &, const Place &to, llvm::ArrayRef<int64_t> shape, Indices ends,
                  int64_t pieceBytes);
  void copyPacked(const Window &, const Place &to, llvm::ArrayRef<int64_t> shape);
  void commitCopies() override;
  void awaitCopies(int64_t pending) override;

  // Boxes.cpp: copies of boxes of tensors
  void collectTensorMaps();
  LogicalResult lowerBoxes(Operation *) override;
  void copyBox(tile::CopyBoxOp);
  Value tensorMapOf(Value view, llvm::ArrayRef<int64_t> box);
  /// Where a box begins along an axis (i32); a column is a multiple of 16 bytes and remains one.
  Value boxCoordinate(Value start, bool isColumn);
  /// The number of the block in its cluster.
  Value rankInCluster();
  LogicalResult lowerRoles(tile::RolesOp) override;
  /// Barriers of a block: 0 is that of all threads, 1 of those that compute, the others are the turns of
  /// groups.
  static constexpr int32_t kMathBarrier = 1, kFirstTurn = 2;
  /// Arrives in the barrier of a group of warps (i32) as one of its threads, which wait for the turn, or of
  /// those that pass it.
  void meetTurn(Value group, bool waits);
  /// The number of the thread's group of warps (i32), known to be the same for all lanes.
  Value groupNumber();
  int64_t groupThreads() const { return 4 * target_.warpSize; }
  LogicalResult lowerPrograms(tile::BlockProgramsOp) override;
  Value arrivalsWord(Value arrivals, Value index);

  Value groupInfo(tile::GroupInfoKind) override;
  llvm::StringRef syncScope(tile::MemoryScope) override;
  Value emitUpdate(tile::AtomicOp, Value address, Value value) override;
  bool hasAtomic(tile::AtomicOp) const;

  // Nest.cpp: threads.
  void nest(llvm::ArrayRef<int64_t> shape, int64_t lanes, NestBody body, Indices ends = {}) override;
  int64_t lanesFor(mlir::ValueRange, llvm::ArrayRef<Type>) override { return 0; }

  // Vectors.cpp: a thread computes neighbours, with accesses of 16 bytes
  int64_t vectorsFor(mlir::ValueRange roots) override;
  int64_t lanesOfOne() const override { return 0; }
  Value areVectorsWhole(tile::StoreOp, const Window &, int64_t length) override;
  /// The same for the vectors that computing `root` loads: joined to `condition`; false: that is not known.
  bool loadsWholeVectors(Value root, int64_t length, Value &condition);
  Value isAligned(const Window &) override;
  unsigned alignmentOf(Type element, int64_t lanes, Value address) const override;
  /// The bytes that the address of a wide access has to be a multiple of, or its own bytes if these are
  /// fewer.
  int64_t wideAlign(Value address) const;
  bool beginsWithByte() const override { return isWide_; }
  void nestPart(llvm::ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) override;
  LogicalResult lowerTranspose(tile::TransposeOp) override;
  /// Runs `body` for the first of every `length` neighbours, distributed over the threads. No barrier.
  void spreadVectors(llvm::ArrayRef<int64_t> shape, int64_t length, llvm::function_ref<void(Indices)> body);
  /// Emits one of two versions, and the choice between them by `condition` (null: true). Returns the values
  /// of the one that is executed.
  using Version = llvm::function_ref<Vec<Value>()>;
  Vec<Value> choose(Value condition, Version then, Version otherwise);

  void versioned(Value condition, llvm::function_ref<void(Mode)> emit) override { emit({!condition}); }
  /// Runs `body` for i32 `i` in [0, count), distributed over the threads. No barrier.
  void spread(int64_t count, llvm::function_ref<void(Value)> body);
  /// The same by a loop that LLVM does not unroll.
  void spreadRolled(int64_t count, llvm::function_ref<void(Value)> body);
  void guarded(Value condition, llvm::function_ref<void()> body);
  Vec<Value> delinearize(Value i, llvm::ArrayRef<int64_t> shape);
  Value i32(int64_t v) { return mlir::arith::ConstantOp::create(b_, b_.getI32IntegerAttr(v)); }
  Value below(Value i, int64_t end);
  /// Returns a pointer to a word of the exchange area: `word` (i32) counts elements of `type` from byte
  /// `from` on.
  Value exchange(Type type, Value word, int64_t from = 0);

  // Reduce.cpp
  LogicalResult lowerReduce(tile::ReduceOp) override;
  LogicalResult reduceByThreads(tile::ReduceOp); // FixedReduce.cpp
  using Fold = llvm::function_ref<Value(Value, Value)>;
  /// Combines the partial results of each `width` consecutive threads by halves. Each thread has those of
  /// neighbouring lanes. All threads of a group get the result.
  Value foldThreads(Vec<Value> parts, int64_t width, Fold fold);
  Value shuffle(Value v, Value lane);
  LogicalResult lowerArgReduce(tile::ArgReduceOp) override;
  mlir::FailureOr<Value> groupReduce(tile::GroupReduceOp) override;
  /// Combines the values that the threads of each group of `width` (a power of two) consecutive threads left
  /// in the exchange area, for threads below `threads`. The first thread of each group has the result. Has
  /// barriers before and after.
  void tree(int64_t threads, int64_t width, llvm::function_ref<void(Value mine, Value other)> join);

  // Scan.cpp
  LogicalResult lowerScan(tile::ScanOp) override;
  /// Scans each line by `width` threads.
  void scanTogether(const Place &from, const Place &to, int64_t axis, int64_t width, Fold);
  /// The scan of what each of `width` consecutive threads has, up to its own.
  Value scanThreads(Value own, Value position, int64_t width, Fold);

  // Mma.cpp: products in memory
  LogicalResult lowerMma(tile::MmaOp) override;

  // Registers.cpp: tiles in registers
  LogicalResult lowerConvert(tile::ConvertOp) override;
  /// The sum (xor) of the images of the bits that are set in the thread's number.
  Value threadPart(llvm::ArrayRef<int64_t> images);
  /// The same per axis of a tile: the index of register 0.
  Vec<Value> threadIndex(const layout::TileLayout &);
  /// The index of a register, from threadIndex().
  Vec<Value> registerIndex(const layout::TileLayout &, Indices thread, int64_t number);
  bool isOnThreads(const layout::TileLayout &) const;
  /// The elements of a tile in registers, one by one, and the tile of such elements.
  Vec<Value> elementsOf(Value tile);
  Value elementOf(Value tile, int64_t number);
  void bindElements(Value tile, mlir::ValueRange elements);
  LogicalResult lowerInRegisters(Operation *) override;
  Value heldElement(Value tile) override;
  /// Emits the elements of a tile of this layout, register by register, with and without masks if `condition`
  /// is not null.
  Vec<Value> eachRegister(const layout::TileLayout &, Type element, Value condition,
                          llvm::function_ref<Value(Indices at, Mode)> emit);

  // LaneExchange.cpp
  LogicalResult exchangeLanes(tile::ConvertOp);

  // PackedStores.cpp
  LogicalResult storePackedTile(tile::StoreOp);
  void storeBytes(tile::StoreOp, const Window &, llvm::ArrayRef<int64_t> shape);

  // StoreBoxes.cpp: through shared memory
  LogicalResult storeBox(tile::StoreBoxOp);
  /// Waits until all boxes that the warps have written have been read.
  void awaitStores();
  /// Emits what the first lane of each warp does.
  void byFirstLane(llvm::function_ref<void()> effect);

  // RegisterLoads.cpp: their way from tensors
  /// A load that is emitted register by register, several at once where they are next to each other.
  struct RegisterLoad {
    mlir::RankedTensorType type;
    Window window;
    int64_t width;
    Value condition;          // under which `width` registers are one access inside the tensor
    Value vector = {};        // the access that the last element was taken from
    Vec<Value> elements = {}; // of a tile that is not inside: the registers that were loaded together last
  };
  RegisterLoad beginLoad(tile::LoadOp);
  /// Loads the registers from `first` on that are loaded together, zeros outside of the tensor.
  Vec<Value> loadPart(const RegisterLoad &, int64_t first);
  /// The lengths of vectors that rows may be divided into where not all of a tile is inside: those that its
  /// registers allow, and those of 4 bytes.
  static Vec<int64_t> vectorSteps(int64_t width, int64_t elementBytes);
  /// Registers of a tile that are computed before they are stored, or loaded under conditions before any of
  /// them is used: enough loads at once to hide their latency.
  static constexpr int64_t kAtOnce = 32;
  /// i1: rows are aligned for vectors of `step` elements, each of which is inside `part` or outside of it.
  Value isInVectors(const Window &, const Present &part, llvm::ArrayRef<int64_t> shape, int64_t step);
  Value loadRegister(RegisterLoad &, Indices at, Mode);
  LogicalResult loadInRegisters(tile::LoadOp);
  bool isDeferred(Operation *) override;
  /// Begins the loads that these operands of the operation that is lowered need. Returns their condition.
  Value beginDeferredLoads(mlir::ValueRange operands);
  // RegisterMemory.cpp: their way to tensors, and what both ways need
  LogicalResult lowerStore(tile::StoreOp) override;
  /// Could another thread write elements that this one loads?
  bool isOverwritten(tile::LoadOp);
  /// Could another thread access elements that this one stores, before the program ends?
  bool isSeenByOthers(tile::StoreOp);
  /// Of the lanes and warps that hold the same elements of a tile, `store` is emitted for the first.
  void storeOnce(const layout::TileLayout &, llvm::function_ref<void()> store);
  /// How many registers from the first on are next to each other in a row of the tile, and together at most
  /// 16 bytes.
  static int64_t neighbours(const layout::TileLayout &, int64_t elementBytes);
  /// i1: the first element of the window and all rows are at multiples of `bytes`.
  Value isAligned(const Window &, llvm::ArrayRef<int64_t> shape, int64_t bytes);

  // RegisterReduce.cpp
  LogicalResult reduceInRegisters(tile::ReduceOp);
  /// Combines what warps whose threads' numbers differ in the bits `reduced` have; each gets the results.
  void foldWarps(llvm::MutableArrayRef<Value> sums, int64_t reduced, Fold);

  // MatrixProducts.cpp: products by matrix instructions
  LogicalResult lowerProduct(tile::MmaOp, const layout::Fragment &);
  struct OperandLoader;
  class BlockLoader;
  Value heldFactor(Value tile, const layout::Fragment &, int64_t row, int64_t column);
  /// Gives the sums of products in this loop, which has been lowered, what they were before it past the
  /// limits.
  void boundSums(mlir::scf::ForOp loop);
  Vec<Value> keepPastLimits(tile::MmaOp, const layout::TileLayout &sums, mlir::ValueRange before,
                            mlir::ValueRange after);
  /// Binds the sums that the product has computed.
  void endProduct(tile::MmaOp, mlir::ValueRange before, Vec<Value> after);
  /// Must threads meet before the memory of a factor that they have read may be written?
  bool isOverwritten(Value factor, tile::MmaOp);

  /// The target's row of the instruction for the dtype; null: there is none.
  const MatrixProduct *productRow(const layout::Fragment &, DType) const;
  /// Do sums of such products keep too few bits for the kernel's profile?
  bool needsPromotion(const MatrixProduct &) const;

  // WarpgroupProducts.cpp: products whose operands the instruction reads in shared memory
  LogicalResult lowerWarpgroupProduct(tile::MmaOp, const layout::Fragment &);
  struct SharedOperand;
  struct StartedProduct;
  /// Calls visit(register, sum) for the sums of a product that was awaited.
  void forEachSum(const StartedProduct &, llvm::function_ref<void(int64_t, Value)> visit);
  /// The factors of a product that reads both in shared memory, and their dtype.
  struct SharedFactors {
    Place a, b;
    DType dtype;
  };
  mlir::FailureOr<SharedFactors> sharedFactors(tile::MmaOp, const layout::Fragment &);
  const layout::TileLayout &sumsOf(tile::MmaOp);
  /// The thread's warp (i32), known to be the same for all lanes.
  Value warpNumber();
  /// The first row (axis 0) or column (i32) of the sums of the instruction that the warp takes part in.
  Value firstOfGroup(const layout::TileLayout &sums, const layout::Fragment &, Value warp, size_t axis);
  /// Awaits the product that was started, unless `op` may run beside it.
  void awaitUnlessBeside(mlir::Operation *op);
  void awaitProduct(int64_t pending = 0);

  // Barriers.cpp
  void beforeOp(mlir::Operation *op) override;
  /// Leaves out the barrier after `op` if the operation that follows touches nothing that `op` does.
  void afterOp(mlir::Operation *op) override;

  // TensorProducts.cpp: products whose sums are in tensor memory
  LogicalResult planTensorMemory();
  void allocateTensorMemory();
  void freeTensorMemory();
  LogicalResult lowerTensorProduct(tile::MmaOp, const layout::Fragment &);
  /// Binds the result of a product that was started, when all but the last `pending` ones are done.
  void awaitTensorProduct(tile::MmaOp, int64_t pending);
  void awaitCommits(int64_t pending);
  /// The word that a product arrives in, by its number (i32).
  Value commitWord(Value number);
  /// Loads the sums of a set (index; null: the only one) and adds them to `before`, of which all elements are
  /// zero if `isZero`.
  Vec<Value> loadTensorSums(tile::MmaOp, mlir::ValueRange before, bool isZero, Value set = {});
  LogicalResult lowerTensorSums(Operation *) override;
  /// The address of column 0 of a set of the product's sums.
  Value tensorSet(Value set);
  /// Gives the results of the loop the sums of its products.
  void endTensorSums(mlir::scf::ForOp);

  const Vendor &vendor_;
  const Architecture &target_;
  const int64_t threads_;
  Resources resources_;
  int64_t exchangeBytes_ = 0, sharedTiles_ = 0;
  int64_t roleWarps_ = 0; // that start copies and products, beside the threads that compute
  bool storesBoxes_ = false;
  bool hasRole_ = false;     // what is emitted is executed by the threads of one role
  bool hasCopies_ = false;   // the kernel has asynchronous copies
  bool readsShared_ = false; // an instruction reads its factors in shared memory
  bool isWide_ = false;      // what is emitted accesses vectors at multiples of their size
  /// A product that was started: the sums of each instruction, by register.
  struct StartedProduct {
    tile::MmaOp op;
    Vec<Value> before;
    Vec<std::pair<Vec<int64_t>, Value>> sums;
  };
  /// A tensor map: what it describes, and the kernel's parameter.
  struct TensorMap {
    Value view;
    Vec<int64_t> box;
    Value parameter;
  };
  Vec<TensorMap> tensorMaps_;
  std::optional<StartedProduct> started_;
  llvm::DenseMap<mlir::Operation *, int64_t> tensorColumns_; // where each product's sums begin
  int64_t allColumns_ = 0;                                   // that are allocated
  int64_t setColumns_ = 0;                                   // of a set of sums, if there are several
  tile::MmaOp passedProduct_;                  // whose sums a part of the roles passes to another
  Value tensorMemory_, commits_;               // its address (i32); pointer to the number of commits
  bool mayLackBarrier_ = false;                // the operation that is being lowered follows a barrier
  bool owesBarrier_ = false;                   // after the loop: what it has read may be overwritten then
  bool owesAfterTurn_ = false;                 // the same, after the turn has been passed
  Value thread_;                               // i32
  llvm::DenseMap<Value, Vec<Value>> elements_; // of tiles in registers, where they were computed
  int64_t products_ = 0, mostSums_ = 0;        // by matrix instructions; of a lane
  Vec<tile::MmaOp> boundedSums_;               // whose limits are obeyed after their loop
  int64_t register_ = 0;                       // that is being computed, its index and mode
  Vec<Value> at_;
  Mode mode_{false};
  llvm::DenseMap<Operation *, RegisterLoad> deferred_; // that the operation being lowered emits
  Value exchange_;                                     // pointer to shared memory
  mlir::scf::ForOp lanes_;
};

/// Adds the passes from Tile IR to the gpu.module that every vendor converts: `gpu-lower-tile`, then the
/// replacement of math functions by the project's own sequences, which need scalars.
void addKernelPasses(mlir::OpPassManager &pm, const GpuTarget &target);

} // namespace tessera::gpu
