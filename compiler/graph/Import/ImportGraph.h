// State of the import of one graph function. The members are defined by family: ImportGraph.cpp (the frame),
// ImportGraphOps.cpp (one operation), ImportGraphLosses.cpp.
#pragma once
#include "compiler/frontend/program/GraphProgram.h"
#include "compiler/graph/IR/GraphDialect.h"
#include "mlir/IR/Builders.h"

namespace tessera::graph {

/// Builds the graph.func of one function. Lives for one call; not thread-safe.
class GraphImporter {
public:
  GraphImporter(mlir::OpBuilder &builder, const frontend::GraphFunction &function, mlir::StringAttr file)
      : b_(builder), function_(function), file_(file) {}

  /// Creates the graph.func at the builder's insertion point.
  void run(mlir::StringRef numerics);

private:
  using GraphValue = frontend::GraphValue;
  using Value = mlir::Value;

  // ImportGraph.cpp
  mlir::Location locationOf(frontend::Range) const;
  TensorType typeOf(const std::vector<frontend::Dim> &, DType);
  mlir::Type typeOf(const frontend::Param &);
  mlir::ArrayAttr describeChecks();
  /// Returns operand `i`; null if it was omitted.
  Value arg(const GraphValue &, size_t i) const;
  /// The same as a tensor: a scalar becomes a tensor of rank 0.
  Value tensorArg(const GraphValue &, size_t i);
  Value toTensor(Value);

  // ImportGraphOps.cpp
  Value import(const GraphValue &);
  mlir::ArrayAttr specializationsOf(const GraphValue &);
  Value importConstant(const GraphValue &);
  Value importElementwise(const GraphValue &);
  Value importReduction(const GraphValue &);
  mlir::Operation *importLaunch(const GraphValue &);

  // ImportGraphLosses.cpp
  Value importMse(const GraphValue &);
  Value importCrossEntropy(const GraphValue &);
  Value importLabelled(const GraphValue &, Value loss, Value weight, mlir::Attribute extent);

  mlir::OpBuilder &b_;
  const frontend::GraphFunction &function_;
  mlir::StringAttr file_;
  mlir::Location loc_ = mlir::UnknownLoc::get(b_.getContext()); // of the value being imported
  std::vector<Value> values_;                                   // by index into GraphFunction::values
  std::map<int, mlir::Operation *> launches_;                   // likewise
};

} // namespace tessera::graph
