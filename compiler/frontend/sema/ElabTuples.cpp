// Tuples and lists. Each scalar and tile in one has a variable of its own, so that loops and branches carry
// it. A list has an identity: its items may be assigned while it has one name only, because the items of two
// names would have to change together, and they are separate variables.
#include "compiler/frontend/sema/CallRules.h"
#include <algorithm>

namespace tessera::frontend {

static bool isItem(const Value &v) { return v.isScalar() || v.isTile(); }

static SymbolId variableOf(const Value &item) {
  return item.expr && item.expr->op == Op::Var ? item.expr->symbol : -1;
}

static std::string itemName(const std::string &name, size_t i) {
  return name + "[" + std::to_string(i) + "]";
}

/// Computes the run-time parts of a value here, unless they are cheap and cannot change.
Value Elaborator::settled(Value v, const std::string &name, Range loc) {
  if (v.kind == Value::Tuple) {
    for (Value &item : v.items)
      item = settled(std::move(item), name, loc);
    return v;
  }
  unsigned budget = 24;
  return v.isRuntime() && !inlineable(*v.expr, budget) && !isRepeated(v) ? toVariable(std::move(v), name, loc)
                                                                         : std::move(v);
}

/// Gives every scalar and tile of a tuple a variable that the block may write.
void Elaborator::carryItems(Value &tuple, const std::string &name, Range loc,
                            std::vector<SymbolId> &carried) {
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    Value &item = tuple.items[i];
    if (item.kind == Value::Tuple) carryItems(item, itemName(name, i), loc, carried);
    if (!isItem(item)) continue;
    const SymbolId symbol = variableOf(item);
    if (symbol < 0 || immutable_.contains(symbol))
      item = toVariable(item.isLiteral() ? strengthen(std::move(item)) : std::move(item), itemName(name, i),
                        loc);
    carried.push_back(item.expr->symbol);
  }
  renewItems(tuple);
}

/// Forgets what is known of integers that a block may have changed.
void Elaborator::renewItems(Value &v) {
  for (Value &item : v.items) {
    if (item.kind == Value::Tuple) renewItems(item);
    if (item.isIntScalar() && variableOf(item) >= 0) item.linear = AtomTable::of(atoms_.fresh(item.dtype));
  }
}

static size_t countList(const Value &v, int list) {
  size_t count = v.kind == Value::Tuple && v.list == list;
  if (v.kind == Value::Tuple)
    for (const Value &item : v.items)
      count += countList(item, list);
  return count;
}

/// How many places of the names in scope hold a list?
size_t Elaborator::placesOf(int list) const {
  size_t count = 0;
  for (const auto &frame : frames_)
    for (const auto &[name, local] : frame->locals)
      count += countList(local.value, list);
  return count;
}

/// Assigns the items of a tuple in a block that carries them.
void Elaborator::rebindItems(Value &place, Value v, const std::string &name, Range loc) {
  const bool isSame =
      v.kind == Value::Tuple && v.items.size() == place.items.size() && !v.list == !place.list;
  if (!isSame) {
    auto text = [](const Value &x) {
      return describe(x) + (x.kind == Value::Tuple ? " of " + std::to_string(x.items.size()) : "");
    };
    fail(Code::E_REBIND, loc,
         "'" + name + "' is " + text(place) + " before this loop or branch and cannot become " + text(v) +
             " in it");
    return;
  }
  if (v.list && v.list != place.list && placesOf(v.list)) {
    fail(Code::E_ITEM, loc, "in this loop or branch '" + name + "' would become a second name of a list",
         "build a new list, [x for x in other], or use tuples, which do not change");
    return;
  }
  if (v.items.size() > 1) v = settled(std::move(v), "item", loc); // before the first of them is assigned
  for (size_t i = 0; i < v.items.size(); ++i) {
    Value &item = place.items[i];
    if (isItem(item) || item.kind == Value::Tuple)
      rebind(item, variableOf(item), std::move(v.items[i]), itemName(name, i), loc);
    else if (v.items[i].kind != item.kind || v.items[i].index != item.index || v.items[i].text != item.text ||
             v.items[i].dtype != item.dtype)
      fail(Code::E_REBIND, loc,
           "'" + itemName(name, i) + "' is " + describe(item) +
               " before this loop or branch and cannot become " + describe(v.items[i]) + " in it");
  }
}

/// The position that a subscript of a tuple names.
std::optional<size_t> Elaborator::itemIndex(const Value &tuple, const ast::Expr &e) {
  if (e.items.size() != 2 || e.items[1]->kind == ast::Expr::Slice) {
    fail(Code::E_INDEX, e.loc, describe(tuple) + " takes one index");
    return std::nullopt;
  }
  std::optional<int64_t> i = staticInt(*e.items[1], "the index of a tuple");
  if (!i) return std::nullopt;
  const auto n = static_cast<int64_t>(tuple.items.size());
  if (*i >= -n && *i < n) return static_cast<size_t>(*i < 0 ? *i + n : *i);
  fail(Code::E_INDEX, e.items[1]->loc,
       "index " + std::to_string(*i) + " is outside " + describe(tuple) + " of " + std::to_string(n));
  return std::nullopt;
}

/// `x[i] = v` where x is a list, a tile, or a tile in a list. Returns false if it is none of these.
bool Elaborator::assignItem(const ast::Expr &target, Value &v, Range loc) {
  std::vector<const ast::Expr *> path; // of subscripts, from the name outwards
  const ast::Expr *root = &target;
  for (; root->kind == ast::Expr::Subscript; root = root->items[0].get())
    path.insert(path.begin(), root);
  if (root->kind != ast::Expr::Name) return false;
  const auto found = frame().locals.find(root->text);
  if (found == frame().locals.end()) return false;
  Local &local = found->second;
  Value *place = &local.value, *owner = nullptr;
  std::string name = root->text;
  size_t depth = 0;
  for (; depth < path.size() && place->kind == Value::Tuple; ++depth) {
    const std::optional<size_t> i = itemIndex(*place, *path[depth]);
    if (!i) return true;
    owner = place;
    place = &place->items[*i];
    name = itemName(name, *i);
  }
  const bool isPart = depth + 1 == path.size() && place->isTile();
  if (!isPart && (depth < path.size() || !owner)) return false;
  if (owner && !owner->list) {
    fail(Code::E_ITEM, target.loc, "an item of a tuple cannot be assigned", "make it a list: [a, b]");
    return true;
  }
  if (owner && placesOf(owner->list) > 1) {
    fail(Code::E_ITEM, target.loc, "this list has more than one name or place, and an item of it is assigned",
         "build a list of its own, [x for x in other], or return a new list from the helper");
    return true;
  }
  if (isPart) {
    v = rules::withPart(*this, Value(*place), *path[depth], std::move(v), loc);
    if (v.isError()) return true;
  }
  if (!owner)
    assignName(root->text, std::move(v), false, target.loc);
  else if (local.fixed > 0)
    rebind(*place, variableOf(*place), std::move(v), name, target.loc);
  else
    *place = settled(std::move(v), name, loc);
  return true;
}

/// Are the values of two paths the same, so that a name may have either?
bool Elaborator::isJoinable(const Value &a, const Value &b) const {
  if (a.kind != Value::Tuple || b.kind != Value::Tuple)
    return isItem(a) && a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape;
  return std::ranges::equal(a.items, b.items,
                            [this](const Value &x, const Value &y) { return isJoinable(x, y); });
}

/// The value of a path, which is to be joined with that of another.
Value Elaborator::pathValue(Value v, Range loc) {
  if (v.kind != Value::Tuple) return strengthen(asOperand(std::move(v), loc));
  bool failed = false;
  for (Value &item : v.items) {
    item = pathValue(std::move(item), loc);
    failed |= item.isError();
  }
  return failed ? Value::error() : std::move(v);
}

Value Elaborator::joined(const std::string &name, Stmt &branch, Value then, Value otherwise, Range loc) {
  if (then.kind == Value::Tuple) {
    std::vector<Value> items;
    for (size_t i = 0; i < then.items.size(); ++i)
      items.push_back(
          joined(itemName(name, i), branch, std::move(then.items[i]), std::move(otherwise.items[i]), loc));
    Value out = Value::tuple(std::move(items));
    // A list that has another name would be a second name of it.
    const bool isNew = then.list && otherwise.list && !placesOf(then.list) && !placesOf(otherwise.list);
    if (isNew) out.list = ++lists_;
    return out;
  }
  const Type type = then.type();
  const bool weak = then.weak && otherwise.weak, wide = isWideChoice(then, otherwise);
  SymbolId symbol = declareJoined(name, type, branch, std::move(then), std::move(otherwise), loc);
  Value v = Value::of(var(symbol, loc), weak);
  v.wide = wide;
  if (v.isIntScalar()) v.linear = AtomTable::of(atoms_.fresh(type.dtype));
  return v;
}

/// a if c else b
Value Elaborator::chosen(const Value &c, Value a, Value b, Range loc) {
  if (a.kind != Value::Tuple || b.kind != Value::Tuple || a.items.size() != b.items.size()) {
    a = asOperand(std::move(a), loc);
    b = asOperand(std::move(b), loc);
    if (a.isError() || b.isError()) return Value::error();
    return select(c, std::move(a), std::move(b), loc, /*takesOneSide=*/true);
  }
  std::vector<Value> items;
  for (size_t i = 0; i < a.items.size(); ++i)
    items.push_back(chosen(c, std::move(a.items[i]), std::move(b.items[i]), loc));
  return Value::tuple(std::move(items));
}

/// [a, b] + [c], [x] * 4
Value Elaborator::sequence(const std::string &operation, Value a, Value b, Range loc) {
  constexpr int64_t kMaxItems = 4096;
  if (a.kind != Value::Tuple) std::swap(a, b);
  const bool isList = a.list != 0;
  if (operation == "+" && b.kind == Value::Tuple && isList == (b.list != 0)) {
    std::ranges::move(b.items, std::back_inserter(a.items));
  } else if (operation == "*" && b.isIntScalar()) {
    const std::optional<int64_t> times = staticInt(b, loc, "the length of a tuple");
    if (!times) return Value::error();
    a = settled(std::move(a), "item", loc); // once, not for every copy
    std::vector<Value> items;
    for (int64_t i = 0; i < *times; ++i) {
      items.insert(items.end(), a.items.begin(), a.items.end());
      if (static_cast<int64_t>(items.size()) > kMaxItems)
        return fail(Code::E_TOO_COMPLEX, loc, "a tuple has at most " + std::to_string(kMaxItems) + " items");
    }
    a.items = std::move(items);
  } else {
    return fail(Code::E_TYPE, loc,
                "'" + operation + "' of " + describe(a) + " and " + describe(b) + " is not in the language",
                "tuples are joined with +, repeated with * and a constant; write a loop for their items");
  }
  if (isList) a.list = ++lists_;
  return a;
}

/// [f(x) for x in values if condition]
Value Elaborator::comprehension(const ast::Expr &e) {
  std::vector<Value> values;
  if (!staticValues(*e.items[2], values)) return Value::error();
  std::map<std::string, Local> outer = frames_.empty() ? std::map<std::string, Local>() : frame().locals;
  if (frames_.empty())
    return fail(Code::E_MODULE_CONSTANT, e.loc, "a module constant is not built by a loop",
                "write its items");
  std::set<std::string> names;
  collectTargets(*e.items[1], names);
  std::vector<Value> items;
  bool failed = false;
  for (Value &value : values) {
    failed |= !bindItem(*e.items[1], std::move(value));
    if (failed) break;
    if (e.items.size() > 3) {
      Value keep = condition(*e.items[3]);
      failed |= keep.isError();
      if (!failed && !keep.isConst)
        fail(Code::E_CONSTANT, e.items[3]->loc, "which items a list has must be known at compile time",
             "select elements with ts.tile.where(mask, a, b)");
      if (failed || !keep.isConst || !keep.intValue) continue;
    }
    Value item = evaluate(*e.items[0]);
    failed |= item.isError();
    if (e.joins)
      std::ranges::move(item.items, std::back_inserter(items));
    else
      items.push_back(settled(std::move(item), "item", e.loc));
  }
  for (const std::string &name : names) { // the loop has names of its own
    frame().locals.erase(name);
    if (auto it = outer.find(name); it != outer.end()) frame().locals[name] = it->second;
  }
  if (failed) return Value::error();
  Value out = Value::tuple(std::move(items));
  out.list = ++lists_;
  return out;
}

namespace rules {

static Value sequenceArgument(Elaborator &ctx, const ast::Expr &e, const char *function) {
  Value v = ctx.evaluate(e);
  if (v.isError() || v.kind == Value::Tuple) return v;
  return ctx.fail(Code::E_TYPE, e.loc,
                  std::string("'") + function + "' takes a tuple or a list, found " + describe(v),
                  v.isTile() || v.kind == Value::Tensor ? "write the name of the dim, or x.shape[0]" : "");
}

Value length(Elaborator &ctx, const KernelCall &a) {
  Value v = sequenceArgument(ctx, *a[0], "len");
  return v.isError() ? std::move(v) : Value::integer(static_cast<int64_t>(v.items.size()));
}

Value enumerate(Elaborator &ctx, const KernelCall &a) {
  Value v = sequenceArgument(ctx, *a[0], "enumerate");
  for (size_t i = 0; i < v.items.size(); ++i) {
    std::vector<Value> pair;
    pair.push_back(Value::integer(static_cast<int64_t>(i)));
    pair.push_back(std::move(v.items[i]));
    v.items[i] = Value::tuple(std::move(pair));
  }
  v.list = 0;
  return v;
}

Value zip(Elaborator &ctx, const KernelCall &a) {
  std::vector<Value> rows;
  for (size_t k = 0; k < a.at.size(); ++k) {
    if (!a[k]) continue; // omitted
    Value v = sequenceArgument(ctx, *a[k], "zip");
    if (v.isError()) return v;
    if (k == 0) rows.resize(v.items.size(), Value::tuple({}));
    rows.resize(std::min(rows.size(), v.items.size()));
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i].items.push_back(std::move(v.items[i]));
  }
  return Value::tuple(std::move(rows));
}

} // namespace rules

} // namespace tessera::frontend
