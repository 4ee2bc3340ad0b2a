// Arithmetic: weak values, promotion, broadcasting, constant folding.
#include "compiler/frontend/Elaborator.h"
#include <cmath>
#include <limits>

namespace tessera::frontend {

namespace {

bool isComparison(Op op) { return op >= Op::Lt && op <= Op::Ne; }
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
    return "this operation";
  }
}

bool fits(int64_t v, DType t) {
  switch (t) {
  case DType::Bool:
    return v == 0 || v == 1;
  case DType::U8:
    return v >= 0 && v <= 255;
  case DType::I8:
    return v >= -128 && v <= 127;
  case DType::I16:
    return v >= INT16_MIN && v <= INT16_MAX;
  case DType::I32:
    return v >= INT32_MIN && v <= INT32_MAX;
  default:
    return true;
  }
}

/// Wraps to the width of an integer dtype.
int64_t wrap(int64_t v, DType t) {
  switch (t) {
  case DType::U8:
    return static_cast<uint8_t>(v);
  case DType::I8:
    return static_cast<int8_t>(v);
  case DType::I16:
    return static_cast<int16_t>(v);
  case DType::I32:
    return static_cast<int32_t>(v);
  default:
    return v;
  }
}

} // namespace

ExprPtr Elaborator::make(Op op, Type type, Range loc, std::vector<ExprPtr> args) {
  grow(loc);
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

/// The expression of a scalar or tile; constants become leaves.
ExprPtr Elaborator::take(Value v, Range loc) {
  if (v.expr) return std::move(v.expr);
  if (!isFloat(v.dtype)) return constInt(v.intValue, loc, v.dtype);
  ExprPtr e = make(Op::ConstFloat, {Type::Scalar, v.dtype, {}}, loc);
  e->floatValue = v.floatValue;
  return e;
}

Value Elaborator::convert(Value v, DType to, Range loc) {
  if (v.isError()) return v;
  if (v.dtype == to) {
    v.weak = false;
    return v;
  }
  if (v.isConst && v.isScalar()) {
    if (isFloat(to))
      return Value::real(isFloat(v.dtype) ? v.floatValue : static_cast<double>(v.intValue), to, false);
    if (!isFloat(v.dtype)) {
      if (!fits(v.intValue, to))
        return fail(Code::E_LITERAL_RANGE, loc, std::to_string(v.intValue) + " does not fit in " + name(to),
                    "cast the other operand to a wider dtype");
      Value out = Value::integer(v.intValue, to, false);
      if (to == DType::Bool) out.linear.reset();
      return out;
    }
  }
  return cast(std::move(v), to, loc);
}

Value Elaborator::cast(Value v, DType to, Range loc) {
  if (v.isError()) return v;
  if (v.isGraph()) return graphCast(std::move(v), to, loc);
  if (v.isScalar() && v.isConst) {
    bool integral = !isFloat(v.dtype);
    if (integral && isFloat(to)) return Value::real(static_cast<double>(v.intValue), to, false);
    if (integral && isInt(to)) return Value::integer(wrap(v.intValue, to), to, false);
    if (!integral && (to == DType::F32 || to == DType::F64)) return Value::real(v.floatValue, to, false);
    if (!integral && isInt(to) && std::abs(v.floatValue) < 0x1p31)
      return Value::integer(wrap(static_cast<int64_t>(v.floatValue), to), to, false);
  }
  if (v.dtype == to) {
    v.weak = false;
    return v;
  }
  Type type = v.type();
  type.dtype = to;
  std::optional<Linear> linear = isInt(to) && isInt(v.dtype) && v.isScalar() ? v.linear : std::nullopt;
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(v), loc));
  Value out = Value::of(make(Op::Cast, type, loc, std::move(args)));
  // Index arithmetic is done in 64 bits (see indexExpr), so a widening keeps the form; a narrowing may wrap.
  if (to == DType::I64 || to == DType::I32) out.linear = linear;
  return out;
}

Value Elaborator::strengthen(Value v) {
  if (!v.isScalar() || !v.isConst || !v.weak) return v;
  if (v.dtype == DType::I64 && fits(v.intValue, DType::I32)) v.dtype = DType::I32;
  if (v.dtype == DType::F32) v.floatValue = static_cast<float>(v.floatValue);
  v.weak = false;
  return v;
}

/// Brings two operands to one dtype, or reports that they do not mix.
bool Elaborator::unify(Value &a, Value &b, Range loc, const char *what) {
  if (a.isError() || b.isError()) return false;
  if (a.dtype == b.dtype) {
    bool weak = a.weak && b.weak;
    a.weak = b.weak = weak;
    return true;
  }
  auto to = [&](Value &v, DType t) {
    v = convert(std::move(v), t, loc);
    return !v.isError();
  };
  if (a.weak || b.weak) {
    Value &weak = a.weak && !(b.weak && isFloat(a.dtype)) ? a : b; // of two weak ones the integer gives way
    Value &other = &weak == &a ? b : a;
    bool bothWeak = a.weak && b.weak;
    bool legal = other.dtype != DType::Bool && (isFloat(other.dtype) || isInt(weak.dtype));
    if (legal) {
      if (!to(weak, other.dtype)) return false;
      a.weak = b.weak = bothWeak;
      return true;
    }
  } else {
    auto signedInt = [](DType t) { return info(t).cls == DTypeClass::SignedInt; };
    auto half = [](DType t) { return t == DType::F16 || t == DType::BF16; };
    if (signedInt(a.dtype) && signedInt(b.dtype))
      return info(a.dtype).bits < info(b.dtype).bits ? to(a, b.dtype) : to(b, a.dtype);
    if (half(a.dtype) && b.dtype == DType::F32) return to(a, DType::F32);
    if (half(b.dtype) && a.dtype == DType::F32) return to(b, DType::F32);
  }
  fail(Code::E_TYPE_MIX, loc, std::string("'") + what + "' mixes " + describe(a) + " and " + describe(b),
       std::string("convert one of them with ts.") + (graph_ ? "" : "tile.") + "cast(x, ts." +
           name(a.weak ? b.dtype : a.dtype) + ")");
  return false;
}

Value Elaborator::expandDims(Value v, int axis, Range loc) {
  Type type = v.type();
  type.kind = Type::Tile;
  type.shape.insert(type.shape.begin() + axis, 1);
  std::vector<ExprPtr> args;
  bool weak = v.weak;
  args.push_back(take(std::move(v), loc));
  ExprPtr e = make(Op::ExpandDims, type, loc, std::move(args));
  e->ints = {axis};
  return Value::of(std::move(e), weak);
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

bool Elaborator::broadcastPair(Value &a, Value &b, Range loc) {
  if (a.isError() || b.isError()) return false;
  if (!a.isTile() && !b.isTile()) return true;
  std::vector<int64_t> shape(std::max(a.shape.size(), b.shape.size()), 1);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t x = i < a.shape.size() ? a.shape[a.shape.size() - 1 - i] : 1;
    int64_t y = i < b.shape.size() ? b.shape[b.shape.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail(Code::E_SHAPE, loc,
           "shapes " + shapeText(a.shape) + " and " + shapeText(b.shape) + " do not broadcast",
           "shapes are aligned at their last axis; insert axes with x[:, None]");
      return false;
    }
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  if (!checkTileSize(shape, loc)) return false;
  a = broadcastTo(std::move(a), shape, loc);
  b = broadcastTo(std::move(b), shape, loc);
  return true;
}

/// A comparison of two constants, IEEE for floats.
template <typename T> static bool compare(Op op, T x, T y) {
  switch (op) {
  case Op::Lt:
    return x < y;
  case Op::Le:
    return x <= y;
  case Op::Gt:
    return x > y;
  case Op::Ge:
    return x >= y;
  case Op::Eq:
    return x == y;
  default:
    return x != y;
  }
}

Value Elaborator::foldInts(Op op, const Value &a, const Value &b, Range loc) {
  int64_t x = a.intValue, y = b.intValue, r = 0;
  if (isComparison(op)) return Value::boolean(compare(op, x, y));
  bool overflow = false;
  switch (op) {
  case Op::Add:
    overflow = __builtin_add_overflow(x, y, &r);
    break;
  case Op::Sub:
    overflow = __builtin_sub_overflow(x, y, &r);
    break;
  case Op::Mul:
    overflow = __builtin_mul_overflow(x, y, &r);
    break;
  case Op::FloorDiv:
  case Op::Mod:
    if (y == 0) return fail(Code::E_DIVISION_BY_ZERO, loc, "division by zero");
    if (y == -1) {
      overflow = op == Op::FloorDiv && __builtin_sub_overflow(int64_t(0), x, &r);
      break;
    }
    r = op == Op::FloorDiv ? x / y - (x % y != 0 && (x % y < 0) != (y < 0))
                           : x % y + (x % y != 0 && (x % y < 0) != (y < 0) ? y : 0);
    break;
  case Op::Pow:
    if (y < 0)
      return Value::real(std::pow(static_cast<double>(x), static_cast<double>(y)), DType::F32, a.weak);
    r = 1;
    if (y > 64 && x != 0 && x != 1 && x != -1)
      overflow = true;
    else if (y > 64)
      r = x == -1 && y % 2 == 0 ? 1 : x;
    else
      for (int64_t i = 0; i < y && !overflow; ++i)
        overflow = __builtin_mul_overflow(r, x, &r);
    break;
  case Op::And:
    r = x & y;
    break;
  case Op::Or:
    r = x | y;
    break;
  case Op::Xor:
    r = x ^ y;
    break;
  case Op::Shl:
  case Op::Shr:
    if (y < 0 || y > 63)
      return fail(Code::E_LITERAL_RANGE, loc, "a shift by " + std::to_string(y) + " is outside 0..63");
    r = op == Op::Shr ? x >> y : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
    break;
  case Op::Minimum:
    r = std::min(x, y);
    break;
  case Op::Maximum:
    r = std::max(x, y);
    break;
  default:
    return Value::error();
  }
  if (a.dtype == DType::Bool) return Value::boolean(r);
  if (overflow && a.weak) return fail(Code::E_LITERAL_RANGE, loc, "the constant does not fit in 64 bits");
  return Value::integer(wrap(r, a.dtype), a.dtype, a.weak);
}

Value Elaborator::foldFloats(Op op, const Value &a, const Value &b, Range loc) {
  double x = a.floatValue, y = b.floatValue, r = 0;
  if (isComparison(op)) return Value::boolean(compare(op, x, y));
  switch (op) {
  case Op::Add:
    r = x + y;
    break;
  case Op::Sub:
    r = x - y;
    break;
  case Op::Mul:
    r = x * y;
    break;
  case Op::Div:
    if (y == 0 && a.weak) return fail(Code::E_DIVISION_BY_ZERO, loc, "division by zero");
    r = x / y;
    break;
  case Op::FloorDiv:
    r = std::floor(x / y);
    break;
  case Op::Mod:
    r = x - y * std::floor(x / y);
    break;
  case Op::Pow:
    r = std::pow(x, y);
    break;
  case Op::Minimum:
    r = std::isnan(x) || x < y ? x : y;
    break;
  case Op::Maximum:
    r = std::isnan(x) || x > y ? x : y;
    break;
  default:
    return Value::error();
  }
  if (a.dtype == DType::F32 && !a.weak) r = static_cast<float>(r);
  return Value::real(r, a.dtype, a.weak);
}

Value Elaborator::binary(Op op, Value a, Value b, Range loc) {
  a = asOperand(std::move(a), loc);
  b = asOperand(std::move(b), loc);
  if (a.isError() || b.isError()) return Value::error();

  // True division of integers is a float division.
  if (op == Op::Div && !isFloat(a.dtype) && !isFloat(b.dtype) && a.dtype != DType::Bool &&
      b.dtype != DType::Bool) {
    bool weak = a.weak && b.weak;
    a = cast(std::move(a), DType::F32, loc);
    b = cast(std::move(b), DType::F32, loc);
    a.weak = b.weak = weak;
  }
  // A weak run-time integer beside a narrower one is compared in 64 bits: converting it could wrap.
  if (isComparison(op) && a.isIntScalar() && b.isIntScalar() && a.weak != b.weak && !isUnsigned(a.dtype) &&
      !isUnsigned(b.dtype) && (a.weak ? a : b).isRuntime())
    (a.weak ? b : a) = cast(a.weak ? std::move(b) : std::move(a), DType::I64, loc);
  if (!unify(a, b, loc, spelling(op))) return Value::error();

  DType t = a.dtype;
  bool isBool = t == DType::Bool;
  if (isBitwise(op) && (isFloat(t) || (isBool && (op == Op::Shl || op == Op::Shr))))
    return fail(Code::E_TYPE, loc, std::string("'") + spelling(op) + "' takes integers, not " + name(t));
  if (isBool && !isBitwise(op) && op != Op::Eq && op != Op::Ne)
    return fail(Code::E_TYPE, loc, std::string("'") + spelling(op) + "' takes numbers, not bool",
                "cast to ts.i32 first");

  if (a.isScalar() && b.isScalar() && a.isConst && b.isConst) {
    if (!isFloat(t)) return foldInts(op, a, b, loc);
    if (a.weak || t == DType::F32 || t == DType::F64) return foldFloats(op, a, b, loc);
  }
  if ((op == Op::FloorDiv || op == Op::Mod) && b.isConstInt() && b.intValue == 0)
    return fail(Code::E_DIVISION_BY_ZERO, loc, "division by zero");
  if ((op == Op::Shl || op == Op::Shr) && b.isConstInt() && (b.intValue < 0 || b.intValue >= info(t).bits))
    return fail(Code::E_LITERAL_RANGE, loc,
                "a shift by " + std::to_string(b.intValue) + " is outside 0.." +
                    std::to_string(info(t).bits - 1));

  if (a.isGraph() || b.isGraph()) return graphElementwise(op, std::move(a), std::move(b), loc);
  std::optional<Linear> linear;
  if (a.isIntScalar() && b.isIntScalar() && a.linear && b.linear) {
    const Linear &x = *a.linear, &y = *b.linear;
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
      linear = atoms_.apply("fdiv", x, y);
      break;
    case Op::Mod:
      linear = atoms_.apply("mod", x, y);
      break;
    case Op::Minimum:
      linear = atoms_.apply("min", x, y);
      break;
    case Op::Maximum:
      linear = atoms_.apply("max", x, y);
      break;
    default:
      break;
    }
    // x - x and the like.
    if (linear && linear->isConstant() && a.weak) return Value::integer(linear->constant, t, true);
  }
  if (!broadcastPair(a, b, loc)) return Value::error();
  bool weak = a.weak && b.weak && !isComparison(op);
  Type type = a.type();
  if (isComparison(op)) type.dtype = DType::Bool;
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(a), loc));
  args.push_back(take(std::move(b), loc));
  Value out = Value::of(make(op, type, loc, std::move(args)), weak);
  out.linear = std::move(linear);
  return out;
}

Value Elaborator::negate(Value v, Range loc) {
  if (v.isError()) return v;
  if (v.dtype == DType::Bool || isUnsigned(v.dtype))
    return fail(Code::E_TYPE, loc, std::string("'-' does not apply to ") + name(v.dtype),
                "cast to ts.i32 first");
  if (v.isScalar() && v.isConst) {
    if (isFloat(v.dtype)) {
      v.floatValue = -v.floatValue;
      return v;
    }
    int64_t r = 0;
    if (__builtin_sub_overflow(int64_t(0), v.intValue, &r))
      return fail(Code::E_LITERAL_RANGE, loc, "the constant does not fit in 64 bits");
    return Value::integer(wrap(r, v.dtype), v.dtype, v.weak);
  }
  if (v.isGraph()) return graphElementwise(Op::Neg, std::move(v), loc);
  std::optional<Linear> linear = v.linear ? scale(*v.linear, -1) : std::nullopt;
  bool weak = v.weak;
  Type type = v.type();
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(v), loc));
  Value out = Value::of(make(Op::Neg, type, loc, std::move(args)), weak);
  out.linear = std::move(linear);
  return out;
}

Value Elaborator::floatOperand(Value v, Range loc, const char *what) {
  v = asOperand(std::move(v), loc);
  if (v.isError() || isFloat(v.dtype)) return v;
  if (v.weak) {
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
  bool weak = v.weak;
  Type type = v.type();
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(v), loc));
  return Value::of(make(op, type, loc, std::move(args)), weak);
}

Value Elaborator::select(Value c, Value a, Value b, Range loc, bool takesOneSide) {
  if (c.isError() || !unify(a, b, loc, "where")) return Value::error();
  if (c.isGraph() || a.isGraph() || b.isGraph())
    return graphSelect(std::move(c), std::move(a), std::move(b), loc);
  if (!broadcastPair(a, b, loc)) return Value::error();
  if (!takesOneSide && (!broadcastPair(c, a, loc) || !broadcastPair(c, b, loc))) return Value::error();
  bool weak = a.weak && b.weak;
  Type type = a.type();
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(c), loc));
  args.push_back(take(std::move(a), loc));
  args.push_back(take(std::move(b), loc));
  return Value::of(make(Op::Select, type, loc, std::move(args)), weak);
}

Value Elaborator::ceilDiv(Value a, Value b, Range loc) {
  if (a.isError() || b.isError()) return Value::error();
  if (isFloat(a.dtype) || isFloat(b.dtype)) return fail(Code::E_TYPE, loc, "'cdiv' takes integers");
  Value less = binary(Op::Sub, b, Value::integer(1), loc);
  return binary(Op::FloorDiv, binary(Op::Add, std::move(a), std::move(less), loc), std::move(b), loc);
}

} // namespace tessera::frontend
