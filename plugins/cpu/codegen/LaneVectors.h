// Executes the lanes of a lane program as vectors: one vector instruction for an operation of many lanes, a
// scalar one for what is the same in all of them.
#pragma once
#include "plugins/cpu/codegen/LaneShapes.h"
#include "plugins/cpu/codegen/Lowering.h"

namespace tessera::cpu {

/// State of lowering one loop over lanes. Where lanes diverge, both sides of a branch are executed and a mask
/// (`active_`) says which lanes take part in loads, stores and atomics; a loop goes on while any lane does.
/// Other operations are executed for all lanes: none of them traps, divisions because a lane that does not
/// take part divides by 1.
class KernelLowering::LaneVectors {
public:
  /// `loop` is the loop with the attribute `tile.lanes`, for whose shapes canShareVector() holds.
  LaneVectors(KernelLowering &lowering, mlir::scf::ForOp loop, const LaneShapes &shapes);

  LogicalResult emit();

private:
  int64_t chooseWidth();

  // LaneVectors.cpp: the loop over vectors, and operations without memory
  LogicalResult emitSegments(Value lower, Value upper);
  /// Emits vectors for `count` lanes from `first` on, within which no quotient of shapes_.divisions()
  /// changes.
  LogicalResult emitSegment(Value first, Value count);
  LogicalResult emitVector(Value first, Value offset, Value mask);
  LogicalResult emitWholeVector(Value first, Value offset);
  /// Emits scalar code for `count` lanes from `first` on.
  LogicalResult emitOneByOne(Value first, Value count);
  /// The quotient or remainder in the current lane, or in the first one of the vector.
  Value quotientHere(Operation *division);
  LogicalResult lower(mlir::Block &);
  LogicalResult lower(Operation *);
  LogicalResult lowerArithmetic(Operation *);
  Value varyingArithmetic(Operation *);
  Value divideConsecutive(Operation *);

  /// The value in all lanes.
  Value vector(Value);
  /// The value in the form of `shape`: a vector, or that of lane 0.
  Value inForm(Value, LaneShape shape);
  /// Gives `v` a value in the form of its shape.
  void bind(Value v, Value formed);
  void bind(mlir::ValueRange values, mlir::ValueRange formed);
  Value iota(Type element);
  Value allLanes(bool value);
  Value anyOf(Value mask);
  Value allOf(Value mask);
  Value andMask(Value x, Value y) { return k_.both(x, y); }
  /// The bits of a mask as an integer of as many bits.
  Value bits(Value mask);

  // LaneCost.cpp
  struct Cost {
    double vector = 0, scalar = 0; // cycles per lane
  };
  bool isVectorFaster();
  bool hasTwoVersions(Operation *);
  Cost costOf(mlir::Block &);
  Cost costOf(Operation *);
  Cost costOfAccess(Value tensor, mlir::ValueRange indices, bool isStore);

  // LaneControl.cpp: branches and loops
  LogicalResult lower(mlir::scf::IfOp);
  LogicalResult lowerDivergent(mlir::scf::IfOp);
  LogicalResult lower(mlir::scf::ForOp);
  LogicalResult lowerDivergent(mlir::scf::ForOp);
  Value tripCounts(mlir::scf::ForOp, Value lower, Value upper);
  LogicalResult lower(mlir::scf::WhileOp);
  LogicalResult lowerDivergent(mlir::scf::WhileOp);

  // LaneInterior.cpp: vectors that need no masks
  /// Conditions of scalars that hold if all lanes, or none, fulfil a condition of the lanes; null: not known
  /// at the start of the vector.
  struct Decided {
    Value always, never;
  };
  bool isKnownAtStart(Value);
  Value atStart(Value);
  Decided decide(Value condition);
  Decided decide(mlir::arith::CmpIOp);
  Value isInside(Value tensor, mlir::ValueRange indices);
  Value interiorOf(mlir::Block &);
  /// The disjunction; a null operand is left out.
  Value either(Value, Value);

  // LaneMemory.cpp
  struct Index {
    Value source; // of Tile IR
    LaneShape shape;
    Value base; // in lane 0; null: of a varying index
  };
  /// The lanes whose element is inside the tensor and which are active.
  struct Inside {
    Value mask; // null: all lanes
    Value any;  // i1: if it does not hold, there are none; null: unknown
  };
  llvm::SmallVector<Index> indicesOf(mlir::ValueRange);
  /// The same without values, before there are any.
  llvm::SmallVector<Index> positionsOf(mlir::ValueRange);
  bool isKnownInside(const Index &, Value size);
  Inside inside(const View &, llvm::ArrayRef<Index>, bool promised);
  std::optional<int64_t> distance(const View &, llvm::ArrayRef<Index>);
  /// Are so many elements loaded, up to four for one, faster than gathered?
  static constexpr int64_t kMostInterleaved = 4;
  static bool isInterleaved(int64_t apart) { return apart >= 2 && apart <= kMostInterleaved; }
  Value firstAddress(const View &, llvm::ArrayRef<Index>, const Inside &);
  /// The elements of all lanes as one vector in memory.
  struct Neighbours {
    Value first;     // address of the one at the lowest address
    Value mask;      // in the order of memory; null: all lanes
    bool isReversed; // the last lane's element is the first in memory
  };
  /// Returns nullopt if the elements are not next to each other.
  std::optional<Neighbours> neighbours(const View &, llvm::ArrayRef<Index>, const Inside &);
  Value reversed(Value);
  Value addresses(const View &, llvm::ArrayRef<Index>);
  /// Emits `access` for a near index twice: as consecutive if it turns out to be so, and as it is.
  llvm::SmallVector<Value> versioned(llvm::ArrayRef<Index>, llvm::ArrayRef<Type> results,
                                     llvm::function_ref<Value(llvm::ArrayRef<Index>)> access);
  bool hasMaskedAccess(Type element);
  /// Emits two versions: for a mask that holds in all lanes, and for any.
  Value ifAllOf(Value mask, llvm::ArrayRef<Type> results, llvm::function_ref<Value(bool all)> emit);
  Value loadVector(const View &, llvm::ArrayRef<Index>, bool promised);
  Value loadInterleaved(const View &, llvm::ArrayRef<Index>, int64_t apart);
  void storeVector(const View &, llvm::ArrayRef<Index>, bool promised, Value value);
  LogicalResult lower(tile::LoadElemOp);
  LogicalResult lower(tile::StoreElemOp);
  LogicalResult lowerAtomic(Operation *);
  bool gather(tile::AtomicOp);
  /// Executes the operation for one active lane after the other, in their order.
  LogicalResult serialize(Operation *);
  Value variable(Type type);
  void beginGathering();
  void endGathering();

  // LaneRows.cpp: loops in which each lane walks a row of its own
  /// The accesses of a loop that are emitted for a block of steps at once; no steps: there are none.
  struct RowAccesses {
    int64_t steps = 0;
    llvm::SmallVector<tile::LoadElemOp> loads;
    llvm::SmallVector<tile::StoreElemOp> stores;
    bool isEmpty() const { return loads.empty() && stores.empty(); }
  };
  /// Are the elements of one lane in consecutive steps next to each other, and those of the lanes not?
  bool isAlongRow(mlir::scf::ForOp, Value tensor, mlir::ValueRange indices);
  RowAccesses rowAccesses(mlir::scf::ForOp);
  llvm::SmallVector<Value> rowAddresses(mlir::scf::ForOp, Value tensor, mlir::ValueRange indices);
  llvm::SmallVector<Value> loadRows(mlir::scf::ForOp, tile::LoadElemOp, int64_t steps);
  void storeRows(mlir::scf::ForOp, tile::StoreElemOp, llvm::SmallVector<Value> lines);
  LogicalResult lowerBlocks(mlir::scf::ForOp, const RowAccesses &);

  KernelLowering &k_;
  mlir::ImplicitLocOpBuilder &b_;
  mlir::scf::ForOp loop_;
  const LaneShapes &shapes_;
  const int64_t width_;                             // lanes of a vector
  bool isVector_ = false;                           // else lanes are executed one by one
  Value active_;                                    // vector<width x i1>; null: all lanes
  Value offset_;                                    // of the vector's first lane from that of the segment
  llvm::DenseMap<Value, Value> vectors_;            // of varying values
  llvm::DenseMap<Value, Value> steps_;              // of affine values whose step is no constant
  llvm::DenseMap<Operation *, Value> quotients_;    // of shapes_.divisions(), at the start of the segment
  llvm::MapVector<PrivateValue *, Value> gathered_; // vectors of partial results, in variables
  bool isInterior_ = false;                         // what follows holds in the vector:
  llvm::SmallPtrSet<Operation *, 8> unmasked_;      // accesses whose lanes are all inside
  llvm::DenseMap<Operation *, Value> decisions_;    // branches that all lanes take (true) or none
  llvm::DenseMap<Operation *, Value> loadedRows_;   // what loads of a block give in the current step
  llvm::DenseMap<Operation *, llvm::SmallVector<Value>> storedRows_; // what stores of a block got so far
};

} // namespace tessera::cpu
