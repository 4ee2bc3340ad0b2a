// The part of lowering below Tile IR that the code generators share: the walk over a tile.kernel, scalars,
// control flow, addresses, masks, and elements of tile values that are computed on the fly. A code generator
// derives from it and defines how the elements of a tile are iterated over.
//
// A tile value is either in the program's memory (row-major, at the offset the memory planner chose) or
// computed on the fly inside the loop nest of the op that consumes it. Lowering walks the program once; each
// op that must write memory emits one loop nest. Loops stay loops, so code size does not grow with tile
// sizes.
#pragma once
#include "compiler/layout/Products.h"
#include "compiler/tile/IR/Profiles.h"
#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/Transforms/IndexBounds.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SmallSet.h"
#include <optional>

namespace tessera::target {

/// Element type in registers: i16 for bf16, i8 for 8-, 6- and 4-bit floats, otherwise the type itself.
mlir::Type registerElement(mlir::Type element);

/// The integer type that holds a bool, a bf16, a narrower float or an unsigned integer in memory; i8 of
/// packed elements, whose addresses count half bytes.
mlir::Type inMemoryElement(mlir::Type element);

/// LLVM's memory order of an atomic, and the order it has if it changes nothing.
mlir::LLVM::AtomicOrdering ordering(tile::MemoryOrder order);
mlir::LLVM::AtomicOrdering failureOrdering(mlir::LLVM::AtomicOrdering success);

/// The attribute of a lowered function that holds its metadata document.
inline constexpr llvm::StringLiteral kMetadata = "target.metadata";

/// Is the value a splat of zero, possibly through broadcasts?
bool isZeroTile(mlir::Value v);

/// State of lowering one kernel. Not thread-safe; lives for one lowering.
///
/// `lanes` is the number of consecutive elements of a tile's last axis in a vector; 0 means one element as a
/// scalar.
class TileLowering {
public:
  virtual ~TileLowering() = default;

protected:
  TileLowering(tile::KernelOp kernel, llvm::StringRef backend)
      : kernel_(kernel), b_(kernel.getLoc(), kernel.getContext()), backend_(backend),
        permits_(permitsOf(kernel).value_or(NumericsPermissions())) {}

  using Value = mlir::Value;
  using Type = mlir::Type;
  using Operation = mlir::Operation;
  using LogicalResult = mlir::LogicalResult;
  using Indices = llvm::ArrayRef<Value>;
  template <typename T> using Vec = llvm::SmallVector<T>;

  /// A global tensor: data pointer, extents, and strides in elements.
  struct View {
    Value data;
    Vec<Value> sizes, strides;
    Type element; // of memory
  };
  /// A tile in scratch.
  struct Place {
    Value data;
    Vec<int64_t> shape;
    Type element;              // of values
    int64_t offset = -1;       // bytes into scratch
    layout::Swizzle swizzle{}; // of a matrix
    int64_t panel = 0;         // elements of a row in one panel (layout::panelBytes); 0: all of them
  };
  /// A rectangle of a view: its start per view dim, and the view dim of each tile axis.
  struct Window {
    View view;
    Vec<Value> starts;
    Vec<unsigned> dimOfAxis;
    Vec<int64_t> extents; // as the op has them
    bool inBounds;
    Vec<bool> nonNegative; // starts that are known not to be negative

    /// Are neighbours along the tile's last axis known to be neighbours in memory?
    bool isContiguous() const { return mlir::isConstantIntValue(view.strides[dimOfAxis.back()], 1); }
  };
  /// How a nest evaluates: with every window known to be inside its tensor and every mask full, or not. With
  /// a `count`, only that many leading lanes are inside and needed.
  struct Mode {
    bool inside;
    Value count = {};
  };
  /// A value of the expression that is being evaluated.
  struct Evaluated {
    Value value;
    Vec<Value> at;
    int64_t lanes;
    bool inside;
    mlir::Block *block;
    Value result;
  };
  /// The outermost one forgets what its expression has computed.
  struct EvaluatedScope {
    explicit EvaluatedScope(TileLowering &lowering) : lowering(lowering) { ++lowering.evaluatedDepth_; }
    ~EvaluatedScope() {
      if (--lowering.evaluatedDepth_ == 0) lowering.evaluated_.clear();
    }
    TileLowering &lowering;
  };
  using NestBody = llvm::function_ref<void(Indices, int64_t lanes)>;
  /// The elements of a nest between `lower` and `upper` along every axis, which need no masks if `condition`
  /// (null: true) holds.
  struct Interior {
    Vec<Value> lower, upper;
    Value condition;
  };
  /// The part of a tile that has to be computed: the elements before `ends`, one per axis (empty: all of the
  /// tile). They need no masks if `inside` holds (null: always), and those of the interior need none.
  struct Part {
    Vec<Value> ends;
    Value inside;
    std::optional<Interior> interior = {};

    /// How many vectors, or elements as scalars, `body` may compute at once where it needs no masks.
    int64_t vectors = 1;
    /// i1: each of these vectors is inside or outside of all tensors that `body` accesses (null: that is not
    /// known).
    Value inVectors = {};

    bool isWhole() const { return ends.empty() && !inside && !interior; }
  };
  using PartBody = llvm::function_ref<void(Indices, int64_t lanes, Mode)>;

  // ---- What a code generator defines

  /// Emits loops over the elements of `shape`; `body` computes `lanes` elements from an index on (0: one, as
  /// a scalar) and accesses no other element. Elements past `ends` (one per axis, at most `shape`, null for a
  /// whole axis; empty: all of it) may be skipped.
  virtual void nest(llvm::ArrayRef<int64_t> shape, int64_t lanes, NestBody body, Indices ends = {}) = 0;
  /// Emits a nest over part of a tile; `mode` says whether `body` is for masked or for unmasked elements.
  virtual void nestPart(llvm::ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) {
    nest(shape, lanes, [&](Indices at, int64_t width) { body(at, width, {part.isWhole()}); });
  }
  /// Returns how many vectors of the elements that `roots` compute (elements, where they are scalars) should
  /// be computed side by side: so that one waits for its results while another goes on, or because memory is
  /// accessed in wider pieces.
  virtual int64_t vectorsFor(mlir::ValueRange /*roots*/) { return 1; }
  /// Does a division of integers by zero, or one that overflows, end the program?
  virtual bool divisionTraps() const { return false; }
  /// `lanes` of a single element that others are copies of.
  virtual int64_t lanesOfOne() const { return 1; }
  /// i1: the rows of the window can be accessed in pieces as wide as `vectorsFor` says. Null if any can.
  virtual Value isAligned(const Window &) { return {}; }
  /// The bytes that `address`, of `lanes` elements in memory without a mask, is known to be a multiple of.
  virtual unsigned alignmentOf(Type element, int64_t /*lanes*/, Value /*address*/) const {
    return std::max(1u, inMemoryElement(element).getIntOrFloatBitWidth() / 8);
  }
  /// Does the first element of each vector of packed elements that is emitted now begin a byte?
  virtual bool beginsWithByte() const { return false; }
  /// Casts a value in the form of registers.
  virtual Value convert(Value v, DType from, DType to);
  /// Returns the part of a store's nest that needs no masks, if masks at the beginning of a tile make that
  /// worthwhile.
  virtual std::optional<Interior> interiorOf(tile::StoreOp, const Window &) { return std::nullopt; }
  /// Stores the first `count` elements of a vector, at most all of them. The element is not packed.
  virtual void storeLeading(Type element, Value vector, Value address, Value count) {
    store(element, vector, address,
          rangeMask(constant(0), {}, count, mlir::cast<mlir::VectorType>(vector.getType()).getDimSize(0)));
  }
  /// Stores a vector, all of whose elements are inside, to neighbouring elements of a tensor or buffer.
  virtual void storeWhole(const View &view, Value vector, Value address) {
    store(view.element, vector, address);
  }
  /// Returns `lanes` for a nest that computes `roots`.
  virtual int64_t lanesFor(mlir::ValueRange roots, llvm::ArrayRef<Type> more = {}) = 0;
  /// Emits `emit` under `condition` (null: true) and under its negation, or once for both.
  virtual void versioned(Value condition, llvm::function_ref<void(Mode)> emit) = 0;
  /// i1: each vector of `length` elements that the store computes is inside or outside of all tensors that it
  /// accesses. Null: that is not known, or does not pay.
  virtual Value areVectorsWhole(tile::StoreOp, const Window &, int64_t length) { return {}; }
  /// Runs `effect` once for the program, outside of loop nests.
  virtual void once(llvm::function_ref<void()> effect) = 0;
  /// The same for an effect with a result, which all threads of the program get.
  virtual Value onceValue(llvm::function_ref<Value()> effect) = 0;
  /// The observed part of an elementwise op whose tile is in memory.
  virtual Part partToCompute(Operation *op) { return {{}, insideCondition(op)}; }
  /// Emits a call of a function that all identical reads of a tensor share, conversions included. Returns
  /// false if this read needs a loop nest of its own.
  virtual bool callRead(Operation *, const Place &) { return false; }
  /// Ends per axis past which no element of `tile` is observed (null: a whole axis; empty: all is observed),
  /// as values that are known where `at` is lowered.
  virtual Vec<Value> observedEnds(Value, Operation *) { return {}; }
  /// The operation that uses the tile `op` computes lowers `op` itself.
  virtual bool isDeferred(Operation *) { return false; }
  /// Called before each operation of a block is lowered, also before its terminator.
  virtual void beforeOp(Operation *) {}
  /// Called after each operation of a block that is lowered.
  virtual void afterOp(Operation *) {}
  /// Called where the elements of the tile from `at` on are loaded, before they are.
  virtual void fetchAhead(tile::LoadOp, const Window &, Indices /*at*/) {}
  /// The program itself may write the tensor, so that reading an element counts as an effect.
  virtual bool mayChange(const View &) { return false; }
  /// May other programs or threads store one half of a byte while the other half is loaded? Then the load has
  /// to be atomic, as the store is.
  virtual bool loadsBesideStores() { return false; }
  /// Creates an scf.for over the lanes of a linear_id program.
  virtual LogicalResult lowerLanes(mlir::scf::ForOp) = 0;
  virtual LogicalResult lowerReduce(tile::ReduceOp) = 0;
  virtual LogicalResult lowerArgReduce(tile::ArgReduceOp) = 0;
  virtual LogicalResult lowerScan(tile::ScanOp) = 0;
  virtual LogicalResult lowerTranspose(tile::TransposeOp) = 0;
  virtual LogicalResult lowerMma(tile::MmaOp) = 0;
  virtual LogicalResult lowerConvert(tile::ConvertOp);
  virtual LogicalResult lowerPrefetch(tile::PrefetchOp) = 0;
  /// May a tile, or a buffer, be in memory in another order than row-major (tile::canSwizzle)?
  virtual bool swizzles() const { return false; }
  virtual void lowerBarrier() = 0;
  /// Ends a group of asynchronous copies, and completes all groups of this thread but the last `pending`. By
  /// default copies are done at once.
  virtual void commitCopies() {}
  virtual void awaitCopies(int64_t /*pending*/) {}
  /// One of tile.init_arrivals, expect_bytes, copy_box, store_box, await_bytes, arrive, await_turn and
  /// pass_turn.
  virtual LogicalResult lowerBoxes(Operation *op) { return notImplemented(op); }
  /// tile.commit_products or tile.take_sums.
  virtual LogicalResult lowerTensorSums(Operation *op) { return notImplemented(op); }
  virtual LogicalResult lowerRoles(tile::RolesOp op) { return notImplemented(op); }
  virtual LogicalResult lowerPrograms(tile::BlockProgramsOp op) { return notImplemented(op); }
  virtual Value groupInfo(tile::GroupInfoKind) = 0;
  virtual mlir::FailureOr<Value> groupReduce(tile::GroupReduceOp) = 0;
  /// LLVM's name of a synchronisation scope; empty is the whole system.
  virtual llvm::StringRef syncScope(tile::MemoryScope) = 0;
  /// Emits one atomic update of the element at `address` and returns the old value.
  virtual Value emitUpdate(tile::AtomicOp, Value address, Value value);

  // ---- TileLowering.cpp: arguments, dispatch, scalars

  /// Binds the kernel's arguments: `get` returns a pointer, a scalar in its register form, or an index.
  void bindKernelArguments(llvm::function_ref<Value(mlir::BlockArgument)> get);
  /// The value of an extent or a stride: a number, or a dim's argument.
  Value dimValue(llvm::StringRef text);
  void emitProgramIds(Value program);
  /// The positions of a program, by its number, on the axes of the grid.
  Vec<Value> programIdsOf(Value program);
  LogicalResult lowerBlock(mlir::Block &);
  LogicalResult lowerOp(Operation *);
  LogicalResult lowerScalarOp(Operation *);
  Value scalar(Value v) { return map_.lookup(v); }
  Value constant(int64_t v) { return mlir::arith::ConstantIndexOp::create(b_, v); }
  Vec<Value> constants(llvm::ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t v) { return constant(v); });
  }
  /// i1: both hold. Null means true.
  Value both(Value x, Value y) {
    return x && y ? mlir::arith::AndIOp::create(b_, x, y).getResult() : x ? x : y;
  }
  Value zeroOf(Type registerType);
  Value toI64(Value index);

  // Tiles in registers: SSA values that a thread holds.
  /// The types of these values: vectors of at most 8 elements, in the order of the layout's registers.
  Vec<Type> registerTypes(mlir::RankedTensorType);
  /// An operation whose result is in registers.
  virtual LogicalResult lowerInRegisters(Operation *op) { return notImplemented(op); }
  /// The element of a tile in registers that the current register of the result being computed needs.
  virtual Value heldElement(Value) { llvm_unreachable("no tiles are in registers"); }
  LogicalResult notImplemented(Operation *);

  // Control.cpp
  virtual LogicalResult lowerFor(mlir::scf::ForOp);
  /// Emits the loop with `inits` as its carried scalars or vectors. `body` returns their next values. Returns
  /// the last ones.
  Vec<Value> emitLoop(mlir::scf::ForOp, mlir::ValueRange inits,
                      llvm::function_ref<Vec<Value>(Value variable, mlir::ValueRange carried)> body);
  Value tripCount(Value lower, Value upper, Value step);
  void enterLanes(mlir::scf::ForOp, Value lane);
  LogicalResult lowerIf(mlir::scf::IfOp);
  LogicalResult lowerWhile(mlir::scf::WhileOp);
  Vec<Value> mappedScalars(mlir::ValueRange values);
  void bindArguments(mlir::ValueRange from, mlir::ValueRange scalars, llvm::ArrayRef<Place> places);
  void assignYields(Operation *terminator, mlir::ValueRange values, llvm::ArrayRef<Place> places);
  Vec<Place> placesOf(Operation *, mlir::ValueRange tiles);

  // Evaluate.cpp: elements of a tile value.
  /// A value that an expression uses several times is computed once per position.
  Value evaluate(Value v, Indices at, int64_t lanes, Mode mode);
  Value evaluateElementwise(Operation *, Indices at, int64_t lanes, Mode mode);
  Value evaluateBroadcast(tile::BroadcastOp, Indices at, int64_t lanes, Mode mode);
  Value evaluateMask(tile::MaskOp, Indices at, int64_t lanes, Mode mode);
  void guardDivision(Operation *op, mlir::OperationState &division);
  /// The word of Philox's output as i32, or as a uniform f32.
  Value evaluateRand(tile::RandOp, Value seed, Value offset, int64_t lanes);
  Value constantVector(mlir::DenseElementsAttr, Indices at, int64_t lanes);
  Value splat(Value scalar, int64_t lanes);
  Value lane(Value vector, int64_t i);
  Value laneIndices(Value first, int64_t lanes); // vector<lanes x i32>
  /// vector<lanes x element>, or the element itself, in register form.
  Type vectorOf(Type element, int64_t lanes);
  Value constantOf(Type type, mlir::Attribute element);
  /// i1: every window and mask of the expressions under `roots` is full, or full up to `ends` (one per axis
  /// of the roots). Null if that is known.
  Value insideCondition(mlir::ValueRange roots, Indices ends = {});
  Value insideCondition(Operation *computing, Indices ends = {});
  /// Operations whose conditions have been collected, up to ends (false) or for the whole tile.
  using Collected = llvm::SmallSet<std::pair<Operation *, bool>, 16>;
  void collectInside(Operation *op, Indices ends, Value &condition, Collected &seen);

  // Memory.cpp
  Window window(View, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents, bool inBounds);
  Window window(Value view, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents, bool inBounds);
  /// i1: the tile, cut to `ends` if there are any, is inside the tensor and aligned. Null if that is known.
  Value insideCondition(const Window &, Indices ends = {});
  /// The elements of the tile's axis along `dim` that are inside the tensor.
  tile::Interval present(const Window &, size_t dim);
  /// Where the elements of the tile inside the tensor end, per axis; empty if where they begin is not known.
  Vec<Value> windowEnds(const Window &);
  Value loadWindow(const Window &, Indices at, int64_t lanes, Mode mode);
  /// Loads a vector if the condition holds, else zeros.
  Value loadIf(Value condition, Type element, Value address, int64_t lanes);
  /// Stores the elements inside the tensor that are also between the bounds and under the flags, if there are
  /// any.
  void storeWindow(const Window &, Value vector, Indices at, Mode mode, mlir::ValueRange lower = {},
                   mlir::ValueRange upper = {}, Value flags = {});
  /// The elements inside the tensor per axis of the tile, and whether the window's other indices are inside
  /// it (null: it has none).
  struct Present {
    Vec<Value> lower, upper;
    Value row;
  };
  Present presentPart(const Window &);
  /// The elements inside the tensor that are also between the bounds of a store. All are: no lower and upper.
  Present storedPart(const Window &, mlir::ValueRange lower, mlir::ValueRange upper);
  Value windowAddress(const Window &, Indices at);
  Value stridedAddresses(Value first, Value stride, Type element, int64_t lanes);
  Value intervalMask(Indices lower, Indices upper, Indices at, int64_t lanes, Value row = {});
  Value boundsMask(mlir::ValueRange lower, mlir::ValueRange upper, Indices at, int64_t lanes);
  Value boundsFull(mlir::ValueRange lower, mlir::ValueRange upper, Indices ends);
  /// `ends`, cut to the elements before `upper`.
  void cutEnds(Vec<Value> &ends, mlir::ValueRange upper);
  Value rangeMask(Value first, Value lo, Value hi, int64_t lanes);
  /// The number of the `lanes` elements from `at` on between `lower`, which is 0 along the last axis, and
  /// `upper`, if `row` (null: true) holds; else 0.
  Value leadingCount(Indices lower, Indices upper, Indices at, int64_t lanes, Value row);
  Value loadPlace(const Place &, Indices at, int64_t lanes);
  void storePlace(const Place &, Value vector, Indices at);
  Value placeAddress(const Place &, Indices at);
  /// `memory` is the element's type in memory.
  Value load(Type memory, Value address, int64_t lanes, Value mask = {});
  void store(Type memory, Value vector, Value address, Value mask = {});
  /// The same for a vector of addresses, one per element. Of equal addresses the last lane's element is
  /// stored.
  Value loadLanes(Type memory, Value addresses, Value mask);
  /// The line of a tensor along a dim of stride 1: the index of an element, the number of elements, and an
  /// address that can be read.
  struct LinePart {
    Value first, size, data;
  };
  /// Loads `lanes` elements at a distance of `step` elements, the first of which is at `first`, by loads of
  /// vectors. Elements between them are read, none outside. Of those outside of `line`, if it is given, the
  /// result has zeros.
  Value loadStrided(Type memory, Value first, int64_t step, int64_t lanes, std::optional<LinePart> line = {});
  void storeLanes(Type memory, Value vector, Value addresses, Value mask);

  // Packed.cpp: the same of elements that share bytes. Their addresses count half bytes.
  Value halfByteAddress(Value data);
  /// The address of the byte that holds an element.
  Value byteAddress(Type memory, Value address);
  Value loadPacked(Type memory, Value address, int64_t lanes, Value mask);
  Value loadWholeBytes(Type memory, Value address, int64_t lanes);
  void storeWholeBytes(Value v, Value bytes);
  Value loadPackedLanes(Type memory, Value addresses, Value mask);
  Value loadHalfByte(Type memory, Value number, Type address, Value mask);
  void storePacked(Value v, Value address, Value mask);
  void storePackedLanes(Value vector, Value addresses, Value mask);
  void storeHalfByte(Value v, Value number, Type address);
  /// Emits a loop over the lanes in which a vector of flags is set, in order.
  void forEachLane(Value chosen, llvm::function_ref<void(Value lane)> body);

  Value address(Value base, Value elementIndex, Type element);
  void compute(Operation *);
  void computeWords(llvm::ArrayRef<tile::RandOp>);
  /// Tiles [.., n, 1]: vectors of them are elements along the axis before the last.
  bool isColumn(Value v, bool isRoot = false);
  int64_t columnLanes(llvm::ArrayRef<int64_t> shape, int64_t lanes);
  Vec<Value> inColumn(Indices at);
  /// Stores the value of `v` to the place where `at` needs it.
  void assign(Value v, const Place &, Operation *at);
  Place place(Value v);
  Place bufferPlace(Value buffer);
  /// Gives a matrix the order in which instructions read it.
  static void swizzle(Place &, Value);
  /// A kernel's tensor or a shared buffer.
  View viewOf(Value memory);
  Window bufferWindow(Value buffer, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents);
  virtual LogicalResult lowerStore(tile::StoreOp);
  bool storeMerged(tile::StoreOp, const Window &);

  // Gather.cpp
  /// Part of a row of a tile that is gathered or scattered: a window if its elements are next to each other
  /// in the tensor's last dim or are one element, else their addresses.
  struct Gathered {
    std::optional<Window> window;
    Vec<Value> at;   // position in the window
    Value addresses; // vector of pointers; of a strided gather the pointer to the first element
    Value mask; // which of them are inside the tensor; of a strided gather i1: all are, and at that distance
    Value base, offsets; // the addresses of lanes are `offsets` elements after `base`
    // Of a strided gather: i1, the indices are at that distance and the others inside; the index of the first
    // element, and the number of elements of its dim.
    Value isRegular, position, size;
  };
  /// `strided`, if given, describes a gather whose elements are to be read at a constant distance.
  Gathered gathered(Value memory, mlir::ValueRange indices, llvm::ArrayRef<int64_t> extents, Indices at,
                    int64_t lanes, std::optional<tile::StridedDim> strided = {});
  Value evaluateGather(tile::GatherOp, Indices at, int64_t lanes);
  Value indexAt(Value index, Indices at);
  Value loadRow(const Window &, Indices at, int64_t lanes);
  Value loadNeighbours(Type element, const Gathered &, int64_t lanes);
  LogicalResult lowerScatter(tile::ScatterOp);
  virtual LogicalResult lowerCopy(tile::CpAsyncOp);
  LogicalResult lowerBufferWrite(tile::BufferWriteOp);
  LogicalResult lowerLoadElem(tile::LoadElemOp);
  LogicalResult lowerStoreElem(tile::StoreElemOp);
  Value inRange(const View &, mlir::ValueRange indices);
  Value elementAddress(const View &, mlir::ValueRange indices);

  // Atomics.cpp
  LogicalResult lowerAtomic(Operation *);
  Value emitAtomic(Operation *, const View &, Value value, Value compare, mlir::ValueRange indices);

  LogicalResult lowerConcat(tile::ConcatOp);
  bool lowerInterleave(tile::ConcatOp);
  LogicalResult lowerFlip(tile::FlipOp);

  // Sort.cpp
  LogicalResult lowerSort(tile::SortOp);
  /// Exchanges elements `stride` apart, or at mirrored places of a group of 2 * `stride`, so that the smaller
  /// is first.
  void exchangePairs(const Place &, int64_t axis, Value stride, bool isMirrored, int64_t lanes);

  Value combine(tile::ReduceKind, bool isUnsigned, Value x, Value y);
  /// Joins the results of blocks or leaves of an order of fixed_reductions: 2i with 2i + 1, until one is
  /// left.
  static Value joinPairwise(Vec<Value> nodes, llvm::function_ref<Value(Value, Value)> combine);
  /// Refuses a reduction in such an order of more blocks than code is repeated for.
  static LogicalResult checkBlocks(tile::ReduceOp, llvm::StringRef backend);
  /// The neutral element: its combination with any x is x. In its register type.
  Value neutral(tile::ReduceKind, bool isUnsigned, Type type);
  /// The same as an attribute of the element type; `element` is an integer or a float with infinities.
  mlir::TypedAttr neutralAttr(tile::ReduceKind, bool isUnsigned, Type element);
  /// i1: `x` is a better extreme than `best`, an earlier element. The first NaN wins.
  Value better(tile::ArgReduceOp, Value x, Value best);

  tile::KernelOp kernel_;
  mlir::ImplicitLocOpBuilder b_;
  Vec<Evaluated> evaluated_; // what the outermost evaluation has computed so far
  int evaluatedDepth_ = 0;
  llvm::StringRef backend_; // in diagnostics
  NumericsPermissions permits_;
  /// Memory of the program: the places of shared buffers and of tiles, both from offset 0.
  Value buffers_, scratch_;
  Value programId_;
  Vec<Value> programIds_;
  Vec<Value> axisCounts_;
  mlir::IRMapping map_;                         // scalars
  llvm::DenseMap<Value, View> views_;           // kernel arguments
  llvm::DenseMap<Value, Place> carried_;        // tiles carried by or resulting from regions
  llvm::DenseMap<Value, Vec<Value>> registers_; // tiles in registers
  Value laneIndex_;                             // of the lane program being lowered
  Value laneLimit_;                             // a value that the lane index is known to be below
  bool vectorsAreWhole_ = false;                // vectors that may be outside of a tensor are as a whole
  Value laneActive_;                            // i1: the lane exists; null: always
};

} // namespace tessera::target
