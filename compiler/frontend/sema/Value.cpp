#include "compiler/frontend/sema/Value.h"
#include "numerics/Casts.h"

namespace tessera::frontend {

Value &Value::operator=(const Value &o) {
  if (this == &o) return *this;
  kind = o.kind;
  dtype = o.dtype;
  weak = o.weak;
  wide = o.wide;
  yields = o.yields;
  isConst = o.isConst;
  transposed = o.transposed;
  intValue = o.intValue;
  floatValue = o.floatValue;
  expr = o.expr ? clone(*o.expr) : nullptr;
  shape = o.shape;
  choice = o.choice;
  linear = o.linear;
  items = o.items;
  text = o.text;
  builtin = o.builtin;
  index = o.index;
  accum = o.accum;
  list = o.list;
  return *this;
}

Value Value::none() {
  Value v;
  v.kind = None;
  return v;
}

Value Value::integer(int64_t i, DType t, bool weak) {
  Value v;
  v.kind = Scalar;
  v.dtype = t;
  v.weak = weak;
  v.isConst = true;
  v.intValue = i;
  v.linear = Linear{{}, i};
  return v;
}

Value Value::extent(int64_t i) {
  Value v = integer(i);
  v.wide = true;
  return v;
}

Value Value::real(double f, DType t, bool weak) {
  Value v;
  v.kind = Scalar;
  v.dtype = t;
  v.weak = weak;
  v.isConst = true;
  v.floatValue = f;
  return v;
}

Value Value::boolean(bool b) {
  Value v = integer(b, DType::Bool, false);
  v.linear.reset();
  return v;
}

Value Value::string(std::string s) {
  Value v;
  v.kind = Str;
  v.text = std::move(s);
  return v;
}

Value Value::tuple(std::vector<Value> items) {
  Value v;
  v.kind = Tuple;
  v.items = std::move(items);
  return v;
}

Value Value::dtypeName(DType t) {
  Value v;
  v.kind = DTypeName;
  v.dtype = t;
  return v;
}

Value Value::of(ExprPtr e, bool weak) {
  Value v;
  v.kind = e->type.kind == Type::Tile ? Tile : Scalar;
  v.dtype = e->type.dtype;
  v.shape = e->type.shape;
  v.weak = weak;
  v.expr = std::move(e);
  return v;
}

Value Value::extent(ExprPtr e, Linear form) {
  Value v = of(std::move(e), true);
  v.wide = true;
  v.linear = std::move(form);
  return v;
}

bool fits(int64_t v, DType t) {
  if (t == DType::U64) return v >= 0;
  auto bits = static_cast<uint64_t>(v);
  return castBits(castBits(bits, DType::I64, t), t, DType::I64) == bits;
}

bool Value::isChoiceOf(DType t) const {
  return choice && isInt(t) && fits(choice->first, t) && fits(choice->second, t);
}

bool Value::converts(DType t) const {
  if (dtype == t || (yields && isFloat(t))) return true;
  if (!weak || t == DType::Bool) return false;
  if (kind == Tile && !wide && !choice) return false; // computed from a choice between literals
  return isFloat(t) || (isInt(dtype) && (isConst || !wide || isChoiceOf(t)));
}

Type Value::type() const {
  if (kind == Tile) return {Type::Tile, dtype, shape};
  if (kind == Scalar) return {Type::Scalar, dtype, {}};
  return {};
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string describe(const Value &v) {
  switch (v.kind) {
  case Value::Error:
    return "an error";
  case Value::None:
    return "None";
  case Value::Str:
    return "a string";
  case Value::Tuple:
    return v.list ? "a list" : "a tuple";
  case Value::DTypeName:
    return std::string("the dtype ") + name(v.dtype);
  case Value::Module:
    return "module '" + v.text + "'";
  case Value::Function:
    return "a function";
  case Value::Context:
    return "a context";
  case Value::Tensor:
    return "a tensor";
  case Value::Buffer:
    return "a shared buffer";
  case Value::Scalar:
    if (v.isWide()) return "a 64-bit integer";
    if (v.weak && v.isConst) return isFloat(v.dtype) ? "a float literal" : "an integer literal";
    return std::string(v.weak ? "a weak " : "a scalar ") + name(v.dtype);
  case Value::Tile:
    return std::string(name(v.dtype)) + " tile " + shapeText(v.shape);
  case Value::Graph:
    return v.text;
  }
  return {};
}

} // namespace tessera::frontend
