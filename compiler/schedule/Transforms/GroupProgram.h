// Emits the tile program of a fusion group.
#pragma once
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/IR/KernelFrame.h"
#include "compiler/schedule/Transforms/GroupBuilder.h"

namespace tessera::schedule {

/// Does the reduction look for the largest element?
inline bool isLargest(graph::ReduceKind kind) {
  return kind == graph::ReduceKind::Max || kind == graph::ReduceKind::ArgMax;
}

/// Turns one group into a kernel before its function: one program computes a tile of the group's space. Lives
/// for one group.
///
/// Inside a program every value is a tile over the last two axes of the space ([rows, columns]; only columns
/// if the space has one axis) with extent 1 along an axis where it does not vary. The other axes are indices.
/// The members are defined by family: GroupProgram.cpp (frame, loads, stores), GroupReduce.cpp (passes over
/// the reduced axis), GroupPositions.cpp, GroupElementwise.cpp, GroupMatmul.cpp, GroupAttention.cpp,
/// GroupData.cpp (gather, pad, concat, scan).
class GroupProgram {
public:
  /// `group` must be verified. `name` is the kernel's. `bodies`: the dtypes of products that the target
  /// computes by bodies of its own. `fitsTile`: it runs only where the reduced axis does.
  GroupProgram(GroupOp group, llvm::StringRef name, llvm::ArrayRef<DType> bodies, bool fitsTile = false);

  /// Fails with an error if the group has no program: it is not implemented, or something must be known at
  /// compile time. `dims` receives the kernel's dims as expressions over the function's.
  mlir::LogicalResult build(llvm::SmallVectorImpl<mlir::Attribute> &dims);

private:
  using Tensor = graph::TensorType;
  using Axes = GroupSpace::Axes;

  // GroupProgram.cpp
  void addParams();
  void openGrid();
  DType dtypeOf(mlir::Type) const;
  std::string dimName(tile::IndexExprAttr);
  mlir::Value extentParam(tile::IndexExprAttr); // the scalar that holds a graph.dim of the function
  TypedValue extent(mlir::Attribute dim);
  IndexExpr extentExpr(mlir::Attribute dim); // over the dims and scalars of the kernel
  TypedValue dimValue(size_t dim);
  std::optional<int64_t> staticExtent(mlir::Attribute dim) const;
  TypedValue expression(tile::IndexExprAttr);
  mlir::Attribute partCount();    // of the reduced axis
  TypedValue start(int64_t axis); // of this program's tile along an axis of the space
  int64_t tileExtent(int64_t axis);
  bool isTileAxis(int64_t axis) const { return axis == rows_ || axis == columns_; }
  size_t tileRank() const { return rows_ == GroupSpace::kFixed ? 1 : 2; }
  TypedValue load(mlir::OpOperand &);
  /// `offsets` are added to the positions, or subtracted from them if the tensor begins after them.
  TypedValue loadTile(const TypedValue &view, Tensor, const Axes &, mlir::ArrayAttr offsets,
                      bool beginsAfter = false);
  void storeResult(unsigned result);
  void storeResult(unsigned result, const TypedValue &tile);
  void nameTile();
  void storeAll();

  // GroupReduce.cpp
  /// A value that the last reductions and a result both need, and that is expensive to compute. It is kept in
  /// the result's memory in between.
  struct Kept {
    mlir::Value value;
    unsigned result;
  };
  void buildReduce();
  /// The axis has no elements for the walk if `isElsewhere` holds.
  GroupBuilder::Values walk(const GroupBuilder::Values &inits,
                            llvm::function_ref<GroupBuilder::Values(const GroupBuilder::Values &)> body,
                            std::optional<TypedValue> isElsewhere = std::nullopt);
  void runPass(llvm::ArrayRef<graph::ReduceOp> reductions, std::optional<Kept> kept);
  void checkFixedOrders();
  TypedValue reduceTile(graph::ReduceOp, tile::ReduceKind, const TypedValue &, int64_t along);
  auto joinOf(graph::ReduceKind);
  bool isOneTile();
  void readKept(const Kept &);
  std::optional<Kept> findKept(llvm::ArrayRef<graph::ReduceOp> last);
  TypedValue neutral(graph::ReduceKind, DType, const Shape &);
  TypedValue masked(mlir::OpOperand &input, graph::ReduceKind);
  bool isAbsentPastEdge(mlir::Value);
  TypedValue anyOf(const TypedValue &);

  // GroupElementwise.cpp
  TypedValue value(mlir::OpOperand &); // of an operand, as a tile or a scalar
  TypedValue value(mlir::Value);       // computed in the group
  TypedValue compute(mlir::Operation *);
  TypedValue unary(graph::UnaryOp);
  TypedValue gelu(const TypedValue &x, bool byTanh);
  TypedValue binary(graph::BinaryOp);
  TypedValue refuse(mlir::Operation *, const TypedValue &);
  TypedValue select(graph::SelectOp);
  TypedValue iota(graph::IotaOp);
  void match(std::initializer_list<TypedValue *> operands); // broadcasts them to one shape

  // GroupPositions.cpp
  GroupBuilder::Values findInTile(llvm::ArrayRef<graph::ReduceOp>);
  GroupBuilder::Values findIfShort(llvm::ArrayRef<graph::ReduceOp>, const TypedValue &isShort,
                                   const GroupBuilder::Values &otherwise);
  void findAtOnce(llvm::ArrayRef<graph::ReduceOp>);

  // GroupMatmul.cpp, GroupAttention.cpp, GroupData.cpp
  void buildMatmul();
  /// Adds to `sum` the product of so many steps of k, from `k` on.
  using MultiplyFn =
      llvm::function_ref<TypedValue(const TypedValue &k, int64_t steps, const TypedValue &sum)>;
  TypedValue leaves(const TypedValue &depth, std::optional<int64_t> known, const TypedValue &zero,
                    MultiplyFn multiply);
  TypedValue matmulOperand(mlir::OpOperand &, bool transposed, bool isLeft, const TypedValue &k,
                           int64_t steps);
  mlir::LogicalResult buildAttention();
  GroupBuilder::Values
  keyRuns(const TypedValue &end, std::optional<int64_t> known, const GroupBuilder::Values &inits,
          llvm::function_ref<GroupBuilder::Values(const TypedValue &, const GroupBuilder::Values &)> step,
          llvm::function_ref<GroupBuilder::Values(const GroupBuilder::Values &, const GroupBuilder::Values &)>
              join);
  /// Where a read is along one axis of a tensor: at an index, or at the position along an axis of the space
  /// (none: 0) plus an offset.
  struct Position {
    std::optional<TypedValue> index;
    int64_t axis = GroupSpace::kFixed;
    std::optional<TypedValue> offset;
  };
  TypedValue readAt(const TypedValue &view, mlir::ArrayRef<Position>);
  TypedValue linePosition(int64_t axis, const std::optional<TypedValue> &offset);
  TypedValue gather(graph::GatherOp);
  TypedValue strided(graph::SliceOp);
  TypedValue pad(graph::PadOp);
  void buildConcat();
  void buildScan();

  GroupOp group_;
  const llvm::ArrayRef<DType> bodies_;
  GroupSpace space_;
  mlir::OpBuilder builder_;
  GroupBuilder b_{builder_};
  KernelFrame frame_;
  const bool fitsTile_;
  mlir::DictionaryAttr specialized_;
  struct Dim {
    tile::IndexExprAttr expr; // over the function's dims
    std::string name;         // in the kernel
    std::optional<int64_t> known;
    mlir::Value argument;
  };
  std::vector<Dim> dims_;
  std::string missing_;                             // an expression that the dims do not determine
  bool failed_ = false;                             // an error was reported
  llvm::DenseMap<mlir::Value, TypedValue> params_;  // block argument -> the kernel's
  std::vector<TypedValue> results_;                 // views
  std::vector<std::optional<TypedValue>> starts_;   // by axis of the space; none: 0
  std::optional<TypedValue> part_;                  // the number of this program's part of the reduced axis
  int64_t rows_ = GroupSpace::kFixed, columns_ = 0; // the axes a tile spans
  // Where values are emitted that vary, or do not vary, with a pass's loop.
  mlir::OpBuilder::InsertPoint fixed_, varying_;
  llvm::DenseMap<mlir::Value, TypedValue> fixedValues_, varyingValues_;
};

} // namespace tessera::schedule
