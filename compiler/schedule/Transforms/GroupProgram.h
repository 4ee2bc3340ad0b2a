// The tile program of a fusion group.
#pragma once
#include "compiler/schedule/IR/GroupSpace.h"
#include "compiler/schedule/Transforms/ProgramBuilder.h"

namespace tessera::schedule {

/// Turns one group into a kernel: one program computes a tile of the group's space. Lives for one group.
///
/// Inside a program every value is a tile over the last two axes of the space ([rows, columns]; only columns
/// when the space has one axis) with extent 1 where it does not vary; the other axes are indices. Members by
/// family: GroupProgram.cpp (frame, loads, stores), GroupReduce.cpp (passes over the reduced axis),
/// GroupElementwise.cpp, GroupMatmul.cpp, GroupAttention.cpp, GroupData.cpp (gather, concat).
class GroupProgram {
public:
  /// The verifier has accepted `group`. `name` is the kernel's.
  GroupProgram(GroupOp group, const std::string &name);

  /// Fails with an error for what has no program: it is not implemented, or something must be known at
  /// compile time. `dims` are the kernel's dims as expressions over the function's.
  mlir::LogicalResult build(frontend::Kernel &kernel, std::vector<std::string> &dims);

private:
  using Tensor = graph::TensorType;
  using Axes = GroupSpace::Axes;

  // GroupProgram.cpp
  void addParams();
  void addGrid();
  DType dtypeOf(mlir::Type) const;
  std::string dimName(mlir::StringAttr text);
  ExprPtr extent(mlir::Attribute dim);
  std::optional<int64_t> staticExtent(mlir::Attribute dim) const;
  ExprPtr expression(mlir::StringRef text);
  ExprPtr start(int64_t axis); // of this program's tile along an axis of the space
  int64_t tileExtent(int64_t axis);
  bool isTileAxis(int64_t axis) const { return axis == rows_ || axis == columns_; }
  size_t tileRank() const { return rows_ == GroupSpace::kFixed ? 1 : 2; }
  ExprPtr load(mlir::OpOperand &);
  ExprPtr loadTile(int param, Tensor, const Axes &, mlir::ArrayAttr offsets);
  void storeResult(unsigned result);
  void storeResult(unsigned result, ExprPtr tile);
  void storeAll();

  // GroupReduce.cpp
  /// A value that the last reductions and a result both need, and that is dear to compute: it lies in the
  /// result's memory in between.
  struct Kept {
    mlir::Value value;
    unsigned result;
  };
  void buildReduce();
  void runPass(llvm::ArrayRef<graph::ReduceOp> reductions, std::optional<Kept> kept);
  void readKept(const Kept &);
  std::optional<Kept> findKept(llvm::ArrayRef<graph::ReduceOp> last);
  ExprPtr neutral(graph::ReduceKind, DType, const Shape &);
  ExprPtr masked(mlir::OpOperand &input, graph::ReduceKind);
  bool isAbsentPastEdge(mlir::Value);
  ExprPtr anyOf(SymbolId);

  // GroupElementwise.cpp
  ExprPtr value(mlir::OpOperand &); // of an operand, as a tile or a scalar
  ExprPtr value(mlir::Value);       // computed in the group
  ExprPtr compute(mlir::Operation *);
  ExprPtr unary(graph::UnaryOp);
  ExprPtr gelu(ExprPtr x, bool byTanh);
  ExprPtr binary(graph::BinaryOp);
  ExprPtr select(graph::SelectOp);
  ExprPtr iota(graph::IotaOp);
  void match(std::initializer_list<ExprPtr *> operands); // broadcasts them to one shape

  // GroupMatmul.cpp, GroupAttention.cpp, GroupData.cpp
  void buildMatmul();
  ExprPtr matmulOperand(mlir::OpOperand &, bool transposed, bool isLeft, SymbolId k);
  mlir::LogicalResult buildAttention();
  void buildGather();
  void buildElementGather(graph::GatherOp);
  void buildConcat();

  GroupOp group_;
  GroupSpace space_;
  std::string name_;
  frontend::Kernel kernel_;
  ProgramBuilder b_{kernel_};
  mlir::DictionaryAttr specialized_;
  std::vector<std::pair<std::string, std::string>> dims_; // text over the function's dims, name in the kernel
  std::string missing_;                                   // an expression that the dims do not give
  llvm::DenseMap<mlir::Value, int> params_;               // block argument -> parameter
  std::vector<int> results_;                              // result -> parameter
  std::vector<ExprPtr> starts_;                           // by axis of the space; null: 0
  int64_t rows_ = GroupSpace::kFixed, columns_ = 0;       // the axes a tile spans
  frontend::Block *fixed_ = nullptr,
                  *varying_ = nullptr; // where values go that do (not) vary with a pass's loop
  llvm::DenseMap<mlir::Value, SymbolId> fixedValues_, varyingValues_;
};

} // namespace tessera::schedule
