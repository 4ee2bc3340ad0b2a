#include "compiler/frontend/sema/IteratorLoops.h"
#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace tessera::frontend {
namespace {

using Symbols = std::set<SymbolId>;

bool isMemory(Op op) { return op == Op::BufferRead; }

/// Does an expression read one of `symbols` (variables, buffers, iterators)?
bool mentions(const Expr &e, const Symbols &symbols) {
  if ((e.op == Op::Var || isMemory(e.op)) && symbols.count(e.symbol)) return true;
  return std::ranges::any_of(e.args, [&](const ExprPtr &a) { return mentions(*a, symbols); });
}

bool mentions(const Stmt &s, const Symbols &symbols) {
  for (const ExprPtr &e : s.exprs)
    if (mentions(*e, symbols)) return true;
  auto inside = [&](const Stmt &inner) { return mentions(inner, symbols); };
  return std::ranges::any_of(s.body, inside) || std::ranges::any_of(s.orelse, inside);
}

/// Returns the variables and buffers that a statement writes.
void collectWritten(const Stmt &s, Symbols &out) {
  if (s.kind == Stmt::Assign || s.kind == Stmt::BufferWrite || s.kind == Stmt::CpAsync) out.insert(s.symbol);
  for (const Stmt &inner : s.body)
    collectWritten(inner, out);
  for (const Stmt &inner : s.orelse)
    collectWritten(inner, out);
}

void collectReadBuffers(const Expr &e, Symbols &out) {
  if (e.op == Op::BufferRead) out.insert(e.symbol);
  for (const ExprPtr &a : e.args)
    collectReadBuffers(*a, out);
}

void collectReadBuffers(const Stmt &s, Symbols &out) {
  for (const ExprPtr &e : s.exprs)
    collectReadBuffers(*e, out);
  for (const Stmt &inner : s.body)
    collectReadBuffers(inner, out);
  for (const Stmt &inner : s.orelse)
    collectReadBuffers(inner, out);
}

void collectVars(const Expr &e, Symbols &out) {
  if (e.op == Op::Var) out.insert(e.symbol);
  for (const ExprPtr &a : e.args)
    collectVars(*a, out);
}

ExprPtr makeVar(SymbolId s, const Type &type, Range loc) {
  auto e = std::make_unique<Expr>();
  e->op = Op::Var;
  e->type = type;
  e->loc = loc;
  e->symbol = s;
  return e;
}

ExprPtr makeConst(int64_t value, DType t, Range loc) {
  auto e = std::make_unique<Expr>();
  e->op = isFloat(t) ? Op::ConstFloat : Op::ConstInt;
  e->type = {Type::Scalar, t, {}};
  e->loc = loc;
  e->intValue = isFloat(t) ? 0 : value;
  e->floatValue = static_cast<double>(value);
  return e;
}

/// The operation that adds a part to the total of a reduction; nothing if the reduction has no total.
std::optional<Op> combinerOf(Op reduction) {
  switch (reduction) {
  case Op::Sum:
    return Op::Add;
  case Op::Prod:
    return Op::Mul;
  case Op::Max:
    return Op::Maximum;
  case Op::Min:
    return Op::Minimum;
  default:
    return std::nullopt;
  }
}

bool isArg(Op op) { return op == Op::ArgMax || op == Op::ArgMin; }

template <typename... Args> ExprPtr makeNode(Op op, Type type, Range loc, Args... args) {
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->type = std::move(type);
  e->loc = loc;
  (e->args.push_back(std::move(args)), ...);
  return e;
}

/// The scalar with which a total begins.
ExprPtr neutralOf(Op combiner, DType t, Range loc) {
  if (combiner == Op::Add || combiner == Op::Mul) return makeConst(combiner == Op::Mul, t, loc);
  const bool isMax = combiner == Op::Maximum;
  ExprPtr e = makeConst(0, t, loc);
  const int bits = static_cast<int>(info(t).bits);
  const int64_t highest =
      isUnsigned(t) && bits < 64 ? (int64_t{1} << bits) - 1 : static_cast<int64_t>(UINT64_MAX >> (65 - bits));
  if (isFloat(t))
    e->floatValue =
        isMax ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  else
    e->intValue = !isMax ? highest : isUnsigned(t) ? 0 : -highest - 1;
  return e;
}

ExprPtr broadcast(ExprPtr scalar, const Type &type, Range loc) {
  return type.kind == Type::Tile ? makeNode(Op::Broadcast, type, loc, std::move(scalar)) : std::move(scalar);
}

ExprPtr neutralOf(Op combiner, const Type &type, Range loc) {
  return broadcast(neutralOf(combiner, type.dtype, loc), type, loc);
}

/// Returns the outermost mma of an expression, or null.
ExprPtr *findMma(ExprPtr &e, const Symbols &tainted) {
  if (e->op == Op::Mma && mentions(*e, tainted)) return &e;
  for (ExprPtr &a : e->args)
    if (ExprPtr *found = findMma(a, tainted)) return found;
  return nullptr;
}

/// Returns the addend of a `+=`, or null.
ExprPtr *findAddend(ExprPtr &e) {
  if (e->op == Op::Add && e->text == "+=") return &e->args[1];
  return nullptr;
}

bool mentionsOutsideMma(const Expr &e, const Symbols &symbols) {
  if (e.op == Op::Mma) return false;
  if ((e.op == Op::Var || isMemory(e.op)) && symbols.count(e.symbol)) return true;
  return std::ranges::any_of(e.args, [&](const ExprPtr &a) { return mentionsOutsideMma(*a, symbols); });
}

class LoopFormer {
public:
  LoopFormer(Kernel &k, DiagnosticSink &sink) : k_(k), sink_(sink) {}

  void run(std::vector<ReductionIterator> iterators) {
    // Group iterators whose spans overlap, then form the groups from the last to the first.
    struct Group {
      size_t first, last;
      std::vector<ReductionIterator> members;
    };
    std::vector<Group> groups;
    for (ReductionIterator &it : iterators) {
      std::optional<std::pair<size_t, size_t>> s = span({it.symbol});
      if (!s) {
        sink_.error(Code::E_ITERATOR, it.loc, "'" + it.name + "' indexes nothing that is computed");
        continue;
      }
      Group g{s->first, s->second, {}};
      g.members.push_back(std::move(it));
      for (size_t i = 0; i < groups.size();) {
        if (groups[i].last < g.first || g.last < groups[i].first) {
          ++i;
          continue;
        }
        g.first = std::min(g.first, groups[i].first);
        g.last = std::max(g.last, groups[i].last);
        g.members.insert(g.members.begin(), std::make_move_iterator(groups[i].members.begin()),
                         std::make_move_iterator(groups[i].members.end()));
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
        i = 0;
      }
      groups.push_back(std::move(g));
    }
    std::ranges::sort(groups, [](const Group &a, const Group &b) { return a.first > b.first; });
    for (Group &g : groups)
      form(std::move(g.members));
  }

private:
  /// The axes of a tile along which it has other elements in each iteration; kUnknown beside them if it may
  /// have more of them.
  using Axes = std::set<int64_t>;
  static constexpr int64_t kUnknown = -1;

  Axes axesOf(const Expr &e, const Symbols &tainted) {
    if (e.type.kind != Type::Tile || !mentions(e, tainted)) return {};
    if (e.op == Op::Var || isMemory(e.op)) {
      auto known = axes_.find(e.symbol);
      return known != axes_.end() && (e.op == Op::Var || e.args.empty()) ? known->second : Axes{kUnknown};
    }
    Axes out;
    if (e.op == Op::LoadTile) {
      int64_t axis = 0;
      for (size_t d = 0; d < e.args.size(); ++d) {
        const bool isTile = e.args[d]->type.kind == Type::Tile;
        if (mentions(*e.args[d], tainted)) out.insert(isTile || e.ints[d] < 0 ? kUnknown : axis);
        axis += e.ints[d] >= 0;
      }
      return out;
    }
    const auto rank = static_cast<int64_t>(e.type.shape.size());
    for (const ExprPtr &arg : e.args)
      for (int64_t axis : axesOf(*arg, tainted))
        out.insert(axis == kUnknown ? kUnknown : axisInResult(e, axis, rank));
    out.erase(kDropped);
    return out;
  }

  static constexpr int64_t kDropped = -2;

  /// The axis of the result that an axis of an operand becomes.
  static int64_t axisInResult(const Expr &e, int64_t axis, int64_t rank) {
    switch (e.op) {
    case Op::ExpandDims:
      return axis + (axis >= e.ints[0]);
    case Op::Transpose:
      return axis == rank - 1 ? rank - 2 : axis == rank - 2 ? rank - 1 : axis;
    case Op::Sum:
    case Op::Prod:
    case Op::Max:
    case Op::Min:
    case Op::ArgMax:
    case Op::ArgMin:
      return axis == e.ints[0] ? kDropped : axis - (axis > e.ints[0]);
    case Op::Flip: // elements move along the axis, within the tile that there happens to be
    case Op::Concat:
    case Op::Sort:
    case Op::CumSum:
    case Op::CumProd:
    case Op::CumMax:
    case Op::CumMin:
      return axis == e.ints[0] ? kUnknown : axis;
    case Op::SliceTile:
      return e.type.shape[static_cast<size_t>(axis)] == e.args[0]->type.shape[static_cast<size_t>(axis)]
                 ? axis
                 : kUnknown;
    case Op::Reshape:
    case Op::Mma:
      return kUnknown;
    default:
      return axis; // elementwise
    }
  }

  /// Returns the outermost reduction along the only axis of its operand that the iterators walk, or null. The
  /// position of an extreme is known along one iterator.
  ExprPtr *findReduction(ExprPtr &e, const Symbols &tainted) {
    if (!mentions(*e, tainted)) return nullptr;
    bool isReduction = combinerOf(e->op) || (isArg(e->op) && iterators_.size() == 1);
    if (isReduction && axesOf(*e->args[0], tainted) == Axes{e->ints[0]}) return &e;
    for (ExprPtr &a : e->args)
      if (ExprPtr *found = findReduction(a, tainted)) return found;
    return nullptr;
  }

  /// Returns the sub-expression of a statement that accumulates over the iterators; null if it only passes
  /// tiles on.
  ExprPtr *accumulation(Stmt &s, const Symbols &tainted) {
    for (ExprPtr &e : s.exprs) {
      ExprPtr *addend = findAddend(e);
      if (addend && mentionsOutsideMma(**addend, tainted)) return addend;
      if (ExprPtr *reduction = hasTotals_ ? findReduction(e, tainted) : nullptr) return reduction;
      if (ExprPtr *mma = findMma(e, tainted)) return mma;
    }
    return nullptr;
  }

  /// Is it what a += adds, rather than a reduction?
  static bool isAddend(Stmt &s, const ExprPtr *part) {
    return std::ranges::any_of(s.exprs, [&](ExprPtr &e) { return findAddend(e) == part; });
  }

  /// Does a reduction have a total over the iterators? Not where += and products alone accumulate all that
  /// depends on them: there `t = row_sum(x)` is a part that `acc += t` adds.
  bool needsTotals(const Symbols &iterators) {
    hasTotals_ = false;
    Symbols tainted = iterators, late;
    bool accumulates = false, fails = false;
    for (Stmt &s : k_.body) {
      if (!mentions(s, tainted)) continue;
      fails |= mentions(s, late);
      if (accumulation(s, tainted)) {
        accumulates = true;
        collectWritten(s, late);
        continue;
      }
      fails |= !isLocal(s);
      collectWritten(s, tainted);
    }
    return fails || !accumulates;
  }

  /// Does a statement only set variables and shared memory?
  static bool isLocal(const Stmt &s) {
    return s.kind == Stmt::Assign || s.kind == Stmt::CpAsync || s.kind == Stmt::BufferWrite ||
           s.kind == Stmt::Prefetch;
  }

  /// Notes along which axes a variable or buffer changes that a dependent statement sets.
  void noteAxes(const Stmt &s, const Symbols &tainted) {
    if (s.kind == Stmt::Assign || s.kind == Stmt::CpAsync ||
        (s.kind == Stmt::BufferWrite && s.exprs.size() == 1))
      axes_[s.symbol] = axesOf(*s.exprs[0], tainted);
  }

  /// Finds the first and the last statement that depend on the iterators.
  std::optional<std::pair<size_t, size_t>> span(const Symbols &iterators) {
    iterators_ = iterators;
    hasTotals_ = needsTotals(iterators);
    Symbols tainted = iterators;
    std::optional<std::pair<size_t, size_t>> out;
    axes_.clear();
    for (size_t i = 0; i < k_.body.size(); ++i) {
      Stmt &s = k_.body[i];
      if (!mentions(s, tainted)) continue;
      out = {out ? out->first : i, i};
      if (accumulation(s, tainted)) continue;
      noteAxes(s, tainted);
      collectWritten(s, tainted);
    }
    return out;
  }

  void form(std::vector<ReductionIterator> members) {
    Symbols iterators, tainted;
    for (const ReductionIterator &m : members)
      iterators.insert(m.symbol);
    tainted = iterators;
    std::optional<std::pair<size_t, size_t>> range = span(iterators);
    if (!range) return;
    axes_.clear();

    Block before, loop, after;
    std::vector<SymbolId> totals;
    Symbols late; // symbols that the statements after the loop define
    bool accumulates = false, failed = false;
    for (size_t i = range->first; i <= range->second; ++i) {
      Stmt &s = k_.body[i];
      if (!mentions(s, tainted)) {
        place(std::move(s), before, loop, after, late);
        continue;
      }
      if (mentions(s, late)) {
        sink_.error(Code::E_ITERATOR_REDUCTION, s.loc,
                    "this needs the total over '" + members[0].name + "' inside the loop that computes it",
                    "write the loops with ts.tile.range");
        failed = true;
        continue;
      }
      ExprPtr *sum = accumulation(s, tainted);
      if (!sum) {
        passOn(std::move(s), members, tainted, loop, failed);
        continue;
      }
      accumulates = true;
      for (; sum; sum = mentions(s, tainted) ? accumulation(s, tainted) : nullptr)
        accumulate(*sum, isAddend(s, sum), before, loop, totals);
      if (mentions(s, tainted)) {
        sink_.error(Code::E_ITERATOR_REDUCTION, s.loc,
                    "only a part of this statement accumulates over '" + members[0].name + "'",
                    "assign the tile to a variable first, or write the loop with ts.tile.range");
        failed = true;
      }
      collectWritten(s, late);
      after.push_back(std::move(s));
    }
    if (!accumulates && !failed) {
      sink_.error(
          Code::E_ITERATOR_REDUCTION, members[0].loc,
          "'" + members[0].name +
              "' indexes nothing that is written, so it is a reduction, but nothing accumulates over it",
          "accumulate with +=, ts.tile.mma or a reduction along its axis, or index the output with it");
      failed = true;
    }
    if (failed) return;
    protectBuffers(loop);
    for (auto it = members.rbegin(); it != members.rend(); ++it)
      wrap(*it, loop, totals);

    Block body;
    auto append = [&](auto first, auto last) {
      body.insert(body.end(), std::make_move_iterator(first), std::make_move_iterator(last));
    };
    append(k_.body.begin(), k_.body.begin() + static_cast<std::ptrdiff_t>(range->first));
    append(before.begin(), before.end());
    append(loop.begin(), loop.end());
    append(after.begin(), after.end());
    append(k_.body.begin() + static_cast<std::ptrdiff_t>(range->second) + 1, k_.body.end());
    k_.body = std::move(body);
  }

  /// Places an independent statement between the dependent ones. Synchronisation and shared memory stay in
  /// the loop; a use of a total goes after it; a pure binding is computed once, before it.
  void place(Stmt s, Block &before, Block &loop, Block &after, Symbols &late) {
    switch (s.kind) {
    case Stmt::Barrier:
    case Stmt::CommitGroup:
    case Stmt::WaitGroup:
    case Stmt::Fence:
    case Stmt::Prefetch:
    case Stmt::CpAsync:
    case Stmt::BufferWrite:
      if (!mentions(s, late)) {
        loop.push_back(std::move(s));
        return;
      }
      break;
    case Stmt::Assign: {
      Symbols buffers;
      collectReadBuffers(s, buffers);
      if (mentions(s, late) || !buffers.empty()) break;
      before.push_back(std::move(s));
      return;
    }
    default:
      break;
    }
    collectWritten(s, late);
    after.push_back(std::move(s));
  }

  /// Handles a dependent statement that only passes tiles on.
  void passOn(Stmt s, const std::vector<ReductionIterator> &members, Symbols &tainted, Block &loop,
              bool &failed) {
    if (!isLocal(s)) {
      bool nested = s.kind == Stmt::For || s.kind == Stmt::While || s.kind == Stmt::If;
      sink_.error(Code::E_ITERATOR_REDUCTION, s.loc,
                  nested
                      ? "a loop or branch depends on '" + members[0].name + "', which is a reduction iterator"
                      : "this stores a value of every turn over '" + members[0].name + "' into one place",
                  nested ? "write the loop with ts.tile.range" : "accumulate with += or ts.tile.mma");
      failed = true;
      return;
    }
    noteAxes(s, tainted);
    collectWritten(s, tainted);
    loop.push_back(std::move(s));
  }

  /// Replaces a part of a sum or of another reduction by the total, a new variable that starts at the neutral
  /// element before the loop.
  void accumulate(ExprPtr &part, bool isAddend, Block &before, Block &loop, std::vector<SymbolId> &totals) {
    const Range loc = part->loc;
    const Type type = part->type;
    if (!isAddend && isArg(part->op)) return accumulatePosition(part, before, loop, totals);
    const SymbolId total = newSymbol("total", type, loc);
    totals.push_back(total);
    if (part->op == Op::Mma) {
      bool given = part->args.size() == 3;
      assign(before, total, given ? std::move(part->args[2]) : neutralOf(Op::Add, type, loc), loc);
      if (!given) part->args.emplace_back();
      part->args[2] = makeVar(total, type, loc);
      assign(loop, total, std::move(part), loc);
    } else {
      const Op combiner = isAddend ? Op::Add : combinerOf(part->op).value_or(Op::Add);
      assign(before, total, neutralOf(combiner, type, loc), loc);
      assign(loop, total, makeNode(combiner, type, loc, makeVar(total, type, loc), std::move(part)), loc);
    }
    part = makeVar(total, type, loc);
  }

  /// The position of an extreme: that of a part replaces it where the part's extreme is better. The first NaN
  /// is better than all numbers.
  void accumulatePosition(ExprPtr &part, Block &before, Block &loop, std::vector<SymbolId> &totals) {
    const Range loc = part->loc;
    const bool isMax = part->op == Op::ArgMax;
    const Type from = part->args[0]->type, type = part->type;
    Type extreme = type, flags = type;
    extreme.dtype = from.dtype;
    flags.dtype = DType::Bool;
    const SymbolId best = newSymbol("best", extreme, loc), position = newSymbol("position", type, loc),
                   operand = newSymbol("operand", from, loc), found = newSymbol("found", extreme, loc),
                   better = newSymbol("better", flags, loc);
    totals.insert(totals.end(), {best, position});
    assign(before, best, neutralOf(isMax ? Op::Maximum : Op::Minimum, extreme, loc), loc);
    assign(before, position, broadcast(makeConst(0, DType::I32, loc), type, loc), loc);

    auto ofBest = [&] { return makeVar(best, extreme, loc); };
    auto ofFound = [&] { return makeVar(found, extreme, loc); };
    auto compared = [&](Op op, ExprPtr x, ExprPtr y) {
      return makeNode(op, flags, loc, std::move(x), std::move(y));
    };
    assign(loop, operand, std::move(part->args[0]), loc);
    part->args[0] = makeVar(operand, from, loc);
    ExprPtr value = makeNode(isMax ? Op::Max : Op::Min, extreme, loc, makeVar(operand, from, loc));
    value->ints = part->ints;
    assign(loop, found, std::move(value), loc);
    ExprPtr isBetter = compared(isMax ? Op::Gt : Op::Lt, ofFound(), ofBest());
    if (isFloat(from.dtype))
      isBetter = compared(
          Op::Or, std::move(isBetter),
          compared(Op::And, compared(Op::Ne, ofFound(), ofFound()), compared(Op::Eq, ofBest(), ofBest())));
    assign(loop, better, std::move(isBetter), loc);
    auto chosen = [&](const Type &t, ExprPtr x, SymbolId old) {
      return makeNode(Op::Select, t, loc, makeVar(better, flags, loc), std::move(x), makeVar(old, t, loc));
    };
    ExprPtr start = makeNode(Op::Cast, {Type::Scalar, DType::I32, {}}, loc,
                             makeVar(*iterators_.begin(), {Type::Scalar, DType::I64, {}}, loc));
    ExprPtr at = makeNode(Op::Add, type, loc, std::move(part), broadcast(std::move(start), type, loc));
    assign(loop, position, chosen(type, std::move(at), position), loc);
    assign(loop, best, chosen(extreme, ofFound(), best), loc);
    part = makeVar(position, type, loc);
  }

  SymbolId newSymbol(const char *name, const Type &type, Range loc) {
    const auto id = static_cast<SymbolId>(k_.symbols.size());
    Symbol &symbol = k_.symbols.emplace_back();
    symbol.name = name;
    symbol.type = type;
    symbol.loc = loc;
    return id;
  }

  static void assign(Block &block, SymbolId symbol, ExprPtr value, Range loc) {
    Stmt &s = block.emplace_back();
    s.kind = Stmt::Assign;
    s.loc = loc;
    s.symbol = symbol;
    s.exprs.push_back(std::move(value));
  }

  /// A buffer that is both filled and read in the loop is filled again in the next iteration: a barrier
  /// separates the two.
  void protectBuffers(Block &loop) {
    Symbols written, read;
    for (const Stmt &s : loop) {
      collectWritten(s, written);
      collectReadBuffers(s, read);
    }
    bool shared = std::ranges::any_of(read, [&](SymbolId s) { return written.count(s) != 0; });
    if (!shared || loop.back().kind == Stmt::Barrier) return;
    Range loc = loop.back().loc;
    Stmt &barrier = loop.emplace_back();
    barrier.kind = Stmt::Barrier;
    barrier.loc = loc;
  }

  void wrap(ReductionIterator &it, Block &loop, const std::vector<SymbolId> &totals) {
    Stmt s;
    s.kind = Stmt::For;
    s.loc = it.loc;
    s.symbol = it.symbol;
    s.exprs.push_back(makeConst(0, DType::I64, it.loc));
    s.exprs.push_back(std::move(it.extent));
    s.exprs.push_back(makeConst(it.step, DType::I64, it.loc));
    s.ints = {0};
    s.carried = totals;
    s.isReductionIterator = true;
    s.body = std::move(loop);
    loop = Block();
    loop.push_back(std::move(s));
  }

  Kernel &k_;
  DiagnosticSink &sink_;
  bool hasTotals_ = false;
  Symbols iterators_;             // of the loop that is formed
  std::map<SymbolId, Axes> axes_; // of the variables and buffers that depend on the iterators
};

/// Collects the index expressions of stores and atomics, following variables to their definitions.
void collectIndices(const Expr &e, Symbols &out) {
  if (e.op == Op::Atomic)
    for (size_t i = 0; i + 1 < e.args.size(); ++i)
      collectVars(*e.args[i], out);
  for (const ExprPtr &a : e.args)
    collectIndices(*a, out);
}

void collectIndices(const Block &body, Symbols &out) {
  for (const Stmt &s : body) {
    if (s.kind == Stmt::StoreTile || s.kind == Stmt::StoreElem)
      for (size_t i = 1; i < s.exprs.size(); ++i)
        collectVars(*s.exprs[i], out);
    for (const ExprPtr &e : s.exprs)
      collectIndices(*e, out);
    collectIndices(s.body, out);
    collectIndices(s.orelse, out);
  }
}

bool follow(const Block &body, Symbols &out) {
  bool changed = false;
  for (const Stmt &s : body) {
    if (s.kind == Stmt::Assign && out.count(s.symbol)) {
      size_t n = out.size();
      collectVars(*s.exprs[0], out);
      changed |= out.size() != n;
    }
    changed |= follow(s.body, out);
    changed |= follow(s.orelse, out);
  }
  return changed;
}

} // namespace

std::set<SymbolId> writtenIndexSymbols(const Block &body) {
  Symbols out;
  collectIndices(body, out);
  while (follow(body, out)) {
  }
  return out;
}

void formReductionLoops(Kernel &kernel, std::vector<ReductionIterator> iterators, DiagnosticSink &sink) {
  LoopFormer(kernel, sink).run(std::move(iterators));
}

} // namespace tessera::frontend
