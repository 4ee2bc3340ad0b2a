// Arithmetic: weak values, promotion, broadcasting, constant folding.
#include "compiler/frontend/sema/Elaborator.h"
#include <bit>
#include <sstream>

namespace tessera::frontend {

namespace {

bool isBitwise(Op op) {
  return op == Op::And || op == Op::Or || op == Op::Xor || op == Op::Shl || op == Op::Shr;
}

const char *spelling(Op op) {
  switch (op) {
  case Op::Add:
    return "+";
  case Op::Sub:
    return "-";
  case Op::Mul:
    return "*";
  case Op::Div:
    return "/";
  case Op::FloorDiv:
    return "//";
  case Op::Mod:
    return "%";
  case Op::Pow:
    return "**";
  case Op::And:
    return "&";
  case Op::Or:
    return "|";
  case Op::Xor:
    return "^";
  case Op::Shl:
    return "<<";
  case Op::Shr:
    return ">>";
  case Op::Lt:
    return "<";
  case Op::Le:
    return "<=";
  case Op::Gt:
    return ">";
  case Op::Ge:
    return ">=";
  case Op::Eq:
    return "==";
  case Op::Ne:
    return "!=";
  case Op::Minimum:
    return "minimum";
  case Op::Maximum:
    return "maximum";
  default:
    return opName(op);
  }
}

} // namespace

/// Does the operation only move or compare elements, so that it takes i4 and u4?
static bool takesPacked(Op op) {
  switch (op) {
  case Op::ConstInt:
  case Op::Var:
  case Op::ParamRef: // declared with an error
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
  case Op::Eq:
  case Op::Ne:
  case Op::ExpandDims:
  case Op::SliceTile:
  case Op::LoadTile:
  case Op::LoadElem:
  case Op::BufferRead:
  case Op::Select:
  case Op::FillMasked:
  case Op::Keep:
  case Op::Cast:
  case Op::Broadcast:
  case Op::Reshape:
  case Op::Concat:
  case Op::Transpose:
  case Op::Flip:
    return true;
  default:
    return false;
  }
}

void Elaborator::refusePacked(DType dtype, std::string_view what, Range loc) {
  fail(Code::E_TYPE, loc, "'" + std::string(what) + "' does not compute with " + name(dtype),
       std::string("i4 and u4 are dtypes of memory; cast the elements: ts.") + (graph_ ? "" : "tile.") +
           "cast(x, ts." + (isUnsigned(dtype) ? "u8)" : "i8)"));
}

ExprPtr Elaborator::make(Op op, Type type, Range loc, std::vector<ExprPtr> args) {
  grow(loc);
  if (!takesPacked(op)) {
    auto packed = std::ranges::find_if(args, [](const ExprPtr &a) { return a && isPacked(a->type.dtype); });
    if (packed != args.end())
      refusePacked((*packed)->type.dtype, opName(op), loc);
    else if (isPacked(type.dtype) && type.kind != Type::None)
      refusePacked(type.dtype, opName(op), loc);
  }
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->type = std::move(type);
  e->loc = loc;
  e->args = std::move(args);
  return e;
}

ExprPtr Elaborator::constInt(int64_t v, Range loc, DType t) {
  ExprPtr e = make(Op::ConstInt, {Type::Scalar, t, {}}, loc);
  e->intValue = v;
  return e;
}

/// Returns the expression of a scalar or tile; a constant becomes a leaf.
ExprPtr Elaborator::take(Value v, Range loc) {
  if (v.expr) return std::move(v.expr);
  if (!isFloat(v.dtype)) return constInt(v.intValue, loc, v.dtype);
  ExprPtr e = make(Op::ConstFloat, {Type::Scalar, v.dtype, {}}, loc);
  e->floatValue = v.floatValue;
  return e;
}

Value Elaborator::refuseLiteral(int64_t literal, DType t, Range loc) {
  return fail(Code::E_LITERAL_RANGE, loc, std::to_string(literal) + " does not fit in " + name(t),
              "cast the other operand to a wider dtype");
}

Value Elaborator::convert(Value v, DType to, Range loc) {
  if (v.isError()) return v;
  if (v.isScalar() && v.isConst && v.dtype != to && !isFloat(v.dtype) && !isFloat(to) &&
      !fits(v.intValue, to))
    return refuseLiteral(v.intValue, to, loc);
  if (v.weak && v.choice && isInt(to) && !v.isChoiceOf(to))
    return refuseLiteral(fits(v.choice->first, to) ? v.choice->second : v.choice->first, to, loc);
  return cast(std::move(v), to, loc);
}

Value Elaborator::cast(Value v, DType to, Range loc) {
  if (v.isError()) return v;
  if (v.weak && v.isRuntime() && v.isScalar() && v.dtype == DType::F32 && to == DType::F64)
    if (ExprPtr e = inDouble(*v.expr)) return Value::of(std::move(e));
  if (v.isGraph()) return graphCast(std::move(v), to, loc);
  if (v.isScalar() && v.isConst) return castConstant(v, to);
  if (v.dtype == to) {
    v.weak = false;
    return v;
  }
  if (v.isTile() && v.choice) return chooseAs(std::move(v), to, loc);
  Type type = v.type();
  type.dtype = to;
  // A form that is correct modulo the width of an integer is also correct modulo a smaller width.
  std::optional<Linear> linear;
  if (v.isIntScalar() && isInt(to)) linear = info(to).bits > info(v.dtype).bits ? exactForm(v) : v.linear;
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(v), loc));
  Value out = Value::of(make(Op::Cast, type, loc, std::move(args)));
  out.linear = std::move(linear);
  return out;
}

/// Gives a tile of choices between integer literals another dtype: casts the literals.
Value Elaborator::chooseAs(Value v, DType to, Range loc) {
  auto retype = [&](auto &&self, Expr &e) -> bool {
    if (e.op == Op::Select) {
      e.type.dtype = to;
      return self(self, *e.args[1]) && self(self, *e.args[2]);
    }
    if (e.op != Op::Broadcast || e.args[0]->op != Op::ConstInt) return false;
    Expr &literal = *e.args[0];
    ExprPtr leaf = take(castConstant(Value::integer(literal.intValue), to), loc);
    literal.op = leaf->op;
    literal.intValue = leaf->intValue;
    literal.floatValue = leaf->floatValue;
    literal.type.dtype = e.type.dtype = to;
    return true;
  };
  if (ExprPtr e = clone(*v.expr); retype(retype, *e)) return Value::of(std::move(e));
  v.choice.reset(); // a variable
  return cast(std::move(v), to, loc);
}

Value Elaborator::strengthen(Value v) {
  if (!v.isScalar() || !v.isConst || !v.weak) return v;
  bool isNarrow = v.dtype == DType::I64 && !v.wide && fits(v.intValue, DType::I32);
  return castConstant(v, isNarrow ? DType::I32 : v.dtype);
}

/// Returns the narrowest dtype that holds the values of both, or the nearest to it; for hints.
static DType commonDType(DType a, DType b) {
  auto holds = [](DType t, DType x) {
    const DTypeInfo &to = info(t), &from = info(x);
    if (from.cls == DTypeClass::Bool || t == x) return true;
    if (to.cls == DTypeClass::Float)
      return from.cls != DTypeClass::Float ||
             (from.mantissaBits <= to.mantissaBits && from.maxExponent <= to.maxExponent);
    return isInt(t) && from.cls != DTypeClass::Float && from.bits < to.bits &&
           (to.cls == DTypeClass::SignedInt || from.cls == to.cls);
  };
  for (DType t : {a, b})
    if (holds(t, a) && holds(t, b)) return t;
  for (DType t : {DType::I16, DType::I32, DType::I64, DType::F32})
    if (holds(t, a) && holds(t, b)) return t;
  return DType::F64;
}

Value Elaborator::where(Value c, Value x, Value y, Range conditionLoc, Range loc) {
  if (c.isError() || x.isError() || y.isError()) return Value::error();
  if (c.dtype != DType::Bool)
    return fail(Code::E_TYPE, conditionLoc, "the condition of 'where' is " + describe(c) + ", not bool",
                "compare it with something");
  return select(std::move(c), std::move(x), std::move(y), loc);
}

/// Converts two operands to one dtype, or reports that they do not mix.
bool Elaborator::unify(Value &a, Value &b, Range loc, const char *what) {
  if (a.isError() || b.isError()) return false;
  for (auto [v, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (v->isTile() && !v->wide && !v->choice) v->weak = false; // computed from a choice between literals
    v->weak |= v->yields && isFloat(other->dtype);
  }
  if (a.dtype == b.dtype) {
    bool weak = a.weak && b.weak;
    for (Value *v : {&a, &b}) // a literal beside a number of a dtype is rounded to that dtype
      if (v->weak && !weak && v->isConst) *v = castConstant(*v, v->dtype);
    a.weak = b.weak = weak;
    return true;
  }
  auto to = [&](Value &v, DType t) {
    const bool isRounded =
        v.weak && v.isRuntime() && v.isScalar() && v.dtype == DType::F32 && t == DType::F64;
    if (isRounded && !graph_ && !inDouble(*v.expr)) { // a variable of f32
      v.weak = false;
      fail(Code::E_TYPE_MIX, loc, std::string("'") + what + "' mixes " + describe(a) + " and " + describe(b),
           "bind the variable to a number of f64: ts.f64(...)");
      return false;
    }
    v = convert(std::move(v), t, loc);
    return !v.isError();
  };
  if (a.weak || b.weak) {
    // if both are weak, the integer is converted
    Value &weak = a.weak && !(b.weak && isFloat(a.dtype)) ? a : b;
    Value &other = &weak == &a ? b : a;
    bool bothWeak = a.weak && b.weak;
    if (weak.isWide() && !weak.isChoiceOf(other.dtype) && !bothWeak && isInt(other.dtype)) {
      weak.weak = false;
      return to(other, weak.dtype);
    }
    if (bothWeak && isFloat(other.dtype) && weak.isConst) {
      weak = Value::real(static_cast<double>(weak.intValue));
      return true;
    }
    bool legal = other.dtype != DType::Bool && (isFloat(other.dtype) || isInt(weak.dtype));
    if (legal) {
      if (!to(weak, other.dtype)) return false;
      a.weak = b.weak = bothWeak;
      return true;
    }
  } else {
    auto half = [](DType t) { return t == DType::F16 || t == DType::BF16; };
    if (isInt(a.dtype) && info(a.dtype).cls == info(b.dtype).cls)
      return info(a.dtype).bits < info(b.dtype).bits ? to(a, b.dtype) : to(b, a.dtype);
    if (half(a.dtype) && b.dtype == DType::F32) return to(a, DType::F32);
    if (half(b.dtype) && a.dtype == DType::F32) return to(b, DType::F32);
  }
  fail(Code::E_TYPE_MIX, loc, std::string("'") + what + "' mixes " + describe(a) + " and " + describe(b),
       mixHint(a, b));
  return false;
}

/// Says how to convert two operands to a dtype that preserves the values of both.
std::string Elaborator::mixHint(const Value &a, const Value &b) const {
  DType t = commonDType(a.dtype, b.dtype);
  for (const Value *v : {&a, &b})
    if (v->dtype != t && !v->text.empty() && !v->isGraph()) return literalHint(*v, t);
  std::string cast = std::string(" with ts.") + (graph_ ? "" : "tile.") + "cast(x, ts." + name(t) + ")";
  if (a.dtype != t && b.dtype != t) return "convert both" + cast;
  return std::string("convert the ") + name(a.dtype == t ? b.dtype : a.dtype) + cast;
}

/// For `acc = 0.0`: returns the binding of a bare literal with which the variable has dtype `t`. For a tile
/// that a loop changes: where it gets its dtype.
std::string Elaborator::literalHint(const Value &v, DType t) const {
  const std::string begins = "give '" + v.text + "' that dtype where it begins";
  if (v.isTile()) return begins + ", as with ts.tile.zeros(shape, ts." + name(t) + ")";
  std::ostringstream number;
  if (isFloat(v.dtype))
    number << "ts." << name(t) << "(" << v.floatValue << ")";
  else if (t == DType::F32)
    number << v.intValue << ".0";
  else
    number << "ts." << name(t) << "(" << v.intValue << ")";
  return begins + ": " + v.text + " = " + number.str();
}

Value Elaborator::expandDims(Value v, int axis, Range loc) {
  Type type = v.type();
  type.kind = Type::Tile;
  type.shape.insert(type.shape.begin() + axis, 1);
  std::vector<ExprPtr> args;
  bool weak = v.weak, wide = v.wide;
  args.push_back(take(std::move(v), loc));
  ExprPtr e = make(Op::ExpandDims, type, loc, std::move(args));
  e->ints = {axis};
  Value out = Value::of(std::move(e), weak);
  out.wide = wide;
  return out;
}

Value Elaborator::broadcastTo(Value v, const std::vector<int64_t> &shape, Range loc) {
  if (v.isError()) return v;
  if (v.isTile()) {
    bool ok = v.shape.size() <= shape.size();
    for (size_t i = 0; ok && i < v.shape.size(); ++i) {
      int64_t mine = v.shape[v.shape.size() - 1 - i], theirs = shape[shape.size() - 1 - i];
      ok = mine == theirs || mine == 1;
    }
    if (!ok)
      return fail(Code::E_SHAPE, loc,
                  "shape " + shapeText(v.shape) + " does not broadcast to " + shapeText(shape),
                  "shapes are aligned at their last axis; insert axes with x[:, None]");
    while (v.shape.size() < shape.size())
      v = expandDims(std::move(v), 0, loc);
    if (v.shape == shape) return v;
  }
  DType t = v.dtype;
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(v), loc));
  return Value::of(make(Op::Broadcast, {Type::Tile, t, shape}, loc, std::move(args)));
}

std::optional<std::vector<int64_t>> broadcastShape(const std::vector<int64_t> &a,
                                                   const std::vector<int64_t> &b) {
  std::vector<int64_t> shape(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

bool Elaborator::broadcastPair(Value &a, Value &b, Range loc) {
  if (a.isError() || b.isError()) return false;
  if (!a.isTile() && !b.isTile()) return true;
  std::optional<std::vector<int64_t>> shape = broadcastShape(a.shape, b.shape);
  if (!shape) {
    fail(Code::E_SHAPE, loc,
         "shapes " + shapeText(a.shape) + " and " + shapeText(b.shape) + " do not broadcast",
         "shapes are aligned at their last axis; insert axes with x[:, None]");
    return false;
  }
  if (!checkTileSize(*shape, loc)) return false;
  a = broadcastTo(std::move(a), *shape, loc);
  b = broadcastTo(std::move(b), *shape, loc);
  return true;
}

/// The result for two integers; nothing where it is undefined, or more than 64 bits hold.
static std::optional<int64_t> ofIntegers(Op op, int64_t x, int64_t y) {
  int64_t out = 0;
  const bool shifts = y >= 0 && y < 63;
  switch (op) {
  case Op::Add:
    return __builtin_add_overflow(x, y, &out) ? std::nullopt : std::optional(out);
  case Op::Sub:
    return __builtin_sub_overflow(x, y, &out) ? std::nullopt : std::optional(out);
  case Op::Mul:
    return __builtin_mul_overflow(x, y, &out) ? std::nullopt : std::optional(out);
  case Op::Shl:
    return !shifts || __builtin_mul_overflow(x, int64_t{1} << y, &out) ? std::nullopt : std::optional(out);
  case Op::Shr:
    return shifts ? std::optional(x >> y) : std::nullopt;
  case Op::Minimum:
    return std::min(x, y);
  case Op::Maximum:
    return std::max(x, y);
  default:
    return std::nullopt;
  }
}

/// Bounds of the results of a bitwise operation on integers within `x` and within `y`.
static std::pair<int64_t, int64_t> ofBits(Op op, std::pair<int64_t, int64_t> x,
                                          std::pair<int64_t, int64_t> y) {
  if (op == Op::And && (x.first >= 0 || y.first >= 0)) // no more than a side that is not negative
    return {0, x.first < 0 ? y.second : y.first < 0 ? x.second : std::min(x.second, y.second)};
  uint64_t bits = 0; // those that differ from the sign
  for (int64_t end : {x.first, x.second, y.first, y.second})
    bits |= static_cast<uint64_t>(end < 0 ? ~end : end);
  const auto most = static_cast<int64_t>(bits ? ~uint64_t{0} >> std::countl_zero(bits) : 0);
  return {x.first < 0 || y.first < 0 ? ~most : 0, most};
}

/// Bounds of the results for two choices between literals; nothing if a side is another value. Those of
/// operations that are monotonic on each side are results for the ends.
std::optional<std::pair<int64_t, int64_t>> Elaborator::choiceOf(Op op, const Value &a, const Value &b) {
  const auto x = literalsOf(a, a), y = literalsOf(b, b);
  if (!x || !y) return std::nullopt;
  if (op == Op::And || op == Op::Or || op == Op::Xor) return ofBits(op, *x, *y);
  std::optional<std::pair<int64_t, int64_t>> all;
  for (int64_t left : {x->first, x->second})
    for (int64_t right : {y->first, y->second}) {
      const std::optional<int64_t> result = ofIntegers(op, left, right);
      if (!result) return std::nullopt;
      all = all ? std::pair(std::min(all->first, *result), std::max(all->second, *result))
                : std::pair(*result, *result);
    }
  return all;
}

Value Elaborator::binary(Op op, Value a, Value b, Range loc) {
  a = asOperand(std::move(a), loc);
  b = asOperand(std::move(b), loc);
  if (a.isError() || b.isError()) return Value::error();

  // The quotient of literals is a float, as in Python. For other integers a float dtype would have to be
  // chosen.
  auto isPythons = [](const Value &v) { return v.yields || (v.isLiteral() && isInt(v.dtype)); };
  if (op == Op::Div && isInt(a.dtype) && isInt(b.dtype)) {
    if (!isPythons(a) || !isPythons(b))
      return fail(Code::E_TYPE, loc,
                  "'/' does not divide integers, found " + describe(a) + " and " + describe(b),
                  std::string("floor with //, or cast to a float first: ts.f32(x) / ts.f32(y)"));
    a = floatOperand(std::move(a), loc, "/");
    b = floatOperand(std::move(b), loc, "/");
  }
  // An integer of Python stays one in sums with literals and dims.
  const bool yields = (a.yields || b.yields) && (a.yields || (a.weak && isInt(a.dtype))) &&
                      (b.yields || (b.weak && isInt(b.dtype)));
  // A weak run-time integer is compared with a narrower one in 64 bits, because converting it could wrap.
  if (isComparison(op) && a.isIntScalar() && b.isIntScalar() && a.weak != b.weak &&
      (a.weak ? a : b).isRuntime())
    (a.weak ? b : a) = cast(a.weak ? std::move(b) : std::move(a), DType::I64, loc);
  if (!unify(a, b, loc, spelling(op))) return Value::error();

  DType t = a.dtype;
  bool isBool = t == DType::Bool;
  if (isBitwise(op) && (isFloat(t) || (isBool && (op == Op::Shl || op == Op::Shr))))
    return fail(Code::E_TYPE, loc, std::string("'") + spelling(op) + "' takes integers, not " + name(t),
                op == Op::Xor && isFloat(t) ? "a power is written x ** y" : "");
  if (isBool && !isBitwise(op) && op != Op::Eq && op != Op::Ne)
    return fail(Code::E_TYPE, loc, std::string("'") + spelling(op) + "' takes numbers, not bool",
                "cast to ts.i32 first");

  if ((op == Op::FloorDiv || op == Op::Mod) && b.isConstInt() && b.intValue == 0)
    return fail(Code::E_DIVISION_BY_ZERO, loc, "division by zero");
  if ((op == Op::Shl || op == Op::Shr) && b.isConstInt() && (b.intValue < 0 || b.intValue >= info(t).bits))
    return fail(Code::E_LITERAL_RANGE, loc,
                "a shift by " + std::to_string(b.intValue) + " is outside 0.." +
                    std::to_string(info(t).bits - 1));
  if (a.isScalar() && b.isScalar() && a.isConst && b.isConst) {
    bool divides = op == Op::Div || op == Op::FloorDiv || op == Op::Mod;
    if (divides && a.weak && isFloat(t) && b.floatValue == 0)
      return fail(Code::E_DIVISION_BY_ZERO, loc, "division by zero");
    if (std::optional<Value> folded = fold(op, a, &b, loc)) return std::move(*folded);
  }

  if (a.isGraph() || b.isGraph()) return graphElementwise(op, std::move(a), std::move(b), loc);
  std::optional<Linear> linear;
  if (a.isIntScalar() && b.isIntScalar() && a.linear && b.linear) {
    // Sums and products are correct modulo the width of the dtype; the other operations need the integers
    // themselves.
    const Linear &x = *a.linear, &y = *b.linear;
    auto apply = [&](const char *what) -> std::optional<Linear> {
      std::optional<Linear> left = exactForm(a), right = exactForm(b);
      if (!left || !right) return std::nullopt;
      return atoms_.apply(what, *left, *right);
    };
    switch (op) {
    case Op::Add:
      linear = add(x, y);
      break;
    case Op::Sub:
      linear = subtract(x, y);
      break;
    case Op::Mul:
      linear = x.isConstant()   ? scale(y, x.constant)
               : y.isConstant() ? scale(x, y.constant)
                                : atoms_.apply("mul", x, y);
      break;
    case Op::FloorDiv:
      linear = apply("fdiv");
      break;
    case Op::Mod:
      linear = apply("mod");
      break;
    case Op::Minimum:
      linear = apply("min");
      break;
    case Op::Maximum:
      linear = apply("max");
      break;
    default:
      break;
    }
    // x - x and the like
    if (linear && linear->isConstant() && a.weak) return Value::extent(linear->constant);
  }
  const auto choice = choiceOf(op, a, b);
  if (!broadcastPair(a, b, loc)) return Value::error();
  bool weak = a.weak && b.weak && !isComparison(op), wide = a.wide || b.wide;
  Type type = a.type();
  if (isComparison(op)) type.dtype = DType::Bool;
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(a), loc));
  args.push_back(take(std::move(b), loc));
  Value out = Value::of(make(op, type, loc, std::move(args)), weak);
  out.wide = wide;
  out.yields = yields && out.isIntScalar();
  if (weak && out.isIntScalar()) out.choice = choice;
  out.linear = std::move(linear);
  return out;
}

Value Elaborator::negate(Value v, Range loc) {
  if (v.isError()) return v;
  if (v.dtype == DType::Bool)
    return fail(Code::E_TYPE, loc, "'-' does not apply to bool", "cast to ts.i32 first");
  if (v.isScalar() && v.isConst)
    if (std::optional<Value> folded = fold(Op::Neg, v, nullptr, loc)) return std::move(*folded);
  if (v.isGraph()) return graphElementwise(Op::Neg, std::move(v), loc);
  std::optional<Linear> linear = v.linear ? scale(*v.linear, -1) : std::nullopt;
  const auto choice = choiceOf(Op::Sub, Value::integer(0), v);
  Value out = function(Op::Neg, std::move(v), loc);
  out.linear = std::move(linear);
  if (out.weak && out.isIntScalar()) out.choice = choice;
  return out;
}

Value Elaborator::floatOperand(Value v, Range loc, const char *what) {
  v = asOperand(std::move(v), loc);
  if (v.isError() || isFloat(v.dtype)) return v;
  if (v.weak && v.isConst) return Value::real(static_cast<double>(v.intValue));
  if (v.weak || v.yields) {
    v = cast(std::move(v), DType::F32, loc);
    v.weak = true;
    return v;
  }
  return fail(Code::E_TYPE, loc, std::string("'") + what + "' takes floats, not " + name(v.dtype),
              "cast to ts.f32 first");
}

/// An elementwise function of one operand.
Value Elaborator::function(Op op, Value v, Range loc) {
  if (v.isError()) return v;
  if (v.isGraph()) return graphElementwise(op, std::move(v), loc);
  bool weak = v.weak, wide = v.wide, yields = v.yields;
  Type type = v.type();
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(v), loc));
  Value out = Value::of(make(op, type, loc, std::move(args)), weak);
  out.wide = wide;
  out.yields = yields;
  return out;
}

/// A choice between literals is as weak as they are, if they fit in i32.
bool Elaborator::isWideChoice(const Value &a, const Value &b) {
  auto isLarge = [](const Value &v) { return v.wide || (v.isConstInt() && !fits(v.intValue, DType::I32)); };
  return isLarge(a) || isLarge(b);
}

/// The least and the largest literal among those of two sides of a choice; nothing if a side is another
/// value.
std::optional<std::pair<int64_t, int64_t>> Elaborator::literalsOf(const Value &a, const Value &b) {
  using Literals = std::optional<std::pair<int64_t, int64_t>>;
  auto of = [](const Value &v) -> Literals {
    return v.isLiteral() && isInt(v.dtype) ? Literals({v.intValue, v.intValue}) : v.choice;
  };
  const Literals x = of(a), y = of(b);
  if (!x || !y) return std::nullopt;
  return {{std::min(x->first, y->first), std::max(x->second, y->second)}};
}

Value Elaborator::fillMasked(Value tile, Value fill, Range loc) {
  Type type = tile.type();
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(tile), loc));
  args.push_back(take(std::move(fill), loc));
  return Value::of(make(Op::FillMasked, type, loc, std::move(args)));
}

Value Elaborator::select(Value c, Value a, Value b, Range loc, bool takesOneSide) {
  const bool yields = (a.yields || b.yields) && (a.yields || a.isLiteral()) && (b.yields || b.isLiteral());
  if (c.isError() || !unify(a, b, loc, "where")) return Value::error();
  if (c.isGraph() || a.isGraph() || b.isGraph())
    return graphSelect(std::move(c), std::move(a), std::move(b), loc);
  bool wide = isWideChoice(a, b);
  auto choice = literalsOf(a, b); // before literals become tiles
  if (!broadcastPair(a, b, loc)) return Value::error();
  if (!takesOneSide && (!broadcastPair(c, a, loc) || !broadcastPair(c, b, loc))) return Value::error();
  bool weak = a.isTile() ? choice.has_value() : a.weak && b.weak;
  Type type = a.type();
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(c), loc));
  args.push_back(take(std::move(a), loc));
  args.push_back(take(std::move(b), loc));
  Value out = Value::of(make(Op::Select, type, loc, std::move(args)), weak);
  out.wide = wide;
  out.yields = yields && out.isIntScalar();
  if (isInt(out.dtype) && weak) out.choice = choice;
  return out;
}

Value Elaborator::ceilDiv(Value a, Value b, Range loc) {
  if (a.isError() || b.isError()) return Value::error();
  if (isFloat(a.dtype) || isFloat(b.dtype)) return fail(Code::E_TYPE, loc, "'cdiv' takes integers");
  Value less = binary(Op::Sub, b, Value::integer(1), loc);
  return binary(Op::FloorDiv, binary(Op::Add, std::move(a), std::move(less), loc), std::move(b), loc);
}

} // namespace tessera::frontend
