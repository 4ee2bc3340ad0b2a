// Operations of graph functions that are launches of kernels of the language's own, written as texts.
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/syntax/Parser.h"

namespace tessera::frontend {

namespace {

void moveTo(Range loc, ast::Expr *e) {
  if (!e) return;
  e->loc = loc;
  for (ast::ExprPtr &item : e->items)
    moveTo(loc, item.get());
  for (ast::Keyword &keyword : e->keywords) {
    keyword.loc = loc;
    moveTo(loc, keyword.value.get());
  }
}

/// Gives statements of a generated text the place of the call that they are generated for.
void moveTo(Range loc, ast::Block &block) {
  for (ast::Stmt &s : block) {
    s.loc = s.nameLoc = loc;
    moveTo(loc, s.value.get());
    moveTo(loc, s.returns.get());
    for (std::vector<ast::ExprPtr> *list : {&s.targets, &s.decorators})
      for (ast::ExprPtr &e : *list)
        moveTo(loc, e.get());
    for (ast::Parameter &p : s.parameters) {
      p.loc = loc;
      moveTo(loc, p.annotation.get());
      moveTo(loc, p.defaultValue.get());
    }
    moveTo(loc, s.body);
    moveTo(loc, s.orelse);
  }
}

} // namespace

Value Elaborator::graphLaunchOwn(const std::string &text, std::vector<std::optional<Value>> operands,
                                 const ast::Expr &call) {
  ModuleData module(text, "own");
  DiagnosticSink sink(module.source);
  module.body = parse(tokenize(module.source, sink), sink);
  moveTo(call.loc, module.body);
  resolveModule(module, sink);
  return graphLaunch(module, module.functions.back(), std::move(operands), call);
}

Value Elaborator::graphEmpty(DType dtype, Dims dims, Range loc) {
  return graphValue(GraphOp::Empty, dtype, std::move(dims), loc);
}

} // namespace tessera::frontend
