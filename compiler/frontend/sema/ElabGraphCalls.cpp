// Calls in graph functions: library ops, other graph functions (inlined) and the user's kernels (launched).
#include "compiler/frontend/sema/ElabGraphCalls.h"
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Effects.h"
#include <algorithm>
#include <sstream>

namespace tessera::frontend {

/// The parameters of a builtin where graph functions have others than kernels.
static const char *graphParameters(const BuiltinInfo &b) {
  switch (b.id) {
  case Builtin::Arange:
    return "start stop? step?";
  case Builtin::Transpose:
    return "x perm?";
  case Builtin::Concat:
    return "tensors axis?";
  default:
    return b.parameters;
  }
}

bool Elaborator::graphTensor(const Value &v, Range loc, size_t minRank) {
  if (v.isError()) return false;
  size_t rank = graphDims(v).size();
  if (v.isGraph() && rank >= minRank) return true;
  fail(v.isGraph() ? Code::E_SHAPE : Code::E_TYPE, loc,
       "expected a tensor" + (minRank ? " of " + std::to_string(minRank) + " dims or more" : std::string()) +
           ", found " + graphName(v));
  return false;
}

bool Elaborator::graphFlag(const Value &v, Range loc, const char *what, bool &out) {
  if (v.isError()) return false;
  if (v.isScalar() && v.isConst && !isFloat(v.dtype)) {
    out = v.intValue != 0;
    return true;
  }
  fail(Code::E_CONSTANT, loc, std::string(what) + " is True or False, known when compiling");
  return false;
}

bool Elaborator::graphNumber(const Value &v, Range loc, const char *what, double &out) {
  if (v.isError()) return false;
  if (v.isScalar() && v.isConst) {
    out = isFloat(v.dtype) ? v.floatValue : static_cast<double>(v.intValue);
    return true;
  }
  fail(Code::E_CONSTANT, loc, std::string(what) + " is a number known when compiling, found " + describe(v));
  return false;
}

/// Evaluates the arguments. The positional ones of the methods x.reshape(a, b) and x.transpose(0, 2, 1) may
/// stand for the tuple.
bool Elaborator::graphBind(const ast::Expr &call, const BuiltinInfo &b, const Value *self,
                           GraphArguments &out) {
  std::vector<std::string> names;
  std::vector<bool> optional;
  std::istringstream words(graphParameters(b));
  for (std::string word; words >> word;) {
    optional.push_back(word.back() == '?');
    if (optional.back()) word.pop_back();
    names.push_back(word);
  }
  out.values.resize(names.size());
  out.locs.assign(names.size(), call.loc);
  size_t next = 0;
  if (self) {
    out.values[next] = *self;
    out.locs[next++] = call.items[0]->items[0]->loc;
  }
  size_t given = call.items.size() - 1;
  bool spread = self && given > 1 && (b.id == Builtin::Reshape || b.id == Builtin::Transpose);
  if (spread) {
    std::vector<Value> items;
    for (size_t i = 1; i <= given; ++i)
      items.push_back(evaluate(*call.items[i]));
    out.values[next++] = Value::tuple(std::move(items));
  } else if (next + given > names.size()) {
    fail(Code::E_ARGUMENTS, call.loc,
         std::string("'") + b.name + "' takes at most " + std::to_string(names.size() - next) +
             " arguments, found " + std::to_string(given));
    return false;
  } else {
    for (size_t i = 1; i <= given; ++i, ++next) {
      out.values[next] = evaluate(*call.items[i]);
      out.locs[next] = call.items[i]->loc;
    }
  }
  for (const ast::Keyword &k : call.keywords) {
    size_t i = static_cast<size_t>(std::ranges::find(names, k.name) - names.begin());
    if (i == names.size() || out.values[i]) {
      fail(Code::E_ARGUMENTS, k.loc,
           i == names.size() ? std::string("'") + b.name + "' has no parameter '" + k.name + "'"
                             : "'" + k.name + "' is given twice",
           i == names.size() ? didYouMean(k.name, names) : "");
      return false;
    }
    out.values[i] = evaluate(*k.value);
    out.locs[i] = k.value->loc;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!out.values[i] && !optional[i]) {
      fail(Code::E_ARGUMENTS, call.loc,
           std::string("'") + b.name + "' lacks its argument '" + names[i] + "'");
      return false;
    }
    if (out.values[i] && out.values[i]->isError()) return false;
  }
  return true;
}

Value Elaborator::graphBuiltin(const ast::Expr &e, const BuiltinInfo &b, const Value *self) {
  switch (b.id) {
  case Builtin::Zeros:
  case Builtin::Full:
  case Builtin::Arange:
  case Builtin::Reshape:
  case Builtin::Broadcast:
  case Builtin::Cast:
  case Builtin::Where:
  case Builtin::Concat:
  case Builtin::Transpose:
  case Builtin::Sum:
  case Builtin::Max:
  case Builtin::Min:
  case Builtin::Prod:
  case Builtin::ArgMax:
  case Builtin::ArgMin:
    break;
  case Builtin::GraphOp:
    return fail(Code::E_UNIMPLEMENTED, e.loc,
                std::string("TSR_UNIMPLEMENTED: the library op '") + b.name +
                    "' is declared, but not built yet");
  default:
    if (b.id >= Builtin::Matmul) break;
    bool scalar = (b.id >= Builtin::Minimum && b.id <= Builtin::Cos) || b.id == Builtin::Cdiv ||
                  (b.id >= Builtin::PyFloat && b.id <= Builtin::MathCeil);
    if (scalar) return callBuiltin(e, b);
    return fail(Code::E_GRAPH_OP, e.loc,
                std::string("'") + b.name +
                    "' belongs to tile kernels and does not exist in a graph function",
                b.id == Builtin::Mma      ? "products of whole tensors are ts.matmul(a, b)"
                : b.id == Builtin::RowMax ? "write ts.max(x, axis=-1)"
                : b.id == Builtin::RowMin ? "write ts.min(x, axis=-1)"
                : b.id == Builtin::RowSum ? "write ts.sum(x, axis=-1)"
                                          : "write a @ts.kernel and call it");
  }
  GraphArguments a;
  if (!graphBind(e, b, self, a)) return Value::error();
  return constantsOnly_ ? fail(Code::E_MODULE_CONSTANT, e.loc,
                               std::string("'") + b.name + "' cannot be called at module level")
                        : graphCall(e, b, a);
}

/// Formulas whose sums are in f32 whatever @accum says.
static bool sumsInF32(Builtin id) {
  switch (id) {
  case Builtin::Softmax:
  case Builtin::LogSoftmax:
  case Builtin::LayerNorm:
  case Builtin::RmsNorm:
  case Builtin::Mse:
  case Builtin::CrossEntropy:
  case Builtin::FlashAttention:
    return true;
  default:
    return false;
  }
}

Value Elaborator::graphCall(const ast::Expr &e, const BuiltinInfo &b, GraphArguments &a) {
  Range loc = e.loc;
  if (sumsInF32(b.id) && a[0].accum == DType::F64 && a[0].dtype != DType::F64)
    return fail(Code::E_UNIMPLEMENTED, a.loc(0),
                std::string("TSR_UNIMPLEMENTED: '") + b.name + "' of " + name(a[0].dtype) +
                    " with sums in f64",
                "cast to ts.f64 first");
  switch (b.id) {
  case Builtin::Zeros:
  case Builtin::Full:
  case Builtin::Arange:
    return graphMake(b, a, loc);
  case Builtin::Reshape:
    return graphReshape(std::move(a[0]), a[1], loc, a.loc(1));
  case Builtin::Broadcast: {
    Dims dims;
    if (!graphShape(a[1], a.loc(1), dims)) return Value::error();
    return graphBroadcastTo(strengthen(asOperand(std::move(a[0]), a.loc(0))), dims, loc);
  }
  case Builtin::Cast: {
    Value v = asOperand(std::move(a[0]), a.loc(0));
    std::optional<DType> t = a[1].kind == Value::Str ? parseDType(a[1].text) : std::nullopt;
    if (a[1].kind == Value::DTypeName) t = a[1].dtype;
    if (a[1].kind == Value::Function && a[1].builtin && a[1].builtin->id == Builtin::PyBool) t = DType::Bool;
    if (!t) return fail(Code::E_DTYPE, a.loc(1), "expected a dtype such as ts.f32, found " + describe(a[1]));
    return cast(std::move(v), *t, loc);
  }
  case Builtin::Where: {
    Value c = asOperand(std::move(a[0]), a.loc(0)), x = asOperand(std::move(a[1]), a.loc(1)),
          y = asOperand(std::move(a[2]), a.loc(2));
    if (c.isError() || x.isError() || y.isError()) return Value::error();
    if (c.dtype != DType::Bool)
      return fail(Code::E_TYPE, a.loc(0), "the condition of 'where' is " + describe(c) + ", not bool",
                  "compare it with something");
    return select(std::move(c), std::move(x), std::move(y), loc);
  }
  case Builtin::Concat:
    return graphConcat(a, loc);
  case Builtin::Transpose:
    return graphTransposeCall(a, loc);
  case Builtin::Split:
    return graphSplit(a, loc);
  case Builtin::Matmul: {
    bool transA = false, transB = false;
    if (a.given(2) && !graphFlag(a[2], a.loc(2), "trans_a", transA)) return Value::error();
    if (a.given(3) && !graphFlag(a[3], a.loc(3), "trans_b", transB)) return Value::error();
    std::optional<DType> dtype;
    if (a.given(4) && a[4].kind != Value::None) {
      if (a[4].kind != Value::DTypeName)
        return fail(Code::E_DTYPE, a.loc(4), "expected a dtype such as ts.f32, found " + describe(a[4]));
      dtype = a[4].dtype;
    }
    return graphMatmul(std::move(a[0]), std::move(a[1]), transA, transB, dtype, loc);
  }
  case Builtin::Softmax:
    return graphSoftmax(GraphOp::Softmax, a, loc);
  case Builtin::LogSoftmax:
    return graphSoftmax(GraphOp::LogSoftmax, a, loc);
  case Builtin::LayerNorm:
    return graphNorm(GraphOp::LayerNorm, a, loc);
  case Builtin::RmsNorm:
    return graphNorm(GraphOp::RmsNorm, a, loc);
  case Builtin::Relu:
    return graphActivation(GraphOp::Relu, std::move(a[0]), loc, b.name);
  case Builtin::Silu:
    return graphActivation(GraphOp::Silu, std::move(a[0]), loc, b.name);
  case Builtin::Gelu: {
    bool isTanh = a.given(1) && a[1].kind == Value::Str && a[1].text == "tanh";
    bool isErf = !a.given(1) || (a[1].kind == Value::Str && a[1].text == "none");
    if (!isTanh && !isErf) return fail(Code::E_ARGUMENTS, a.loc(1), "approximate is \"none\" or \"tanh\"");
    return graphActivation(isTanh ? GraphOp::GeluTanh : GraphOp::Gelu, std::move(a[0]), loc, b.name);
  }
  case Builtin::Embedding:
    return graphGather(a, loc);
  case Builtin::Mse:
    return graphLoss(GraphOp::Mse, a, loc);
  case Builtin::CrossEntropy:
    return graphLoss(GraphOp::CrossEntropy, a, loc);
  case Builtin::FlashAttention:
    return graphAttention(a, loc);
  default:
    return graphReduce(b, a, loc);
  }
}

// --- Functions of the source ---

/// Checks the tensor arguments of a call against the callee's parameters, and finds what its symbols stand
/// for.
bool Elaborator::graphBindDims(const Kernel &callee, const ast::Expr &call,
                               std::vector<std::optional<Value>> &values,
                               std::map<std::string, DimExpr> &bound) {
  std::map<std::string, std::string> from; // symbol -> the parameter that bound it
  bool ok = true;
  auto refuse = [&](Code code, std::string message, std::string hint = {}) {
    fail(code, call.loc, "'" + callee.name + "': " + message, std::move(hint));
    ok = false;
  };
  for (size_t i = 0; i < callee.params.size() && i < values.size(); ++i) {
    const Param &p = callee.params[i];
    Value &v = *values[i];
    if (v.isError()) return false;
    if (!p.isTensor) {
      v = asOperand(std::move(v), call.loc);
      bool converts = v.isScalar() && v.converts(p.dtype);
      if (v.isError()) return false;
      if (!converts) {
        refuse(Code::E_KERNEL_ARGUMENT,
               "parameter '" + p.name + "' is a scalar " + name(p.dtype) + ", found " + graphName(v));
        continue;
      }
      v = convert(std::move(v), p.dtype, call.loc);
      continue;
    }
    if (!v.isGraph() || v.dtype != p.dtype || graphDims(v).size() != p.dims.size()) {
      std::string want;
      for (const Dim &d : p.dims)
        want += (want.empty() ? "" : ", ") + (d.symbol.empty() ? std::to_string(d.constant) : d.symbol);
      bool onlyType = v.isGraph() && graphDims(v).size() == p.dims.size();
      refuse(Code::E_KERNEL_ARGUMENT,
             "parameter '" + p.name + "' is a " + name(p.dtype) + " tensor [" + want + "], found " +
                 (v.isGraph() ? std::string(name(v.dtype)) + " " : "") + graphName(v),
             onlyType ? std::string("convert it with ts.cast(x, ts.") + name(p.dtype) + ")" : "");
      continue;
    }
    for (size_t d = 0; d < p.dims.size(); ++d) {
      const DimExpr &have = graphDims(v)[d];
      const Dim &want = p.dims[d];
      if (want.symbol.empty()) {
        if (have != DimExpr(want.constant))
          refuse(Code::E_KERNEL_ARGUMENT, "dim " + std::to_string(d) + " of '" + p.name + "' is " +
                                              std::to_string(want.constant) + ", found " + graphName(v));
        continue;
      }
      auto [it, isNew] = bound.emplace(want.symbol, have);
      if (isNew) {
        from[want.symbol] = p.name;
      } else if (it->second != have) {
        refuse(Code::E_KERNEL_ARGUMENT, "its dim '" + want.symbol + "' is " + it->second.text() + " in '" +
                                            from[want.symbol] + "' and " + have.text() + " in '" + p.name +
                                            "', which would have to be equal");
      }
    }
  }
  for (const auto &[symbol, have] : bound) { // a product whose factors are bound as well
    std::optional<DimExpr> product = DimExpr(1);
    std::string factor;
    bool all = symbol.find('*') != std::string::npos;
    for (char c : symbol + "*") {
      if (c != '*') {
        factor += c;
        continue;
      }
      auto it = bound.find(factor);
      bool isNumber = std::isdigit(static_cast<unsigned char>(factor[0])) && factor.size() <= 18;
      if (it == bound.end() && !isNumber) all = false;
      if (all && product) product = multiply(*product, isNumber ? DimExpr(std::stoll(factor)) : it->second);
      factor.clear();
    }
    if (all && product && *product != have)
      refuse(Code::E_KERNEL_ARGUMENT,
             "its dim '" + symbol + "' is " + have.text() + ", but the factors give " + product->text());
  }
  return ok;
}

Value Elaborator::graphInline(const FunctionDecl &f, const ast::Expr &call) {
  if (f.notBuilt)
    return fail(Code::E_UNIMPLEMENTED, call.loc,
                "TSR_UNIMPLEMENTED: '" + f.stmt->text + "' has a decorator that is not built yet");
  std::vector<std::optional<Value>> values;
  if (!enter(f, call) || !callArguments(f, call, values)) return Value::error();
  std::set<std::string> none;
  Elaborator callee(module_, options_, none, sink_);
  size_t before = sink_.count();
  callee.declare(f);
  if (sink_.count() != before) return Value::error();
  std::map<std::string, DimExpr> bound;
  if (!graphBindDims(callee.kernel(), call, values, bound)) return Value::error();
  std::map<std::string, Value> dims;
  for (const auto &[symbol, d] : bound)
    dims[symbol] = graphExtent(d);
  Value result = inlineWith(f, std::move(values), std::move(dims));
  if (result.isError() || !callee.hasResultAnnotation_) return result;

  std::vector<const Value *> items;
  if (result.kind == Value::Tuple)
    for (const Value &item : result.items)
      items.push_back(&item);
  else
    items.push_back(&result);
  if (items.size() != callee.results_.size())
    return fail(Code::E_RETURN_TYPE, call.loc,
                "'" + f.stmt->text + "' returns " + std::to_string(items.size()) +
                    " values, but its annotation names " + std::to_string(callee.results_.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    const ResultType &want = callee.results_[i];
    Dims annotated;
    for (const Dim &d : want.dims) {
      auto it = bound.find(d.symbol);
      annotated.push_back(d.symbol.empty()    ? DimExpr(d.constant)
                          : it == bound.end() ? DimExpr::symbol(d.symbol)
                                              : it->second);
    }
    if (!items[i]->isGraph() || items[i]->dtype != want.dtype || graphDims(*items[i]) != annotated)
      return fail(Code::E_RETURN_TYPE, call.loc,
                  "'" + f.stmt->text + "' returns " + describe(*items[i]) +
                      " here, but its annotation says " + name(want.dtype) + " " + dimsText(annotated));
  }
  return result;
}

/// The instance of a kernel for these dims; -1 when it has errors, which are reported.
int Elaborator::graphKernel(const FunctionDecl &f, const ast::Expr &call,
                            const std::map<std::string, DimExpr> &bound) {
  FrontendOptions options = options_;
  options.kernel = f.stmt->text;
  options.dims.clear();
  options.tunables.clear();
  std::map<std::string, std::set<std::string>>
      behind; // dim of the kernel -> dims of ours its value comes from
  for (const auto &[symbol, d] : bound) {
    std::optional<int64_t> value = d.constant();
    for (const auto &[ours, known] : options_.dims)
      if (!value && d == DimExpr::symbol(ours)) {
        value = known;
        behind[symbol] = {ours};
      }
    if (value) options.dims.emplace_back(symbol, *value);
  }
  Kernel kernel;
  DiagnosticSink quiet(module_.source);
  if (!elaborateKernel(module_, f, options, kernel, quiet)) {
    if (!quiet.onlyCode(Code::E_DIM_NOT_STATIC)) {
      sink_.merge(std::move(quiet));
      return -1;
    }
    std::vector<Diagnostic> why;
    quiet.flush(why);
    fail(Code::E_DIM_NOT_STATIC, call.loc, "in kernel '" + f.stmt->text + "': " + why[0].message,
         "give the dims of '" + kernel_.name + "' it comes from with --dim NAME=...");
    return -1;
  }
  std::string key;
  for (const auto &[dim, value] : kernel.specialized) {
    key += dim + "=" + std::to_string(value) + " ";
    wanted_.insert(behind[dim].begin(), behind[dim].end()); // then this function serves that value only
  }
  GraphState &g = *graph_;
  auto [it, isNew] = g.kernels.try_emplace({kernel.name, key}, static_cast<int>(g.out.kernels.size()));
  if (!isNew) return it->second;
  int same = static_cast<int>(
      std::ranges::count_if(g.kernels, [&](const auto &k) { return k.first.first == kernel.name; }));
  if (same > 1) kernel.name += "." + std::to_string(same - 1);
  g.out.kernels.push_back(std::move(kernel));
  return it->second;
}

Value Elaborator::graphLaunch(const FunctionDecl &f, const ast::Expr &call) {
  if (f.notBuilt)
    return fail(Code::E_UNIMPLEMENTED, call.loc,
                "TSR_UNIMPLEMENTED: '" + f.stmt->text + "' has a decorator that is not built yet");
  std::vector<std::optional<Value>> values;
  if (!grow(call.loc) || !callArguments(f, call, values)) return Value::error();
  std::set<std::string> none;
  Elaborator declared(module_, options_, none, sink_);
  size_t before = sink_.count();
  declared.declare(f);
  if (sink_.count() != before) return Value::error();
  std::map<std::string, DimExpr> bound;
  if (!graphBindDims(declared.kernel(), call, values, bound)) return Value::error();
  int instance = graphKernel(f, call, bound);
  if (instance < 0) return Value::error();

  GraphState &g = *graph_;
  std::vector<int> args;
  std::vector<size_t> written; // by position among the kernel's parameters
  const std::vector<Param> &params = g.out.kernels[static_cast<size_t>(instance)].params;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!params[i].isTensor) continue;
    args.push_back(graphNode(*values[i], call.loc));
    if (params[i].writes || params[i].atomics) written.push_back(i);
    for (size_t j = 0; j < i; ++j)
      if (params[j].isTensor && graphNode(*values[j], call.loc) == args.back() &&
          (params[i].writes || params[j].writes || params[i].atomics || params[j].atomics))
        return fail(Code::E_KERNEL_ARGUMENT, call.loc,
                    "'" + f.stmt->text + "': " + graphName(*values[i]) + " is passed for '" + params[j].name +
                        "' and '" + params[i].name + "', and the kernel writes it",
                    "pass a copy: ts.zeros(x.shape, x.dtype) + x");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (params[i].isTensor) continue;
    if (values[i]->expr && values[i]->expr->op != Op::ParamRef)
      return fail(Code::E_KERNEL_ARGUMENT, call.loc,
                  "'" + f.stmt->text + "': the scalar '" + params[i].name +
                      "' is passed at the launch: a constant or a scalar parameter, nothing computed",
                  "compute it in the kernel");
    args.push_back(graphNode(*values[i], call.loc));
  }
  Value launch = graphValue(GraphOp::Launch, DType::F32, {}, call.loc, std::move(args));
  graphLast().kernel = instance;
  int64_t which = 0;
  for (size_t i : written) { // every name of the tensor stands for its new value from here on
    int old = graphNode(*values[i], call.loc);
    Value v =
        graphValue(GraphOp::LaunchResult, values[i]->dtype, graphDims(*values[i]), call.loc, {launch.index});
    graphLast().ints = {which++};
    g.newer[static_cast<size_t>(old)] = v.index;
    g.names.back() = g.names[static_cast<size_t>(old)];
  }
  std::vector<Value> own;
  for (const Param &p : std::vector<Param>(params)) {
    if (!p.isResult) continue;
    Dims dims;
    for (const Dim &d : p.dims)
      dims.push_back(d.symbol.empty() ? DimExpr(d.constant) : bound.at(d.symbol));
    own.push_back(graphValue(GraphOp::LaunchResult, p.dtype, std::move(dims), call.loc, {launch.index}));
    graphLast().ints = {which++};
  }
  // What the call gives, in the order of the kernel's return.
  std::vector<Value> results;
  size_t next = 0;
  for (const std::string &returned : summarizeEffects(module_, f).returnedParams) {
    if (returned.empty()) {
      if (next < own.size()) results.push_back(std::move(own[next++]));
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i)
      if (params[i].name == returned) results.push_back(*values[i]);
  }
  if (results.empty()) return Value::none();
  return results.size() == 1 ? std::move(results[0]) : Value::tuple(std::move(results));
}

} // namespace tessera::frontend
