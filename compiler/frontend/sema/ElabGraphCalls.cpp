// Calls in graph functions: other graph functions (inlined) and the user's kernels (launched).
#include "compiler/frontend/sema/Effects.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include <algorithm>

namespace tessera::frontend {

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
  if (v.isScalar() && v.isConst && v.dtype == DType::Bool) {
    out = v.intValue != 0;
    return true;
  }
  fail(Code::E_CONSTANT, loc,
       std::string(what) + " is True or False, known when compiling, found " + describe(v));
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

/// The extent of a callee's dim; nothing if one of its symbols is not bound.
static std::optional<DimExpr> boundDim(const Dim &dim, const Kernel &callee,
                                       const std::map<std::string, DimExpr> &bound) {
  return extentOf(dim, callee.dims, [&](const std::string &symbol) -> std::optional<DimExpr> {
    auto it = bound.find(symbol);
    return it == bound.end() ? std::nullopt : std::optional(it->second);
  });
}

static bool isDimOf(const Kernel &callee, const std::string &symbol) {
  return std::ranges::find(callee.dims, symbol) != callee.dims.end();
}

std::optional<DimExpr> Elaborator::graphSolveDim(const Dim &want, const Kernel &callee,
                                                 const std::string &symbol, const DimExpr &have,
                                                 const std::map<std::string, DimExpr> &bound,
                                                 const std::string &says, Range loc) {
  static const std::string kUnknown = "?"; // no name of a program
  std::map<std::string, DimExpr> values = bound;
  values.emplace(symbol, DimExpr::symbol(kUnknown));
  const std::optional<DimExpr> extent = boundDim(want, callee, values);
  const std::optional<DimExpr::Linear> form = extent ? extent->linearIn(kUnknown) : std::nullopt;
  const std::optional<DimExpr> rest = form ? subtract(have, form->offset) : std::nullopt;
  if (!rest || form->factor.constant() == 0) return std::nullopt;
  std::optional<DimExpr> value = divideExactly(*rest, form->factor);
  if (!value && form->factor.constant()) { // a call checks that it divides
    value = apply("floordiv", *rest, form->factor);
    const std::optional<DimExpr> left = apply("mod", *rest, form->factor);
    // The remainder has the sign of the divisor.
    const std::optional<DimExpr> whole =
        *form->factor.constant() > 0 && left ? subtract(DimExpr(0), *left) : left;
    if (!value || !whole || !graphRequire(*whole, Code::E_KERNEL_ARGUMENT, says, loc)) return std::nullopt;
  }
  if (!value || !graphRequire(*value, Code::E_KERNEL_ARGUMENT, says, loc)) return std::nullopt;
  return value;
}

/// Checks the tensor arguments of a call against the callee's parameters, and binds the callee's symbols.
bool Elaborator::graphBindDims(const Kernel &callee, const std::vector<TensorType> &results,
                               const ast::Expr &call, std::vector<std::optional<Value>> &values,
                               std::map<std::string, DimExpr> &bound, std::optional<Dims> &leading) {
  std::map<std::string, std::string> from; // symbol -> what bound it
  std::string leadingFrom;
  bool ok = true;
  auto refuse = [&](Code code, std::string message, std::string hint = {}) {
    fail(code, call.loc, "'" + callee.name + "': " + message, std::move(hint));
    ok = false;
  };
  auto bind = [&](const std::string &symbol, const DimExpr &have, const std::string &where) {
    auto [it, isNew] = bound.emplace(symbol, have);
    if (isNew)
      from[symbol] = where;
    else if (it->second != have)
      refuse(Code::E_KERNEL_ARGUMENT, "its dim '" + symbol + "' is " + it->second.text() + " in " +
                                          from[symbol] + " and " + have.text() + " in " + where +
                                          ", which would have to be equal");
  };
  struct Equation {
    Dim want;
    DimExpr have;
    std::string where;
  };
  std::vector<Equation> equations; // of the extents that are expressions of the callee's dims
  // A function's tensors are contiguous: a stride is the product of the extents after it.
  auto checkStrides = [&](const std::string &tensor, const std::vector<Dim> &strides, const Dims &dims) {
    std::optional<DimExpr> have = DimExpr(1);
    for (size_t d = strides.size(); d-- > 0;) {
      const std::string where = "stride " + std::to_string(d) + " of " + tensor;
      const Dim &want = strides[d];
      if (!have)
        refuse(Code::E_KERNEL_ARGUMENT, where + " is a product of too many terms to be compared");
      else if (isDimOf(callee, want.symbol))
        bind(want.symbol, *have, where + " (contiguous in a graph function)");
      else if (!want.symbol.empty())
        equations.push_back({want, *have, where + " (contiguous in a graph function)"});
      else if (*have != DimExpr(want.constant))
        refuse(Code::E_KERNEL_ARGUMENT,
               where + " is " + std::to_string(want.constant) +
                   ", but the tensors of a graph function are contiguous: it would have to be " +
                   have->text());
      if (!have) return;
      have = multiply(*have, dims[d]);
    }
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
    const size_t named = p.dims.size() - (hasLeading(p.dims) ? 1 : 0); // the last dims
    const bool hasRank =
        v.isGraph() && (hasLeading(p.dims) ? graphDims(v).size() >= named : graphDims(v).size() == named);
    if (!hasRank || v.dtype != p.dtype) {
      std::string want;
      for (const Dim &d : p.dims)
        want += (want.empty() ? "" : ", ") + (d.symbol.empty() ? std::to_string(d.constant) : d.symbol);
      refuse(Code::E_KERNEL_ARGUMENT,
             "parameter '" + p.name + "' is a " + name(p.dtype) + " tensor [" + want + "], found " +
                 (v.isGraph() ? std::string(name(v.dtype)) + " " : "") + graphName(v),
             hasRank ? std::string("convert it with ts.cast(x, ts.") + name(p.dtype) + ")" : "");
      continue;
    }
    if (hasLeading(p.dims)) {
      const Dims &dims = graphDims(v);
      Dims have(dims.begin(), dims.end() - static_cast<ptrdiff_t>(named));
      if (leading && *leading != have)
        refuse(Code::E_KERNEL_ARGUMENT, "its '...' stands for " + dimsText(*leading) + " in " + leadingFrom +
                                            " and for " + dimsText(have) + " in '" + p.name +
                                            "', which would have to be equal");
      if (!leading) {
        leading = std::move(have);
        leadingFrom = "'" + p.name + "'";
      }
    }
    for (size_t n = 0; n < named; ++n) {
      const size_t d = graphDims(v).size() - named + n;
      const DimExpr &have = graphDims(v)[d];
      const Dim &want = p.dims[p.dims.size() - named + n];
      if (want.symbol.empty()) {
        if (have != DimExpr(want.constant))
          refuse(Code::E_KERNEL_ARGUMENT, "dim " + std::to_string(d) + " of '" + p.name + "' is " +
                                              std::to_string(want.constant) + ", found " + graphName(v));
        continue;
      }
      if (isDimOf(callee, want.symbol))
        bind(want.symbol, have, "'" + p.name + "'");
      else
        equations.push_back({want, have, "dim " + std::to_string(d) + " of '" + p.name + "'"});
    }
    checkStrides("'" + p.name + "'", p.strides, graphDims(v));
  }
  if (!ok) return false;
  const size_t errors = sink_.count();
  for (bool solved = true;
       solved && sink_.count() == errors;) { // an equation may give the dim that another one needs
    solved = false;
    for (const Equation &q : equations) {
      std::vector<std::string> open = dimsIn(q.want, callee.dims);
      std::erase_if(open, [&](const std::string &dim) { return bound.contains(dim); });
      if (open.size() != 1) continue;
      const std::string says = "'" + callee.name + "': " + q.where + " is '" + q.want.symbol + "', and no '" +
                               open[0] + "' gives " + q.have.text();
      if (std::optional<DimExpr> x = graphSolveDim(q.want, callee, open[0], q.have, bound, says, call.loc)) {
        bind(open[0], *x, q.where);
        solved = true;
      }
    }
  }
  if (sink_.count() != errors) return false;
  for (const TensorType &result : results) {
    Dims dims;
    for (const Dim &d : result.dims)
      if (std::optional<DimExpr> have = boundDim(d, callee, bound)) dims.push_back(std::move(*have));
    if (dims.size() == result.dims.size()) checkStrides("a result", result.strides, dims);
  }
  for (const Equation &q : equations) {
    const std::optional<DimExpr> want = boundDim(q.want, callee, bound);
    if (!want) {
      for (const std::string &dim : dimsIn(q.want, callee.dims))
        if (!bound.contains(dim))
          refuse(Code::E_KERNEL_ARGUMENT,
                 q.where + " is '" + q.want.symbol + "', which does not determine its dim '" + dim +
                     "' for " + q.have.text(),
                 "give it a tensor that has '" + dim + "' as a dim");
    } else if (*want != q.have) { // where they are equal for some dims only, a call checks it
      const std::optional<DimExpr> more = subtract(q.have, *want), less = subtract(*want, q.have);
      const std::string says = "'" + callee.name + "': " + q.where + " is '" + q.want.symbol + "', " +
                               want->text() + ", found " + q.have.text();
      ok &= more && less && graphRequire(*more, Code::E_KERNEL_ARGUMENT, says, call.loc) &&
            graphRequire(*less, Code::E_KERNEL_ARGUMENT, says, call.loc);
    }
  }
  for (const auto &[symbol, have] : bound) { // a product whose factors are also bound
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
  std::optional<Dims> leading;
  if (!graphBindDims(callee.kernel(), callee.results(), call, values, bound, leading)) return Value::error();
  std::map<std::string, Value> dims;
  for (const auto &[symbol, d] : bound)
    dims[symbol] = graphExtent(d);
  Value result = inlineWith(f, std::move(values), std::move(dims), std::move(callee.specializations_));
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
    const TensorType &want = callee.results_[i];
    Dims annotated;
    for (const Dim &d : want.dims)
      annotated.push_back(boundDim(d, callee.kernel(), bound).value_or(DimExpr::symbol(d.symbol)));
    if (hasLeading(want.dims)) {
      Dims stands; // for "...": of the result itself where no parameter has it
      if (leading)
        stands = *leading;
      else if (items[i]->isGraph() && graphDims(*items[i]).size() + 1 >= annotated.size()) {
        const Dims &dims = graphDims(*items[i]);
        stands.assign(dims.begin(), dims.end() - static_cast<ptrdiff_t>(annotated.size() - 1));
      }
      annotated.erase(annotated.begin());
      annotated.insert(annotated.begin(), stands.begin(), stands.end());
    }
    if (!items[i]->isGraph() || items[i]->dtype != want.dtype || graphDims(*items[i]) != annotated)
      return fail(Code::E_RETURN_TYPE, call.loc,
                  "'" + f.stmt->text + "' returns " + describe(*items[i]) +
                      " here, but its annotation says " + name(want.dtype) + " " + dimsText(annotated));
  }
  return result;
}

/// Returns the instance of a kernel for these dims; -1 if it has errors, which are reported.
int Elaborator::graphKernel(const ModuleData &module, const FunctionDecl &f, const ast::Expr &call,
                            const std::map<std::string, DimExpr> &bound) {
  FrontendOptions options = options_;
  options.kernel = f.stmt->text;
  options.dims.clear();
  options.tunables.clear();
  std::map<std::string, std::set<std::string>>
      behind; // dim of the kernel -> dims of this function that its value is computed from
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
  DiagnosticSink quiet(module.source);
  if (!elaborateKernel(module, f, options, kernel, quiet)) {
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
  for (const Param &p : kernel.params)
    if (!p.reports.empty()) {
      const Report &first = p.reports[0];
      fail(Code::E_UNIMPLEMENTED, first.loc,
           std::string("TSR_UNIMPLEMENTED: '") + (first.isAssert ? "assert_" : "print") +
               "' in a kernel that a graph function launches",
           "launch the kernel itself, or compile without __debug__");
      return -1;
    }
  if (&module != &module_) kernel.name = "ts." + kernel.name; // no name of the user's
  std::string key;
  for (const auto &[dim, value] : kernel.specialized) {
    key += dim + "=" + std::to_string(value) + " ";
    // this instance of the function is then valid for that value only
    wanted_.insert(behind[dim].begin(), behind[dim].end());
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
  if (!callArguments(f, call, values)) return Value::error();
  return graphLaunch(module_, f, std::move(values), call);
}

/// Launches a kernel of a module, the user's or one of the language's own.
Value Elaborator::graphLaunch(const ModuleData &module, const FunctionDecl &f,
                              std::vector<std::optional<Value>> values, const ast::Expr &call) {
  if (!grow(call.loc)) return Value::error();
  std::set<std::string> none;
  Elaborator declared(module, options_, none, sink_);
  size_t before = sink_.count();
  declared.declare(f);
  if (sink_.count() != before) return Value::error();
  std::map<std::string, DimExpr> bound;
  std::optional<Dims> noLeading; // a kernel's types have no "..."
  if (!graphBindDims(declared.kernel(), declared.results(), call, values, bound, noLeading))
    return Value::error();
  int instance = graphKernel(module, f, call, bound);
  if (instance < 0) return Value::error();

  GraphState &g = *graph_;
  std::vector<int> args;
  std::vector<size_t> written; // by position among the kernel's parameters
  std::vector<Param> &params = g.out.kernels[static_cast<size_t>(instance)].params;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!params[i].isTensor) continue;
    args.push_back(graphNode(*values[i], call.loc));
    if (g.out.values[static_cast<size_t>(args.back())].op == GraphOp::Empty) params[i].reads = false;
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
  std::vector<Dim> kernelDims;
  const Kernel &kernel = g.out.kernels[static_cast<size_t>(instance)];
  const bool givesDims = hasExpressions(kernel); // else they are extents of its tensors
  for (const std::string &dim : kernel.dims) {
    auto it = bound.find(dim);
    if (it == bound.end())
      return fail(Code::E_KERNEL_ARGUMENT, call.loc,
                  "'" + f.stmt->text + "': its dim '" + dim + "' is in none of its arguments");
    if (givesDims) kernelDims.push_back(it->second.dim());
  }
  Value launch = graphValue(GraphOp::Launch, DType::F32, {}, call.loc, std::move(args));
  graphLast().kernel = instance;
  graphLast().kernelDims = std::move(kernelDims);
  int64_t which = 0;
  for (size_t i : written) { // every name of the tensor refers to its new value from here on
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
    for (const Dim &d : p.dims) {
      std::optional<DimExpr> dim = boundDim(d, kernel, bound);
      if (!dim)
        return fail(Code::E_KERNEL_ARGUMENT, call.loc,
                    "'" + f.stmt->text + "': a dim of its result has too many terms",
                    "name the dims of the arguments in this function's signature");
      dims.push_back(std::move(*dim));
    }
    own.push_back(graphValue(GraphOp::LaunchResult, p.dtype, std::move(dims), call.loc, {launch.index}));
    graphLast().ints = {which++};
  }
  // The results of the call, in the order of the kernel's return.
  std::vector<Value> results;
  size_t next = 0;
  for (const std::string &returned : summarizeEffects(module, f).returnedParams) {
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
