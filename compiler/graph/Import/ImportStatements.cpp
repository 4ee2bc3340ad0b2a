// Imports statements and structured control flow.
#include "compiler/graph/Import/Importer.h"
#include "compiler/schedule/IR/ScheduleDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tessera::graph {

using frontend::Stmt;

static tile::MemoryOrder orderOf(frontend::MemoryOrder order) {
  return static_cast<tile::MemoryOrder>(order);
}
static tile::MemoryScope scopeOf(frontend::MemoryScope scope) {
  return static_cast<tile::MemoryScope>(scope);
}

void KernelImporter::importBlock(const frontend::Block &block) {
  for (const Stmt &stmt : block)
    importStmt(stmt);
}

void KernelImporter::importStmt(const Stmt &stmt) {
  // Importing operands changes the location; the statement's own operations have the statement's location.
  auto here = [&] { return tile_.at(locationOf(stmt.loc)); };
  here();
  switch (stmt.kind) {
  case Stmt::Assign: {
    Value value = import(*stmt.exprs[0]);
    values_[stmt.symbol] = value;
    return;
  }
  case Stmt::StoreTile:
  case Stmt::StoreElem:
  case Stmt::BufferWrite:
    return importStore(stmt);
  case Stmt::CpAsync: {
    const Expr &load = *stmt.exprs[0];
    SmallVector<Value> starts = importIndices(load.args);
    tile::CpAsyncOp::create(b_, here(), params_[load.param], starts, b_.getDenseI64ArrayAttr(load.ints),
                            values_[stmt.symbol], UnitAttr());
    return;
  }
  case Stmt::CommitGroup:
    tile::CommitGroupOp::create(b_, tile_.loc());
    return;
  case Stmt::WaitGroup:
    tile::WaitGroupOp::create(b_, tile_.loc(), b_.getI64IntegerAttr(stmt.ints[0]));
    return;
  case Stmt::Barrier:
    tile::BarrierOp::create(b_, tile_.loc());
    return;
  case Stmt::Prefetch: {
    const Expr &load = *stmt.exprs[0];
    SmallVector<Value> starts = importIndices(load.args);
    tile::PrefetchOp::create(b_, here(), params_[load.param], starts, load.ints);
    return;
  }
  case Stmt::Fence:
    // A relaxed fence has no effect.
    if (stmt.order != frontend::MemoryOrder::Relaxed)
      tile::FenceOp::create(b_, tile_.loc(), orderOf(stmt.order), scopeOf(stmt.scope));
    return;
  case Stmt::Eval:
    import(*stmt.exprs[0]);
    return;
  case Stmt::For:
    return importFor(stmt);
  case Stmt::While:
    return importWhile(stmt);
  case Stmt::If:
    return importIf(stmt);
  }
}

SmallVector<Value> KernelImporter::carriedValues(const Stmt &stmt) {
  return llvm::map_to_vector(stmt.carried, [&](frontend::SymbolId id) { return values_[id]; });
}

void KernelImporter::setCarried(const Stmt &stmt, ValueRange values) {
  for (auto [id, value] : llvm::zip_equal(stmt.carried, values))
    values_[id] = value;
}

void KernelImporter::importFor(const Stmt &stmt) {
  Value lo = tile_.toIndex(import(*stmt.exprs[0])), hi = tile_.toIndex(import(*stmt.exprs[1]));
  const Expr &stepExpr = *stmt.exprs[2];
  Value step = tile_.toIndex(import(stepExpr));
  tile_.at(locationOf(stmt.loc));
  if (stepExpr.op != frontend::Op::ConstInt || stepExpr.intValue <= 0) {
    // scf.for requires a positive step. With any other step the loop has no iteration.
    Value one = arith::ConstantIndexOp::create(b_, tile_.loc(), 1),
          zero = arith::ConstantIndexOp::create(b_, tile_.loc(), 0);
    Value positive = arith::CmpIOp::create(b_, tile_.loc(), arith::CmpIPredicate::sgt, step, zero);
    hi = arith::SelectOp::create(b_, tile_.loc(), positive, hi, lo);
    step = arith::MaxSIOp::create(b_, tile_.loc(), step, one);
  }
  auto loop = tile_.loop(lo, hi, step, carriedValues(stmt), [&](Value variable, ValueRange carried) {
    auto outer = values_;
    values_[stmt.symbol] = tile_.toI64(variable);
    setCarried(stmt, carried);
    importBlock(stmt.body);
    SmallVector<Value> next = carriedValues(stmt);
    values_ = std::move(outer);
    return next;
  });
  if (!stmt.ints.empty() && stmt.ints[0] > 0)
    loop->setAttr(schedule::kMostStages, b_.getI64IntegerAttr(stmt.ints[0]));
  if (stmt.isReductionIterator) loop->setAttr(schedule::kIterator, b_.getStringAttr("reduction"));
  setCarried(stmt, loop.getResults());
}

void KernelImporter::importWhile(const Stmt &stmt) {
  SmallVector<Value> inits = carriedValues(stmt);
  auto loop = scf::WhileOp::create(b_, tile_.loc(), TypeRange(ValueRange(inits)), inits);
  {
    OpBuilder::InsertionGuard guard(b_);
    auto outer = values_;
    SmallVector<Location> locations(inits.size(), tile_.loc());
    Block *before = b_.createBlock(&loop.getBefore(), {}, loop.getOperandTypes(), locations);
    setCarried(stmt, before->getArguments());
    Value condition = import(*stmt.exprs[0]);
    scf::ConditionOp::create(b_, locationOf(stmt.loc), condition, before->getArguments());

    Block *after = b_.createBlock(&loop.getAfter(), {}, loop.getResultTypes(), locations);
    values_ = outer;
    setCarried(stmt, after->getArguments());
    importBlock(stmt.body);
    scf::YieldOp::create(b_, locationOf(stmt.loc), carriedValues(stmt));
    values_ = std::move(outer);
  }
  setCarried(stmt, loop.getResults());
}

void KernelImporter::importIf(const Stmt &stmt) {
  Value condition = import(*stmt.exprs[0]);
  tile_.at(locationOf(stmt.loc));
  SmallVector<Value> before = carriedValues(stmt);
  auto side = [&](const frontend::Block &block) {
    auto outer = values_;
    importBlock(block);
    SmallVector<Value> values = carriedValues(stmt);
    values_ = std::move(outer);
    return values;
  };
  auto then = [&] { return side(stmt.body); };
  auto otherwise = [&] { return side(stmt.orelse); };
  bool hasElse = !stmt.orelse.empty() || !before.empty();
  llvm::function_ref<SmallVector<Value>()> noElse = nullptr;
  auto branch = tile_.branch(condition, TypeRange(ValueRange(before)), then, hasElse ? otherwise : noElse);
  setCarried(stmt, branch.getResults());
}

} // namespace tessera::graph
