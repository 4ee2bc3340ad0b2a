#include "compiler/schedule/Transforms/ProgramBuilder.h"
#include <algorithm>

namespace tessera::schedule {

using frontend::Expr;
using frontend::Stmt;
using frontend::Type;

void ProgramBuilder::at(mlir::Location location) {
  if (auto where = location->findInstanceOf<mlir::FileLineColLoc>())
    loc_ = {where.getLine(), where.getColumn(), where.getLine(), where.getColumn() + 1};
}

ExprPtr ProgramBuilder::make(Op op, Type type) {
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->type = std::move(type);
  e->loc = loc_;
  return e;
}

ExprPtr ProgramBuilder::binary(Op op, ExprPtr a, ExprPtr b) {
  Type type = a->type;
  return make(op, std::move(type), std::move(a), std::move(b));
}

ExprPtr ProgramBuilder::compare(Op op, ExprPtr a, ExprPtr b) {
  Type type = a->type;
  type.dtype = DType::Bool;
  return make(op, std::move(type), std::move(a), std::move(b));
}

ExprPtr ProgramBuilder::integer(int64_t value, DType dtype) {
  ExprPtr e = make(Op::ConstInt, scalar(dtype));
  e->intValue = value;
  return e;
}

ExprPtr ProgramBuilder::real(double value, DType dtype) {
  ExprPtr e = make(Op::ConstFloat, scalar(dtype));
  e->floatValue = value;
  return e;
}

ExprPtr ProgramBuilder::full(double value, DType dtype, const Shape &shape) {
  ExprPtr e = isFloat(dtype) ? real(value, dtype) : integer(static_cast<int64_t>(value), dtype);
  return shape.empty() ? std::move(e) : broadcast(std::move(e), shape);
}

ExprPtr ProgramBuilder::dim(const std::string &name) {
  ExprPtr e = make(Op::DimRef, scalar(DType::I64));
  e->text = name;
  return e;
}

ExprPtr ProgramBuilder::var(SymbolId id) {
  ExprPtr e = make(Op::Var, kernel_.symbols[static_cast<size_t>(id)].type);
  e->symbol = id;
  return e;
}

ExprPtr ProgramBuilder::cast(ExprPtr e, DType dtype) {
  if (e->type.dtype == dtype) return e;
  Type type = e->type;
  type.dtype = dtype;
  return make(Op::Cast, std::move(type), std::move(e));
}

ExprPtr ProgramBuilder::broadcast(ExprPtr e, const Shape &shape) {
  if (e->type.kind == Type::Tile && e->type.shape == shape) return e;
  Type type = tile(e->type.dtype, shape);
  return make(Op::Broadcast, std::move(type), std::move(e));
}

ExprPtr ProgramBuilder::expandDims(ExprPtr e, int64_t axis) {
  Type type = e->type;
  type.shape.insert(type.shape.begin() + axis, 1);
  ExprPtr out = make(Op::ExpandDims, std::move(type), std::move(e));
  out->ints = {axis};
  return out;
}

ExprPtr ProgramBuilder::reshape(ExprPtr e, const Shape &shape) {
  if (e->type.shape == shape) return e;
  Type type = tile(e->type.dtype, shape);
  return make(Op::Reshape, std::move(type), std::move(e));
}

ExprPtr ProgramBuilder::transpose(ExprPtr e) {
  Type type = e->type;
  std::swap(type.shape[type.shape.size() - 1], type.shape[type.shape.size() - 2]);
  return make(Op::Transpose, std::move(type), std::move(e));
}

ExprPtr ProgramBuilder::arange(ExprPtr start, int64_t extent) {
  return make(Op::Arange, tile(DType::I32, {extent}), cast(std::move(start), DType::I32));
}

ExprPtr ProgramBuilder::load(int param, std::vector<ExprPtr> starts, std::vector<int64_t> ints) {
  Shape shape;
  for (int64_t extent : ints)
    if (extent >= 0) shape.push_back(extent);
  DType dtype = kernel_.params[static_cast<size_t>(param)].dtype;
  ExprPtr e = shape.empty() ? make(Op::LoadElem, scalar(dtype)) : make(Op::LoadTile, tile(dtype, shape));
  e->param = param;
  e->args = std::move(starts);
  if (!shape.empty()) e->ints = std::move(ints);
  kernel_.params[static_cast<size_t>(param)].reads = true;
  return e;
}

SymbolId ProgramBuilder::symbol(const std::string &name, Type type) {
  kernel_.symbols.push_back({name, std::move(type), loc_});
  return static_cast<SymbolId>(kernel_.symbols.size() - 1);
}

SymbolId ProgramBuilder::assign(const std::string &name, ExprPtr value) {
  SymbolId id = symbol(name, value->type);
  rebind(id, std::move(value));
  return id;
}

void ProgramBuilder::rebind(SymbolId id, ExprPtr value) {
  Stmt s;
  s.kind = Stmt::Assign;
  s.loc = value->loc;
  s.symbol = id;
  s.exprs.push_back(std::move(value));
  block_->push_back(std::move(s));
}

void ProgramBuilder::store(int param, ExprPtr value, std::vector<ExprPtr> starts, std::vector<int64_t> ints) {
  Stmt s;
  bool isTile = std::any_of(ints.begin(), ints.end(), [](int64_t extent) { return extent >= 0; });
  s.kind = isTile ? Stmt::StoreTile : Stmt::StoreElem;
  s.loc = value->loc;
  s.param = param;
  s.exprs.push_back(std::move(value));
  for (ExprPtr &start : starts)
    s.exprs.push_back(std::move(start));
  if (isTile) s.ints = std::move(ints);
  block_->push_back(std::move(s));
  kernel_.params[static_cast<size_t>(param)].writes = true;
}

void ProgramBuilder::barrier() {
  Stmt s;
  s.kind = Stmt::Barrier;
  s.loc = loc_;
  block_->push_back(std::move(s));
}

void ProgramBuilder::loop(SymbolId var, ExprPtr lo, ExprPtr hi, int64_t step, std::vector<SymbolId> carried,
                          int64_t stages, frontend::Block body) {
  Stmt s;
  s.kind = Stmt::For;
  s.loc = loc_;
  s.symbol = var;
  s.exprs.push_back(std::move(lo));
  s.exprs.push_back(std::move(hi));
  s.exprs.push_back(integer(step));
  s.ints = {stages};
  s.carried = std::move(carried);
  s.body = std::move(body);
  block_->push_back(std::move(s));
}

void ProgramBuilder::branch(ExprPtr condition, std::vector<SymbolId> carried, frontend::Block body) {
  Stmt s;
  s.kind = Stmt::If;
  s.loc = loc_;
  s.exprs.push_back(std::move(condition));
  s.carried = std::move(carried);
  s.body = std::move(body);
  block_->push_back(std::move(s));
}

} // namespace tessera::schedule
