// A short way to write a typed program by hand, for tests that start behind the frontend.
#pragma once
#include "compiler/frontend/program/Program.h"

namespace tessera::frontend::testing {

inline Type scalar(DType t) { return {Type::Scalar, t, {}}; }
inline Type tile(DType t, std::vector<int64_t> shape) { return {Type::Tile, t, std::move(shape)}; }

inline ExprPtr make(Op op, Type type) {
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->type = std::move(type);
  e->loc = {7, 5, 7, 9};
  return e;
}

template <class... Args> ExprPtr make(Op op, Type type, Args... args) {
  ExprPtr e = make(op, std::move(type));
  (e->args.push_back(std::move(args)), ...);
  return e;
}

inline ExprPtr withInts(ExprPtr e, std::vector<int64_t> ints) {
  return e->ints = std::move(ints), std::move(e);
}
inline ExprPtr integer(int64_t v, DType t = DType::I64) {
  ExprPtr e = make(Op::ConstInt, scalar(t));
  e->intValue = v;
  return e;
}
inline ExprPtr real(double v, DType t = DType::F32) {
  ExprPtr e = make(Op::ConstFloat, scalar(t));
  e->floatValue = v;
  return e;
}
inline ExprPtr var(SymbolId id, Type type) {
  ExprPtr e = make(Op::Var, std::move(type));
  e->symbol = id;
  return e;
}
inline ExprPtr dim(std::string name) {
  ExprPtr e = make(Op::DimRef, scalar(DType::I64));
  e->text = std::move(name);
  return e;
}
inline ExprPtr param(int index, Type type) {
  ExprPtr e = make(Op::ParamRef, std::move(type));
  e->param = index;
  return e;
}
inline ExprPtr load(int index, Type type, std::vector<int64_t> extents, std::vector<ExprPtr> starts) {
  ExprPtr e = make(type.kind == Type::Tile ? Op::LoadTile : Op::LoadElem, type);
  e->param = index;
  e->ints = std::move(extents);
  e->args = std::move(starts);
  return e;
}

inline Stmt statement(Stmt::Kind kind, std::vector<ExprPtr> exprs = {}) {
  Stmt s;
  s.kind = kind;
  s.loc = {9, 3, 9, 20};
  s.exprs = std::move(exprs);
  return s;
}

template <class... T> std::vector<ExprPtr> list(T... items) {
  std::vector<ExprPtr> v;
  (v.push_back(std::move(items)), ...);
  return v;
}

inline Stmt assign(SymbolId id, ExprPtr value) {
  Stmt s = statement(Stmt::Assign, list(std::move(value)));
  s.symbol = id;
  return s;
}
inline Stmt store(int index, ExprPtr value, std::vector<int64_t> extents, std::vector<ExprPtr> starts) {
  Stmt s = statement(extents.empty() ? Stmt::StoreElem : Stmt::StoreTile);
  s.param = index;
  s.ints = std::move(extents);
  s.exprs.push_back(std::move(value));
  for (ExprPtr &start : starts)
    s.exprs.push_back(std::move(start));
  return s;
}

inline Param tensor(std::string name, DType t, std::vector<Dim> dims, bool reads, bool writes) {
  Param p;
  p.name = std::move(name);
  p.loc = {3, 1, 3, 4};
  p.isTensor = true;
  p.dtype = t;
  p.dims = std::move(dims);
  p.reads = reads;
  p.writes = writes;
  return p;
}
inline Param scalarParam(std::string name, DType t) {
  Param p;
  p.name = std::move(name);
  p.dtype = t;
  return p;
}

} // namespace tessera::frontend::testing
