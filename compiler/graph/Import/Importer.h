// State of one import. The members are defined by family: Import.cpp (the frame), ImportStatements.cpp,
// ImportExprs.cpp (dispatch, leaves, logic), ImportArith.cpp, ImportShapes.cpp, ImportMemory.cpp.
#pragma once
#include "compiler/frontend/program/Program.h"
#include "compiler/tile/IR/DTypes.h"
#include "compiler/tile/IR/TileBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace tessera::schedule {
class KernelFrame;
}

namespace tessera::graph {

using mlir::Location;
using mlir::RankedTensorType;
using mlir::SmallVector;
using mlir::Value;

/// Builds the body of one kernel. Lives for one call of importKernel; not thread-safe.
///
/// `values_` maps a symbol to its current SSA value. A region starts with a copy of it, so that what a branch
/// or loop defines is not visible outside; `carried` passes on the symbols that it assigns.
class KernelImporter {
public:
  KernelImporter(mlir::OpBuilder &builder, const frontend::Kernel &kernel, mlir::StringAttr file)
      : b_(builder), kernel_(kernel), file_(file), values_(kernel.symbols.size()) {}

  /// Creates the schedule.kernel at the builder's insertion point; returns false if a diagnostic was emitted.
  bool importKernel(mlir::StringRef numerics);

  Location locationOf(frontend::Range) const;

private:
  using Expr = frontend::Expr;
  using Stmt = frontend::Stmt;

  // Import.cpp
  mlir::Type argumentType(const frontend::Param &);
  int64_t specializedValue(const std::string &dim) const; // kDynamic if the dim is free
  void importGrid(schedule::KernelFrame &);
  void importBody();

  // ImportIndexExpr.cpp
  IndexExpr indexExpr(const Expr &);

  // ImportStatements.cpp
  void importBlock(const frontend::Block &);
  void importStmt(const Stmt &);
  void importFor(const Stmt &);
  void importWhile(const Stmt &);
  void importIf(const Stmt &);
  SmallVector<Value> carriedValues(const Stmt &);
  void setCarried(const Stmt &, mlir::ValueRange);

  // ImportExprs.cpp
  Value import(const Expr &);
  Value importLeaf(const Expr &);
  Value importLogic(const Expr &);
  Value importSelect(const Expr &);
  Value importAtomic(const Expr &);
  Value importGroup(const Expr &);

  // ImportArith.cpp
  Value importArith(const Expr &);
  Value importCompare(const Expr &);
  Value importFunction(const Expr &);

  // ImportShapes.cpp
  Value importShape(const Expr &);
  Value importReduction(const Expr &);
  Value importMma(const Expr &);
  Value importCausalMask(const Expr &);

  // ImportMemory.cpp
  Value importLoad(const Expr &);
  Value importBufferRead(const Expr &);
  void importStore(const Stmt &);
  /// Tiles of indices become tiles of the type index, unless they are kept.
  SmallVector<Value> importIndices(mlir::ArrayRef<frontend::ExprPtr>, bool keepTiles = false);

  // Small helpers
  mlir::Type typeOf(const frontend::Type &);
  Value emitUnimplemented(const Expr &, mlir::StringRef what);

  mlir::OpBuilder &b_;
  tile::TileBuilder tile_{b_}; // its location is that of what is being imported
  const frontend::Kernel &kernel_;
  mlir::StringAttr file_;
  std::vector<Value> values_;   // by SymbolId
  std::vector<Value> params_;   // by index into Kernel::params
  llvm::StringMap<Value> dims_; // index
  Value lane_;                  // i64, in a program written per lane
  bool failed_ = false;
};

} // namespace tessera::graph
