// Names: locals, dims, module constants, imports, the language's own names, implicit tile iterators.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/ops/ForeignNames.h"
#include <algorithm>

namespace tessera::frontend {

Value Elaborator::dimValue(const std::string &dim) {
  if (specialized_.count(dim))
    for (const auto &[name, value] : options_.dims)
      if (name == dim) return Value::extent(value);
  if (graph_) return graphExtent(graphDim({1, dim}));
  ExprPtr e = make(Op::DimRef, {Type::Scalar, DType::I64, {}}, bodyLoc_);
  e->text = dim;
  int atom = atoms_.intern("dim:" + dim, {dim}, true);
  if (!atomExprs_.count(atom)) atomExprs_[atom] = clone(*e);
  return Value::extent(std::move(e), AtomTable::of(atom));
}

Value Elaborator::dimExtent(const Dim &dim) {
  if (dim.symbol.empty()) return Value::extent(dim.constant);
  if (isDim(dim.symbol)) return dimValue(dim.symbol);
  IndexExpr expr;
  std::string why;
  if (!IndexExpr::parse(dim.symbol, kernel_.dims, expr, why)) return fail(Code::E_DIM, bodyLoc_, why);
  std::vector<Value> stack;
  expr.forEach([&](IndexExpr::Code code, int64_t value) {
    using Code = IndexExpr::Code;
    if (code == Code::Const) return stack.push_back(Value::extent(value));
    if (code == Code::Slot) return stack.push_back(dimValue(kernel_.dims[static_cast<size_t>(value)]));
    Value b = std::move(stack.back());
    if (code == Code::Neg) return void(stack.back() = negate(std::move(b), bodyLoc_));
    stack.pop_back();
    const Op op = code == Code::Add        ? Op::Add
                  : code == Code::Sub      ? Op::Sub
                  : code == Code::Mul      ? Op::Mul
                  : code == Code::FloorDiv ? Op::FloorDiv
                  : code == Code::Mod      ? Op::Mod
                  : code == Code::Min      ? Op::Minimum
                                           : Op::Maximum; // the normal form has no ceildiv
    stack.back() = binary(op, std::move(stack.back()), std::move(b), bodyLoc_);
  });
  return std::move(stack.back());
}

Value Elaborator::lookup(const ast::Expr &e) {
  const std::string &name = e.text;
  if (name == names::kLeading)
    return fail(Code::E_UNSUPPORTED, e.loc, "'...' is not part of the tile language",
                "write one index per dim");
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    Frame &f = **it;
    if (auto local = f.locals.find(name); local != f.locals.end()) {
      Value v = local->second.value;
      if (v.expr) v.expr->loc = e.loc;
      return v;
    }
    if (f.maybeUndefined.count(name)) {
      const Range &where = f.maybeUndefined[name];
      return fail(Code::E_MAYBE_UNDEFINED, e.loc,
                  "'" + name + "' has a value on some paths only (it is bound in the block of line " +
                      std::to_string(where.line) + ")",
                  "give it a value before that block");
    }
    const bool isDim = f.isKernel && std::ranges::find(kernel_.dims, name) != kernel_.dims.end();
    if (f.assigned.count(name) && isDim)
      return fail(Code::E_UNDEFINED_NAME, e.loc,
                  "'" + name +
                      "' is not the dim here: the kernel assigns to that name, which makes it a variable",
                  "give the variable another name");
    if (auto global = module_.globals.find(name);
        f.assigned.count(name) && global != module_.globals.end() && global->second.kind == Global::Constant)
      return fail(Code::E_UNDEFINED_NAME, e.loc,
                  "'" + name +
                      "' is a variable here, because this function assigns to it, and has no value yet",
                  "constants of the module do not change; what programs count together is an element of a "
                  "tensor: ts.tile.atomic_add");
    if (f.assigned.count(name))
      return fail(Code::E_UNDEFINED_NAME, e.loc, "'" + name + "' is used before it gets a value",
                  "assign to it first");
    if (auto dim = f.dims.find(name); dim != f.dims.end()) return dim->second;
    if (isDim) {
      Value v = dimValue(name);
      if (v.expr) v.expr->loc = e.loc;
      return v;
    }
    break; // a helper does not see its caller's names
  }
  if (auto it = module_.globals.find(name); it != module_.globals.end())
    return lookupGlobal(name, it->second, e.loc);
  if (name == "__debug__") return debugConstant(e.loc);
  if (const LanguageFunction *b = findFunction("", name)) {
    Value v;
    v.kind = Value::Function;
    v.builtin = b;
    return v;
  }
  if (!graph_ && !frames_.empty() && frame().isKernel && name.starts_with("tile_") && name.size() > 5)
    return iterator(name, e.loc);
  undefined(name, e.loc);
  return Value::error();
}

void Elaborator::undefined(const std::string &name, Range loc) {
  if (constantsOnly_ || frames_.empty()) {
    fail(Code::E_UNDEFINED_NAME, loc, "'" + name + "' is not defined", didYouMean(name, visibleNames()));
    return;
  }
  std::string otherwise;
  if (frame().isKernel)
    for (const std::string &dim : kernel_.dims)
      if (dim != name && ("*" + dim + "*").find("*" + name + "*") != std::string::npos)
        otherwise = name + " appears only in the product " + dim;
  for (const Tunable &t : tunables_)
    if (t.name == name) otherwise = "read the tunable as ts.tile.context()." + name;
  if (otherwise.empty())
    if (findFunction("tessera", name) || name == "ts")
      otherwise =
          name == "ts" ? "write 'import tessera as ts'" : (graph_ ? "write ts." : "write ts.tile.") + name;
  const bool isVariable = name.size() < 3; // rather than a function of another tool
  if (otherwise.empty() && !isVariable) otherwise = hintInPlaceOf(name);
  if (otherwise.empty() && ops::isForeignModule(name))
    otherwise = "kernels use tessera and math only: functions are ts.NAME, and ts.tile.NAME of tiles";
  fail(Code::E_UNDEFINED_NAME, loc, "'" + name + "' is not defined",
       otherwise.empty() ? didYouMean(name, visibleNames()) : otherwise);
}

std::vector<std::string> Elaborator::visibleNames() const {
  std::vector<std::string> out;
  if (!frames_.empty()) {
    for (const auto &[name, local] : frames_.back()->locals)
      out.push_back(name);
    if (frames_.back()->isKernel) out.insert(out.end(), kernel_.dims.begin(), kernel_.dims.end());
  }
  for (const auto &[name, global] : module_.globals)
    out.push_back(name);
  for (const std::string &name : namesOf(""))
    out.push_back(name);
  return out;
}

/// Python's constant __debug__: are print and assert_ compiled? False, unless the caller supplies it.
Value Elaborator::debugConstant(Range loc) {
  auto it = module_.globals.find("__debug__");
  return it == module_.globals.end() ? Value::boolean(false) : lookupGlobal(it->first, it->second, loc);
}

Value Elaborator::lookupGlobal(const std::string &name, const Global &g, Range loc) {
  Value v;
  switch (g.kind) {
  case Global::ImportedModule:
    v.kind = Value::Module;
    v.text = g.path;
    return v;
  case Global::ImportedName:
    return member(g.path, g.name, loc);
  case Global::Foreign:
    return fail(Code::E_IMPORT, loc, "'" + name + "' comes from a module that kernels cannot use",
                "kernels use tessera and math only");
  case Global::Function:
    v.kind = Value::Function;
    v.text = name;
    return v;
  case Global::Constant:
    return moduleConstant(name, g, loc);
  }
  return v;
}

/// Evaluates an expression in the scope of the module.
Value Elaborator::atModuleLevel(const ast::Expr &e) {
  bool outer = std::exchange(constantsOnly_, true);
  std::vector<std::unique_ptr<Frame>> frames = std::exchange(frames_, {});
  Value v = evaluate(e);
  frames_ = std::move(frames);
  constantsOnly_ = outer;
  return v;
}

/// Module constants are evaluated on first use.
Value Elaborator::moduleConstant(const std::string &name, const Global &g, Range loc) {
  if (auto it = constants_.find(name); it != constants_.end()) return it->second;
  if (g.stmt->loc.line > loc.line && constantsOnly_)
    return fail(Code::E_UNDEFINED_NAME, loc, "'" + name + "' is used before it gets a value");
  if (!evaluating_.insert(name).second)
    return fail(Code::E_MODULE_CONSTANT, loc, "'" + name + "' is defined by itself");
  Value v = atModuleLevel(*g.stmt->value);
  evaluating_.erase(name);

  // A, B = 1, 2
  for (const ast::ExprPtr &target : g.stmt->targets) {
    if (target->kind != ast::Expr::Tuple && target->kind != ast::Expr::List) continue;
    for (size_t i = 0; i < target->items.size(); ++i) {
      if (target->items[i]->kind != ast::Expr::Name || target->items[i]->text != name || v.isError())
        continue;
      if (v.kind != Value::Tuple || v.items.size() != target->items.size())
        v = fail(Code::E_ARGUMENTS, target->loc, "the two sides of this assignment have different lengths");
      else
        v = Value(v.items[i]);
    }
  }
  return constants_[name] = v;
}

Value Elaborator::member(const std::string &module, const std::string &attribute, Range loc) {
  Value v;
  if (std::string sub = findSubmodule(module, attribute); !sub.empty()) {
    v.kind = Value::Module;
    v.text = sub;
    return v;
  }
  if (const LanguageFunction *b = findFunction(module, attribute)) {
    v.kind = Value::Function;
    v.builtin = b;
    return v;
  }
  if (module == "tessera" && attribute == "grad") return member("tessera.op", "grad", loc);
  if (std::optional<double> c = findConstant(module, attribute)) return Value::real(*c);
  if (module == "tessera" || module == "tessera.tile")
    if (std::optional<DType> t = parseDType(attribute)) return Value::dtypeName(*t);
  std::string shown = module == "tessera"              ? "ts"
                      : module.starts_with("tessera.") ? "ts" + module.substr(7)
                                                       : module;
  if (module != "math")
    if (std::optional<std::string> hint = ops::foreignHint(attribute, graph_ ? "ts." : "ts.tile."))
      return fail(Code::E_UNKNOWN_ATTRIBUTE, loc, "'" + attribute + "' does not exist in the language",
                  *hint);
  std::string hint = didYouMean(attribute, namesOf(module));
  if (module == "tessera.tile" && findFunction("tessera.op", attribute))
    hint = attribute.starts_with("gather") || attribute.starts_with("take")
               ? "x[i] with a tile i of indices gathers"
               : "ts." + attribute + " computes with whole tensors, in a @ts.jit function";
  return fail(Code::E_UNKNOWN_ATTRIBUTE, loc, "'" + shown + "' has no '" + attribute + "'", hint);
}

/// Returns how an attribute of another tool's module is written in this language; empty if it is not known.
std::string Elaborator::hintInPlaceOf(const std::string &foreign) const {
  const std::string prefix = graph_ ? "ts." : "ts.tile.";
  if (std::optional<std::string> hint = ops::foreignHint(foreign, prefix)) return *hint;
  const LanguageFunction *f = findFunction("tessera", foreign);
  if (f && f->isIn(graph_ ? ops::Graphs : ops::Kernels)) return "write " + prefix + foreign + "(...)";
  return parseDType(foreign) ? "write ts." + foreign : "";
}

/// The same of an attribute of a tensor or a tile: "float", "add_", "view".
std::string Elaborator::methodHint(const std::string &name) const {
  if (std::optional<DType> t = parseDType(name))
    return std::string("write ts.") + (graph_ ? "" : "tile.") + "cast(x, ts." + tessera::name(*t) + ")";
  if (name.size() > 1 && name.ends_with('_'))
    if (std::string hint = hintInPlaceOf(name.substr(0, name.size() - 1)); !hint.empty())
      return "values do not change in place: " + hint;
  return hintInPlaceOf(name);
}

/// Returns false if `e` is not an attribute of another tool's module, imported or not; otherwise reports it.
bool Elaborator::foreignAttribute(const ast::Expr &e) {
  const ast::Expr *root = &e;
  while (root->kind == ast::Expr::Attribute)
    root = root->items[0].get();
  if (root->kind != ast::Expr::Name) return false;
  auto global = module_.globals.find(root->text);
  const bool isImported = global != module_.globals.end();
  if (isImported ? global->second.kind != Global::Foreign : !ops::isForeignModule(root->text)) return false;
  if (!isImported) {
    const std::vector<std::string> names = visibleNames();
    if (std::ranges::find(names, root->text) != names.end()) return false;
  }
  const std::optional<std::string> ofWhole = ops::foreignHint(dottedName(e), graph_ ? "ts." : "ts.tile.");
  const std::string hint = ofWhole ? *ofWhole : hintInPlaceOf(e.text);
  if (hint.empty()) return false;
  if (isImported)
    fail(Code::E_IMPORT, root->loc, "'" + root->text + "' comes from a module that kernels cannot use", hint);
  else
    fail(Code::E_UNDEFINED_NAME, root->loc, "'" + root->text + "' is not defined", hint);
  return true;
}

Value Elaborator::attribute(const ast::Expr &e) {
  if (foreignAttribute(e)) return Value::error();
  Value base = evaluate(*e.items[0]);
  const std::string &name = e.text;
  switch (base.kind) {
  case Value::Error:
    return base;
  case Value::Module:
    return member(base.text, name, e.loc);
  case Value::Context:
    return contextAttribute(name, e.loc);
  case Value::Tensor: {
    const Param &p = kernel_.params[static_cast<size_t>(base.index)];
    if (name == "dtype") return Value::dtypeName(p.dtype);
    if (name == "ndim") return Value::integer(static_cast<int64_t>(p.dims.size()));
    if (name == "shape") {
      std::vector<Value> extents;
      for (const Dim &d : p.dims)
        extents.push_back(dimExtent(d));
      return Value::tuple(std::move(extents));
    }
    if (name == "T")
      return fail(Code::E_TENSOR_VALUE, e.loc, "a whole tensor cannot be transposed in a kernel",
                  "transpose the tile: " + p.name + "[i:i+64, j:j+64].T");
    return fail(Code::E_UNKNOWN_ATTRIBUTE, e.loc, "a tensor has no '" + name + "'",
                didYouMean(name, {"shape", "ndim", "dtype"}, methodHint(name)));
  }
  case Value::Graph:
    return graphAttribute(std::move(base), name, e.loc);
  case Value::Buffer:
  case Value::Tile:
  case Value::Scalar: {
    if (base.kind == Value::Scalar && base.weak) break;
    const Type type =
        base.kind == Value::Buffer ? kernel_.symbols[static_cast<size_t>(base.index)].type : base.type();
    if (name == "dtype") return Value::dtypeName(type.dtype);
    if (base.kind == Value::Scalar) break;
    if (name == "ndim") return Value::integer(static_cast<int64_t>(type.shape.size()));
    if (name == "T") return rules::transposed(*this, std::move(base), e.loc);
    if (name == "shape") {
      std::vector<Value> extents;
      for (int64_t n : type.shape)
        extents.push_back(Value::integer(n));
      if (base.transposed && extents.size() >= 2)
        std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
      return Value::tuple(std::move(extents));
    }
    return fail(Code::E_UNKNOWN_ATTRIBUTE, e.loc, "a tile has no '" + name + "'",
                didYouMean(name, names::kAttributes, methodHint(name)));
  }
  default:
    break;
  }
  const bool grows = base.kind == Value::Tuple && (name == "append" || name == "extend");
  return fail(Code::E_UNKNOWN_ATTRIBUTE, e.loc, describe(base) + " has no '" + name + "'",
              grows ? "write items = items + [x], or a list comprehension" : "");
}

Value Elaborator::contextAttribute(const std::string &name, Range loc) {
  for (const auto &[tunable, value] : kernel_.tunables)
    if (tunable == name) {
      readTunables_.insert(name);
      return Value::integer(value);
    }
  std::vector<std::string> known = kernel_.dims;
  if (std::ranges::find(known, name) != known.end()) {
    Value v = dimValue(name);
    if (v.expr) v.expr->loc = loc;
    return v;
  }
  for (const auto &[tunable, value] : kernel_.tunables)
    known.push_back(tunable);
  return fail(Code::E_UNKNOWN_ATTRIBUTE, loc, "the context has neither a tunable nor a dim '" + name + "'",
              didYouMean(name, known));
}

Value Elaborator::iterator(const std::string &name, Range loc) {
  for (const Iterator &it : iterators_)
    if (it.name == name) return Value::extent(var(it.symbol, loc), AtomTable::of(it.atom));
  auto lower = [](std::string s) {
    for (char &c : s)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
  };
  std::string suffix = name.substr(5);
  std::vector<std::string> matches, spellings;
  for (const std::string &dim : kernel_.dims) {
    if (lower(dim) == lower(suffix)) matches.push_back(dim);
    spellings.push_back("tile_" + lower(dim));
  }
  if (matches.size() > 1)
    return fail(Code::E_ITERATOR, loc,
                "'" + name + "' could iterate dim '" + matches[0] + "' or '" + matches[1] + "'",
                "rename one of the dims");
  if (matches.empty())
    return fail(Code::E_UNDEFINED_NAME, loc,
                "'" + name + "' is not defined, and no dim is called '" + suffix + "'",
                didYouMean(name, spellings));
  if (gridForm_ != GridForm::None || linearId_)
    return fail(Code::E_ITERATOR, loc,
                "'" + name + "' is an implicit tile iterator, but this kernel has its own grid",
                "write the loop over " + matches[0] + " with ts.tile.range");
  Iterator it;
  it.name = name;
  it.dim = matches[0];
  it.loc = loc;
  it.symbol = newSymbol(name, {Type::Scalar, DType::I64, {}}, loc);
  immutable_.insert(it.symbol);
  it.atom = atoms_.intern("sym:" + std::to_string(it.symbol), {}, false);
  atomExprs_[it.atom] = var(it.symbol, loc);
  iterators_.push_back(it);
  return iterator(name, loc);
}

} // namespace tessera::frontend
