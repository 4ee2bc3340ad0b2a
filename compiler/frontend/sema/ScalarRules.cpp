// Functions of scalars and elements, Python's built-ins, math, and functions that only a loop or the top of a
// kernel may use.
#include "compiler/frontend/sema/CallRules.h"
#include "numerics/Functions.h"
#include <cmath>

namespace tessera::frontend::rules {

Value notInKernels(Elaborator &ctx, const KernelCall &a) {
  return ctx.fail(Code::E_UNIMPLEMENTED, a.loc,
                  std::string("TSR_UNIMPLEMENTED: the library op '") + a.function.name +
                      "' works on whole tensors and is not built into tile kernels",
                  a.function.elsewhere);
}

Value notInGraphs(Elaborator &ctx, GraphCall &a) {
  const char *hint = *a.function.elsewhere ? a.function.elsewhere : "write a @ts.kernel and call it";
  return ctx.fail(Code::E_GRAPH_OP, a.loc,
                  std::string("'") + a.function.name +
                      "' belongs to tile kernels and does not exist in a graph function",
                  hint);
}

Value notBuilt(Elaborator &ctx, GraphCall &a) {
  return ctx.fail(Code::E_UNIMPLEMENTED, a.loc,
                  std::string("TSR_UNIMPLEMENTED: the library op '") + a.function.name +
                      "' is declared, but not built yet");
}

Value asInKernels(Elaborator &ctx, GraphCall &a) { return ctx.kernelCall(a.source, a.function); }

Value floatFunction(Elaborator &ctx, const KernelCall &a) {
  return ctx.function(*a.function.op, ctx.floatOperand(ctx.evaluate(*a[0]), a.loc, a.function.name), a.loc);
}

Value binary(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.evaluate(*a[0]), y = ctx.evaluate(*a[1]);
  return ctx.binary(*a.function.op, std::move(x), std::move(y), a.loc);
}

Value sign(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.operand(*a[0]);
  if (x.isError()) return x;
  if (x.dtype == DType::Bool) return ctx.fail(Code::E_TYPE, a.loc, "'sign' takes numbers, not bool");
  const bool isReal = isFloat(x.dtype);
  auto number = [&](int v) {
    Value n = isReal ? Value::real(v) : Value::integer(v);
    return x.weak ? n : ctx.convert(std::move(n), x.dtype, a.loc);
  };
  // A NaN is neither, and stays.
  Value rest = isReal ? ctx.select(ctx.binary(Op::Eq, x, number(0), a.loc), number(0), x, a.loc) : number(0);
  if (!isUnsigned(x.dtype))
    rest = ctx.select(ctx.binary(Op::Lt, x, number(0), a.loc), number(-1), std::move(rest), a.loc);
  return ctx.select(ctx.binary(Op::Gt, x, number(0), a.loc), number(1), std::move(rest), a.loc);
}

Value clamp(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.evaluate(*a[0]), low = ctx.evaluate(*a[1]), high = ctx.evaluate(*a[2]);
  return ctx.binary(Op::Minimum, ctx.binary(Op::Maximum, std::move(x), std::move(low), a.loc),
                    std::move(high), a.loc);
}

Value floatTest(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.floatOperand(ctx.evaluate(*a[0]), a.loc, a.function.name);
  if (x.isError()) return x;
  if (a.function.id == FunctionId::IsNan) return ctx.binary(Op::Ne, x, x, a.loc);
  const Op relation = a.function.id == FunctionId::IsInf ? Op::Eq : Op::Lt;
  return ctx.binary(relation, ctx.function(Op::Abs, std::move(x), a.loc), Value::real(HUGE_VAL), a.loc);
}

Value floatFunction2(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.floatOperand(ctx.evaluate(*a[0]), a.loc, a.function.name);
  Value y = ctx.floatOperand(ctx.evaluate(*a[1]), a.loc, a.function.name);
  return ctx.binary(*a.function.op, std::move(x), std::move(y), a.loc);
}

namespace {

/// Returns an operand that is an integer; a literal is an i32.
Value integerOperand(Elaborator &ctx, const KernelCall &a, size_t index) {
  Value v = ctx.operand(*a[index]);
  if (v.isError()) return v;
  if (v.weak && !isFloat(v.dtype)) return ctx.cast(std::move(v), v.wide ? DType::I64 : DType::I32, a.loc);
  if (isFloat(v.dtype) || v.dtype == DType::Bool)
    return ctx.fail(Code::E_TYPE, a.loc,
                    std::string("'") + a.function.name + "' takes integers, not " + name(v.dtype));
  return v;
}

} // namespace

Value bitFunction(Elaborator &ctx, const KernelCall &a) {
  return ctx.function(*a.function.op, integerOperand(ctx, a, 0), a.loc);
}

Value umulhi(Elaborator &ctx, const KernelCall &a) {
  Value x = integerOperand(ctx, a, 0), y = integerOperand(ctx, a, 1);
  return ctx.binary(Op::UMulHi, std::move(x), std::move(y), a.loc);
}

Value bitcast(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.operand(*a[0]);
  std::optional<DType> to = ctx.staticDType(*a[1]);
  if (x.isError() || !to) return Value::error();
  if (x.weak)
    return ctx.fail(Code::E_TYPE, a.loc, "a literal has no bits", "give it a dtype first: ts.f32(1.0)");
  if (x.dtype == *to) return x;
  if (info(x.dtype).bits != info(*to).bits || x.dtype == DType::Bool || *to == DType::Bool)
    return ctx.fail(Code::E_TYPE, a.loc,
                    std::string("'bitcast' keeps the width: ") + name(x.dtype) + " has " +
                        std::to_string(info(x.dtype).bits) + " bits, " + name(*to) + " " +
                        std::to_string(info(*to).bits));
  Type type = x.type();
  type.dtype = *to;
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(x), a.loc));
  return Value::of(ctx.make(Op::Bitcast, type, a.loc, std::move(args)));
}

Value cdiv(Elaborator &ctx, const KernelCall &a) {
  Value x = ctx.operand(*a[0]), y = ctx.operand(*a[1]);
  return ctx.ceilDiv(std::move(x), std::move(y), a.loc);
}

Value abs(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value v = ctx.operand(*a[0]);
  if (v.isError()) return v;
  if (v.dtype == DType::Bool) return ctx.fail(Code::E_TYPE, loc, "'abs' takes numbers, not bool");
  if (v.isScalar() && v.isConst)
    if (std::optional<Value> folded = ctx.fold(Op::Abs, v, nullptr, loc)) return std::move(*folded);
  return ctx.function(Op::Abs, std::move(v), loc);
}

Value fma(Elaborator &ctx, const KernelCall &a) {
  const Range loc = a.loc;
  Value x = ctx.floatOperand(ctx.evaluate(*a[0]), loc, "fma"),
        y = ctx.floatOperand(ctx.evaluate(*a[1]), loc, "fma"),
        z = ctx.floatOperand(ctx.evaluate(*a[2]), loc, "fma");
  if (!ctx.unify(x, y, loc, "fma") || !ctx.unify(y, z, loc, "fma") || !ctx.unify(x, z, loc, "fma"))
    return Value::error();
  if (!ctx.broadcastPair(x, y, loc) || !ctx.broadcastPair(y, z, loc) || !ctx.broadcastPair(x, z, loc))
    return Value::error();
  bool weak = x.weak && y.weak && z.weak;
  Type type = x.type();
  std::vector<ExprPtr> args;
  args.push_back(ctx.take(std::move(x), loc));
  args.push_back(ctx.take(std::move(y), loc));
  args.push_back(ctx.take(std::move(z), loc));
  return Value::of(ctx.make(Op::Fma, type, loc, std::move(args)), weak);
}

Value context(Elaborator &, const KernelCall &) {
  Value v;
  v.kind = Value::Context;
  return v;
}

Value groupInfo(Elaborator &ctx, const KernelCall &a) {
  Value v =
      ctx.cast(Value::of(ctx.make(*a.function.op, {Type::Scalar, DType::I32, {}}, a.loc)), DType::I64, a.loc);
  return Value::extent(ctx.take(std::move(v), a.loc),
                       AtomTable::of(ctx.atoms_.intern(std::string("id:") + a.function.name, {}, false)));
}

Value linearId(Elaborator &ctx, const KernelCall &a) {
  if (ctx.gridForm_ != Elaborator::GridForm::None || !ctx.iterators_.empty())
    return ctx.fail(Code::E_GRID, a.loc,
                    "linear_id() is a grid of its own and cannot be combined with another",
                    "use either linear_id() or tile loops");
  if (!ctx.linearId_) ctx.linearId_ = a.loc;
  ExprPtr lane = ctx.make(Op::LaneId, {Type::Scalar, DType::I64, {}}, a.loc);
  int atom = ctx.atoms_.intern("lane", {}, false);
  if (!ctx.atomExprs_.count(atom)) ctx.atomExprs_[atom] = clone(*lane);
  return Value::extent(std::move(lane), AtomTable::of(atom));
}

Value loopHead(Elaborator &ctx, const KernelCall &a) {
  return ctx.fail(Code::E_GRID, a.loc,
                  std::string("'") + a.function.name + "' is the head of a for loop only",
                  std::string("write: for i in ts.tile.") + a.function.name + "(...):");
}

Value graphLoopHead(Elaborator &ctx, GraphCall &a) {
  return ctx.fail(Code::E_GRAPH_CONTROL, a.loc,
                  std::string("'") + a.function.name + "' is the head of a for loop only",
                  std::string("write: for i in ts.") + a.function.name + "(4):");
}

Value gridHead(Elaborator &ctx, const KernelCall &a) {
  return ctx.fail(Code::E_GRID, a.loc, "'grid' is assigned to its indices at the top of the kernel",
                  "write: i, j = ts.tile.grid(n, m)");
}

/// A function of math is folded on constants, with the bits of compiled code. On run-time scalars it is the
/// tile function of that name. A literal is computed as f64 and stays weak.
Value math(Elaborator &ctx, const KernelCall &a) {
  using functions::Function;
  const Range loc = a.loc;
  const Op op = *a.function.op;
  Value v = ctx.floatOperand(ctx.evaluate(*a[0]), loc, a.function.name);
  if (v.isError()) return v;
  auto functionOf = [](Op function) {
    switch (function) {
#define TSR_MATH(id, name)                                                                                   \
  case Op::id:                                                                                               \
    return Function::id;
#include "compiler/ops/Functions.def"
    default:
      return Function::Sqrt;
    }
  };
  const bool isWide = v.weak || v.dtype == DType::F64;
  if (!v.isScalar() || !v.isConst || (!isWide && v.dtype != DType::F32))
    return ctx.function(op, std::move(v), loc);
  const double x = v.floatValue;
  const Function f = functionOf(op);
  const double y = isWide ? functions::evaluate(f, x) : functions::evaluate(f, static_cast<float>(x));
  // as Python, which raises an error outside of the function's domain and at its poles
  const bool hasPole =
      op == Op::Log || op == Op::Log2 || op == Op::Log10 || op == Op::Log1p || op == Op::Atanh;
  if (v.weak && std::isfinite(x) && (std::isnan(y) || (hasPole && std::isinf(y))))
    return ctx.fail(Code::E_LITERAL_RANGE, loc,
                    std::string("math.") + a.function.name + " of this constant is not defined");
  return Value::real(y, v.dtype, v.weak);
}

/// math.floor and math.ceil, of constants.
Value rounding(Elaborator &ctx, const KernelCall &a) {
  Value v = ctx.floatOperand(ctx.evaluate(*a[0]), a.loc, a.function.name);
  if (v.isError()) return v;
  const bool isFloor = a.function.id == FunctionId::MathFloor;
  if (v.isScalar() && v.isConst && std::abs(v.floatValue) < 0x1p62)
    return Value::integer(static_cast<int64_t>(isFloor ? std::floor(v.floatValue) : std::ceil(v.floatValue)));
  return ctx.fail(Code::E_CONSTANT, a.loc, std::string("math.") + a.function.name + " takes a constant",
                  "divide integers with // or ts.cdiv");
}

Value python(Elaborator &ctx, const KernelCall &a) {
  const LanguageFunction &b = a.function;
  const Range loc = a.loc;
  Value v = ctx.evaluate(*a[0]);
  if (b.id == FunctionId::PyFloat && v.kind == Value::Str) {
    std::string s = v.text;
    for (char &c : s)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    bool negative = s.starts_with("-");
    if (s.starts_with("-") || s.starts_with("+")) s.erase(0, 1);
    double value = s == "inf" || s == "infinity" ? HUGE_VAL : NAN;
    if (s != "inf" && s != "infinity" && s != "nan")
      return ctx.fail(Code::E_TYPE, loc, "float('" + v.text + "') is not known",
                      "write float('inf'), float('-inf') or float('nan')");
    return Value::real(negative ? -value : value);
  }
  if (b.id == FunctionId::PyBool) return ctx.truth(std::move(v), loc);
  v = ctx.asOperand(std::move(v), loc);
  if (v.isError()) return v;
  if (v.isScalar() && v.isConst && v.weak) {
    if (b.id == FunctionId::PyFloat)
      return isFloat(v.dtype) ? std::move(v) : Value::real(static_cast<double>(v.intValue));
    if (!isFloat(v.dtype)) return v;
    if (std::abs(v.floatValue) < 0x1p62) return Value::integer(static_cast<int64_t>(v.floatValue));
    return ctx.fail(Code::E_LITERAL_RANGE, loc, "the constant does not fit in 64 bits");
  }
  return ctx.cast(std::move(v), b.id == FunctionId::PyFloat ? DType::F32 : DType::I32, loc);
}

} // namespace tessera::frontend::rules
