// Statements.
#include "compiler/frontend/sema/Effects.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>

namespace tessera::frontend {

Stmt &Elaborator::emit(Stmt::Kind kind, Range loc) {
  grow(loc);
  Stmt &s = blocks_.back()->emplace_back();
  s.kind = kind;
  s.loc = loc;
  return s;
}

SymbolId Elaborator::newSymbol(const std::string &name, Type type, Range loc) {
  Symbol &s = kernel_.symbols.emplace_back();
  s.name = name;
  s.type = std::move(type);
  s.loc = loc;
  return static_cast<SymbolId>(kernel_.symbols.size()) - 1;
}

ExprPtr Elaborator::var(SymbolId symbol, Range loc) {
  ExprPtr e = make(Op::Var, kernel_.symbols[static_cast<size_t>(symbol)].type, loc);
  e->symbol = symbol;
  return e;
}

/// Computes a value at this point, into a variable of its own.
Value Elaborator::toVariable(Value v, const std::string &name, Range loc) {
  if (graph_) return graphCompact(std::move(v), loc);
  SymbolId symbol = newSymbol(name, v.type(), loc);
  std::optional<Linear> linear = v.linear;
  std::optional<DType> accum = v.accum;
  std::string literalOf = v.isScalar() ? v.text : std::string();
  int64_t literal = v.intValue;
  double realLiteral = v.floatValue;
  bool weak = v.weak, wide = v.wide, yields = v.yields, isInteger = v.isIntScalar();
  auto choice = v.choice;
  ExprPtr e = take(std::move(v), loc);
  Stmt &s = emit(Stmt::Assign, loc);
  s.symbol = symbol;
  s.exprs.push_back(std::move(e));
  Value out = Value::of(var(symbol, loc), weak);
  out.wide = wide;
  out.yields = yields;
  out.choice = choice;
  out.text = std::move(literalOf);
  out.intValue = literal;
  out.floatValue = realLiteral;
  if (isInteger) out.linear = linear ? linear : AtomTable::of(atoms_.fresh(out.dtype));
  out.accum = accum;
  return out;
}

/// Small integer expressions of values that never change are repeated at each use rather than stored.
bool Elaborator::inlineable(const Expr &e, unsigned &budget) const {
  if (e.type.kind != Type::Scalar || isFloat(e.type.dtype) || budget == 0) return false;
  --budget;
  switch (e.op) {
  case Op::ConstInt:
  case Op::DimRef:
  case Op::LaneId:
    return true;
  case Op::ParamRef:
    return true;
  case Op::Var:
    return immutable_.count(e.symbol) != 0;
  case Op::Neg:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::FloorDiv:
  case Op::Mod:
  case Op::Minimum:
  case Op::Maximum:
  case Op::Cast:
    break;
  default:
    return false;
  }
  for (const ExprPtr &a : e.args)
    if (!inlineable(*a, budget)) return false;
  return true;
}

/// A return also ends the blocks around it. Whether its path is taken is known at compile time (the branches
/// of run-time conditions cannot return here), so the statements after it are dropped.
void Elaborator::block(const ast::Block &body) {
  for (size_t i = 0; i < body.size(); ++i) {
    statement(body[i]);
    if (!frame().returned.did) continue;
    bool isPath = body[i].kind == ast::Stmt::If || (graph_ && body[i].kind == ast::Stmt::For);
    if (!isPath && i + 1 < body.size())
      fail(Code::E_RETURN_PLACE, body[i + 1].loc, "nothing runs after a return");
    return;
  }
}

void Elaborator::statement(const ast::Stmt &s) {
  if (!grow(s.loc)) return;
  bool isText = s.kind == ast::Stmt::Expr && s.value->kind == ast::Expr::Str;
  if (s.kind == ast::Stmt::Error || s.kind == ast::Stmt::Pass || isText) return;
  if (gridClosed_ && frame().isKernel && s.kind != ast::Stmt::Return && !isNextPhase(s)) {
    fail(Code::E_GRID, s.loc, "only parallel loops and a return may follow the parallel loops",
         s.kind == ast::Stmt::For ? kSplitKernel : "move the statement into the innermost parallel loop");
    return;
  }
  if (graph_ && graphStatement(s)) return;
  // No read is pending at the end of a statement, so only its own calls matter. What a helper returns is
  // still part of the caller's statement: see tail().
  const bool outer = std::exchange(ordered_, !graph_ && effects_->in(s));
  plainStatement(s);
  ordered_ = outer;
}

void Elaborator::plainStatement(const ast::Stmt &s) {
  switch (s.kind) {
  case ast::Stmt::Assign:
    return assign(s);
  case ast::Stmt::Aug:
    return augmented(s);
  case ast::Stmt::For:
    return forStatement(s);
  case ast::Stmt::While:
    return whileStatement(s);
  case ast::Stmt::If:
    return ifStatement(s);
  case ast::Stmt::Return:
    return kernelReturn(s);
  case ast::Stmt::Function:
    fail(Code::E_UNSUPPORTED, s.loc, "functions are defined at module level",
         "move '" + s.text + "' out of this one");
    frame().locals[s.text].value = Value::error(); // its calls are no errors of their own
    return;
  case ast::Stmt::Import:
    fail(Code::E_UNSUPPORTED, s.loc, "imports stand at module level");
    return;
  case ast::Stmt::Expr: {
    if (s.value->kind == ast::Expr::Call) {
      Value callee = evaluate(*s.value->items[0]);
      if (callee.isError()) return;
      const LanguageFunction *f = callee.kind == Value::Function && !graph_ ? callee.builtin : nullptr;
      if (f && f->isIn(ops::Statement)) {
        kernelCall(*s.value, *f, true);
        return;
      }
      Value v = call(*s.value);
      const bool isAtomic = f && f->op == Op::Atomic;
      if (isAtomic && !v.isError()) { // the old value is unused: `old = atomic` becomes `eval atomic`
        Stmt &last = blocks_.back()->back();
        last.kind = Stmt::Eval;
        last.symbol = -1;
      }
      sawWork_ |= !f || f->id != FunctionId::Assume;
      return;
    }
    evaluate(*s.value);
    return;
  }
  default:
    return;
  }
}

static bool isBareLiteral(const ast::Expr *e) {
  if (!e) return false;
  if (e->kind == ast::Expr::Unary && e->text != "not") return isBareLiteral(e->items[0].get());
  return e->kind == ast::Expr::Int || e->kind == ast::Expr::Float || e->kind == ast::Expr::Bool;
}

void Elaborator::assign(const ast::Stmt &s) {
  if (!graph_ && gridCall(s)) return;
  Value v = evaluate(*s.value);
  if (s.targets.size() > 1 && v.isRuntime()) { // a = b = f(x): once
    unsigned budget = 24;
    if (!inlineable(*v.expr, budget)) v = toVariable(std::move(v), "shared", s.loc);
  }
  for (const ast::ExprPtr &target : s.targets)
    assignTo(*target, v, s.value.get(), s.loc);
}

void Elaborator::assignTo(const ast::Expr &target, Value v, const ast::Expr *source, Range loc) {
  switch (target.kind) {
  case ast::Expr::Name:
    return assignName(target.text, std::move(v), isBareLiteral(source), target.loc);
  case ast::Expr::Subscript: {
    if (assignItem(target, v, loc)) return;
    if (graph_) {
      fail(Code::E_IN_PLACE, target.loc,
           "a tensor of a graph function is a value and cannot be changed in place",
           "build a new one (ts.where, ts.concat), or call a @ts.kernel that writes it");
      return;
    }
    sawWork_ = true;
    Value value = v.isError() ? std::move(v) : asOperand(std::move(v), source ? source->loc : loc);
    std::optional<Access> a = access(target);
    if (a) storeAccess(std::move(*a), std::move(value), loc);
    return;
  }
  default: { // a, b = ...
    if (v.isError()) {
      for (const ast::ExprPtr &t : target.items)
        assignTo(*t, Value::error(), nullptr, loc);
      return;
    }
    if (v.kind != Value::Tuple || v.items.size() != target.items.size()) {
      fail(Code::E_ARGUMENTS, loc,
           "this assigns " + describe(v) + " to " + std::to_string(target.items.size()) + " names");
      return;
    }
    // All right-hand sides are computed before the first name is assigned.
    if (v.items.size() > 1) v = settled(std::move(v), "item", loc);
    bool listed = source && (source->kind == ast::Expr::Tuple || source->kind == ast::Expr::List);
    for (size_t i = 0; i < target.items.size(); ++i)
      assignTo(*target.items[i], std::move(v.items[i]), listed ? source->items[i].get() : nullptr, loc);
  }
  }
}

void Elaborator::assignName(const std::string &name, Value v, bool bareLiteral, Range loc) {
  Frame &f = frame();
  f.maybeUndefined.erase(name);
  auto it = f.locals.find(name);
  if (it != f.locals.end() && it->second.isLoopVariable) {
    fail(Code::E_LOOP_VARIABLE, loc, "'" + name + "' is the variable of a loop and cannot be assigned in it",
         "use another name");
    return;
  }
  const bool isFixed = it != f.locals.end() && it->second.fixed > 0;
  if (bareLiteral && !isFixed) {
    v = strengthen(std::move(v));
    if (v.isScalar() && v.dtype != DType::Bool) v.text = name;
  }

  if (isFixed) { // a loop or branch assigns it: same variable, same type
    Local &local = it->second;
    if (v.isError()) local.value = Value::error(); // what depends on it is not reported again
    if (!local.value.isError()) rebind(local.value, local.symbol, std::move(v), name, loc);
    return;
  }

  Local local;
  local.loc = loc;
  local.order = it != f.locals.end() ? it->second.order : localCount_++;
  unsigned budget = 24;
  if (v.kind == Value::Buffer && kernel_.symbols[static_cast<size_t>(v.index)].name == "smem")
    kernel_.symbols[static_cast<size_t>(v.index)].name = name;
  if (v.isRuntime() && !inlineable(*v.expr, budget) && !isRepeated(v)) {
    v = toVariable(std::move(v), name, loc);
    if (v.expr) local.symbol = v.expr->symbol;
  } else if (v.kind == Value::Tuple) {
    v = settled(std::move(v), name, loc);
  }
  if (v.isGraph() && graph_->names[static_cast<size_t>(v.index)].empty())
    graph_->names[static_cast<size_t>(v.index)] = name; // for messages
  local.value = std::move(v);
  f.locals[name] = std::move(local);
}

/// Assigns to a variable that a loop or branch carries.
void Elaborator::rebind(Value &place, SymbolId symbol, Value v, const std::string &name, Range loc) {
  if (v.isError()) return;
  if (place.kind == Value::Tuple) return rebindItems(place, std::move(v), name, loc);
  if (v.kind == Value::Buffer) v = asOperand(std::move(v), loc);
  auto refuse = [&](const std::string &hint) {
    fail(Code::E_REBIND, loc,
         "'" + name + "' is " + describe(place) + " before this loop or branch and cannot become " +
             describe(v) + " in it",
         hint);
  };
  if (symbol < 0 || (!v.isScalar() && !v.isTile())) return refuse("");
  const Type type = kernel_.symbols[static_cast<size_t>(symbol)].type;
  const bool isSame = v.type().kind == type.kind && v.shape == type.shape;
  if (!isSame)
    return refuse(place.isScalar() && v.isTile()
                      ? "begin with a tile: " + name + " = ts.tile.zeros(" + shapeText(v.shape) + ", ts." +
                            tessera::name(v.dtype) + ")"
                      : "keep its shape, or use another name");
  if (!v.converts(type.dtype))
    return refuse(!place.text.empty()
                      ? literalHint(place, v.dtype)
                      : std::string("convert it with ts.tile.cast(x, ts.") + tessera::name(type.dtype) + ")");
  v = convert(std::move(v), type.dtype, loc);
  if (v.isError()) return;
  ExprPtr e = take(std::move(v), loc);
  Stmt &s = emit(Stmt::Assign, loc);
  s.symbol = symbol;
  s.exprs.push_back(std::move(e));
  if (isInt(type.dtype) && type.kind == Type::Scalar) place.linear = AtomTable::of(atoms_.fresh(type.dtype));
}

void Elaborator::augmented(const ast::Stmt &s) {
  static const std::map<std::string, Op> kOps = {
      {"+", Op::Add},  {"-", Op::Sub}, {"*", Op::Mul}, {"/", Op::Div}, {"//", Op::FloorDiv}, {"%", Op::Mod},
      {"**", Op::Pow}, {"&", Op::And}, {"|", Op::Or},  {"^", Op::Xor}, {"<<", Op::Shl},      {">>", Op::Shr}};
  const ast::Expr &target = *s.targets[0];
  std::optional<Access> place;
  if (!graph_ && target.kind == ast::Expr::Subscript && effects_->in(target)) {
    // The index is computed once, because what it calls has effects.
    place = access(target);
    if (!place) return;
  }
  Value old = place ? loadAccess(copyOf(*place), target.loc) : operand(target);
  Value change = operand(*s.value);
  if (old.isError() || change.isError()) return;
  if (target.kind == ast::Expr::Name && old.isTile()) old.text = target.text; // for hints
  Value v = binary(kOps.at(s.text), std::move(old), std::move(change), s.loc);
  // Marks what accumulates for the loops of implicit iterators.
  if (s.text == "+" && v.expr && v.expr->op == Op::Add) v.expr->text = "+=";
  if (place)
    storeAccess(std::move(*place), std::move(v), s.loc);
  else
    assignTo(target, std::move(v), nullptr, s.loc);
}

// --- Returns ---

void Elaborator::kernelReturn(const ast::Stmt &s) {
  if (!frame().isKernel || controlDepth_ > 0) {
    fail(Code::E_RETURN_PLACE, s.loc, "a return stands at the end of a kernel, not inside a loop or branch",
         linearId_ ? "put the rest into the guard: if i < n:" : "");
    return;
  }
  frame().returned.did = true;
  if (!s.value || s.value->kind == ast::Expr::None) {
    if (hasResultAnnotation_ && !results_.empty())
      fail(Code::E_RETURN_TYPE, s.loc, "the kernel is annotated to return something",
           "return it, or drop the annotation");
    return;
  }
  bool many = s.value->kind == ast::Expr::Tuple;
  size_t count = many ? s.value->items.size() : 1;
  if (!hasResultAnnotation_) {
    const ast::Expr::Kind kind = s.value->kind;
    const bool isConstant = kind == ast::Expr::Int || kind == ast::Expr::Float || kind == ast::Expr::Bool;
    fail(Code::E_RETURN_TYPE, s.loc, "the kernel returns something, but has no annotation of its result",
         isConstant ? "leave it out: a kernel returns tensors, or nothing"
                    : "add -> ts.Tensor[...] after the parameters");
    return;
  }
  if (count != results_.size()) {
    fail(Code::E_RETURN_TYPE, s.loc,
         "the kernel returns " + std::to_string(count) + " values, but its annotation names " +
             std::to_string(results_.size()));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const ast::Expr &item = many ? *s.value->items[i] : *s.value;
    Value v = evaluate(item);
    if (!v.isError()) returnOne(std::move(v), item, i, count);
  }
}

/// ts.Tensor["M", 64, ts.f32, ts.strides("ld", 1)]
static std::string typeText(const std::vector<Dim> &dims, DType t, const std::vector<Dim> &strides) {
  auto text = [](const Dim &d) {
    return d.symbol.empty() ? std::to_string(d.constant) : "\"" + d.symbol + "\"";
  };
  std::string out = "ts.Tensor[";
  for (const Dim &d : dims)
    out += text(d) + ", ";
  out += std::string("ts.") + name(t);
  for (size_t i = 0; i < strides.size(); ++i)
    out += (i ? ", " : ", ts.strides(") + text(strides[i]);
  return out + (strides.empty() ? "]" : ")]");
}

void Elaborator::returnOne(Value v, const ast::Expr &e, size_t index, size_t count) {
  const TensorType &result = results_[index];
  if (v.kind == Value::Tensor) {
    Param &p = kernel_.params[static_cast<size_t>(v.index)];
    const bool same = p.dtype == result.dtype && p.dims == result.dims && p.strides == result.strides;
    if (!same)
      fail(Code::E_RETURN_TYPE, e.loc,
           "'" + p.name + "' is " + typeText(p.dims, p.dtype, p.strides) + ", but the annotation says " +
               typeText(result.dims, result.dtype, result.strides));
    p.returned = true;
    return;
  }
  v = asOperand(std::move(v), e.loc);
  if (v.isError()) return;
  if (!v.converts(result.dtype)) {
    fail(Code::E_RETURN_TYPE, e.loc,
         "the kernel returns " + describe(v) + ", but the annotation says " + name(result.dtype),
         std::string("convert it with ts.tile.cast(x, ts.") + name(result.dtype) + ")");
    return;
  }
  v = convert(std::move(v), result.dtype, e.loc);
  Param p;
  p.name = count == 1 ? "result" : "result" + std::to_string(index);
  for (const Param &other : kernel_.params)
    if (other.name == p.name) {
      fail(Code::E_DUPLICATE, e.loc, "the returned value is called '" + p.name + "', but so is a parameter",
           "rename the parameter");
      return;
    }
  p.loc = result.loc;
  p.isTensor = p.isResult = p.returned = true;
  p.dtype = result.dtype;
  p.dims = result.dims;
  p.strides = result.strides;
  p.policy = result.policy;
  kernel_.params.push_back(std::move(p));
  storeResult(std::move(v), static_cast<int>(kernel_.params.size()) - 1, e.loc);
}

/// Finds the position of a program's tile in the result: along the grid axis that covers the dim in steps of
/// the tile's extent; without such an axis, the tile covers the dim.
void Elaborator::storeResult(Value v, int param, Range loc) {
  if (v.isError()) return;
  const std::vector<Dim> dims = kernel_.params[static_cast<size_t>(param)].dims;
  Access out;
  out.param = param;
  if (linearId_) {
    if (dims.size() != 1 || v.isTile()) {
      fail(Code::E_RETURN_TYPE, loc,
           "a linear_id() program returns one scalar per lane into a result with one dim");
      return;
    }
    out.starts.push_back(make(Op::LaneId, {Type::Scalar, DType::I64, {}}, loc));
    out.extents.push_back(-1);
    return storeAccess(std::move(out), std::move(v), loc);
  }
  std::vector<int64_t> shape = v.shape;
  size_t batch = batch_.used ? batch_.symbols.size() : 0;
  if (shape.size() + batch != dims.size() || shape.empty()) {
    fail(Code::E_RETURN_TYPE, loc,
         "a returned value has one axis per dim of the annotation (" + std::to_string(dims.size()) +
             "), found " + describe(v),
         "or store it into an output parameter");
    return;
  }
  if (!batchPrefix(param, shape.size(), loc, out)) return;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim &d = dims[batch + i];
    Value extent = dimExtent(d);
    ExprPtr start;
    for (const Iterator &it : iterators_)
      if (it.dim == d.symbol && it.step == shape[i]) start = var(it.symbol, loc);
    for (const GridAxis &axis : kernel_.grid) {
      if (start || d.symbol.empty()) break;
      bool fromZero = axis.lo->op == Op::ConstInt && axis.lo->intValue == 0;
      bool byTile = axis.step->op == Op::ConstInt && axis.step->intValue == shape[i];
      if (fromZero && byTile && axis.hi->op == Op::DimRef && axis.hi->text == d.symbol)
        start = var(axis.symbol, loc);
    }
    if (!start && extent.isConstInt() && extent.intValue == shape[i]) start = constInt(0, loc);
    if (!start) {
      std::set<std::string> dim = {d.symbol};
      bool known = std::ranges::any_of(
          options_.dims, [&](const auto &o) { return o.first == d.symbol && o.second == shape[i]; });
      if (known && !specialized_.count(d.symbol)) {
        want(dim, loc, "the extent of the returned tile");
        return;
      }
      fail(Code::E_RETURN_TYPE, loc,
           "no grid axis walks dim " + std::to_string(batch + i) + " of the result in steps of " +
               std::to_string(shape[i]),
           "store into an output parameter at the place you mean");
      return;
    }
    out.starts.push_back(std::move(start));
    out.extents.push_back(shape[i]);
    out.shape.push_back(shape[i]);
  }
  storeAccess(std::move(out), std::move(v), loc);
}

} // namespace tessera::frontend
