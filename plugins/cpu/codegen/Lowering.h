// Lowers a tile.kernel to one LLVM-callable function of vector, arith and scf operations on raw pointers: one
// thread runs a program and processes a vector of consecutive elements of a tile's last axis at a time.
//
// The function has the signature of tessera::CpuKernelFn: (values, begin, end, scratch).
#pragma once
#include "compiler/codegen/common/DemandedExtents.h"
#include "compiler/codegen/common/TileLowering.h"
#include "compiler/tile/IR/Product.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plugins/cpu/codegen/CpuTarget.h"
#include "llvm/ADT/MapVector.h"
#include <array>

namespace tessera::cpu {

/// The largest number of steps along its depth that a product takes per iteration.
inline constexpr int64_t kProductTurn = 4;

/// Of every x86-64 processor's caches.
inline constexpr int64_t kLineBytes = 64;

/// The vectors of a block of a product that reads its operands in place.
inline constexpr int64_t kChainVectors = 2;

/// The largest number of elements of a `tile.private` table (TileBase.td).
inline constexpr int64_t kMostPrivateElements = 16384;

/// Results of so many bytes are stored past the caches (docs/decisions/0146).
inline constexpr int64_t kNonTemporalBytes = 16 << 20;

/// Returns "f32", or "bf16.f32" if elements are converted.
std::string elementName(mlir::Type element, tile::CastOp cast);

/// Returns the bytes of scratch that the body of a product needs besides the epilogue's.
int64_t productScratch(const tile::Product &, mlir::Type element);

/// What blocks of a product do beside the multiplications.
struct BlockOptions {
  bool fresh = false; // C begins with zeros
  /// Fetches the elements of A that later blocks read: the rows of the blocks after the next, or, where the
  /// rows of A are adjacent in memory, the elements that are `depth` further along k.
  enum { Nothing, Rows, Depth } ahead = Nothing;
  bool wholeRows = false;  // rows of B may be read past the columns, as far as C has blocks of vectors
  bool allColumns = false; // C has all columns of its tile, which are whole blocks: nothing is masked
};

/// State of lowering one kernel. Not thread-safe; lives for one call of lower().
class KernelLowering final : public target::TileLowering {
public:
  KernelLowering(tile::KernelOp kernel, int64_t vectorBytes, bool pairsOfBf16)
      : TileLowering(kernel, "cpu"), vectorBytes_(vectorBytes), pairsOfBf16_(pairsOfBf16), demanded_(kernel) {
  }

  /// Emits the function before the kernel op. Fails with a diagnostic on operations that cannot be lowered.
  mlir::FailureOr<mlir::func::FuncOp> lower(llvm::StringRef symbol);
  /// The same for the entry of a kernel with a product: it calls the product's body, which is called
  /// `body`. `epilogue` is the function of the kernel; null if the body stores the results.
  mlir::FailureOr<mlir::func::FuncOp> lowerProduct(const tile::Product &, llvm::StringRef body,
                                                   mlir::func::FuncOp epilogue, int64_t epilogueScratch,
                                                   int64_t digitsOffset);

private:
  /// Declares a body of the archive of products.
  mlir::func::FuncOp declareBody(llvm::StringRef name, mlir::TypeRange inputs);

  // Lowering.cpp: the frame of the function. A program is one thread: effects that must happen once need no
  // guard, nothing is outstanding at a barrier, and a group is one lane.
  void beginFunction(llvm::StringRef symbol);
  /// `number` is the argument's position among those of a launch.
  Value emitArgument(mlir::BlockArgument, unsigned number);
  void once(llvm::function_ref<void()> effect) override { effect(); }
  Value onceValue(llvm::function_ref<Value()> effect) override { return effect(); }
  void lowerBarrier() override {}
  Value groupInfo(tile::GroupInfoKind) override;
  mlir::FailureOr<Value> groupReduce(tile::GroupReduceOp op) override { return scalar(op.getInput()); }
  llvm::StringRef syncScope(tile::MemoryScope) override { return {}; }
  LogicalResult lowerPrefetch(tile::PrefetchOp) override;
  // PrivateTables.cpp: tables in scratch for small tensors, variables for single elements (`cpu-privatize`).
  struct PrivateTable {
    tile::AtomicOp first; // the first of the atomic additions to its tensor
    Value inUse;          // i1: whether this range of programs uses it
    Value data, count;
  };
  struct PrivateValue {
    tile::AtomicOp first; // the first of the updates of its element
    Value variable;       // a pointer to it
    Value start;          // its contents before the first update
  };
  /// Creates the variables in the function's first block, where LLVM looks for variables to keep in
  /// registers.
  void beginPrivateValues();
  /// Updates the elements with the contents of the variables.
  void endPrivateValues();
  /// Returns the variable of the update's element, or privateValues_.end() if it has none.
  PrivateValue *privateValue(tile::AtomicOp);
  /// Returns `old` after the update. Several updates may arrive in any order.
  Value updated(tile::AtomicOp, Value old, Value value);
  /// Updates the element at `address()` with the thread's `value`, unless `value` still equals `start`.
  void flush(tile::AtomicOp, Value value, Value start, llvm::function_ref<Value()> address);
  /// Clears the tables of the kernel's tensors if they are worthwhile for the programs from `begin` to `end`.
  void beginPrivateTables(Value begin, Value end);
  /// Adds the tables to the tensors.
  void endPrivateTables();
  Value emitUpdate(tile::AtomicOp, Value address, Value value) override;
  /// Returns the private function `name` of the module; `body` emits it on the first request.
  mlir::func::FuncOp sharedFunction(llvm::StringRef name, llvm::ArrayRef<Type> inputs,
                                    llvm::function_ref<void(mlir::func::FuncOp)> body);

  // Nest.cpp: loops over the elements of a shape.
  /// Emits a loop from `lo` to `hi`, limited by `end` if given.
  void loop(int64_t lo, int64_t hi, int64_t step, llvm::function_ref<void(Value)> body, Value end = {});
  void nest(llvm::ArrayRef<int64_t> shape, int64_t lanes, NestBody body, Indices ends = {}) override;
  void nestPart(llvm::ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) override;
  /// The same where reads may begin before their tensor: vectors of the interior are not masked.
  void nestInterior(llvm::ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body);
  Part partToCompute(Operation *op) override;
  /// Returns the end of the last whole step before `end` if `inside` holds (null: it does), else 0.
  Value wholeVectors(Value end, int64_t step, Value inside = {});
  /// Emits the nest twice if there is a `condition`: unmasked and masked.
  void versioned(Value condition, llvm::function_ref<void(Mode)> emit) override;
  /// The widest element of the computation decides.
  int64_t vectorsFor(mlir::ValueRange roots) override;
  bool divisionTraps() const override { return true; }
  bool computesFunction(mlir::ValueRange roots);
  int64_t lanesFor(mlir::ValueRange roots, llvm::ArrayRef<Type> more = {}) override;

  Vec<Value> observedEnds(Value tile, Operation *at) override;

  // Interior.cpp
  std::optional<Interior> interiorOf(tile::StoreOp, const Window &) override;
  class InteriorBuilder;

  // Store.cpp
  void storeLeading(Type element, Value vector, Value address, Value count) override;
  /// Replaces those elements of a whole vector in scratch for which the mask holds.
  void replaceMasked(Type element, Value vector, Value address, Value mask);

  // NonTemporal.cpp: results that are larger than the caches.
  /// Finds out, before the first program, which results are stored past the caches.
  void beginNonTemporal();
  Value hasWholeLines(const View &);
  Value anyNonTemporal();
  /// Orders these stores before what follows the function.
  void endNonTemporal();
  void storeWhole(const View &, Value vector, Value address) override;

  // FetchAhead.cpp: rows of the next program.
  /// Finds out, before the first program, which loads fetch what the same load of the next program reads.
  void beginFetchAhead();
  void fetchAhead(tile::LoadOp, const Window &, Indices at) override;

  // Read.cpp
  bool callRead(Operation *, const Place &) override;
  /// A null `cast` means that elements are not converted.
  mlir::func::FuncOp readFunction(tile::CastOp cast, Type element, const Place &to);

  // Reduce.cpp
  LogicalResult lowerReduce(tile::ReduceOp) override;
  /// FixedReduce.cpp
  LogicalResult lowerFixedReduce(tile::ReduceOp);
  /// Histogram.cpp: lowers a sum that counts the elements of each bin. Returns false for other sums, and for
  /// few bins.
  bool lowerCount(tile::ReduceOp);
  LogicalResult lowerArgReduce(tile::ArgReduceOp) override;
  LogicalResult lowerScan(tile::ScanOp) override;
  void scanInVectors(tile::ScanOp, int64_t lanes);
  /// Transposes in registers (Transpose.cpp): element k of vector r becomes element r of vector k, in each
  /// group of as many lanes as there are vectors, a power of two.
  void transposeGroups(llvm::MutableArrayRef<Value> lines);
  /// Joins vectors of equal lengths, a power of two of them, to one.
  Value joined(Vec<Value> parts);
  /// Combines the lanes of a vector, whose number is a power of two: halves, lane by lane.
  Value foldLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine);
  Value foldLanes(tile::ReduceKind, bool isUnsigned, Value vector);
  /// Folds each of `vectors`, which are a power of two, as foldLanes does, and returns the results in order
  /// in vectors of at most as many lanes. One operation, which must be commutative, combines halves of two.
  Vec<Value> foldTogether(mlir::ArrayRef<Value> vectors, llvm::function_ref<Value(Value, Value)> combine);
  /// Returns the part of a reduction's operand that is not its neutral element.
  Part partOf(Value input, tile::ReduceKind, bool isUnsigned);
  /// One vector of results of a reduction, or a single result, and the part of the axis that they cover.
  struct Line {
    Value end;    // end of the axis; null: all of it, without masks
    Value inside; // if it holds, no masks are needed before the end; null: masks are always needed
  };
  using LineBody = llvm::function_ref<Vec<Value>(Value at, mlir::ValueRange carried, Mode)>;
  /// Returns `carried` after those steps of [from, to) that are before the line's end.
  Vec<Value> alongLine(int64_t from, int64_t to, int64_t step, const Line &, Vec<Value> carried,
                       LineBody body);
  using ChainBody = llvm::function_ref<Vec<Value>(Value at, mlir::ValueRange carried, Mode)>;
  /// As alongLine, with steps of several chains of `lanes` elements, which carry equally many values each.
  /// `body` takes the elements of one chain. If `inParts`, only those vectors of the last step that are
  /// needed are computed, and only the last of them with masks; that is more code.
  Vec<Value> alongChains(int64_t from, int64_t to, int64_t chains, int64_t lanes, const Line &, bool inParts,
                         Vec<Value> carried, ChainBody body);
  /// Returns whether at most four operations compute an element of `v` from memory.
  Vec<Value> elementAt(Indices outer, int64_t axis, Value k, int64_t offset);
  using LineResults =
      llvm::function_ref<Vec<Value>(Indices at, llvm::ArrayRef<int64_t> widths, const Line &)>;
  /// Computes the results of a reduction. `reduce` returns the results at `at`: one vector for each of
  /// `widths`, or, when `widths` is empty, the result of one line along the last axis.
  /// `reduceRows` returns the results of kRowsTogether rows along the last axis; null: each row by itself.
  using RowResults = llvm::function_ref<Value(Indices at, const Line &)>;
  void reduceLines(Value input, Value result, int64_t axis, int64_t lanes, const Part &, LineResults reduce,
                   RowResults reduceRows = {});

  // Transpose.cpp
  LogicalResult lowerTranspose(tile::TransposeOp) override;

  // Mma.cpp
  LogicalResult lowerMma(tile::MmaOp) override;
  mlir::func::FuncOp productFunction(Place a, Place b, Place c, tile::FragmentAttr, bool limited, bool fresh);
  void emitProduct(const Place &a, const Place &b, const Place &c, tile::FragmentAttr,
                   mlir::ValueRange limits, bool fresh);
  /// The ends of the rows and columns of a product that are not only zeros; null: the end of the tile.
  struct Ends {
    Value row, column;
  };
  void microKernel(const Place &a, const Place &b, const Place &c, Value row, Value column, int64_t rows,
                   llvm::ArrayRef<int64_t> groups, Value depth, int64_t unroll, bool fresh, const Ends &);
  Value widened(Value v, Type element);
  Value multiplyAdd(Value x, Value y, Value sum);
  Value multiplyAddPairs(Value x, Value y, Value sum);

  // Direct.cpp: products of few rows or columns, whose operands are read in place.
  /// A factor in memory: a tensor, a shared buffer or a tile in scratch.
  struct Factor {
    Value data, rowStride, columnStride; // in elements
    Type element;                        // element type in memory
    tile::CastOp cast;                   // conversion of the elements that are read; null: none
    // ends of its rows and columns inside the tensor; empty: those of the tile
    Vec<Value> ends;
  };
  std::optional<Factor> readInPlace(Value operand);
  /// Returns per axis how far products read the operand that the factor describes; empty: all of it may be
  /// read.
  Vec<Value> operandEnds(Value operand, const std::optional<Factor> &);
  bool isDeferred(Operation *) override;
  bool mayBeDirect(tile::MmaOp);
  bool multipliesPairs(tile::MmaOp) const;
  /// Emits calls for products that need no operands in scratch, under the condition that this is such a
  /// product; `otherwise` emits the product for all other cases.
  LogicalResult lowerDirect(tile::MmaOp, const Place &c, llvm::ArrayRef<Value> ends,
                            llvm::function_ref<LogicalResult()> otherwise);
  Value sizeOf(tile::MmaOp, unsigned axis);
  Value readFactor(const Factor &, Value index, int64_t lanes, Value mask = {});
  /// The conversion of elements that were loaded from the factor.
  Value converted(const Factor &, Value loaded);
  using EmitProduct = llvm::function_ref<void(const Factor &a, const Factor &b, const Place &c, Value rows,
                                              Value columns, Value depth)>;
  /// The function (a, its strides, b, the stride of its rows, c, rows, columns, depth) that `emit` fills. Its
  /// name has `kind`, the dtypes, the width of c and `suffix`.
  mlir::func::FuncOp productFunction(const char *kind, const char *suffix, const Factor &a, const Factor &b,
                                     const Place &c, EmitProduct emit);
  mlir::func::FuncOp chainFunction(const Factor &a, const Factor &b, const Place &c, BlockOptions);
  mlir::func::FuncOp dotFunction(const Factor &a, const Factor &b, const Place &c);
  void emitChainRow(const Factor &a, const Factor &b, const Place &c, Value columns, Value depth,
                    BlockOptions);
  void emitChainBlocks(const Factor &a, const Factor &b, const Place &c, Value rows, Value columns,
                       Value depth, BlockOptions);
  void chainBlocks(const Factor &a, const Factor &b, const Place &c, std::array<int64_t, 2> block,
                   std::array<Value, 2> range, Value rows, Value columns, Value depth,
                   BlockOptions options = {});
  /// Are elements of the factor, added to those of `c`, widened in pairs?
  bool readsWordsOfBf16(const Factor &, const Place &c) const;
  /// Returns the even and the odd ones of 2 * `lanes` elements of bf16 as f32.
  std::array<Value, 2> readWords(const Factor &, Value index, int64_t lanes);
  void prefetch(const Factor &, Value index, int32_t locality = 3);
  /// Vectors of so many elements of the factor that a cache line has; at least 1.
  static int64_t vectorsOfLine(const Factor &, int64_t lanes);
  // TransposedChain.cpp
  mlir::func::FuncOp transposedChainFunction(const Factor &a, const Factor &b, const Place &c);
  void transposedBlock(const Factor &a, const Factor &b, const Place &c, std::array<int64_t, 2> block,
                       Value row, Value column, Value rows, Value columns, Value depth);
  Vec<Value> loadTransposed(const Factor &, llvm::ArrayRef<Value> columns, Value k, int64_t part);
  Value roundDown(Value n, int64_t step);
  void upTo(Value from, Value end, int64_t step, llvm::function_ref<void(Value)> body);

  // Strided.cpp
  LogicalResult lowerStrided(tile::MmaOp);
  mlir::func::FuncOp stridedFunction(const Factor &a, const Factor &b, const Place &c, BlockOptions);

  // LaneVectors.cpp
  class LaneVectors;
  LogicalResult lowerLanes(mlir::scf::ForOp) override;

  llvm::SmallPtrSet<Operation *, 4> known_; // operations whose results the lanes' loop has computed

  // Columns.cpp
  mlir::func::FuncOp columnsFunction(const Factor &a, const Factor &b, const Place &c);
  void emitColumns(const Factor &a, const Factor &b, const Place &c, Value rows, Value columns, Value depth);

  int64_t vectorBytes_;
  bool pairsOfBf16_; // the archive of products has bodies for tiles of bf16
  target::DemandedExtents demanded_;
  mlir::func::FuncOp function_;
  Value values_;
  /// Operands of products whose scratch was filled only slightly past the tensor's end, with the position of
  /// that end.
  llvm::DenseMap<Value, Vec<Value>> partlyRead_;
  /// Operations that fill the scratch of a product's operand; emitted only if the product does not read it in
  /// place.
  llvm::SmallPtrSet<Operation *, 4> deferred_;
  llvm::MapVector<Value, PrivateTable> private_; // by view
  llvm::MapVector<Value, Value> nonTemporal_;    // i1 by a result's data: it is larger than the caches
  bool storesNonTemporal_ = false;
  llvm::DenseMap<Operation *, Value> ahead_; // bytes from a load's tile to that of the next program
  Vec<PrivateValue> privateValues_;
};

} // namespace tessera::cpu
