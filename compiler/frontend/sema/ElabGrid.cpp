// Where a program runs: parallel loops, explicit grids, implicit iterators, lanes and the implicit batch.
#include "compiler/frontend/sema/Elaborator.h"
#include "compiler/frontend/sema/IteratorLoops.h"
#include <algorithm>

namespace tessera::frontend {

/// The launch evaluates grid bounds: they may use only dims, integer scalar parameters and constants.
bool Elaborator::isLaunchExpr(const Expr &e) {
  switch (e.op) {
  case Op::ConstInt:
  case Op::DimRef:
    return true;
  case Op::ParamRef:
    return isInt(e.type.dtype);
  case Op::Neg:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::FloorDiv:
  case Op::Mod:
  case Op::Minimum:
  case Op::Maximum:
  case Op::Cast:
    return std::ranges::all_of(e.args, [](const ExprPtr &a) { return isLaunchExpr(*a); });
  default:
    return false;
  }
}

bool Elaborator::gridBound(const Value &v, Range loc, ExprPtr &out) {
  if (v.isError()) return false;
  if (!v.isIntScalar()) {
    fail(Code::E_GRID, loc, "the bounds of the grid are integers, found " + describe(v));
    return false;
  }
  out = indexExpr(v, loc);
  if (isLaunchExpr(*out)) return true;
  fail(Code::E_GRID, loc,
       "the bounds of the grid are known before the launch: expressions of dims, integer parameters and "
       "constants",
       "use ts.tile.range for a loop with other bounds");
  return false;
}

/// Reports the variables in a bound of the grid that have the name of a dim and another value: who reads the
/// bound takes them for the dim.
void Elaborator::refuseHiddenDims(const ast::Expr &bound) {
  if (bound.kind == ast::Expr::Name && isDim(bound.text)) {
    const auto local = frame().locals.find(bound.text);
    if (local == frame().locals.end()) return;
    const Value &value = local->second.value;
    const bool isTheDim = value.expr && value.expr->op == Op::DimRef && value.expr->text == bound.text;
    if (!isTheDim)
      fail(Code::E_NAME_CLASH, bound.loc,
           "'" + bound.text + "' is the variable of line " + std::to_string(local->second.loc.line) +
               " here, not the dim '" + bound.text + "'",
           "give the variable another name");
    return;
  }
  for (const ast::ExprPtr &item : bound.items)
    if (item) refuseHiddenDims(*item);
}

/// `for i in ts.tile.parallel(...)`: an axis of the grid. Returns false if the loop is not one.
bool Elaborator::parallelLoop(const ast::Stmt &s) {
  auto refuse = [&](const char *why, const char *hint) {
    fail(Code::E_GRID, s.loc, why, hint);
    return false;
  };
  if (controlDepth_ > 0 || !frame().isKernel)
    return refuse("parallel loops stand at the top of a kernel, not inside loops, branches or helpers",
                  "use ts.tile.range for a sequential loop");
  if (linearId_ || !iterators_.empty() || gridForm_ == GridForm::Explicit)
    return refuse("this kernel already has a grid",
                  "use one of parallel loops, ts.tile.grid, tile_<dim> names and linear_id()");
  if (sawWork_ && (phases_.empty() || inPhase_))
    return refuse("only bindings, context() and alloc_shared may stand before the parallel loops",
                  "move the statements into the loop");
  LoopBounds b;
  const LanguageFunction *builtin = findFunction("tessera.tile", "parallel");
  if (s.targets[0]->kind != ast::Expr::Name)
    return refuse("a parallel loop has one variable", "nest loops for more axes");
  const bool isOutermost = beginPhase(s.value->loc);
  if (isOutermost) sawWork_ = false;
  for (size_t i = 1; i < s.value->items.size(); ++i)
    refuseHiddenDims(*s.value->items[i]);
  if (!loopBounds(*s.value, *builtin, b)) b.lo = b.hi = Value::integer(0);
  if (b.step < 0) {
    fail(Code::E_LOOP_STEP, s.value->loc,
         "the step of a parallel loop is at least 1, found " + std::to_string(b.step));
    b.step = 1;
  }
  gridForm_ = GridForm::Parallel;
  GridAxis axis;
  gridBound(b.lo, s.value->loc, axis.lo);
  gridBound(b.hi, s.value->loc, axis.hi);
  axis.step = constInt(b.step, s.value->loc);
  if (!axis.lo) axis.lo = constInt(0, s.loc);
  if (!axis.hi) axis.hi = constInt(0, s.loc);
  bindLoopVariable(s.targets[0]->text, s.targets[0]->loc, axis.symbol);
  kernel_.grid.push_back(std::move(axis));
  block(s.body);
  gridClosed_ = true;
  if (isOutermost) endPhase();
  return true;
}

/// `i, j = ts.tile.grid(n, m)`: programs are counted from 0.
bool Elaborator::gridCall(const ast::Stmt &s) {
  if (s.value->kind != ast::Expr::Call || !dottedName(*s.value->items[0]).ends_with("grid")) return false;
  Value callee = evaluate(*s.value->items[0]);
  if (callee.kind != Value::Function || !callee.builtin || callee.builtin->id != FunctionId::Grid)
    return false;
  auto refuse = [&](const char *why, const char *hint) {
    fail(Code::E_GRID, s.loc, why, hint);
    return true;
  };
  if (controlDepth_ > 0 || !frame().isKernel) return refuse("the grid is defined at the top of a kernel", "");
  if (linearId_ || !iterators_.empty() || gridForm_ != GridForm::None)
    return refuse("this kernel already has a grid",
                  "use one of parallel loops, ts.tile.grid, tile_<dim> names and linear_id()");
  if (!s.value->keywords.empty() || s.value->items.size() < 2)
    return refuse("'grid' takes the number of programs along each axis", "");
  std::vector<const ast::Expr *> names;
  if (s.targets.size() == 1 && s.targets[0]->kind != ast::Expr::Name)
    for (const ast::ExprPtr &t : s.targets[0]->items)
      names.push_back(t.get());
  else
    names.push_back(s.targets[0].get());
  for (const ast::Expr *n : names)
    if (n->kind != ast::Expr::Name)
      return refuse("'grid' is assigned to names", "write: i, j = ts.tile.grid(n, m)");
  if (names.size() != s.value->items.size() - 1)
    return refuse("'grid' gives one index per axis", "write as many names as axes");
  gridForm_ = GridForm::Explicit;
  for (size_t i = 0; i < names.size(); ++i) {
    GridAxis axis;
    refuseHiddenDims(*s.value->items[i + 1]);
    Value count = operand(*s.value->items[i + 1]);
    if (!gridBound(count, s.value->items[i + 1]->loc, axis.hi)) axis.hi = constInt(0, s.loc);
    axis.lo = constInt(0, s.loc);
    axis.step = constInt(1, s.loc);
    bindLoopVariable(names[i]->text, names[i]->loc, axis.symbol);
    kernel_.grid.push_back(std::move(axis));
  }
  return true;
}

/// Splits the implicit iterators into grid axes and reduction loops, after the whole body is known.
void Elaborator::finishIterators() {
  if (iterators_.empty()) return;
  for (const Iterator &it : iterators_)
    if (it.step == 0)
      fail(Code::E_ITERATOR_STEP, it.loc,
           "'" + it.name + "' stands in no slice " + it.name + ":" + it.name + "+N, so its step is unknown",
           "use it in the slice of a tensor, or write the loop with ts.tile.range");
  if (sink_.hasErrors()) return;
  std::set<SymbolId> written = writtenIndexSymbols(kernel_.body);
  std::vector<ReductionIterator> reductions;
  for (const Iterator &it : iterators_) {
    Value hi = dimValue(it.dim);
    if (written.count(it.symbol)) {
      GridAxis axis;
      axis.symbol = it.symbol;
      axis.lo = constInt(0, it.loc);
      axis.hi = take(std::move(hi), it.loc);
      axis.step = constInt(it.step, it.loc);
      kernel_.grid.push_back(std::move(axis));
    } else {
      reductions.push_back({it.symbol, it.name, take(std::move(hi), it.loc), it.step, it.loc});
    }
  }
  formReductionLoops(kernel_, std::move(reductions), sink_);
}

/// Finds the bound of a guard `lane < bound` among the conjuncts of a condition.
bool Elaborator::laneGuard(const Expr &e, ExprPtr &bound) const {
  auto isLane = [](const Expr &x) {
    if (x.op == Op::Cast) // a narrower integer would wrap, and the guard would hold again for later lanes
      return isInt(x.type.dtype) && info(x.type.dtype).bits >= 32 && x.args[0]->op == Op::LaneId;
    return x.op == Op::LaneId;
  };
  if (e.op == Op::LogicalAnd) return laneGuard(*e.args[0], bound) || laneGuard(*e.args[1], bound);
  bool less = (e.op == Op::Lt || e.op == Op::Le) && isLane(*e.args[0]);
  bool greater = (e.op == Op::Gt || e.op == Op::Ge) && isLane(*e.args[1]);
  if (!less && !greater) return false;
  const Expr &limit = *e.args[less ? 1 : 0];
  if (!isLaunchExpr(limit)) return false;
  bound = clone(limit);
  if (bound->type.dtype != DType::I64) {
    auto wide = std::make_unique<Expr>();
    wide->op = Op::Cast;
    wide->type = {Type::Scalar, DType::I64, {}};
    wide->loc = limit.loc;
    wide->args.push_back(std::move(bound));
    bound = std::move(wide);
  }
  if (e.op == Op::Le || e.op == Op::Ge) {
    auto sum = std::make_unique<Expr>();
    sum->op = Op::Add;
    sum->type = {Type::Scalar, DType::I64, {}};
    sum->loc = limit.loc;
    auto one = std::make_unique<Expr>();
    one->op = Op::ConstInt;
    one->type = sum->type;
    one->loc = limit.loc;
    one->intValue = 1;
    sum->args.push_back(std::move(bound));
    sum->args.push_back(std::move(one));
    bound = std::move(sum);
  }
  return true;
}

static bool hasAtomic(const Expr &e, int hidden) {
  return (e.op == Op::Atomic && e.param != hidden) ||
         std::ranges::any_of(e.args, [&](const ExprPtr &a) { return hasAtomic(*a, hidden); });
}

/// Does a statement, or one inside it, change memory? What print and assert_ write does not count.
bool Elaborator::hasEffect(const Stmt &s) const {
  const bool isStore = s.kind == Stmt::StoreElem || s.kind == Stmt::StoreTile || s.kind == Stmt::BufferWrite;
  auto inside = [&](const Stmt &inner) { return hasEffect(inner); };
  return (isStore && (s.param < 0 || s.param != reportsParam_)) ||
         std::ranges::any_of(s.exprs, [&](const ExprPtr &e) { return hasAtomic(*e, reportsParam_); }) ||
         std::ranges::any_of(s.body, inside) || std::ranges::any_of(s.orelse, inside);
}

/// Is every effect of a block under a guard `lane < bound`? Collects the bounds. Lanes from the largest bound
/// on then do nothing.
bool Elaborator::guarded(const Block &block, std::vector<ExprPtr> &bounds) const {
  for (const Stmt &s : block) {
    ExprPtr bound;
    bool effect = hasEffect(s);
    if (s.kind == Stmt::If && (effect || s.orelse.empty()) && laneGuard(*s.exprs[0], bound)) {
      bounds.push_back(std::move(bound));
      effect = !guarded(s.orelse, bounds);
    }
    if (effect) return false;
  }
  return true;
}

static void collectWrites(const Block &body, std::vector<const Stmt *> &out) {
  for (const Stmt &s : body) {
    if (s.kind == Stmt::StoreElem) out.push_back(&s);
    collectWrites(s.body, out);
    collectWrites(s.orelse, out);
  }
}

static const Expr *findTile(const Expr &e) {
  if (e.type.kind == Type::Tile) return &e;
  for (const ExprPtr &a : e.args)
    if (const Expr *found = findTile(*a)) return found;
  return nullptr;
}

static const Expr *findTile(const Block &body) {
  for (const Stmt &s : body) {
    for (const ExprPtr &e : s.exprs)
      if (const Expr *found = findTile(*e)) return found;
    if (const Expr *found = findTile(s.body)) return found;
    if (const Expr *found = findTile(s.orelse)) return found;
  }
  return nullptr;
}

/// Returns the sizes of the written tensors if each store is to the lane's own element of a 1-D tensor: lanes
/// from the largest size on do nothing, since a store out of range is dropped. Empty otherwise.
std::vector<ExprPtr> Elaborator::writtenSizes() {
  std::vector<const Stmt *> writes;
  collectWrites(kernel_.body, writes);
  std::vector<ExprPtr> sizes;
  std::vector<const Dim *> seen;
  for (const Param &p : kernel_.params)
    if (p.atomics && p.reports.empty()) return {};
  for (const Stmt *s : writes) {
    if (s->param == reportsParam_) continue;
    const Param &p = kernel_.params[static_cast<size_t>(s->param)];
    if (p.dims.size() != 1 || s->exprs[1]->op != Op::LaneId) return {};
    const Dim &dim = p.dims[0];
    if (std::ranges::any_of(
            seen, [&](const Dim *d) { return d->symbol == dim.symbol && d->constant == dim.constant; }))
      continue;
    seen.push_back(&dim);
    sizes.push_back(take(dimExtent(dim), *linearId_));
  }
  return sizes;
}

/// A guard that covers the whole domain always holds, and its body replaces it.
void Elaborator::dropGuard() {
  for (auto s = kernel_.body.begin(); s != kernel_.body.end(); ++s) {
    ExprPtr bound;
    if (s->kind != Stmt::If || !s->orelse.empty() || !laneGuard(*s->exprs[0], bound)) continue;
    if (s->exprs[0]->op == Op::LogicalAnd) return; // its condition has more parts than the bound
    Block inner = std::move(s->body);
    auto at = kernel_.body.erase(s);
    kernel_.body.insert(at, std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
    return;
  }
}

/// Determines the number of lanes: the largest bound of the guards if every effect is under one, otherwise
/// the size of the tensors to which every lane writes its own element.
void Elaborator::finishLanes() {
  if (!linearId_ || sink_.hasErrors()) return;
  if (const Expr *tile = findTile(kernel_.body)) {
    fail(Code::E_LANE_TILE, tile->loc,
         "a linear_id() program is one lane; a tile of shape " + shapeText(tile->type.shape) +
             " needs a tile program",
         "use a tile grid, or work on single elements");
    return;
  }
  std::vector<ExprPtr> counts;
  if (!guarded(kernel_.body, counts))
    counts = writtenSizes();
  else if (counts.size() == 1)
    dropGuard();
  if (counts.empty()) {
    fail(
        Code::E_LINEAR_DOMAIN, *linearId_,
        "the number of lanes cannot be determined: not every write is under a guard, and not every one is to "
        "the element [i] of a tensor",
        "put every write under a guard: if i < n:");
    return;
  }
  for (ExprPtr &count : counts) {
    if (!kernel_.laneCount) {
      kernel_.laneCount = std::move(count);
      continue;
    }
    std::vector<ExprPtr> args;
    args.push_back(std::move(kernel_.laneCount));
    args.push_back(std::move(count));
    kernel_.laneCount = make(Op::Maximum, {Type::Scalar, DType::I64, {}}, *linearId_, std::move(args));
  }
}

void Elaborator::finishBatch() {
  if (!batch_.used) return;
  if (!batch_.fullName.empty()) {
    fail(Code::E_INDEX, batch_.partial,
         "'" + batch_.partialName + "' is indexed with fewer indices than it has dims, but '" +
             batch_.fullName + "' (line " + std::to_string(batch_.full.line) + ") with all of them",
         "give one index per dim, or leave the leading dims out everywhere");
    return;
  }
  if (linearId_) {
    fail(Code::E_INDEX, batch_.partial, "a linear_id() program has no implicit batch",
         "give one index per dim");
    return;
  }
  std::vector<GridAxis> axes;
  const Param *owner = nullptr;
  for (const Param &p : kernel_.params)
    if (p.name == batch_.partialName) owner = &p;
  for (size_t i = 0; i < batch_.symbols.size() && owner; ++i) {
    GridAxis axis;
    axis.symbol = batch_.symbols[i];
    axis.isBatch = true;
    axis.lo = constInt(0, batch_.partial);
    axis.hi = take(dimExtent(owner->dims[i]), batch_.partial);
    axis.step = constInt(1, batch_.partial);
    axes.push_back(std::move(axis));
  }
  kernel_.grid.insert(kernel_.grid.begin(), std::make_move_iterator(axes.begin()),
                      std::make_move_iterator(axes.end()));
}

} // namespace tessera::frontend
