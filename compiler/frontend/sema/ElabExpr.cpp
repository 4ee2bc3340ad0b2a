// Expressions other than calls.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/Effects.h"

namespace tessera::frontend {

Value Elaborator::fail(Code code, Range loc, std::string message, std::string hint) {
  sink_.error(code, loc, std::move(message), std::move(hint));
  return Value::error();
}

bool Elaborator::grow(Range loc) {
  if (++nodes_ <= kMaxNodes) return true;
  if (nodes_ == kMaxNodes + 1)
    fail(Code::E_TOO_COMPLEX, loc,
         "the kernel is too large: inlining its helpers gives more than " + std::to_string(kMaxNodes) +
             " operations");
  return false;
}

Value Elaborator::evaluate(const ast::Expr &e) {
  using K = ast::Expr;
  if (nodes_ > kMaxNodes) return Value::error(); // it was reported; the rest is not elaborated
  switch (e.kind) {
  case K::Error:
    return Value::error();
  case K::Name:
    return lookup(e);
  case K::Int:
    return Value::integer(e.intValue);
  case K::Float:
    return Value::real(e.floatValue);
  case K::Str:
    return Value::string(e.text);
  case K::Bool:
    return Value::boolean(e.intValue != 0);
  case K::None:
    return Value::none();
  case K::Attribute:
    return attribute(e);
  case K::Subscript:
    return subscript(e);
  case K::Slice:
    return fail(Code::E_SYNTAX, e.loc, "a slice stands inside [ ] only");
  case K::Call:
    return call(e);
  case K::Unary:
    return unary(e);
  case K::Binary: {
    Value a = evaluate(*e.items[0]);
    Value b = evaluate(*e.items[1]);
    return operation(e.text, std::move(a), std::move(b), e.loc);
  }
  case K::Compare:
    return compareChain(e);
  case K::BoolOp:
    return boolOp(e);
  case K::IfExp:
    return conditional(e);
  case K::Tuple:
  case K::List: {
    std::vector<Value> items;
    for (const ast::ExprPtr &item : e.items)
      items.push_back(evaluate(*item));
    Value v = Value::tuple(std::move(items));
    if (e.kind == K::List && !constantsOnly_) v.list = ++lists_; // the items of constants are not assigned
    return v;
  }
  case K::Comprehension:
    return comprehension(e);
  case K::Dict:
    return fail(Code::E_UNSUPPORTED, e.loc, "dictionaries describe autotuning spaces only",
                "write a tuple: return a, b");
  }
  return Value::error();
}

Value Elaborator::operation(const std::string &text, Value a, Value b, Range loc) {
  static const std::map<std::string, Op> kOps = {
      {"+", Op::Add},  {"-", Op::Sub}, {"*", Op::Mul}, {"/", Op::Div}, {"//", Op::FloorDiv}, {"%", Op::Mod},
      {"**", Op::Pow}, {"&", Op::And}, {"|", Op::Or},  {"^", Op::Xor}, {"<<", Op::Shl},      {">>", Op::Shr}};
  if (a.isError() || b.isError()) return Value::error();
  if (a.kind == Value::Tuple || b.kind == Value::Tuple)
    return sequence(text, std::move(a), std::move(b), loc);
  if (graph_ && text == "@") return graphMatmul(std::move(a), std::move(b), false, false, {}, loc);
  auto it = kOps.find(text);
  if (it == kOps.end())
    return fail(Code::E_UNSUPPORTED, loc, "'" + text + "' is not an operator of the language",
                "write ts.tile.mma(a, b)");
  return binary(it->second, std::move(a), std::move(b), loc);
}

Value Elaborator::operand(const ast::Expr &e) { return asOperand(evaluate(e), e.loc); }

/// Makes a scalar or tile of a value. A buffer is read; any other value is an error.
Value Elaborator::asOperand(Value v, Range loc) {
  switch (v.kind) {
  case Value::Error:
  case Value::Scalar:
  case Value::Tile:
  case Value::Graph:
    return v;
  case Value::Buffer: {
    bool transposed = v.transposed;
    Value tile = readBuffer(v.index, loc);
    return transposed ? rules::transposed(*this, std::move(tile), loc) : std::move(tile);
  }
  case Value::Tensor: {
    const Param &p = kernel_.params[static_cast<size_t>(v.index)];
    std::string part = p.name + "[i:i+64";
    for (size_t d = 1; d < p.dims.size(); ++d)
      part += ", 0:64";
    return fail(Code::E_TENSOR_VALUE, loc, "a whole tensor is not a value in a kernel",
                "load a tile: " + part + "]");
  }
  default:
    return fail(Code::E_TYPE, loc, "expected a scalar or a tile, found " + describe(v));
  }
}

Value Elaborator::unary(const ast::Expr &e) {
  if (e.text == "not") {
    Value v = condition(*e.items[0], "negate the elements of a mask with ~");
    if (v.isError()) return v;
    if (v.isConst) return Value::boolean(v.intValue == 0);
    return function(Op::LogicalNot, std::move(v), e.loc);
  }
  Value v = operand(*e.items[0]);
  if (v.isError() || e.text == "+") return v;
  if (e.text == "-") return negate(std::move(v), e.loc);
  if (isFloat(v.dtype))
    return fail(Code::E_TYPE, e.loc, std::string("'~' takes integers, not ") + name(v.dtype));
  if (v.isScalar() && v.isConst)
    if (std::optional<Value> folded = fold(Op::Invert, v, nullptr, e.loc)) return std::move(*folded);
  return function(Op::Invert, std::move(v), e.loc);
}

Value Elaborator::compareChain(const ast::Expr &e) {
  static const std::map<std::string, Op> kOps = {{"<", Op::Lt},  {"<=", Op::Le}, {">", Op::Gt},
                                                 {">=", Op::Ge}, {"==", Op::Eq}, {"!=", Op::Ne}};
  for (size_t i = 2; i < e.items.size(); ++i)
    if (effects_->in(*e.items[i]))
      return fail(Code::E_UNSUPPORTED, e.items[i]->loc,
                  "whether this call runs depends on the comparisons before it, and it writes memory",
                  "write: a < b and b < c");
  std::vector<Value> items;
  for (const ast::ExprPtr &item : e.items) {
    Value v = evaluate(*item);
    if (v.kind == Value::Str || v.kind == Value::DTypeName) { // ts.f32 == A.dtype
      items.push_back(std::move(v));
      continue;
    }
    v = asOperand(std::move(v), item->loc);
    unsigned budget = 24; // it is used twice
    if (e.items.size() > 2 && v.isRuntime() && !inlineable(*v.expr, budget))
      v = toVariable(std::move(v), "cmp", item->loc);
    items.push_back(std::move(v));
  }
  Value result;
  for (size_t i = 0; i < e.ops.size(); ++i) {
    const Value &a = items[i], &b = items[i + 1];
    if (a.isError() || b.isError()) return Value::error();
    Value c;
    if (a.kind == b.kind && (a.kind == Value::Str || a.kind == Value::DTypeName)) {
      bool equal = a.kind == Value::Str ? a.text == b.text : a.dtype == b.dtype;
      if (e.ops[i] != "==" && e.ops[i] != "!=")
        return fail(Code::E_TYPE, e.loc, "'" + e.ops[i] + "' takes numbers, not " + describe(a));
      c = Value::boolean(equal == (e.ops[i] == "=="));
    } else {
      c = binary(kOps.at(e.ops[i]), a, b, e.loc);
    }
    if (c.isError()) return c;
    if (i == 0) {
      result = std::move(c);
      continue;
    }
    if (c.isTile() || result.isTile() || c.isGraph() || result.isGraph())
      return fail(Code::E_TYPE, e.loc, "comparisons of tiles and tensors cannot be chained",
                  "write (a < b) & (b < c)");
    if (result.isConst) {
      if (result.intValue) result = std::move(c);
    } else {
      std::vector<ExprPtr> args;
      args.push_back(take(std::move(result), e.loc));
      args.push_back(take(std::move(c), e.loc));
      result = Value::of(make(Op::LogicalAnd, {Type::Scalar, DType::Bool, {}}, e.loc, std::move(args)));
    }
  }
  return result;
}

/// A number used as a truth value is true when it is not zero.
Value Elaborator::truth(Value v, Range loc, const char *elementwise) {
  v = asOperand(std::move(v), loc);
  if (v.isError()) return v;
  if (v.isTile())
    return fail(Code::E_TYPE, loc, "a tile is neither true nor false",
                elementwise ? elementwise : "select elements with ts.tile.where(mask, a, b)");
  if (v.isGraph())
    return fail(Code::E_GRAPH_CONTROL, loc, "a tensor is neither true nor false",
                elementwise ? elementwise : "select elements with ts.where(mask, a, b)");
  if (v.dtype == DType::Bool) return v;
  Value zero = isFloat(v.dtype) ? Value::real(0) : Value::integer(0);
  return binary(Op::Ne, std::move(v), std::move(zero), loc);
}

Value Elaborator::condition(const ast::Expr &e, const char *elementwise) {
  return truth(evaluate(e), e.loc, elementwise);
}

Value Elaborator::boolOp(const ast::Expr &e) {
  bool isAnd = e.text == "and";
  const char *elementwise = isAnd ? "combine masks with &, each in parentheses: (a > 0) & (a < 1)"
                                  : "combine masks with |, each in parentheses: (a < 0) | (a > 1)";
  Value a = condition(*e.items[0], elementwise);
  if (a.isError()) {
    evaluate(*e.items[1]);
    return a;
  }
  if (a.isConst) return (a.intValue != 0) == isAnd ? condition(*e.items[1], elementwise) : std::move(a);
  if (!graph_ && effects_->in(*e.items[1]))
    return eitherOr(std::move(a), isAnd ? e.items[1].get() : nullptr, isAnd ? nullptr : e.items[1].get(),
                    true, e.loc);
  Value b = condition(*e.items[1], elementwise);
  if (b.isError()) return b;
  if (b.isConst && (b.intValue != 0) == isAnd) return a;
  std::vector<ExprPtr> args;
  args.push_back(take(std::move(a), e.loc));
  args.push_back(take(std::move(b), e.loc));
  return Value::of(
      make(isAnd ? Op::LogicalAnd : Op::LogicalOr, {Type::Scalar, DType::Bool, {}}, e.loc, std::move(args)));
}

Value Elaborator::conditional(const ast::Expr &e) {
  Value c = condition(*e.items[0]);
  if (c.isError()) return c;
  if (c.isConst) return evaluate(*e.items[c.intValue ? 1 : 2]);
  if (effects_->in(*e.items[1]) || effects_->in(*e.items[2]))
    return graph_ ? graphBranch(e.items[0]->loc)
                  : eitherOr(std::move(c), e.items[1].get(), e.items[2].get(), false, e.loc);
  Value a = evaluate(*e.items[1]), b = evaluate(*e.items[2]);
  if (a.isError() || b.isError()) return Value::error();
  if (a.kind == Value::Tuple) c = settled(std::move(c), "condition", e.loc);
  return chosen(c, std::move(a), std::move(b), e.loc);
}

Value Elaborator::subscript(const ast::Expr &e) {
  Value base = evaluate(*e.items[0]);
  switch (base.kind) {
  case Value::Error:
    return base;
  case Value::Tuple: {
    const std::optional<size_t> i = itemIndex(base, e);
    return i ? Value(base.items[*i]) : Value::error();
  }
  case Value::Tensor:
  case Value::Buffer: {
    std::optional<Access> a = access(e);
    return a ? loadAccess(std::move(*a), e.loc) : Value::error();
  }
  case Value::Tile:
    return rules::indexed(*this, std::move(base), e);
  case Value::Graph:
    return graphSubscript(std::move(base), e);
  default:
    return fail(Code::E_INDEX, e.loc, describe(base) + " cannot be indexed");
  }
}

// --- Compile-time arguments ---

bool Elaborator::want(const std::set<std::string> &dims, Range loc, const std::string &what) {
  bool all = true;
  for (const std::string &dim : dims) {
    bool known = false;
    for (const auto &[name, value] : options_.dims)
      known |= name == dim;
    if (known) {
      wanted_.insert(dim);
      continue;
    }
    all = false;
    if (!reportedDims_.insert(dim).second) continue; // it is reported at the first location only
    fail(Code::E_DIM_NOT_STATIC, loc,
         "the value of dim '" + dim + "' must be known at compile time: it is used as " + what,
         "give it with --dim " + dim + "=..., or loop over parts of a constant extent: " + dim +
             " may be of any size then");
  }
  return all;
}

static void collectDims(const Expr &e, std::set<std::string> &dims, bool &others) {
  if (e.op == Op::DimRef) dims.insert(e.text);
  if (e.args.empty() && e.op != Op::DimRef && e.op != Op::ConstInt && e.op != Op::ConstFloat) others = true;
  if (e.op == Op::LoadElem || e.op == Op::LoadTile || e.op == Op::BufferRead || e.op == Op::Atomic)
    others = true;
  for (const ExprPtr &a : e.args)
    collectDims(*a, dims, others);
}

std::optional<int64_t> Elaborator::staticInt(const ast::Expr &e, const char *what) {
  return staticInt(evaluate(e), e.loc, what);
}

std::optional<int64_t> Elaborator::staticInt(const Value &v, Range loc, const char *what) {
  if (v.isError()) return std::nullopt;
  if (v.isConstInt()) return v.intValue;
  if (v.isIntScalar() && v.expr) {
    std::set<std::string> dims;
    bool others = false;
    collectDims(*v.expr, dims, others);
    if (!others && !dims.empty()) {
      want(dims, loc, what);
      return std::nullopt;
    }
  }
  const std::string_view of = what;
  std::string found = v.isScalar() && !v.isConst ? "a value known at run time only" : describe(v);
  std::string hint = "use a literal, a tunable or a module constant";
  if (of == "the index of a tuple") hint = "pass what a value indexes as a tensor";
  // A loop variable is the most frequent of the values that are known at run time only.
  const bool isLoopVariable =
      v.isWide() && v.expr && v.expr->op == Op::Var && immutable_.contains(v.expr->symbol);
  if (isLoopVariable && of != "a position in a tile")
    hint = "unroll the loop, in which '" + kernel_.symbols[static_cast<size_t>(v.expr->symbol)].name +
           "' is a constant then: ts.static_range(...)";
  if (of == "a position in a tile")
    hint = v.dtype == DType::Bool
               ? "select elements with ts.tile.where(mask, x, 0.0), or mask them with ts.tile.mask(x, mask)"
               : "index the tensor, T[i], or select an element with ts.tile.where and a sum";
  if (of == "an axis" && (v.isTile() || isFloat(v.dtype)))
    hint = "the larger of two values is ts.tile.maximum(a, b), the smaller ts.tile.minimum(a, b)";
  fail(Code::E_CONSTANT, loc, std::string(what) + " must be an integer constant, found " + found, hint);
  return std::nullopt;
}

bool Elaborator::checkTileSize(const std::vector<int64_t> &shape, Range loc) {
  constexpr int64_t kMaxElements = int64_t(1) << 24;
  int64_t count = 1;
  for (int64_t n : shape) {
    if (n < 1) {
      fail(Code::E_TILE_SIZE, loc, "a tile's extents are at least 1, found " + shapeText(shape));
      return false;
    }
    if (__builtin_mul_overflow(count, n, &count) || count > kMaxElements) {
      fail(Code::E_TILE_SIZE, loc,
           "a tile of shape " + shapeText(shape) + " is too large (the limit is " +
               std::to_string(kMaxElements) + " elements)",
           "loop over parts of it");
      return false;
    }
  }
  if (shape.size() > 8) {
    fail(Code::E_TILE_SIZE, loc, "a tile has at most 8 axes");
    return false;
  }
  return true;
}

bool Elaborator::staticShape(const ast::Expr &e, std::vector<int64_t> &out) {
  Value v = evaluate(e);
  if (v.isError()) return false;
  std::vector<Value> items;
  if (v.kind == Value::Tuple)
    items = std::move(v.items);
  else
    items.push_back(std::move(v));
  if (items.empty()) {
    fail(Code::E_TILE_SIZE, e.loc, "a tile has at least one axis");
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i < items.size(); ++i) {
    bool listed = (e.kind == ast::Expr::Tuple || e.kind == ast::Expr::List) && i < e.items.size();
    std::optional<int64_t> n = staticInt(items[i], listed ? e.items[i]->loc : e.loc, "the extent of a tile");
    ok &= n.has_value();
    out.push_back(n.value_or(1));
  }
  return ok;
}

std::optional<DType> Elaborator::staticDType(const ast::Expr &e) { return staticDType(evaluate(e), e.loc); }

std::optional<DType> Elaborator::staticDType(const Value &v, Range loc) {
  if (v.isError()) return std::nullopt;
  if (v.kind == Value::DTypeName) return v.dtype;
  if (v.kind == Value::Str)
    if (std::optional<DType> t = parseDType(v.text)) return t;
  if (v.kind == Value::Function && v.builtin) {
    if (v.builtin->id == FunctionId::PyBool) return DType::Bool;
    if (v.builtin->id == FunctionId::PyFloat) return DType::F32;
    if (v.builtin->id == FunctionId::PyInt) return DType::I32;
  }
  std::vector<std::string> names;
  for (const DTypeInfo &d : allDTypes())
    names.emplace_back(d.name);
  fail(Code::E_DTYPE, loc, "expected a dtype such as ts.f32, found " + describe(v),
       v.kind == Value::Str ? didYouMean(v.text, names)
       : v.isIntScalar()    ? "a shape is one argument, a tuple: (4, 8)"
                            : "");
  return std::nullopt;
}

std::optional<std::string> Elaborator::staticString(const ast::Expr &e, const char *what) {
  Value v = evaluate(e);
  if (v.kind == Value::Str) return v.text;
  if (!v.isError()) fail(Code::E_TYPE, e.loc, std::string(what) + " is a string, found " + describe(v));
  return std::nullopt;
}

std::optional<int64_t> Elaborator::staticAxis(const ast::Expr *e, size_t rank, int64_t otherwise) {
  if (!e) return otherwise;
  std::optional<int64_t> axis = staticInt(*e, "an axis");
  if (!axis) return std::nullopt;
  auto n = static_cast<int64_t>(rank);
  if (*axis < -n || *axis >= n) {
    fail(Code::E_AXIS, e->loc,
         "axis " + std::to_string(*axis) + " is outside a tile of " + std::to_string(rank) +
             (rank == 1 ? " axis" : " axes"));
    return std::nullopt;
  }
  return *axis < 0 ? *axis + n : *axis;
}

} // namespace tessera::frontend
