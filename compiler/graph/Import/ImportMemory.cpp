// Imports accesses of global tensors and shared buffers.
#include "compiler/graph/Import/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Op;
using frontend::Stmt;

static bool hasTileType(Value v) { return isa<RankedTensorType>(v.getType()); }

SmallVector<Value> KernelImporter::importIndices(ArrayRef<frontend::ExprPtr> exprs, bool keepTiles) {
  SmallVector<Value> indices;
  for (const frontend::ExprPtr &expr : exprs) {
    Value index = import(*expr);
    tile_.at(locationOf(expr->loc));
    indices.push_back(hasTileType(index) && keepTiles ? index : tile_.toIndex(index));
  }
  return indices;
}

Value KernelImporter::importLoad(const Expr &e) {
  SmallVector<Value> starts = importIndices(e.args, /*keepTiles=*/true);
  tile_.at(locationOf(e.loc));
  return tile_.load(params_[e.param], starts, e.ints);
}

Value KernelImporter::importBufferRead(const Expr &e) {
  SmallVector<Value> starts = importIndices(e.args, /*keepTiles=*/true);
  tile_.at(locationOf(e.loc));
  if (llvm::any_of(starts, hasTileType)) return tile_.load(values_[e.symbol], starts, e.ints);
  DenseI64ArrayAttr extents = starts.empty() ? DenseI64ArrayAttr() : b_.getDenseI64ArrayAttr(e.ints);
  return tile::BufferReadOp::create(b_, tile_.loc(), typeOf(e.type), values_[e.symbol], starts, extents);
}

void KernelImporter::importStore(const Stmt &stmt) {
  Value value = import(*stmt.exprs[0]);
  SmallVector<Value> starts = importIndices(ArrayRef(stmt.exprs).drop_front(), /*keepTiles=*/true);
  tile_.at(locationOf(stmt.loc));
  if (stmt.kind != Stmt::BufferWrite) {
    tile_.store(value, params_[stmt.param], starts, stmt.ints);
  } else if (llvm::any_of(starts, hasTileType)) {
    tile_.store(value, values_[stmt.symbol], starts, stmt.ints);
  } else {
    DenseI64ArrayAttr extents = starts.empty() ? DenseI64ArrayAttr() : b_.getDenseI64ArrayAttr(stmt.ints);
    tile::BufferWriteOp::create(b_, tile_.loc(), value, values_[stmt.symbol], starts, extents);
  }
}

} // namespace tessera::graph
