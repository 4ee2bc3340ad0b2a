// Calls of the language's functions: argument binding, and dispatch to the rules.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/CallRules.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/ops/ForeignNames.h"
#include <algorithm>

namespace tessera::frontend {

namespace {

using KernelRule = Value (*)(Elaborator &, const KernelCall &);
using GraphRule = Value (*)(Elaborator &, GraphCall &);

// Indexed by FunctionId.
constexpr KernelRule kKernelRules[] = {
#define TSR_ROW(id, module, name, kernelRule, graphRule, ...) rules::kernelRule,
#include "compiler/ops/Functions.def"
};
constexpr GraphRule kGraphRules[] = {
#define TSR_ROW(id, module, name, kernelRule, graphRule, ...) rules::graphRule,
#include "compiler/ops/Functions.def"
};

} // namespace

/// Parses the default of an argument, which the table has as source text; null for None.
const ast::Expr *Elaborator::defaultOf(const ops::Argument &argument) {
  if (argument.otherwise == "None") return nullptr;
  ast::Block &parsed = defaults_[argument.otherwise];
  if (parsed.empty()) {
    const SourceText source(std::string(argument.otherwise) + "\n", "");
    DiagnosticSink sink(source);
    parsed = parse(tokenize(source, sink), sink);
  }
  return parsed[0].value.get();
}

/// Returns the arguments as they are written: "(start, stop=None)".
static std::string shownArguments(const ops::Signature &signature) {
  std::string out;
  for (size_t i = 0; i < signature.size(); ++i) {
    const ops::Argument a = signature[i];
    out += (i ? ", " : "") + std::string(a.name);
    if (a.optional()) out += "=" + std::string(a.otherwise);
  }
  return "(" + out + ")";
}

bool Elaborator::bind(const ast::Expr &call, const LanguageFunction &f, size_t taken, size_t first,
                      std::vector<BoundArgument> &out) {
  const ops::Signature &signature = f.signature(graph_ ? ops::Graphs : ops::Kernels);
  auto name = [&] { return std::string("'") + f.name + "'"; };
  const std::string usage = "it is " + std::string(f.name) + shownArguments(signature);
  auto refuse = [&](Range loc, std::string message, std::string hint = {}) {
    fail(Code::E_ARGUMENTS, loc, std::move(message), std::move(hint));
    return false;
  };
  size_t given = call.items.size() - first;
  if (signature.takesAny()) {
    for (const ast::Keyword &k : call.keywords)
      return refuse(k.loc, name() + " has no parameter '" + k.name + "'");
    for (size_t i = 0; i < given; ++i)
      out.push_back({i, call.items[first + i].get(), call.items[first + i]->loc});
    return true;
  }
  if (taken + given > signature.size()) {
    size_t most = signature.size() - taken;
    return refuse(call.loc,
                  name() + " takes " + (most ? "at most " + std::to_string(most) : "no") +
                      " arguments, found " + std::to_string(given),
                  signature.size() ? usage : "");
  }
  std::array<bool, ops::Signature::kMax> isGiven{};
  for (size_t i = 0; i < taken; ++i)
    isGiven[i] = true;
  // store(C[i:i+8], x) and atomic_add(C[i], x): what is in brackets takes the place of the index.
  const bool isPlaced = !graph_ && taken == 0 && given > 0 && signature.find("index") == 1 &&
                        signature[1].optional() && call.items[first]->kind == ast::Expr::Subscript;
  for (size_t i = 0; i < given; ++i) {
    const size_t index = taken + i + (isPlaced && i > 0);
    if (index >= signature.size())
      return refuse(call.loc,
                    name() + " takes at most " + std::to_string(signature.size() - 1) +
                        " arguments where the index is in brackets, found " + std::to_string(given),
                    usage);
    out.push_back({index, call.items[first + i].get(), call.items[first + i]->loc});
    isGiven[index] = true;
  }
  for (const ast::Keyword &k : call.keywords) {
    const size_t i = signature.find(k.name);
    if (i == signature.size()) {
      std::vector<std::string> names;
      for (size_t j = 0; j < signature.size(); ++j)
        names.emplace_back(signature[j].name);
      const std::string hint = ops::foreignArgumentHint(k.name, signature);
      return refuse(k.loc, name() + " has no parameter '" + k.name + "'",
                    hint.empty() ? didYouMean(k.name, names, names.empty() ? "" : usage) : hint);
    }
    if (std::exchange(isGiven[i], true)) return refuse(k.loc, "'" + k.name + "' is given twice");
    out.push_back({i, k.value.get(), k.value->loc});
  }
  for (size_t i = 0; i < signature.size(); ++i)
    if (!isGiven[i]) {
      if (!signature[i].optional()) {
        return refuse(call.loc, name() + " lacks its argument '" + std::string(signature[i].name) + "'",
                      usage);
      }
      if (const ast::Expr *value = defaultOf(signature[i])) out.push_back({i, value, call.loc});
    }
  return true;
}

bool Elaborator::bind(const ast::Expr &call, const LanguageFunction &f, KernelCall &out) {
  std::vector<BoundArgument> bound;
  if (!bind(call, f, 0, 1, bound)) return false;
  out.at.resize(std::max(f.arguments.size(), bound.size()));
  for (const BoundArgument &b : bound)
    out.at[b.index] = b.value;
  return true;
}

/// Evaluates the arguments in the order of the source. The methods x.reshape(a, b) and x.transpose(0, 2, 1)
/// also take the elements of their tuple as positional arguments.
bool Elaborator::bind(const ast::Expr &call, const LanguageFunction &f, const Value *self, GraphCall &out) {
  const size_t size = f.signature(ops::Graphs).size();
  out.values.resize(size);
  out.locs.assign(size, call.loc);
  size_t taken = 0, first = 1;
  if (self) {
    out.values[taken] = *self;
    out.locs[taken++] = call.items[0]->items[0]->loc;
  }
  if (self && call.items.size() > 2 && (f.id == FunctionId::Reshape || f.id == FunctionId::Transpose)) {
    std::vector<Value> items;
    for (; first < call.items.size(); ++first)
      items.push_back(evaluate(*call.items[first]));
    out.values[taken++] = Value::tuple(std::move(items));
  }
  std::vector<BoundArgument> bound;
  if (!bind(call, f, taken, first, bound)) return false;
  for (const BoundArgument &b : bound) {
    out.values[b.index] = evaluate(*b.value);
    out.locs[b.index] = b.loc;
  }
  return std::ranges::none_of(out.values, [](const std::optional<Value> &v) { return v && v->isError(); });
}

Value Elaborator::call(const ast::Expr &e) {
  Value callee = evaluate(*e.items[0]);
  switch (callee.kind) {
  case Value::Error:
    return callee;
  case Value::DTypeName: // ts.f32(x)
    if (e.items.size() != 2 || !e.keywords.empty())
      return fail(Code::E_ARGUMENTS, e.loc, std::string("'") + name(callee.dtype) + "' takes one argument");
    return cast(operand(*e.items[1]), callee.dtype, e.loc);
  case Value::Function:
    break;
  default:
    return fail(Code::E_NOT_CALLABLE, e.loc, describe(callee) + " cannot be called",
                callee.kind == Value::Tuple ? "an extent is x.shape[0]" : "");
  }
  if (callee.builtin && graph_)
    return graphCall(e, *callee.builtin, callee.items.empty() ? nullptr : &callee.items[0]);
  if (callee.builtin) return kernelCall(e, *callee.builtin);
  const FunctionDecl &f = module_.functions[module_.globals.at(callee.text).function];
  if (f.kind == FunctionDecl::Helper) return inlineHelper(f, e);
  if (graph_) return f.kind == FunctionDecl::Graph ? graphInline(f, e) : graphLaunch(f, e);
  return fail(Code::E_NOT_CALLABLE, e.loc,
              "'" + callee.text + "' is a " + (f.kind == FunctionDecl::Kernel ? "kernel" : "graph function") +
                  " and cannot be called from a kernel",
              "move the shared part into a plain function");
}

Value Elaborator::kernelCall(const ast::Expr &e, const LanguageFunction &f, bool isStatement) {
  const KernelRule rule = kKernelRules[static_cast<size_t>(f.id)];
  KernelCall call{f, e.loc, {}};
  if (!f.isIn(ops::Kernels)) return rule(*this, call);
  if (f.isIn(ops::Statement)) sawWork_ |= isStatement;
  if (!bind(e, f, call)) return Value::error();
  if (constantsOnly_ && !f.isConstant)
    return fail(Code::E_MODULE_CONSTANT, e.loc,
                std::string("'") + f.name + "' cannot be called at module level");
  if (f.isIn(ops::Statement) && !isStatement)
    return fail(Code::E_TYPE, e.loc, std::string("'") + f.name + "' gives no value",
                "write it as a statement of its own");
  return rule(*this, call);
}

Value Elaborator::graphCall(const ast::Expr &e, const LanguageFunction &f, const Value *self) {
  const GraphRule rule = kGraphRules[static_cast<size_t>(f.id)];
  GraphCall call{f, e, e.loc, {}, {}};
  const bool isEvaluated = f.isIn(ops::Graphs) && !f.isIn(ops::Scalars) && !f.arguments.takesAny();
  if (!isEvaluated) return rule(*this, call);
  if (!bind(e, f, self, call)) return Value::error();
  if (constantsOnly_)
    return fail(Code::E_MODULE_CONSTANT, e.loc,
                std::string("'") + f.name + "' cannot be called at module level");
  if (f.numerics == ops::Numerics::SumsInF32 && call[0].accum == DType::F64 && call[0].dtype != DType::F64)
    return fail(Code::E_UNIMPLEMENTED, call.locOf(0),
                std::string("TSR_UNIMPLEMENTED: '") + f.name + "' of " + name(call[0].dtype) +
                    " with sums in f64",
                "cast to ts.f64 first");
  return rule(*this, call);
}

} // namespace tessera::frontend
