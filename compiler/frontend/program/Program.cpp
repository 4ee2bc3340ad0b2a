#include "compiler/frontend/program/Program.h"

namespace tessera::frontend {

ExprPtr clone(const Expr &e) {
  auto out = std::make_unique<Expr>();
  out->op = e.op;
  out->type = e.type;
  out->loc = e.loc;
  out->args.reserve(e.args.size());
  for (const ExprPtr &a : e.args)
    out->args.push_back(clone(*a));
  out->intValue = e.intValue;
  out->floatValue = e.floatValue;
  out->symbol = e.symbol;
  out->param = e.param;
  out->ints = e.ints;
  out->text = e.text;
  out->atomic = e.atomic;
  out->order = e.order;
  out->scope = e.scope;
  return out;
}

} // namespace tessera::frontend
