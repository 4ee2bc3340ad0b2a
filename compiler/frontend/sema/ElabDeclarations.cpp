// Declarations of a kernel: parameters, dims, dtype policies, results and tunables; and the elaboration of
// its body.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Divergence.h"
#include "compiler/frontend/sema/Effects.h"
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/ops/ForeignNames.h"
#include "numerics/Casts.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tessera::frontend {

Elaborator::Elaborator(const ModuleData &module, const FrontendOptions &options,
                       const std::set<std::string> &specialized, DiagnosticSink &sink)
    : module_(module), options_(options), specialized_(specialized), sink_(sink),
      effects_(std::make_unique<EffectfulCalls>(module)) {}

/// Returns the path that an annotation names, following imports: "tessera.Tensor", or "Tensor" if it is not
/// qualified.
static std::string annotationPath(const ModuleData &module, const ast::Expr &e) {
  std::string dotted = dottedName(e);
  size_t dot = dotted.find('.');
  auto it = module.globals.find(dotted.substr(0, dot));
  std::string rest = dot == std::string::npos ? "" : dotted.substr(dot);
  if (it == module.globals.end()) return dotted;
  if (it->second.kind == Global::ImportedModule) return it->second.path + rest;
  if (it->second.kind == Global::ImportedName) return it->second.path + "." + it->second.name + rest;
  return dotted;
}

bool Elaborator::isTensorAnnotation(const ast::Expr &e) {
  if (e.kind != ast::Expr::Subscript) return false;
  std::string path = annotationPath(module_, *e.items[0]);
  return path == "tessera.Tensor" || path == "Tensor";
}

bool Elaborator::isDim(const std::string &symbol) const {
  return std::ranges::find(kernel_.dims, symbol) != kernel_.dims.end();
}

/// Reads "M", "B*H" or an expression of these, "n + 1", into its normal form, and declares its dims. Blanks
/// are ignored.
bool Elaborator::readDimText(const ast::Expr &e, Dim &out, const std::string &what) {
  std::string text = e.text;
  std::erase(text, ' ');
  constexpr size_t kMaxLength =
      512; // index expressions, which dims are part of, have at most 4096 characters
  if (text.size() > kMaxLength) {
    fail(Code::E_DIM, e.loc,
         "a " + what + " of " + std::to_string(text.size()) + " characters; at most " +
             std::to_string(kMaxLength));
    return false;
  }
  auto refuse = [&](const std::string &reason) {
    fail(Code::E_DIM, e.loc, "'" + e.text + "' is not a " + what + (reason.empty() ? "" : ": " + reason),
         "a " + what +
             " is an int, a name \"M\", a product \"B*H\" or an expression \"n + 1\" with + - * // % "
             "min max ceildiv");
    return false;
  };
  Expected<IndexExpr> parsed = IndexExpr::parse(text);
  if (!parsed) return refuse(parsed.error().message);
  const std::optional<DimExpr> extent =
      frontend::extentOf(*parsed, [](const std::string &dim) { return DimExpr::symbol(dim); });
  if (!extent) return refuse("it overflows or divides by zero");
  if (extent->isConstant()) return refuse("it is a constant; write the integer without quotes");
  for (const std::string &dim :
       dimsIn(*parsed)) // the normal form of (B + 1)*H would not tell B and H from B*H
    if (!isDim(dim)) kernel_.dims.push_back(dim);
  out = extent->dim();
  return true;
}

bool Elaborator::readDim(const ast::Expr &e, Dim &out, const std::string &what) {
  if (e.kind == ast::Expr::Str) return readDimText(e, out, what);
  std::vector<std::unique_ptr<Frame>> none = std::exchange(frames_, {});
  if (e.kind == ast::Expr::Name && !module_.globals.count(e.text)) {
    frames_ = std::move(none);
    fail(Code::E_DIM, e.loc, "'" + e.text + "' is not a dim",
         "quote the name of a symbolic dim: \"" + e.text + "\"");
    return false;
  }
  Value v = evaluate(e);
  frames_ = std::move(none);
  if (v.isError()) return false;
  if (!v.isConstInt() || v.intValue < 0) {
    fail(Code::E_DIM, e.loc,
         "a " + what + (v.isConstInt() ? " is at least 0" : " is an int or a string, found " + describe(v)),
         v.kind == Value::DTypeName
             ? "the dtype follows the dims: ts.Tensor[\"M\", \"N\", ts.f32]"
             : "a " + what + " is an int, a name \"M\" or an expression in quotes, \"n + 1\"");
    return false;
  }
  out = {v.intValue, ""};
  return true;
}

static std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// One `accum(f32)`, `round(rne)` or `loss_scale(128.0)`, also as `ts.accum(ts.f32)`.
bool Elaborator::readPolicy(const ast::Expr &e, Policy &policy) {
  auto ownName = [&](const ast::Expr &name) {
    const std::string path = annotationPath(module_, name);
    return path.starts_with("tessera.") ? path.substr(std::strlen("tessera.")) : path;
  };
  const std::string which = ownName(e.kind == ast::Expr::Call ? *e.items[0] : e);
  if (e.kind != ast::Expr::Call || e.items.size() != 2 || !e.keywords.empty() ||
      std::ranges::find(names::kPolicies, which) == std::end(names::kPolicies)) {
    fail(Code::E_POLICY, e.loc, "a policy is @accum(dtype), @round(mode) or @loss_scale(factor)",
         didYouMean(which, names::kPolicies));
    return false;
  }
  const ast::Expr &argument = *e.items[1];
  if (which == "accum") {
    Policy nested;
    std::optional<DType> t = readDType(argument, nested);
    if (!t) return false;
    if (*t != DType::F32 && *t != DType::F64) {
      fail(Code::E_POLICY, argument.loc, std::string("accumulation is in f32 or f64, not ") + name(*t));
      return false;
    }
    policy.accum = t;
    return true;
  }
  if (which == "round") {
    const std::string mode = argument.kind == ast::Expr::Str ? argument.text : ownName(argument);
    if (std::ranges::find(names::kRoundingModes, mode) == std::end(names::kRoundingModes)) {
      fail(Code::E_POLICY, argument.loc, "'" + mode + "' is not a rounding mode",
           didYouMean(mode, names::kRoundingModes, "one of rne, rtz, rtp, rtn, stochastic"));
      return false;
    }
    if (mode != "rne") {
      fail(Code::E_UNIMPLEMENTED, argument.loc,
           "TSR_UNIMPLEMENTED: rounding mode '" + mode + "' (built for rne)");
      return false;
    }
    policy.round = mode;
    return true;
  }
  Value v = evaluate(argument);
  if (v.isError()) return false;
  double scale =
      v.isScalar() && v.isConst ? (isFloat(v.dtype) ? v.floatValue : static_cast<double>(v.intValue)) : 0;
  if (!(scale > 0) || std::isinf(scale)) {
    fail(Code::E_POLICY, argument.loc, "a loss scale is a positive number");
    return false;
  }
  policy.lossScale = scale;
  return true;
}

/// A dtype with its policies, as text: "bf16 @accum(f32)".
bool Elaborator::readDTypeText(const ast::Expr &e, DType &out, Policy &policy) {
  SourceText text(e.text, "");
  DiagnosticSink quiet(text);
  std::vector<Token> tokens = tokenize(text, quiet);
  ast::Block block = quiet.hasErrors() ? ast::Block() : parse(tokens, quiet);
  if (quiet.hasErrors() || block.size() != 1 || block[0].kind != ast::Stmt::Expr) {
    fail(Code::E_DTYPE, e.loc, "'" + e.text + "' is not a dtype", "write ts.bf16 or \"bf16 @accum(f32)\"");
    return false;
  }
  DiagnosticSink inner(text);
  Elaborator reader(module_, options_, specialized_, inner);
  std::optional<DType> t = reader.readDType(*block[0].value, policy);
  if (t && !inner.hasErrors()) {
    out = *t;
    return true;
  }
  std::vector<Diagnostic> why;
  inner.flush(why);
  bool unimplemented = !why.empty() && why[0].code == codeName(Code::E_UNIMPLEMENTED);
  fail(unimplemented ? Code::E_UNIMPLEMENTED : Code::E_DTYPE, e.loc,
       why.empty() ? "'" + e.text + "' is not a dtype" : why[0].message, why.empty() ? "" : why[0].hint);
  return false;
}

std::optional<DType> Elaborator::readDType(const ast::Expr &e, Policy &policy) {
  if (e.kind == ast::Expr::Binary && e.text == "@") {
    std::optional<DType> t = readDType(*e.items[0], policy);
    return readPolicy(*e.items[1], policy) ? t : std::nullopt;
  }
  if (e.kind == ast::Expr::Str) {
    DType t;
    return readDTypeText(e, t, policy) ? std::optional(t) : std::nullopt;
  }
  std::string path = annotationPath(module_, e);
  std::string last = path.substr(path.rfind('.') + 1);
  bool inModule = path == last || path == "tessera." + last || path == "tessera.tile." + last;
  if (path == "bool") return DType::Bool;
  if (path == "float") return DType::F32;
  if (path == "int") return DType::I32;
  if (inModule && !last.empty())
    if (std::optional<DType> t = parseDType(last)) return t;
  std::vector<std::string> names;
  for (const DTypeInfo &d : allDTypes())
    names.emplace_back(d.name);
  const std::string dotted = dottedName(e);
  std::string hint = ops::foreignTypeHint(dotted);
  if (hint.empty() && parseDType(last)) hint = std::string("write ts.") + name(*parseDType(last));
  if (e.kind == ast::Expr::Call && annotationPath(module_, *e.items[0]).ends_with("Tensor"))
    hint = "the type of a tensor is in square brackets: ts.Tensor[\"M\", \"N\", ts.f32]";
  if (hint.empty())
    if (std::optional<std::string> foreign = ops::foreignHint(last, "ts.tile.")) hint = *foreign;
  fail(Code::E_DTYPE, e.loc, last.empty() ? "expected a dtype" : "'" + dotted + "' is not a dtype",
       hint.empty() ? didYouMean(last, names, "dtypes are ts.f32, ts.bf16, ts.i32, ...") : hint);
  return std::nullopt;
}

/// ts.strides("lda", 1): the distance between neighbours along each dim, in elements.
bool Elaborator::readStrides(const ast::Expr &e, TensorType &out) {
  if (isGraph_) {
    fail(Code::E_UNIMPLEMENTED, e.loc, "TSR_UNIMPLEMENTED: ts.strides in a graph function",
         "take contiguous tensors, or write a kernel");
    return false;
  }
  const size_t count = e.items.size() - 1;
  if (count != out.dims.size() || !e.keywords.empty()) {
    fail(Code::E_PARAMETER, e.loc,
         "ts.strides has one entry per dim of the tensor (" + std::to_string(out.dims.size()) + "), found " +
             std::to_string(count + e.keywords.size()),
         "write ts.Tensor[\"M\", \"N\", ts.f32, ts.strides(\"ld\", 1)]");
    return false;
  }
  bool ok = true;
  for (size_t i = 1; i < e.items.size(); ++i) {
    Dim d;
    ok &= readDim(*e.items[i], d, "stride");
    out.strides.push_back(d);
  }
  return ok;
}

/// A stride may be an expression of dims of tensors. A symbol of strides alone is an argument, which has no
/// value that follows from an expression.
void Elaborator::checkStrides() {
  std::set<std::string> ofTensors;
  auto collect = [&](const std::vector<Dim> &dims) {
    for (const Dim &d : dims)
      for (const std::string &dim : dimsIn(d, kernel_.dims))
        ofTensors.insert(dim);
  };
  auto check = [&](const std::vector<Dim> &strides, Range loc) {
    for (const Dim &d : strides)
      for (const std::string &dim : dimsIn(d, kernel_.dims))
        if (dim != d.symbol && !ofTensors.contains(dim))
          fail(Code::E_DIM, loc,
               "the stride '" + d.symbol + "' is computed from '" + dim + "', which is no dim of a tensor",
               "give the stride a name of its own");
  };
  for (const Param &p : kernel_.params)
    collect(p.dims);
  for (const TensorType &r : results_)
    collect(r.dims);
  for (const Param &p : kernel_.params)
    check(p.strides, p.loc);
  for (const TensorType &r : results_)
    check(r.strides, r.loc);
}

/// Reads "..." among the dims of a tensor.
static bool readLeading(Elaborator &ctx, const ast::Expr &e, bool isFirst, Dim &out) {
  out = {1, std::string(names::kLeading)};
  if (ctx.isGraph_ && isFirst) return true;
  if (ctx.isGraph_)
    ctx.fail(Code::E_PARAMETER, e.loc, "'...' stands for the leading dims of a tensor, so it comes first");
  else
    ctx.fail(Code::E_PARAMETER, e.loc, "only the types of graph functions may have '...'",
             "write a kernel for the last dims: one that indexes them only runs for each of the others");
  return false;
}

bool Elaborator::readTensorType(const ast::Expr &e, TensorType &out) {
  auto isStrides = [&](const ast::Expr &item) {
    const std::string path = item.kind == ast::Expr::Call ? annotationPath(module_, *item.items[0]) : "";
    return path == "tessera.strides" || (path == "strides" && !module_.globals.contains(path));
  };
  if (const ast::Expr &last = *e.items.back();
      last.kind == ast::Expr::Attribute && annotationPath(module_, last) == "tessera.strides") {
    fail(Code::E_PARAMETER, last.loc, "ts.strides takes one stride per dim", "write ts.strides(\"ld\", 1)");
    return false;
  }
  for (size_t i = 1; i + 1 < e.items.size(); ++i)
    if (isStrides(*e.items[i])) {
      fail(Code::E_PARAMETER, e.items[i]->loc,
           "ts.strides is the last entry of a tensor's type, after the dtype");
      return false;
    }
  const ast::Expr *strides = isStrides(*e.items.back()) ? e.items.back().get() : nullptr;
  const size_t end = e.items.size() - (strides ? 1 : 0); // one past the dtype
  if (end < 3 && !(isGraph_ && end == 2)) { // a graph function may have tensors of rank 0, such as losses
    fail(Code::E_PARAMETER, e.loc, "a tensor has at least one dim and a dtype",
         "write ts.Tensor[\"M\", \"N\", ts.f32]");
    return false;
  }
  bool ok = true;
  for (size_t i = 1; i + 1 < end; ++i) {
    Dim d;
    if (e.items[i]->kind == ast::Expr::Name && e.items[i]->text == names::kLeading)
      ok &= readLeading(*this, *e.items[i], i == 1, d);
    else
      ok &= readDim(*e.items[i], d);
    out.dims.push_back(d);
  }
  std::optional<DType> t = readDType(*e.items[end - 1], out.policy);
  if (t) out.dtype = *t;
  if (out.dims.size() > kMaxRank) {
    fail(Code::E_PARAMETER, e.loc, "a tensor has at most " + std::to_string(kMaxRank) + " dims");
    return false;
  }
  if (strides) ok &= readStrides(*strides, out);
  return ok && t;
}

void Elaborator::declareParameter(const ast::Parameter &p) {
  Param out;
  out.name = p.name;
  out.loc = p.loc;
  for (const Param &other : kernel_.params)
    if (other.name == p.name) {
      fail(Code::E_DUPLICATE, p.loc, "parameter '" + p.name + "' is declared twice");
      return;
    }
  if (!p.annotation) {
    fail(Code::E_PARAMETER, p.loc, "parameter '" + p.name + "' has no type",
         "write " + p.name + ": ts.f32 or " + p.name + ": ts.Tensor[\"M\", ts.f32]");
    out.isTensor = false;
  } else if (isTensorAnnotation(*p.annotation)) {
    out.isTensor = true;
    TensorType type;
    readTensorType(*p.annotation, type);
    out.dtype = type.dtype;
    out.dims = std::move(type.dims);
    out.strides = std::move(type.strides);
    out.policy = std::move(type.policy);
    if (p.defaultValue)
      fail(Code::E_PARAMETER, p.defaultValue->loc, "a tensor has no default value",
           "leave the default out; a flag such as has_" + p.name + ": bool = False says whether it is used");
  } else if (std::optional<DType> t = readDType(*p.annotation, out.policy)) {
    out.dtype = *t;
    out.isInt = annotationPath(module_, *p.annotation) == "int";
    if ((info(*t).bits < 16 && isFloat(*t)) || isPacked(*t))
      fail(Code::E_PARAMETER, p.annotation->loc, std::string("a scalar parameter cannot be ") + name(*t),
           std::string("take ts.") + (isFloat(*t) ? "f32" : "i32") + " and cast");
    if (p.defaultValue) {
      Value v = atModuleLevel(*p.defaultValue);
      bool scalar = v.isScalar() && v.isConst;
      bool fitsKind =
          scalar && ((v.dtype == DType::Bool) == (*t == DType::Bool)) && (isFloat(*t) || !isFloat(v.dtype));
      if (v.isError()) return;
      if (!fitsKind) {
        fail(Code::E_PARAMETER, p.defaultValue->loc,
             "the default of '" + p.name + "' is " + describe(v) + ", not a constant of dtype " + name(*t));
      } else {
        const double written = isFloat(v.dtype) ? v.floatValue : 0;
        v = convert(std::move(v), *t, p.defaultValue->loc);
        if (v.isError()) return;
        if (isFloat(*t) && std::isfinite(written) && std::isinf(v.floatValue)) {
          fail(Code::E_LITERAL_RANGE, p.defaultValue->loc, shortest(written) + " does not fit in " + name(*t),
               "write float('inf') where infinity is meant");
          return;
        }
        out.defaultValue = isFloat(*t) ? Number(v.floatValue) : Number(v.intValue);
      }
    }
  }
  kernel_.params.push_back(std::move(out));
}

void Elaborator::declareResults(const ast::Expr &e) {
  hasResultAnnotation_ = true;
  std::vector<const ast::Expr *> items;
  if (e.kind == ast::Expr::None) {
    hasResultAnnotation_ = false;
    return;
  }
  if (e.kind == ast::Expr::Tuple) {
    for (const ast::ExprPtr &i : e.items)
      items.push_back(i.get());
  } else if (e.kind == ast::Expr::Subscript &&
             (dottedName(*e.items[0]) == "tuple" || dottedName(*e.items[0]) == "Tuple")) {
    for (size_t i = 1; i < e.items.size(); ++i)
      items.push_back(e.items[i].get());
  } else {
    items.push_back(&e);
  }
  for (const ast::Expr *item : items) {
    TensorType r;
    r.loc = item->loc;
    if (!isTensorAnnotation(*item)) {
      fail(Code::E_RETURN_TYPE, item->loc, "a kernel returns tensors",
           "write -> ts.Tensor[\"M\", \"N\", ts.f32]");
      continue;
    }
    readTensorType(*item, r);
    results_.push_back(std::move(r));
  }
}

/// space=dict(NAME=[...], ...) or space={"NAME": [...]}.
void Elaborator::declareTunables(const FunctionDecl &f) {
  if (!f.space) return;
  const std::vector<ast::Keyword> *space = dictItems(*f.space);
  if (!space) {
    fail(Code::E_TUNABLE_SPACE, f.space->loc, "the autotuning space is dict(NAME=[value, ...], ...)");
    return;
  }
  for (const ast::Keyword &k : *space) {
    Tunable t;
    t.name = k.name;
    t.loc = k.loc;
    for (const Tunable &other : tunables_)
      if (other.name == k.name) fail(Code::E_DUPLICATE, k.loc, "tunable '" + k.name + "' is declared twice");
    Value v = evaluate(*k.value);
    if (v.isError()) continue;
    if (v.kind == Value::Tuple && v.items.empty()) {
      fail(Code::E_TUNABLE_SPACE, k.value->loc, "the list of values of tunable '" + k.name + "' is empty",
           "give at least one value");
      continue;
    }
    if (v.kind != Value::Tuple) {
      fail(Code::E_TUNABLE_SPACE, k.value->loc,
           "the values of a tunable are a list of integers, found " + describe(v));
      continue;
    }
    for (const Value &item : v.items) {
      if (item.isError()) continue;
      if (!item.isConstInt()) {
        fail(Code::E_TUNABLE_SPACE, k.value->loc,
             "the values of a tunable are integers, found " + describe(item));
        break;
      }
      t.space.push_back(item.intValue);
    }
    if (!t.space.empty()) tunables_.push_back(std::move(t));
  }
}

void Elaborator::chooseTunables() {
  for (const Tunable &t : tunables_)
    kernel_.tunables.emplace_back(t.name, t.space[0]);
  for (const auto &[name, value] : options_.tunables) {
    auto it = std::ranges::find_if(tunables_, [&](const Tunable &t) { return t.name == name; });
    if (it == tunables_.end()) {
      std::vector<std::string> known;
      for (const Tunable &t : tunables_)
        known.push_back(t.name);
      fail(Code::E_TUNABLE_VALUE, kernel_.loc, "'" + kernel_.name + "' has no tunable '" + name + "'",
           didYouMean(name, known));
      continue;
    }
    if (std::ranges::find(it->space, value) == it->space.end()) {
      std::string list;
      for (int64_t v : it->space)
        list += (list.empty() ? "" : ", ") + std::to_string(v);
      fail(Code::E_TUNABLE_VALUE, it->loc,
           name + "=" + std::to_string(value) + " is outside the declared space [" + list + "]");
      continue;
    }
    kernel_.tunables[static_cast<size_t>(it - tunables_.begin())].second = value;
  }
}

bool Elaborator::declare(const FunctionDecl &f) {
  const ast::Stmt &fn = *f.stmt;
  isGraph_ = f.kind == FunctionDecl::Graph;
  kernel_.name = fn.text;
  kernel_.loc = fn.nameLoc;
  bodyLoc_ = fn.nameLoc;
  for (const ast::Parameter &p : fn.parameters)
    declareParameter(p);
  if (fn.returns) declareResults(*fn.returns);
  for (const Param &p : kernel_.params)
    if (std::ranges::find(kernel_.dims, p.name) != kernel_.dims.end())
      fail(Code::E_NAME_CLASH, p.loc,
           "'" + p.name + "' is both a parameter and a dim of '" + kernel_.name + "'", "rename one of them");
  checkStrides();
  declareTunables(f);
  declareSpecializations(f);
  for (const Tunable &t : tunables_)
    if (std::ranges::find(kernel_.dims, t.name) != kernel_.dims.end())
      fail(Code::E_NAME_CLASH, t.loc,
           "'" + t.name + "' is both a tunable and a dim of '" + kernel_.name + "'", "rename one of them");
  for (const auto &[dim, value] : options_.dims)
    if (value < 0 && std::ranges::find(kernel_.dims, dim) != kernel_.dims.end())
      fail(Code::E_DIM_VALUE, kernel_.loc, "dim '" + dim + "' cannot be " + std::to_string(value));
  return !sink_.hasErrors();
}

std::vector<std::string> Elaborator::withoutEffect() const {
  std::vector<std::string> out;
  for (const auto &[name, value] : kernel_.tunables)
    if (!readTunables_.contains(name))
      out.push_back("tunable " + name + "=" + std::to_string(value) + " has no effect: '" + kernel_.name +
                    "' does not read it");
  for (const Param &p : kernel_.params)
    if (p.policy.lossScale != 1.0)
      out.push_back("@loss_scale(" + shortest(p.policy.lossScale) + ") of '" + p.name +
                    "' has no effect: no gradient is computed");
  if (printOff_)
    out.push_back("print in line " + std::to_string(printOff_->line) +
                  " has no effect: TESSERA_DEBUG=on in the environment compiles it");
  return out;
}

bool Elaborator::run(const FunctionDecl &f) {
  declare(f);
  chooseTunables();
  const ast::Stmt &fn = *f.stmt;
  frames_.push_back(std::make_unique<Frame>());
  frame().function = fn.text;
  frame().isKernel = true;
  collectAssigned(fn.body, frame().assigned);
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const Param &p = kernel_.params[i];
    Local local;
    local.loc = p.loc;
    local.order = localCount_++;
    if (p.isTensor) {
      local.value.kind = Value::Tensor;
      local.value.index = static_cast<int>(i);
    } else {
      ExprPtr e = make(Op::ParamRef, {Type::Scalar, p.dtype, {}}, p.loc);
      e->param = static_cast<int>(i);
      if (isInt(p.dtype)) {
        int atom = atoms_.intern("param:" + p.name, {}, true, p.dtype);
        ExprPtr wide = clone(*e);
        if (p.dtype != DType::I64) {
          std::vector<ExprPtr> args;
          args.push_back(std::move(wide));
          wide = make(Op::Cast, {Type::Scalar, DType::I64, {}}, p.loc, std::move(args));
        }
        atomExprs_[atom] = std::move(wide);
        local.value = Value::of(std::move(e));
        local.value.linear = AtomTable::of(atom);
        local.value.yields = p.isInt;
      } else {
        local.value = Value::of(std::move(e));
      }
    }
    frame().locals[p.name] = std::move(local);
  }
  // The tensor of print and assert_ is added while others are referred to.
  kernel_.params.reserve(kernel_.params.size() + results_.size() + 1);
  blocks_.push_back(&kernel_.body);
  block(fn.body);
  if (!frame().returned.did && hasResultAnnotation_ && !results_.empty())
    fail(Code::E_RETURN_TYPE, fn.returns->loc,
         "the kernel is annotated to return something, but has no return");
  finishPhases();
  finishIterators();
  if (!sink_.hasErrors()) checkDivergence(kernel_, sink_);
  finishLanes();
  finishBatch();
  blocks_.pop_back();
  frames_.pop_back();
  for (const std::string &dim : kernel_.dims)
    if (specialized_.count(dim))
      for (const auto &[name, value] : options_.dims)
        if (name == dim) kernel_.specialized.emplace_back(name, value);
  kernel_.unused = withoutEffect();
  return !sink_.hasErrors();
}

} // namespace tessera::frontend
