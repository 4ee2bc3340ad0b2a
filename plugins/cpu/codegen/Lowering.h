// tile.kernel -> one LLVM-callable function of vector, arith and scf operations on raw pointers.
//
// A tile value either lies in the program's scratch (row-major, at the offset the memory planner wrote) or is
// computed on the fly, a vector of consecutive elements of its last axis at a time, inside the loop nest of
// the op that consumes it. Lowering walks the program once; each op that must produce memory emits one loop
// nest. Loops stay loops: code size does not grow with tile sizes.
//
// The function has the signature of tessera::CpuKernelFn: (values, begin, end, scratch).
#pragma once
#include "compiler/tile/IR/TileDialect.h"
#include "compiler/tile/Transforms/TileUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "plugins/cpu/codegen/Target.h"

namespace tessera::cpu {

/// Element type in registers: bf16 as i16 bits, 8-, 6- and 4-bit floats as i8 bits, the type itself
/// otherwise.
mlir::Type registerElement(mlir::Type element);

/// State of lowering one kernel. Not thread-safe; lives for one call of lower().
class KernelLowering {
public:
  KernelLowering(tile::KernelOp kernel, int64_t vectorBytes)
      : kernel_(kernel), b_(kernel.getLoc(), kernel.getContext()), vectorBytes_(vectorBytes) {}

  /// Emits the function before the kernel op; fails with a diagnostic on what cannot be lowered.
  mlir::FailureOr<mlir::func::FuncOp> lower();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Operation = mlir::Operation;
  using Indices = llvm::ArrayRef<Value>;
  template <typename T> using Vec = llvm::SmallVector<T>;

  /// A global tensor: data pointer, extents and element strides.
  struct View {
    Value data;
    Vec<Value> sizes, strides;
    Type element; // of memory
  };
  /// A tile in scratch.
  struct Place {
    Value data;
    Vec<int64_t> shape;
    Type element;        // of values
    int64_t offset = -1; // bytes into scratch
  };
  /// A rectangle of a view: starts per view dim; which view dim each tile axis runs along.
  struct Window {
    View view;
    Vec<Value> starts;
    Vec<unsigned> dimOfAxis;
    Vec<int64_t> extents; // as the op says
    bool inBounds;
    Vec<bool> nonNegative; // starts known not to be negative
  };
  /// How a nest evaluates: with every window known to be inside its tensor and every mask full, or not.
  struct Mode {
    bool inside;
  };
  using NestBody = llvm::function_ref<void(Indices, int64_t lanes)>;

  // Lowering.cpp: the frame of the function, dispatch, scalars.
  void emitArguments();
  void emitProgramIds(Value program);
  mlir::LogicalResult lowerBlock(mlir::Block &);
  mlir::LogicalResult lowerOp(Operation *);
  mlir::LogicalResult lowerScalarOp(Operation *);
  Value scalar(Value v) { return map_.lookup(v); }
  Value constant(int64_t v) { return mlir::arith::ConstantIndexOp::create(b_, v); }
  Value zeroOf(Type registerType);
  /// Stack memory for one scalar, one per call of the function.
  Value scalarSlot(Type element);
  Value toI64(Value index);

  // Control.cpp
  mlir::LogicalResult lowerFor(mlir::scf::ForOp);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp);
  Vec<Value> mappedScalars(mlir::ValueRange values);
  void bindArguments(mlir::ValueRange from, mlir::ValueRange scalars, llvm::ArrayRef<Place> places);
  void assignYields(mlir::ValueRange values, llvm::ArrayRef<Place> places);
  Vec<Place> placesOf(Operation *, mlir::ValueRange tiles);

  // Evaluate.cpp: elements of a tile value as a vector.
  Value evaluate(Value v, Indices at, int64_t lanes, Mode mode);
  Value evaluateElementwise(Operation *, Indices at, int64_t lanes, Mode mode);
  Value evaluateBroadcast(tile::BroadcastOp, Indices at, int64_t lanes, Mode mode);
  Value evaluateMask(tile::MaskOp, Indices at, int64_t lanes, Mode mode);
  Value evaluateRand(tile::RandOp, Value offset, int64_t lanes);
  Value constantVector(mlir::DenseElementsAttr, Indices at, int64_t lanes);
  Value splat(Value scalar, int64_t lanes);
  Value lane(Value vector, int64_t i);
  Value laneIndices(Value first, int64_t lanes); // vector<lanes x i32>
  mlir::VectorType vectorOf(Type element, int64_t lanes);
  /// Vector lanes for a nest that computes `roots`: the widest element decides.
  int64_t lanesFor(mlir::ValueRange roots, llvm::ArrayRef<Type> more = {});
  /// i1: every window and mask of the expressions under `roots` is full; null when that is known.
  Value insideCondition(mlir::ValueRange roots);
  Value insideCondition(Operation *computing);
  void collectInside(Operation *op, Value &condition, llvm::SmallPtrSetImpl<Operation *> &seen);

  // Nest.cpp: loops over the elements of a shape.
  void loop(int64_t lo, int64_t hi, int64_t step, llvm::function_ref<void(Value)> body);
  void nest(llvm::ArrayRef<int64_t> shape, int64_t lanes, NestBody body);
  /// The nest twice under `condition` when there is one: unmasked and masked.
  void versioned(Value condition, llvm::function_ref<void(Mode)> emit);

  // Memory.cpp
  Window window(View, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents, bool inBounds);
  Window window(Value view, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents, bool inBounds);
  Value insideCondition(const Window &);
  Value loadWindow(const Window &, Indices at, int64_t lanes, Mode mode);
  void storeWindow(const Window &, Value vector, Indices at, Mode mode, Value extraMask);
  Value windowMask(const Window &, Indices at, int64_t lanes);
  Value windowAddress(const Window &, Indices at);
  Value stridedAddresses(Value first, Value stride, Type element, int64_t lanes);
  Value boundsMask(mlir::ValueRange lower, mlir::ValueRange upper, Indices at, int64_t lanes);
  Value boundsFull(mlir::ValueRange lower, mlir::ValueRange upper, llvm::ArrayRef<int64_t> shape);
  Value rangeMask(Value first, Value lo, Value hi, int64_t lanes);
  Value loadPlace(const Place &, Indices at, int64_t lanes);
  void storePlace(const Place &, Value vector, Indices at);
  Value placeAddress(const Place &, Indices at);
  Value load(Type element, Value address, int64_t lanes, Value mask = {});
  void store(Type element, Value vector, Value address, Value mask = {});
  Value address(Value base, Value elementIndex, Type element);
  void compute(Operation *);
  void assign(Value v, const Place &);
  Place place(Value v);
  Place bufferPlace(Value buffer);
  Window bufferWindow(Value buffer, mlir::ValueRange starts, llvm::ArrayRef<int64_t> extents);
  mlir::LogicalResult lowerStore(tile::StoreOp);
  mlir::LogicalResult lowerCopy(tile::CpAsyncOp);
  mlir::LogicalResult lowerBufferWrite(tile::BufferWriteOp);
  mlir::LogicalResult lowerPrefetch(tile::PrefetchOp);
  mlir::LogicalResult lowerLoadElem(tile::LoadElemOp);
  mlir::LogicalResult lowerStoreElem(tile::StoreElemOp);
  Value inRange(const View &, mlir::ValueRange indices);
  Value elementAddress(const View &, mlir::ValueRange indices);

  // Atomics.cpp
  mlir::LogicalResult lowerAtomic(Operation *);
  Value emitAtomic(Operation *, const View &, Value value, Value compare, mlir::ValueRange indices);

  // Reduce.cpp
  mlir::LogicalResult lowerReduce(tile::ReduceOp);
  mlir::LogicalResult lowerArgReduce(tile::ArgReduceOp);
  mlir::LogicalResult lowerScan(tile::ScanOp);
  mlir::LogicalResult lowerConcat(tile::ConcatOp);
  mlir::LogicalResult lowerTranspose(tile::TransposeOp);
  Value combine(tile::ReduceKind, bool isUnsigned, Value x, Value y);
  Value foldLanes(tile::ReduceKind, bool isUnsigned, Value vector);

  // Mma.cpp
  mlir::LogicalResult lowerMma(tile::MmaOp);
  void microKernel(const Place &a, const Place &b, const Place &c, Value row, Value column, int64_t rows,
                   llvm::ArrayRef<int64_t> groups, Value depth, int64_t unroll, bool fresh);

  tile::KernelOp kernel_;
  mlir::ImplicitLocOpBuilder b_;
  int64_t vectorBytes_;
  mlir::func::FuncOp function_;
  Value values_, scratch_, programId_;
  Vec<Value> programIds_;
  Vec<Value> axisCounts_;
  mlir::IRMapping map_;                  // scalars
  llvm::DenseMap<Value, View> views_;    // kernel arguments
  llvm::DenseMap<Value, Place> carried_; // tiles carried by or resulting from regions
  Value laneIndex_;                      // of the lane program being lowered
  Value laneLimit_;                      // a value the lane index is known to be below
};

/// Pass `cpu-lower-tile`: every tile.kernel becomes a func.func of the kernel's name that carries its
/// metadata as the attribute `target.metadata`; graph functions, which only the host needs, go away.
std::unique_ptr<mlir::Pass> createLowerTilePass(std::string targetName);

/// Pass `cpu-wrap-target`: the lowered functions move into one target.module with a target.kernel_info each.
std::unique_ptr<mlir::Pass> createWrapTargetPass(CpuTarget);

/// Makes the CPU's passes known by name (cpu-lower-tile, cpu-wrap-target for the host) to tools that read
/// pipelines.
void registerCpuPasses();

inline constexpr llvm::StringLiteral kMetadata = "target.metadata";

} // namespace tessera::cpu
