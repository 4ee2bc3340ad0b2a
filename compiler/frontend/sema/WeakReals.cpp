// Numbers that are computed from dims, ids, loop variables and literals, as `1.0 / N`: they take the dtype of
// the operand that they meet. They are computed in f32, unless that dtype is f64: then every operation of
// the expression is one of f64.
#include "compiler/frontend/sema/Elaborator.h"
#include <algorithm>

namespace tessera::frontend {

static bool isF32(const Expr &e) { return e.type.kind == Type::Scalar && e.type.dtype == DType::F32; }

/// Is it an expression that gives the same number wherever it is computed?
bool Elaborator::isWeakReal(const Expr &e, unsigned &budget) const {
  if (!isF32(e) || budget == 0) return false;
  --budget;
  if (e.op == Op::ConstFloat) return true;
  if (e.op == Op::Cast) return inlineable(*e.args[0], budget);
  return !e.args.empty() && e.op != Op::GroupReduce &&
         std::ranges::all_of(e.args, [&](const ExprPtr &a) { return isWeakReal(*a, budget); });
}

/// A variable of such a number is computed again where it is used, if that may be in f64.
bool Elaborator::isRepeated(const Value &v) const {
  unsigned budget = 24;
  return v.weak && hasDoubles() && isWeakReal(*v.expr, budget);
}

bool Elaborator::hasDoubles() const {
  return std::ranges::any_of(kernel_.params, [](const Param &p) { return p.dtype == DType::F64; });
}

ExprPtr inDouble(const Expr &e) {
  ExprPtr out = clone(e);
  auto widen = [](auto &&self, Expr &x) -> bool {
    if (!isF32(x)) return false;
    x.type.dtype = DType::F64;
    if (x.op == Op::ConstFloat) return true;
    if (x.op == Op::Cast) return isInt(x.args[0]->type.dtype);
    return !x.args.empty() && x.op != Op::GroupReduce &&
           std::ranges::all_of(x.args, [&](const ExprPtr &a) { return self(self, *a); });
  };
  return widen(widen, *out) ? std::move(out) : nullptr;
}

} // namespace tessera::frontend
