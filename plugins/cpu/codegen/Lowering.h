// tile.kernel -> one LLVM-callable function of vector, arith and scf operations on raw pointers: one thread
// runs a program, a vector of consecutive elements of a tile's last axis at a time.
//
// The function has the signature of tessera::CpuKernelFn: (values, begin, end, scratch).
#pragma once
#include "compiler/codegen/common/DemandedExtents.h"
#include "compiler/codegen/common/TileLowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plugins/cpu/codegen/CpuTarget.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::cpu {

/// Steps along its depth that a product takes in a turn, at most.
inline constexpr int64_t kProductTurn = 4;

/// Elements that the table of `tile.private` (TileBase.td) has at most.
inline constexpr int64_t kMostPrivateElements = 16384;

/// "f32", or "bf16.f32" where elements are converted.
std::string elementName(mlir::Type element, tile::CastOp cast);

/// State of lowering one kernel. Not thread-safe; lives for one call of lower().
class KernelLowering final : public target::TileLowering {
public:
  KernelLowering(tile::KernelOp kernel, int64_t vectorBytes)
      : TileLowering(kernel, "cpu"), vectorBytes_(vectorBytes), demanded_(kernel) {}

  /// Emits the function before the kernel op; fails with a diagnostic on what cannot be lowered.
  mlir::FailureOr<mlir::func::FuncOp> lower();

private:
  // Lowering.cpp: the frame of the function. A program is one thread: what happens once just happens, nothing
  // is outstanding at a barrier, and a group is one lane.
  Value emitArgument(mlir::BlockArgument);
  void once(llvm::function_ref<void()> effect) override { effect(); }
  Value onceValue(llvm::function_ref<Value()> effect) override { return effect(); }
  LogicalResult lowerLanes(mlir::scf::ForOp) override;
  void lowerBarrier() override {}
  Value groupInfo(tile::GroupInfoKind) override;
  mlir::FailureOr<Value> groupReduce(tile::GroupReduceOp op) override { return scalar(op.getInput()); }
  llvm::StringRef syncScope(tile::MemoryScope) override { return {}; }
  LogicalResult lowerPrefetch(tile::PrefetchOp) override;
  // PrivateTables.cpp: tables in scratch for small tensors, variables for single elements (`cpu-privatize`).
  struct PrivateTable {
    tile::AtomicOp first; // of the additions to its tensor
    Value inUse;          // i1: of this range of programs
    Value data, count;
  };
  struct PrivateValue {
    tile::AtomicOp first; // of the updates of its element
    Value variable;       // a pointer to it
    Value start;          // what it holds until the first update
  };
  /// Makes the variables; in the function's first block, where LLVM looks for what fits registers.
  void beginPrivateValues();
  /// Updates the elements by what the variables hold.
  void endPrivateValues();
  /// The variable of the update's element; privateValues_.end() if it has none.
  PrivateValue *privateValue(tile::AtomicOp);
  /// `old` after the update, which may be one of several that arrive in any order.
  Value updated(tile::AtomicOp, Value old, Value value);
  /// Updates the element at `address()` by the thread's `value`, unless that is `start` as yet.
  void flush(tile::AtomicOp, Value value, Value start, llvm::function_ref<Value()> address);
  /// Clears the tables of the kernel's tensors, where the programs from `begin` to `end` are worth it.
  void beginPrivateTables(Value begin, Value end);
  /// Adds them to the tensors.
  void endPrivateTables();
  Value emitUpdate(tile::AtomicOp, Value address, Value value) override;
  /// The private function `name` of the module; emitted by `body` the first time it is asked for.
  mlir::func::FuncOp sharedFunction(llvm::StringRef name, llvm::ArrayRef<Type> inputs,
                                    llvm::function_ref<void(mlir::func::FuncOp)> body);

  // Nest.cpp: loops over the elements of a shape.
  /// From `lo` to `hi`, and no further than `end` where one is given.
  void loop(int64_t lo, int64_t hi, int64_t step, llvm::function_ref<void(Value)> body, Value end = {});
  void nest(llvm::ArrayRef<int64_t> shape, int64_t lanes, NestBody body, Indices ends = {}) override;
  void nestPart(llvm::ArrayRef<int64_t> shape, int64_t lanes, const Part &part, PartBody body) override;
  Part partToCompute(Operation *op) override;
  /// Where the last whole step of those before `end` ends if `inside` holds (null: it does), else 0.
  Value wholeVectors(Value end, int64_t step, Value inside);
  /// The nest twice under `condition` when there is one: unmasked and masked.
  void versioned(Value condition, llvm::function_ref<void(Mode)> emit) override;
  /// The widest element of what is computed decides.
  int64_t lanesFor(mlir::ValueRange roots, llvm::ArrayRef<Type> more = {}) override;

  Vec<Value> observedEnds(Value tile, Operation *at) override;

  // Store.cpp
  void storeLeading(Type element, Value vector, Value address, Value count) override;
  /// Replaces the elements of a whole vector in scratch for which the mask holds.
  void replaceMasked(Type element, Value vector, Value address, Value mask);

  // Read.cpp
  bool callRead(Operation *, const Place &) override;
  /// `cast` null: elements stay as they are.
  mlir::func::FuncOp readFunction(tile::CastOp cast, Type element, const Place &to);

  // Reduce.cpp
  LogicalResult lowerReduce(tile::ReduceOp) override;
  LogicalResult lowerArgReduce(tile::ArgReduceOp) override;
  LogicalResult lowerScan(tile::ScanOp) override;
  Value foldLanes(tile::ReduceKind, bool isUnsigned, Value vector);
  /// What of a reduction's operand is not its neutral element.
  Part partOf(Value input, tile::ReduceKind, bool isUnsigned);
  /// Some results of a reduction, `lanes` or one each, and what of the axis they take.
  struct Line {
    Value end;    // of the axis; null: all of it, without masks
    Value inside; // no masks are needed before the end; null: never are
  };
  using LineBody = llvm::function_ref<Vec<Value>(Value at, mlir::ValueRange carried, Mode)>;
  /// `carried` after the steps of [from, to) that lie before the line's end.
  Vec<Value> alongLine(int64_t from, int64_t to, int64_t step, const Line &, Vec<Value> carried,
                       LineBody body);
  /// Computes the results of a reduction: `reduce` gives those at `at`, one vector for each of `widths`, or
  /// the one of a line along the last axis when there are none.
  bool isShort(Value v);
  Vec<Value> elementAt(Indices outer, int64_t axis, Value k, int64_t offset);
  using LineResults =
      llvm::function_ref<Vec<Value>(Indices at, llvm::ArrayRef<int64_t> widths, const Line &)>;
  void reduceLines(Value input, Value result, int64_t axis, int64_t lanes, const Part &, LineResults reduce);

  // Transpose.cpp
  LogicalResult lowerTranspose(tile::TransposeOp) override;

  // Mma.cpp
  LogicalResult lowerMma(tile::MmaOp) override;
  mlir::func::FuncOp productFunction(Place a, Place b, Place c, tile::FragmentAttr, bool limited, bool fresh);
  void emitProduct(const Place &a, const Place &b, const Place &c, tile::FragmentAttr,
                   mlir::ValueRange limits, bool fresh);
  /// Where the rows and columns of a product end that are more than zeros; null: with the tile.
  struct Ends {
    Value row, column;
  };
  void microKernel(const Place &a, const Place &b, const Place &c, Value row, Value column, int64_t rows,
                   llvm::ArrayRef<int64_t> groups, Value depth, int64_t unroll, bool fresh, const Ends &);
  Value multiplyAdd(Value x, Value y, Value sum);

  // Direct.cpp: products of few rows or columns, whose operands are read where they are.
  /// A factor in memory: a tensor, a shared buffer or a tile in scratch.
  struct Factor {
    Value data, rowStride, columnStride; // in elements
    Type element;                        // of memory
    tile::CastOp cast;                   // of the elements that are read; null: none
    Vec<Value> ends;                     // of its rows and columns inside the tensor; none: of the tile
  };
  std::optional<Factor> readInPlace(Value operand);
  /// How far products read the operand, which the factor gives, per axis; none: all of it may be read.
  Vec<Value> operandEnds(Value operand, const std::optional<Factor> &);
  bool isDeferred(Operation *) override;
  bool mayBeDirect(tile::MmaOp);
  /// Emits calls for products that need no operands in scratch, under the condition that this is one;
  /// `otherwise` emits the product of any other.
  LogicalResult lowerDirect(tile::MmaOp, const Place &c, llvm::ArrayRef<Value> ends,
                            llvm::function_ref<LogicalResult()> otherwise);
  Value sizeOf(tile::MmaOp, unsigned axis);
  Value readFactor(const Factor &, Value index, int64_t lanes, Value mask = {});
  mlir::func::FuncOp chainFunction(const Factor &a, const Factor &b, const Place &c);
  mlir::func::FuncOp dotFunction(const Factor &a, const Factor &b, const Place &c);
  void emitChainRow(const Factor &a, const Factor &b, const Place &c, Value columns, Value depth);
  void emitChainBlocks(const Factor &a, const Factor &b, const Place &c, Value rows, Value columns,
                       Value depth);
  Value roundDown(Value n, int64_t step);
  void upTo(Value from, Value end, int64_t step, llvm::function_ref<void(Value)> body);

  // Columns.cpp
  mlir::func::FuncOp columnsFunction(const Factor &a, const Factor &b, const Place &c);
  void emitColumns(const Factor &a, const Factor &b, const Place &c, Value rows, Value columns, Value depth);

  int64_t vectorBytes_;
  target::DemandedExtents demanded_;
  mlir::func::FuncOp function_;
  Value values_;
  /// Operands of products whose scratch was not filled much behind the tensor's end, and where that is.
  llvm::DenseMap<Value, Vec<Value>> partlyRead_;
  /// Operations that fill the scratch of a product's operand, where the product does not read it in place.
  llvm::SmallPtrSet<Operation *, 4> deferred_;
  llvm::MapVector<Value, PrivateTable> private_; // by view
  Vec<PrivateValue> privateValues_;
};

} // namespace tessera::cpu
