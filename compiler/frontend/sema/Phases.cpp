// Several parallel loops at the top of one kernel. Each has programs of its own. A launch has one grid, so
// the grid becomes one axis of all programs, in order, and a program finds its phase and its indices in its
// number:
//
//   for i in parallel(0, n, 64): A          program in parallel(0, a + b, 1):
//   for j in parallel(0, m, 16): B    ->      if program < a: i = 64 * program; A
//                                             else: j = 16 * (program - a); B
//
// Programs run in any order, so no phase may depend on what another one writes.
#include "compiler/frontend/sema/Elaborator.h"
#include <algorithm>

namespace tessera::frontend {

/// May the statement follow closed parallel loops, as parallel loops of their own?
bool Elaborator::isNextPhase(const ast::Stmt &s) {
  if (inPhase_ || s.kind != ast::Stmt::For || s.value->kind != ast::Expr::Call) return false;
  const Value callee = evaluate(*s.value->items[0]);
  return callee.kind == Value::Function && callee.builtin && callee.builtin->id == FunctionId::Parallel;
}

/// Begins a phase at the outermost of its loops. Returns false at the loops inside.
bool Elaborator::beginPhase(Range loc) {
  if (std::exchange(inPhase_, true)) return false;
  if (phases_.empty()) {
    localsBefore_ = frame().locals;
  } else {
    phases_.back().grid = std::exchange(kernel_.grid, {});
    for (const auto &[name, local] : frame().locals)
      if (!localsBefore_.contains(name)) frame().maybeUndefined[name] = phases_.back().loc;
    frame().locals = localsBefore_;
  }
  gridClosed_ = false;
  Phase &phase = phases_.emplace_back();
  phase.loc = loc;
  phase.first = kernel_.body.size();
  usesBefore_.clear();
  for (Param &p : kernel_.params) {
    usesBefore_.push_back({p.reads, p.writes, p.atomics});
    if (phases_.size() > 1)
      p.reads = p.writes = p.atomics = false; // the statements before count for the first
  }
  return true;
}

void Elaborator::endPhase() {
  inPhase_ = false;
  Phase &phase = phases_.back();
  phase.end = kernel_.body.size();
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    Param &p = kernel_.params[i];
    phase.uses.push_back({p.reads, p.writes, p.atomics});
    if (i >= usesBefore_.size()) continue;
    p.reads |= usesBefore_[i].reads;
    p.writes |= usesBefore_[i].writes;
    p.atomics |= usesBefore_[i].atomics;
  }
  checkPhase();
}

/// Refuses the last phase if it depends on an earlier one.
void Elaborator::checkPhase() {
  const Phase &last = phases_.back();
  for (const Phase &earlier : phases_) {
    if (&earlier == &last) return;
    for (size_t i = 0; i < earlier.uses.size(); ++i) {
      const Param &p = kernel_.params[i];
      const Phase::Use &before = earlier.uses[i], &now = last.uses[i];
      const bool isDependent = (before.writes && (now.reads || now.writes)) || (before.reads && now.writes);
      if (!isDependent || !p.reports.empty()) continue;
      const bool isWritten = now.writes;
      fail(Code::E_GRID, last.loc,
           std::string("these parallel loops ") + (isWritten ? "write" : "read") + " '" + p.name +
               "', which those of line " + std::to_string(earlier.loc.line) +
               (before.writes ? " write" : " read") + ": the programs of both run in any order",
           kSplitKernel);
      return;
    }
  }
}

namespace {

void assignedIn(const Block &body, std::set<SymbolId> &out) {
  for (const Stmt &s : body) {
    if (s.kind == Stmt::Assign) out.insert(s.symbol);
    assignedIn(s.body, out);
    assignedIn(s.orelse, out);
  }
}

/// Moves the statements from `first` to before `end` out of a block.
Block part(Block &body, size_t first, size_t end) {
  auto at = [&](size_t i) { return std::make_move_iterator(body.begin() + static_cast<ptrdiff_t>(i)); };
  return Block(at(first), at(end));
}

void append(Block &to, Block statements) {
  to.insert(to.end(), std::make_move_iterator(statements.begin()), std::make_move_iterator(statements.end()));
}

bool isNumber(const Expr &e, int64_t value) { return e.op == Op::ConstInt && e.intValue == value; }

} // namespace

/// The number of programs along an axis.
ExprPtr Elaborator::programsAlong(const GridAxis &axis, Range loc) {
  ExprPtr distance =
      isNumber(*axis.lo, 0) ? clone(*axis.hi) : index(Op::Sub, clone(*axis.hi), clone(*axis.lo), loc);
  if (!isNumber(*axis.step, 1)) {
    distance = index(Op::Add, std::move(distance), constInt(axis.step->intValue - 1, loc), loc);
    distance = index(Op::FloorDiv, std::move(distance), clone(*axis.step), loc);
  }
  return index(Op::Maximum, std::move(distance), constInt(0, loc), loc);
}

ExprPtr Elaborator::index(Op op, ExprPtr x, ExprPtr y, Range loc) {
  std::vector<ExprPtr> args;
  args.push_back(std::move(x));
  args.push_back(std::move(y));
  return make(op, {Type::Scalar, DType::I64, {}}, loc, std::move(args));
}

/// The statements of a phase, after those that compute its indices from `number`, the number of the program
/// among those of the phase.
Block Elaborator::phaseBody(const Phase &phase, ExprPtr number) {
  const Range loc = phase.loc;
  Block body;
  auto assign = [&](SymbolId symbol, ExprPtr value) {
    Stmt &s = body.emplace_back();
    s.kind = Stmt::Assign;
    s.loc = loc;
    s.symbol = symbol;
    s.exprs.push_back(std::move(value));
  };
  for (size_t i = phase.grid.size(); i-- > 0;) {
    const GridAxis &axis = phase.grid[i];
    ExprPtr at = i == 0 ? clone(*number) : index(Op::Mod, clone(*number), programsAlong(axis, loc), loc);
    if (i != 0) number = index(Op::FloorDiv, std::move(number), programsAlong(axis, loc), loc);
    if (!isNumber(*axis.step, 1)) at = index(Op::Mul, std::move(at), clone(*axis.step), loc);
    if (!isNumber(*axis.lo, 0)) at = index(Op::Add, std::move(at), clone(*axis.lo), loc);
    assign(axis.symbol, std::move(at));
  }
  append(body, part(kernel_.body, phase.first, phase.end));
  return body;
}

/// Joins the phases of the kernel, if there are several, in one grid.
void Elaborator::finishPhases() {
  if (phases_.size() < 2 || sink_.hasErrors()) return;
  phases_.back().grid = std::exchange(kernel_.grid, {});
  const Range loc = phases_.front().loc;
  if (kernel_.body.size() > phases_.back().end) {
    fail(Code::E_GRID, phases_.back().loc,
         "a kernel with several parallel loops at its top returns parameters or nothing",
         "store the tile into an output parameter");
    return;
  }
  GridAxis axis;
  axis.symbol = newSymbol("program", {Type::Scalar, DType::I64, {}}, loc);
  axis.lo = constInt(0, loc);
  axis.step = constInt(1, loc);
  std::vector<ExprPtr> ends; // the number of the first program after the phase
  for (const Phase &phase : phases_) {
    ExprPtr programs = programsAlong(phase.grid.front(), loc);
    for (size_t i = 1; i < phase.grid.size(); ++i)
      programs = index(Op::Mul, std::move(programs), programsAlong(phase.grid[i], loc), loc);
    if (!ends.empty()) programs = index(Op::Add, clone(*ends.back()), std::move(programs), loc);
    ends.push_back(std::move(programs));
  }
  Block before = part(kernel_.body, 0, phases_.front().first), rest;
  std::set<SymbolId> outer;
  assignedIn(before, outer);
  for (size_t i = phases_.size(); i-- > 0;) {
    const Phase &phase = phases_[i];
    ExprPtr number = var(axis.symbol, loc);
    if (i != 0) number = index(Op::Sub, std::move(number), clone(*ends[i - 1]), phase.loc);
    Block body = phaseBody(phase, std::move(number));
    if (i + 1 == phases_.size()) {
      rest = std::move(body);
      continue;
    }
    Stmt branch;
    branch.kind = Stmt::If;
    branch.loc = phase.loc;
    std::vector<ExprPtr> args;
    args.push_back(var(axis.symbol, loc));
    args.push_back(clone(*ends[i]));
    branch.exprs.push_back(make(Op::Lt, {Type::Scalar, DType::Bool, {}}, phase.loc, std::move(args)));
    branch.body = std::move(body);
    branch.orelse = std::move(rest);
    std::set<SymbolId> assigned; // variables from before the loops, which other phases do not see
    assignedIn(branch.body, assigned);
    assignedIn(branch.orelse, assigned);
    std::ranges::set_intersection(outer, assigned, std::back_inserter(branch.carried));
    rest.clear();
    rest.push_back(std::move(branch));
  }
  append(before, std::move(rest));
  kernel_.body = std::move(before);
  axis.hi = std::move(ends.back());
  kernel_.grid.push_back(std::move(axis));
}

} // namespace tessera::frontend
