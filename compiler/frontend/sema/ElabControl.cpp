// Loops and branches: a variable that is assigned inside keeps one place and one type.
#include "compiler/frontend/sema/CallRules.h"
#include <algorithm>

namespace tessera::frontend {

/// Collects the names that an assignment to `e` rebinds, also those of lists and tiles that change in part.
void Elaborator::collectTargets(const ast::Expr &e, std::set<std::string> &out) {
  if (e.kind == ast::Expr::Name) out.insert(e.text);
  if (e.kind == ast::Expr::Subscript) collectTargets(*e.items[0], out);
  if (e.kind == ast::Expr::Tuple || e.kind == ast::Expr::List)
    for (const ast::ExprPtr &item : e.items)
      collectTargets(*item, out);
}

void Elaborator::collectAssigned(const ast::Block &block, std::set<std::string> &out) {
  for (const ast::Stmt &s : block) {
    for (const ast::ExprPtr &t : s.targets)
      collectTargets(*t, out);
    collectAssigned(s.body, out);
    collectAssigned(s.orelse, out);
  }
}

/// Gives every outer variable of `assigned` a place that the block may write; returns their names.
std::vector<std::string> Elaborator::fixRebound(const std::set<std::string> &assigned,
                                                std::vector<SymbolId> &carried) {
  std::vector<std::pair<size_t, std::string>> names;
  for (const std::string &name : assigned)
    if (auto it = frame().locals.find(name); it != frame().locals.end() && !it->second.isLoopVariable)
      names.emplace_back(it->second.order, name);
  std::ranges::sort(names);
  std::vector<std::string> out;
  for (const auto &[order, name] : names) {
    Local &local = frame().locals[name];
    out.push_back(name);
    ++local.fixed;
    if (local.value.kind == Value::Tuple) carryItems(local.value, name, local.loc, carried);
    if (!local.value.isScalar() && !local.value.isTile()) continue;
    if (local.symbol < 0) {
      std::optional<DType> accum = local.value.accum;
      Value v = toVariable(std::move(local.value), name, local.loc);
      local.symbol = v.expr->symbol;
      v.accum = accum;
      local.value = std::move(v);
    }
    if (local.value.isIntScalar()) local.value.linear = AtomTable::of(atoms_.fresh(local.value.dtype));
    if (local.value.isTile()) { // no longer one of the literals that it began with
      local.value.weak = false;
      local.value.choice.reset();
    }
    carried.push_back(local.symbol);
  }
  return out;
}

void Elaborator::unfix(const std::vector<std::string> &names) {
  for (const std::string &name : names) {
    auto it = frame().locals.find(name);
    if (it == frame().locals.end()) continue;
    --it->second.fixed;
    renewItems(it->second.value);
    if (it->second.value.isIntScalar() && it->second.symbol >= 0)
      it->second.value.linear = AtomTable::of(atoms_.fresh(it->second.value.dtype));
  }
}

/// Leaves a block: a name that it was first to bind may have no value afterwards.
void Elaborator::forgetNew(const std::map<std::string, Local> &before, Range why) {
  Frame &f = frame();
  for (auto it = f.locals.begin(); it != f.locals.end();) {
    if (before.count(it->first)) {
      ++it;
      continue;
    }
    f.maybeUndefined[it->first] = why;
    it = f.locals.erase(it);
  }
}

/// Declares a variable that both sides of a branch set. The branch itself is emitted later.
SymbolId Elaborator::declareJoined(const std::string &name, const Type &type, Stmt &branch, Value then,
                                   Value otherwise, Range loc) {
  SymbolId symbol = newSymbol(name, type, loc);
  Value zero = isFloat(type.dtype) ? Value::real(0, type.dtype, false) : Value::integer(0, type.dtype, false);
  ExprPtr init =
      take(type.kind == Type::Tile ? broadcastTo(std::move(zero), type.shape, loc) : std::move(zero), loc);
  Stmt &declaration = emit(Stmt::Assign, loc);
  declaration.symbol = symbol;
  declaration.exprs.push_back(std::move(init));
  for (int k = 0; k < 2; ++k) {
    ExprPtr e = take(k == 0 ? std::move(then) : std::move(otherwise), loc);
    blocks_.push_back(k == 0 ? &branch.body : &branch.orelse);
    Stmt &set = emit(Stmt::Assign, loc);
    set.symbol = symbol;
    set.exprs.push_back(std::move(e));
    blocks_.pop_back();
  }
  branch.carried.push_back(symbol);
  return symbol;
}

/// Emits the branch and returns the value of its sides, which have the same type.
Value Elaborator::joinPaths(const std::string &name, Stmt branch, Value then, Value otherwise, Range loc) {
  Value v = joined(name, branch, std::move(then), std::move(otherwise), loc);
  blocks_.back()->push_back(std::move(branch));
  return v;
}

/// A choice by a run-time condition of which only the selected side has its effects. If a side is missing,
/// its value is the condition's. `isTruth`: the sides are conditions themselves.
Value Elaborator::eitherOr(Value c, const ast::Expr *then, const ast::Expr *otherwise, bool isTruth,
                           Range loc) {
  sawWork_ = true;
  Stmt branch;
  branch.kind = Stmt::If;
  branch.loc = loc;
  branch.exprs.push_back(take(std::move(c), loc));
  Value sides[2];
  ++controlDepth_;
  for (int k = 0; k < 2; ++k) {
    const ast::Expr *side = k == 0 ? then : otherwise;
    blocks_.push_back(k == 0 ? &branch.body : &branch.orelse);
    sides[k] = !side ? Value::boolean(k == 0) : isTruth ? condition(*side) : operand(*side);
    blocks_.pop_back();
  }
  --controlDepth_;
  if (!unify(sides[0], sides[1], loc, "if") || !broadcastPair(sides[0], sides[1], loc)) return Value::error();
  return joinPaths("choice", std::move(branch), std::move(sides[0]), std::move(sides[1]), loc);
}

/// Is it made of scalars and tiles, which have variables?
static bool hasOnlyValues(const Value &v) {
  return v.isScalar() || v.isTile() ||
         (v.kind == Value::Tuple && std::ranges::all_of(v.items, hasOnlyValues));
}

void Elaborator::mergeBranches(std::map<std::string, Local> thenLocals,
                               std::map<std::string, Local> elseLocals,
                               const std::map<std::string, Local> &before, Stmt &branch) {
  Frame &f = frame();
  std::set<std::string> names;
  for (const auto &[name, local] : thenLocals)
    names.insert(name);
  for (const auto &[name, local] : elseLocals)
    names.insert(name);
  for (const std::string &name : names) {
    if (before.count(name)) continue;
    auto a = thenLocals.find(name), b = elseLocals.find(name);
    auto forget = [&](const Local &local) { f.maybeUndefined[name] = local.loc; };
    if (a == thenLocals.end()) {
      forget(b->second);
      continue;
    }
    if (b == elseLocals.end()) {
      forget(a->second);
      continue;
    }
    Value x = std::move(a->second.value), y = std::move(b->second.value);
    if (x.isError() || y.isError()) {
      f.locals[name].value = Value::error();
      continue;
    }
    if (!hasOnlyValues(x) || !hasOnlyValues(y)) {
      forget(a->second);
      continue;
    }
    Range loc = b->second.loc;
    x = pathValue(std::move(x), loc);
    y = pathValue(std::move(y), loc);
    if (x.isError() || y.isError()) {
      f.locals[name].value = Value::error();
      continue;
    }
    if (!isJoinable(x, y)) {
      fail(Code::E_REBIND, loc,
           "'" + name + "' is " + describe(x) + " in one branch and " + describe(y) + " in the other");
      f.locals[name].value = Value::error();
      continue;
    }
    // Defined in both branches: one variable, declared before them.
    Local merged;
    merged.value = joined(name, branch, std::move(x), std::move(y), loc);
    if (merged.value.expr) merged.symbol = merged.value.expr->symbol;
    merged.loc = loc;
    merged.order = localCount_++;
    f.locals[name] = std::move(merged);
    f.maybeUndefined.erase(name);
  }
}

void Elaborator::ifStatement(const ast::Stmt &s) {
  Value c = condition(*s.value);
  if (c.isError()) { // elaborate both sides nevertheless, for their own errors
    c = Value::of(make(Op::ConstInt, {Type::Scalar, DType::Bool, {}}, s.loc));
  } else if (c.isConst) {
    return block(c.intValue ? s.body : s.orelse);
  }
  sawWork_ = true;
  Stmt branch;
  branch.kind = Stmt::If;
  branch.loc = s.loc;
  branch.exprs.push_back(take(std::move(c), s.value->loc));
  std::set<std::string> assigned;
  collectAssigned(s.body, assigned);
  collectAssigned(s.orelse, assigned);
  std::vector<std::string> fixed = fixRebound(assigned, branch.carried);

  std::map<std::string, Local> before = frame().locals, after[2];
  std::map<std::string, Range> undefinedBefore = frame().maybeUndefined;
  ++controlDepth_;
  for (int k = 0; k < 2; ++k) {
    blocks_.push_back(k == 0 ? &branch.body : &branch.orelse);
    block(k == 0 ? s.body : s.orelse);
    blocks_.pop_back();
    after[k] = std::move(frame().locals);
    frame().locals = before;
    for (const auto &[name, where] : undefinedBefore)
      frame().maybeUndefined.emplace(name, where);
  }
  --controlDepth_;
  mergeBranches(std::move(after[0]), std::move(after[1]), before, branch);
  unfix(fixed);
  blocks_.back()->push_back(std::move(branch));
}

void Elaborator::whileStatement(const ast::Stmt &s) {
  sawWork_ = true;
  Stmt loop;
  loop.kind = Stmt::While;
  loop.loc = s.loc;
  std::set<std::string> assigned;
  collectAssigned(s.body, assigned);
  std::vector<std::string> fixed = fixRebound(assigned, loop.carried);
  size_t emitted = blocks_.back()->size();
  Value c = condition(*s.value);
  if (c.isError()) c = Value::of(make(Op::ConstInt, {Type::Scalar, DType::Bool, {}}, s.loc));
  if (c.isConst && c.intValue)
    fail(Code::E_UNSUPPORTED, s.value->loc, "this loop never ends", "write a condition that becomes false");
  // A condition that takes statements, such as a helper's, is computed into a variable: before the loop and
  // at the end of its body.
  SymbolId again = -1;
  if (blocks_.back()->size() != emitted && !c.isConst) {
    c = toVariable(std::move(c), "condition", s.value->loc);
    again = c.expr->symbol;
    loop.carried.push_back(again);
  }
  loop.exprs.push_back(take(std::move(c), s.value->loc));
  std::map<std::string, Local> before = frame().locals;
  blocks_.push_back(&loop.body);
  ++controlDepth_;
  block(s.body);
  if (again >= 0)
    if (Value next = condition(*s.value); !next.isError()) {
      ExprPtr e = take(std::move(next), s.value->loc);
      Stmt &set = emit(Stmt::Assign, s.value->loc);
      set.symbol = again;
      set.exprs.push_back(std::move(e));
    }
  --controlDepth_;
  blocks_.pop_back();
  forgetNew(before, s.loc);
  unfix(fixed);
  blocks_.back()->push_back(std::move(loop));
}

bool Elaborator::loopBounds(const ast::Expr &call, const LanguageFunction &b, LoopBounds &out) {
  KernelCall a{b, call.loc, {}};
  if (!bind(call, b, a)) return false;
  Value first = operand(*a[0]);
  Value second = a[1] ? operand(*a[1]) : Value::error();
  bool failed = first.isError() || (a[1] && second.isError());
  std::optional<int64_t> step = staticInt(*a[2], "the step of a loop");
  if (!step) return false;
  out.step = *step;
  if (*step == 0 || *step == INT64_MIN) {
    fail(Code::E_LOOP_STEP, a[2]->loc, "the step of a loop is not " + std::to_string(*step));
    return false;
  }
  if (a.at.size() > 3 && a[3]) {
    std::optional<int64_t> stages = staticInt(*a[3], "the number of stages");
    if (!stages) return false;
    out.stages = *stages;
    if (*stages < 1 || *stages > 64) {
      fail(Code::E_ARGUMENTS, a[3]->loc, "a loop has 1 to 64 stages, found " + std::to_string(*stages));
      return false;
    }
  }
  if (failed) return false;
  out.lo = a[1] ? std::move(first) : Value::integer(0);
  out.hi = a[1] ? std::move(second) : std::move(first);
  for (const Value *v : {&out.lo, &out.hi})
    if (!v->isIntScalar()) {
      fail(Code::E_TYPE, call.loc, "the bounds of a loop are integers, found " + describe(*v));
      return false;
    }
  return true;
}

/// Declares the variable of a loop: a weak 64-bit integer that the body may not assign.
Value Elaborator::bindLoopVariable(const std::string &name, Range loc, SymbolId &symbol) {
  symbol = newSymbol(name, {Type::Scalar, DType::I64, {}}, loc);
  immutable_.insert(symbol);
  int atom = atoms_.intern("sym:" + std::to_string(symbol), {}, false);
  atomExprs_[atom] = var(symbol, loc);
  Value v = Value::extent(var(symbol, loc), AtomTable::of(atom));
  Local local;
  local.value = v;
  local.isLoopVariable = true;
  local.loc = loc;
  local.order = localCount_++;
  frame().locals[name] = std::move(local);
  frame().maybeUndefined.erase(name);
  return v;
}

bool Elaborator::staticValues(const ast::Expr &e, std::vector<Value> &out) {
  constexpr size_t kMaxTurns = 4096;
  const bool isCall = e.kind == ast::Expr::Call;
  const Value callee = isCall ? evaluate(*e.items[0]) : Value::none();
  if (callee.isError()) return false;
  const LanguageFunction *f = callee.kind == Value::Function ? callee.builtin : nullptr;
  const bool isStatic = f && (f->id == FunctionId::StaticRange || f->id == FunctionId::Range);
  if (!isStatic) {
    const bool isHead = f && f->id == FunctionId::Parallel;
    Value v = isHead ? Value::none() : evaluate(e);
    if (v.isError()) return false;
    if (v.kind == Value::Tuple) {
      out = std::move(settled(std::move(v), "item", e.loc).items);
      return true;
    }
    fail(Code::E_UNSUPPORTED, e.loc,
         isGraph_ ? "a for loop of a graph function runs over range(...) or over a tuple"
         : isHead ? "the length of a list is known at compile time, that of this loop is not"
                  : "a for loop runs over range, ts.tile.range, ts.tile.parallel, ts.static_range or a tuple",
         isGraph_ && isHead ? "loops over tiles are of kernels: decorate the function with @ts.kernel"
         : isGraph_         ? "write: for i in range(4):"
         : isHead           ? "write: [f(i) for i in ts.static_range(4)]"
                            : "write: for i in ts.tile.range(0, n, step):");
    return false;
  }
  LoopBounds b;
  if (!loopBounds(e, *f, b)) return false;
  if (!b.lo.isConstInt() || !b.hi.isConstInt()) {
    fail(isGraph_ ? Code::E_GRAPH_CONTROL : Code::E_CONSTANT, e.loc,
         "the bounds of this loop are known at run time only",
         isGraph_ ? "loops of graph functions are unrolled: their bounds are constants"
                  : "static_range unrolls over constants; ts.tile.range runs over any integers");
    return false;
  }
  bool isLast = false; // the next value would not fit
  for (int64_t i = b.lo.intValue; !isLast && (b.step > 0 ? i < b.hi.intValue : i > b.hi.intValue);
       isLast = __builtin_add_overflow(i, b.step, &i)) {
    if (out.size() == kMaxTurns) {
      fail(Code::E_TOO_COMPLEX, e.loc,
           "this loop would be unrolled more than " + std::to_string(kMaxTurns) + " times");
      return false;
    }
    out.push_back(Value::integer(i));
  }
  return true;
}

/// Gives the variables of an unrolled loop their values. As in every loop of kernels, the body does not
/// assign them, and they end with the loop. Returns false after an error.
bool Elaborator::bindItem(const ast::Expr &target, Value v) {
  if (target.kind == ast::Expr::Tuple || target.kind == ast::Expr::List) {
    if (v.kind != Value::Tuple || v.items.size() != target.items.size()) {
      fail(Code::E_ARGUMENTS, target.loc,
           "this assigns " + describe(v) + " to " + std::to_string(target.items.size()) + " names");
      return false;
    }
    for (size_t i = 0; i < v.items.size(); ++i)
      if (!bindItem(*target.items[i], std::move(v.items[i]))) return false;
    return true;
  }
  if (target.kind != ast::Expr::Name) {
    fail(Code::E_UNSUPPORTED, target.loc, "a loop has one variable, or a tuple of them");
    return false;
  }
  if (isGraph_) {
    assignName(target.text, std::move(v), false, target.loc);
    return true;
  }
  Local local;
  local.value = std::move(v);
  local.isLoopVariable = true;
  local.loc = target.loc;
  local.order = localCount_++;
  frame().locals[target.text] = std::move(local);
  frame().maybeUndefined.erase(target.text);
  return true;
}

/// Elaborates the body once for each value of the loop's variable. Returns false after an error in the
/// loop's head.
bool Elaborator::unroll(const ast::Stmt &s, std::vector<Value> values) {
  for (Value &value : values) {
    if (nodes_ > kMaxNodes || !bindItem(*s.targets[0], std::move(value))) return false;
    block(s.body);
    if (frame().returned.did) break;
  }
  if (isGraph_) return true;
  std::set<std::string> names;
  collectTargets(*s.targets[0], names);
  for (const std::string &name : names) {
    frame().locals.erase(name);
    frame().maybeUndefined.emplace(name, s.loc);
  }
  return true;
}

void Elaborator::forStatement(const ast::Stmt &s) {
  Value callee = s.value->kind == ast::Expr::Call ? evaluate(*s.value->items[0]) : Value::none();
  bool isParallel =
      callee.kind == Value::Function && callee.builtin && callee.builtin->id == FunctionId::Parallel;
  if (isParallel && parallelLoop(s)) return;
  if (callee.kind == Value::Function && callee.builtin && callee.builtin->id == FunctionId::Grid) {
    fail(Code::E_UNSUPPORTED, s.value->loc,
         "ts.tile.grid is no loop: each program has one index along each axis",
         "write at the top of the kernel: i, j = ts.tile.grid(n, m)");
    return;
  }
  const bool isStatic =
      callee.kind == Value::Function && callee.builtin && callee.builtin->id == FunctionId::StaticRange;
  const bool isHead = callee.kind == Value::Function && callee.builtin && !isStatic &&
                      (isParallel || callee.builtin->id == FunctionId::Range);
  if (isStatic || (!isHead && !callee.isError())) {
    sawWork_ = true;
    std::vector<Value> values;
    if (staticValues(*s.value, values)) unroll(s, std::move(values));
    return;
  }
  bool isRange = callee.kind == Value::Function && callee.builtin && callee.builtin->id == FunctionId::Range;
  if (s.targets[0]->kind != ast::Expr::Name) {
    if (!isParallel)
      fail(Code::E_UNSUPPORTED, s.targets[0]->loc, "a loop has one variable", "nest the loops");
    return;
  }
  LoopBounds b;
  bool ok = isRange && loopBounds(*s.value, *callee.builtin, b);
  if (!ok) b.lo = b.hi = Value::integer(0); // the body is elaborated nevertheless
  sawWork_ = true;

  const std::string &name = s.targets[0]->text;
  Stmt loop;
  loop.kind = Stmt::For;
  loop.loc = s.loc;
  loop.ints = {b.stages};
  // A loop that counts down is emitted as one that counts up over the distance from its start.
  Value down;
  if (b.step < 0) {
    // The loop counts in 64 bits, in which the distance between two narrower integers does not wrap.
    for (Value *v : {&b.lo, &b.hi})
      if (!v->weak) {
        *v = cast(std::move(*v), DType::I64, s.value->loc);
        v->weak = v->wide = true;
      }
    unsigned budget = 24;
    if (b.lo.isRuntime() && !inlineable(*b.lo.expr, budget)) b.lo = toVariable(std::move(b.lo), name, s.loc);
    down = b.lo;
    b.hi = binary(Op::Sub, std::move(b.lo), std::move(b.hi), s.loc);
    b.lo = Value::integer(0);
    if (b.hi.isError()) return;
  }
  loop.exprs.push_back(indexExpr(b.lo, s.value->loc));
  loop.exprs.push_back(indexExpr(b.hi, s.value->loc));
  loop.exprs.push_back(constInt(b.step < 0 ? -b.step : b.step, s.value->loc));

  std::set<std::string> assigned;
  collectAssigned(s.body, assigned);
  assigned.erase(name);
  std::vector<std::string> fixed = fixRebound(assigned, loop.carried);
  std::map<std::string, Local> before = frame().locals;
  before.erase(name);
  blocks_.push_back(&loop.body);
  ++controlDepth_;
  Value v = bindLoopVariable(name, s.targets[0]->loc, loop.symbol);
  if (!down.isError()) frame().locals[name].value = binary(Op::Sub, std::move(down), std::move(v), s.loc);
  block(s.body);
  --controlDepth_;
  blocks_.pop_back();
  forgetNew(before, s.loc);
  unfix(fixed);
  blocks_.back()->push_back(std::move(loop));
}

} // namespace tessera::frontend
