// Visits the expressions of a syntax tree.
#pragma once
#include "compiler/frontend/syntax/Ast.h"

namespace tessera::frontend::ast {

/// Calls `visit(ExprPtr &)` for each expression that `e` is made of, `e` excluded.
template <class Visit> void forEachPart(Expr &e, Visit visit) {
  for (ExprPtr &item : e.items)
    if (item) visit(item);
  for (Keyword &k : e.keywords)
    visit(k.value);
}

/// Calls `visit(ExprPtr &)` for each whole expression of a statement and of the statements in it. The targets
/// of assignments and loops are among them.
template <class Visit> void forEachExpression(Stmt &s, Visit visit) {
  for (std::vector<ExprPtr> *list : {&s.decorators, &s.targets})
    for (ExprPtr &e : *list)
      visit(e);
  for (Parameter &p : s.parameters) {
    if (p.annotation) visit(p.annotation);
    if (p.defaultValue) visit(p.defaultValue);
  }
  if (s.returns) visit(s.returns);
  if (s.value) visit(s.value);
  for (Block *block : {&s.body, &s.orelse})
    for (Stmt &inner : *block)
      forEachExpression(inner, visit);
}

} // namespace tessera::frontend::ast
