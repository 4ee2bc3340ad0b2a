// ts.assume: conditions on dims and integer parameters that every launch checks.
#include "compiler/frontend/program/LaunchExpr.h"
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>

namespace tessera::frontend {

namespace {

ExprPtr operation(Op op, ExprPtr a, ExprPtr b) {
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->type = {Type::Scalar, DType::I64, {}};
  e->loc = a->loc;
  e->args.push_back(std::move(a));
  if (b) e->args.push_back(std::move(b));
  return e;
}

ExprPtr one(Range loc) {
  auto e = std::make_unique<Expr>();
  e->op = Op::ConstInt;
  e->type = {Type::Scalar, DType::I64, {}};
  e->loc = loc;
  e->intValue = 1;
  return e;
}

/// An operand as a 64-bit integer.
ExprPtr wide(const Expr &e) {
  return e.type.dtype == DType::I64 ? clone(e) : operation(Op::Cast, clone(e), nullptr);
}

bool isConstant(const Expr &e, int64_t least) { return e.op == Op::ConstInt && e.intValue >= least; }

/// Returns an integer expression that is negative exactly where a comparison does not hold; null for any
/// other expression.
ExprPtr slackOf(const Expr &c) {
  if (c.args.size() != 2) return nullptr;
  const Expr &a = *c.args[0], &b = *c.args[1];
  auto minus = [](const Expr &from, const Expr &what) { return operation(Op::Sub, wide(from), wide(what)); };
  switch (c.op) {
  case Op::Le:
    return minus(b, a);
  case Op::Ge:
    return minus(a, b);
  case Op::Lt:
    return operation(Op::Sub, minus(b, a), one(c.loc));
  case Op::Gt:
    return operation(Op::Sub, minus(a, b), one(c.loc));
  case Op::Eq:
    // A remainder by a positive constant is not negative. The form -(a % n) is what passes recognise.
    for (const auto &[remainder, zero] : {std::pair(&a, &b), std::pair(&b, &a)})
      if (remainder->op == Op::Mod && isConstant(*remainder->args[1], 1) && zero->op == Op::ConstInt &&
          zero->intValue == 0)
        return operation(Op::Neg, wide(*remainder), nullptr);
    return operation(Op::Minimum, minus(a, b), minus(b, a));
  case Op::Ne:
    return operation(Op::Sub, operation(Op::Maximum, minus(a, b), minus(b, a)), one(c.loc));
  default:
    return nullptr;
  }
}

} // namespace

/// Adds the checks of a condition. Returns false if a launch cannot evaluate it.
bool Elaborator::addChecks(const Expr &condition, const std::string &says, Range loc) {
  if (condition.op == Op::LogicalAnd)
    return std::ranges::all_of(
        condition.args, [&](const ExprPtr &part) { return addChecks(*part, sink_.textOf(part->loc), loc); });
  auto isLaunchInteger = [](const ExprPtr &a) {
    return isInt(a->type.dtype) && a->type.dtype != DType::U64 && isLaunchExpr(*a);
  };
  ExprPtr slack = std::ranges::all_of(condition.args, isLaunchInteger) ? slackOf(condition) : nullptr;
  if (!slack) return false;
  if (!graph_) {
    kernel_.checks.push_back({std::move(slack), says});
    return true;
  }
  if (const std::optional<DimExpr> extent = graphDimOf(*slack))
    return graphRequire(*extent, Code::E_ASSUMPTION, says + " does not hold", loc);
  // It is of parameters, too, which may be negative and whose arithmetic may wrap.
  const std::optional<IndexExpr> value = launchExpr(*slack, [&](const Expr &leaf) {
    if (leaf.op == Op::ParamRef)
      return IndexExpr::symbol(kernel_.params[static_cast<size_t>(leaf.param)].name);
    return *IndexExpr::parse(graph_->extents.at(leaf.text).text()); // a canonical text
  });
  if (!value || value->checkText()) return false;
  graphCheck(value->text(), says + " does not hold", loc);
  return true;
}

Value rules::assume(Elaborator &ctx, const KernelCall &a) {
  const Value c = ctx.condition(*a[0]);
  if (c.isError()) return c;
  const Range loc = a[0]->loc;
  const std::string says = ctx.sink_.textOf(loc);
  if (c.isConst)
    return c.intValue
               ? Value::none()
               : ctx.fail(Code::E_ASSUMPTION, loc, says + " does not hold for the dims of this compilation");
  if (ctx.controlDepth_ > 0)
    return ctx.fail(Code::E_ASSUMPTION, loc, "a launch checks what is assumed, whatever path a program takes",
                    "move it before the loop or branch");
  const size_t before = ctx.sink_.count();
  if (!ctx.addChecks(*c.expr, says, loc) && ctx.sink_.count() == before)
    return ctx.fail(
        Code::E_ASSUMPTION, loc, "a launch cannot evaluate this condition",
        "compare dims, integer parameters other than u64, and integers; join comparisons by 'and'");
  return Value::none();
}

} // namespace tessera::frontend
