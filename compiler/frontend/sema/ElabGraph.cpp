// Graph functions: the frame, its values, its names and its control flow.
#include "compiler/frontend/sema/ElabGraph.h"
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Effects.h"
#include "compiler/frontend/sema/Names.h"
#include <algorithm>

namespace tessera::frontend {

Elaborator::~Elaborator() = default;

std::string dimsText(const Dims &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i ? ", " : "") + dims[i].text();
  return out + "]";
}

// --- Values ---

/// Does the operation only move elements, so that it takes i4 and u4?
static bool movesPacked(GraphOp op) {
  switch (op) {
  case GraphOp::Param:
  case GraphOp::Cast:
  case GraphOp::Launch:
  case GraphOp::LaunchResult:
  case GraphOp::Reshape:
  case GraphOp::Transpose:
  case GraphOp::Slice:
  case GraphOp::Broadcast:
  case GraphOp::Concat:
  case GraphOp::Gather:
    return true;
  default:
    return false;
  }
}

Value Elaborator::graphValue(GraphOp op, DType dtype, Dims dims, Range loc, std::vector<int> args) {
  grow(loc);
  if (dims.size() > kMaxRank)
    return fail(Code::E_SHAPE, loc, "a tensor has at most " + std::to_string(kMaxRank) + " dims");
  GraphState &g = *graph_;
  if (!movesPacked(op)) {
    for (int arg : args) { // an optional operand that is absent is -1
      if (arg < 0) continue;
      if (DType t = g.out.values[static_cast<size_t>(arg)].dtype; isPacked(t))
        refusePacked(t, opName(op), loc);
    }
    if (isPacked(dtype)) refusePacked(dtype, opName(op), loc);
  }
  GraphValue &v = g.out.values.emplace_back();
  v.op = op;
  v.loc = loc;
  v.dtype = dtype;
  v.args = std::move(args);
  for (const DimExpr &d : dims)
    v.dims.push_back(d.dim());
  Value out;
  out.kind = Value::Graph;
  out.dtype = dtype;
  out.index = static_cast<int>(g.out.values.size()) - 1;
  out.text = std::string(name(dtype)) + " tensor " + dimsText(dims);
  g.dims.push_back(std::move(dims));
  g.newer.push_back(-1);
  g.names.emplace_back();
  return out;
}

GraphValue &Elaborator::graphLast() { return graph_->out.values.back(); }

int Elaborator::graphNode(const Value &v, Range loc) {
  GraphState &g = *graph_;
  if (v.isGraph()) {
    int node = v.index;
    while (g.newer[static_cast<size_t>(node)] >= 0)
      node = g.newer[static_cast<size_t>(node)];
    return node;
  }
  if (v.expr) return graphScalar(*v.expr);
  int node = graphValue(GraphOp::Constant, v.dtype, {}, loc).index;
  graphLast().isScalar = true;
  graphLast().number = v.floatValue;
  graphLast().integer = v.intValue;
  return node;
}

/// Returns the node of a scalar expression; what is computed from scalars is a tensor of rank 0.
int Elaborator::graphScalar(const Expr &e) {
  if (!grow(e.loc)) return 0;
  switch (e.op) {
  case Op::ConstInt:
    return graphNode(Value::integer(e.intValue, e.type.dtype), e.loc);
  case Op::ConstFloat:
    return graphNode(Value::real(e.floatValue, e.type.dtype), e.loc);
  case Op::ParamRef:
    return e.param; // the first values are the parameters
  case Op::Var:
    return e.symbol; // graphVar()
  default:
    break;
  }
  if (std::optional<DimExpr> d = graphDimOf(e)) {
    int node = graphValue(GraphOp::Extent, DType::I64, {}, e.loc).index;
    graphLast().texts = {d->text()};
    return node;
  }
  std::vector<int> args;
  for (const ExprPtr &a : e.args)
    args.push_back(graphScalar(*a));
  GraphOp op = e.op == Op::Cast ? GraphOp::Cast : e.op == Op::Select ? GraphOp::Select : GraphOp::Elementwise;
  int node = graphValue(op, e.type.dtype, {}, e.loc, std::move(args)).index;
  graphLast().function = e.op == Op::LogicalAnd   ? Op::And
                         : e.op == Op::LogicalOr  ? Op::Or
                         : e.op == Op::LogicalNot ? Op::Invert
                                                  : e.op;
  return node;
}

static bool isSmall(const Expr &e, unsigned &budget) {
  if (budget-- == 0) return false;
  return std::ranges::all_of(e.args, [&](const ExprPtr &a) { return isSmall(*a, budget); });
}

/// Returns the scalar that a value of rank 0 contains. In a graph function the symbol of a variable is the
/// index of its value.
ExprPtr Elaborator::graphVar(int node, Range loc) {
  ExprPtr e = make(Op::Var, {Type::Scalar, graph_->out.values[static_cast<size_t>(node)].dtype, {}}, loc);
  e->symbol = node;
  return e;
}

/// Scalars never change, so a name may refer to the expression itself. An expression that has grown (in an
/// unrolled loop) is computed once, into a value of rank 0, and remains a scalar; an extent returns to its
/// normal form.
Value Elaborator::graphCompact(Value v, Range loc) {
  unsigned budget = 64;
  if (!v.expr || isSmall(*v.expr, budget)) return v;
  if (v.isIntScalar())
    if (std::optional<DimExpr> d = graphDimOf(*v.expr)) return graphExtent(*d);
  v.expr = graphVar(graphScalar(*v.expr), loc);
  return v;
}

const Dims &Elaborator::graphDims(const Value &v) const {
  static const Dims kScalar;
  return v.isGraph() ? graph_->dims[static_cast<size_t>(v.index)] : kScalar;
}

/// Returns "'x' [M, K]", or only the shape if the value has no name.
std::string Elaborator::graphName(const Value &v) const {
  if (!v.isGraph()) return describe(v);
  const std::string &name = graph_->names[static_cast<size_t>(v.index)];
  return (name.empty() ? "a tensor " : "'" + name + "' ") + dimsText(graphDims(v));
}

// --- Extents ---

bool hasLeading(const std::vector<Dim> &dims) { return !dims.empty() && dims[0].symbol == names::kLeading; }

/// Replaces "..." in the types of a function that is compiled by itself by dims axis0, axis1, ... Their
/// number is an option, the value of the dim "...". Returns false after an error.
static bool expandLeading(Elaborator &e) {
  std::vector<std::vector<Dim> *> types;
  for (Param &p : e.kernel_.params)
    types.push_back(&p.dims);
  for (Elaborator::TensorType &r : e.results_)
    types.push_back(&r.dims);
  if (std::ranges::none_of(types, [](const std::vector<Dim> *dims) { return hasLeading(*dims); }))
    return true;
  const auto &given = e.options_.dims;
  const auto count = std::ranges::find(given, names::kLeading, &std::pair<std::string, int64_t>::first);
  auto refuse = [&](Code code, std::string message, std::string hint = {}) {
    e.fail(code, e.kernel_.loc, "'" + e.kernel_.name + "': " + message, std::move(hint));
    return false;
  };
  if (count == given.end())
    return refuse(Code::E_DIM_NOT_STATIC,
                  "the number of dims that '...' stands for is not known when compiling",
                  "give it with --dim ...=2, or call the function from another one");
  if (!e.hasResultAnnotation_)
    return refuse(Code::E_PARAMETER, "a function with '...' in its types annotates what it returns",
                  "write -> ts.Tensor[..., \"N\", ts.f32]");
  std::vector<Dim> leading;
  for (int64_t i = 0; i < std::min(count->second, static_cast<int64_t>(Elaborator::kMaxRank) + 1); ++i) {
    leading.push_back({1, "axis" + std::to_string(i)});
    const bool isParam = std::ranges::any_of(e.kernel_.params,
                                             [&](const Param &p) { return p.name == leading.back().symbol; });
    if (isParam || e.isDim(leading.back().symbol))
      return refuse(Code::E_NAME_CLASH,
                    "'" + leading.back().symbol + "' is the name of a dim that '...' stands for",
                    "rename it");
  }
  for (std::vector<Dim> *dims : types) {
    if (!hasLeading(*dims)) continue;
    dims->erase(dims->begin());
    dims->insert(dims->begin(), leading.begin(), leading.end());
    if (count->second < 0 || dims->size() > Elaborator::kMaxRank)
      return refuse(Code::E_PARAMETER, "a tensor has at most " + std::to_string(Elaborator::kMaxRank) +
                                           " dims, and '...' stands for " + std::to_string(count->second));
  }
  std::vector<std::string> known = std::move(e.kernel_.dims); // in no order yet
  for (const Dim &d : leading)
    known.push_back(d.symbol);
  e.kernel_.dims.clear();
  for (const std::vector<Dim> *dims : types)
    for (const Dim &d : *dims)
      for (const std::string &dim : dimsIn(d, known))
        if (!e.isDim(dim)) e.kernel_.dims.push_back(dim);
  return true;
}

/// A product whose factors are all dims is their product; otherwise it is one symbol named by its text.
DimExpr Elaborator::graphDim(const Dim &d) {
  auto value = [&](const std::string &symbol) -> DimExpr {
    if (specialized_.count(symbol))
      for (const auto &[name, known] : options_.dims)
        if (name == symbol) return DimExpr(known);
    return DimExpr::symbol(symbol);
  };
  auto product = [&](const std::string &dim) -> std::optional<DimExpr> {
    if (specialized_.count(dim)) return value(dim);
    std::optional<DimExpr> out = DimExpr(1);
    for (size_t at = 0; at <= dim.size();) {
      const size_t end = std::min(dim.find('*', at), dim.size());
      const std::string factor = dim.substr(at, end - at);
      at = end + 1;
      if (!isDim(factor)) return DimExpr::symbol(dim);
      if (out) out = multiply(*out, value(factor));
    }
    return out ? out : DimExpr::symbol(dim);
  };
  return frontend::extentOf(d, kernel_.dims, product).value_or(DimExpr::symbol(d.symbol));
}

Value Elaborator::graphExtent(const DimExpr &d) {
  if (auto c = d.constant()) return Value::extent(*c);
  std::string text = d.text();
  ExprPtr e = make(Op::DimRef, {Type::Scalar, DType::I64, {}}, bodyLoc_);
  e->text = text;
  graph_->extents.insert_or_assign(text, d);
  return Value::extent(std::move(e), AtomTable::of(atoms_.intern("dim:" + text, {}, true)));
}

/// Returns the extent that an integer expression computes; nothing if it uses more than dims.
std::optional<DimExpr> Elaborator::graphDimOf(const Expr &e) {
  if (e.type.dtype != DType::I64) return std::nullopt; // narrower integers wrap, extents do not
  switch (e.op) {
  case Op::ConstInt:
    return DimExpr(e.intValue);
  case Op::DimRef:
    return graph_->extents.at(e.text);
  case Op::Neg:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::FloorDiv:
  case Op::Mod:
  case Op::Minimum:
  case Op::Maximum:
    break;
  default:
    return std::nullopt;
  }
  std::optional<DimExpr> a = graphDimOf(*e.args[0]);
  if (e.op == Op::Neg) return a ? subtract(DimExpr(0), *a) : a;
  std::optional<DimExpr> b = graphDimOf(*e.args[1]);
  if (!a || !b) return std::nullopt;
  switch (e.op) {
  case Op::Add:
    return add(*a, *b);
  case Op::Sub:
    return subtract(*a, *b);
  case Op::Mul:
    return multiply(*a, *b);
  case Op::FloorDiv:
    return apply("floordiv", *a, *b);
  case Op::Mod:
    return apply("mod", *a, *b);
  case Op::Minimum:
    return apply("min", *a, *b);
  default:
    return apply("max", *a, *b);
  }
}

std::optional<DimExpr> Elaborator::graphDimOf(const Value &v, Range loc, const char *what) {
  if (v.isError()) return std::nullopt;
  if (v.isConstInt()) return DimExpr(v.intValue);
  if (v.isIntScalar() && v.expr)
    if (std::optional<DimExpr> d = graphDimOf(*v.expr)) return d;
  fail(Code::E_CONSTANT, loc,
       std::string(what) + " is an integer, or computed from integers and dims, found " + describe(v),
       v.isIntScalar() ? "a parameter is known at run time only: use a literal or a module constant" : "");
  return std::nullopt;
}

Value Elaborator::graphAttribute(Value v, const std::string &name, Range loc) {
  if (name == "dtype") return Value::dtypeName(v.dtype);
  if (name == "ndim") return Value::integer(static_cast<int64_t>(graphDims(v).size()));
  if (name == "T") return graphTranspose(std::move(v), {}, loc);
  if (name == "shape") {
    std::vector<Value> extents;
    for (const DimExpr &d : Dims(graphDims(v)))
      extents.push_back(graphExtent(d));
    return Value::tuple(std::move(extents));
  }
  for (const auto &[method, function] : names::kMethods) {
    if (name != method) continue;
    Value out;
    out.kind = Value::Function;
    out.builtin = findFunction("tessera", function);
    out.items.push_back(std::move(v));
    return out;
  }
  std::vector<std::string> known(std::begin(names::kAttributes), std::end(names::kAttributes));
  for (const auto &[method, function] : names::kMethods)
    known.emplace_back(method);
  const std::string hint = methodHint(name);
  return fail(Code::E_UNKNOWN_ATTRIBUTE, loc, "a tensor has no '" + name + "'",
              hint.empty() ? didYouMean(name, known) : hint);
}

// --- Statements ---

Value Elaborator::graphBranch(Range loc) {
  return fail(Code::E_GRAPH_CONTROL, loc, "this condition is known at run time only",
              "choose elements with ts.where, or move the branch into a @ts.kernel");
}

bool Elaborator::graphStatement(const ast::Stmt &s) {
  switch (s.kind) {
  case ast::Stmt::If: {
    Value c = condition(*s.value);
    if (c.isConst) {
      block(c.intValue ? s.body : s.orelse);
      return true;
    }
    if (!c.isError()) graphBranch(s.value->loc);
    graphAbandon(s);
    return true;
  }
  case ast::Stmt::For:
    if (!graphLoop(s)) graphAbandon(s);
    return true;
  case ast::Stmt::While:
    fail(Code::E_GRAPH_CONTROL, s.loc, "a graph function has no while loops",
         "write: for i in range(n), with a constant n, or move the loop into a @ts.kernel");
    graphAbandon(s);
    return true;
  case ast::Stmt::Return: {
    Value v = s.value ? evaluate(*s.value) : Value::none();
    frame().returned = {true, v};
    if (frames_.size() == 1) graphReturn(s, std::move(v));
    return true;
  }
  default:
    return false;
  }
}

/// A statement in error may contain a return: without this, the function would seem to return None.
void Elaborator::graphAbandon(const ast::Stmt &s) {
  if (containsReturn(s.body) || containsReturn(s.orelse)) frame().returned.did = true;
}

/// Unrolls a loop. Returns false if its head has an error.
bool Elaborator::graphLoop(const ast::Stmt &s) {
  std::vector<Value> values;
  return staticValues(*s.value, values) && unroll(s, std::move(values));
}

void Elaborator::graphReturn(const ast::Stmt &s, Value v) {
  bool none = !s.value || s.value->kind == ast::Expr::None;
  if (v.isError()) return;
  std::vector<Value> items;
  if (v.kind == Value::Tuple)
    items = std::move(v.items);
  else if (!none)
    items.push_back(std::move(v));
  if (hasResultAnnotation_ && items.size() != results_.size()) {
    fail(Code::E_RETURN_TYPE, s.loc,
         "the function returns " + std::to_string(items.size()) + " values, but its annotation names " +
             std::to_string(results_.size()));
    return;
  }
  bool listed = !none && s.value->kind == ast::Expr::Tuple;
  for (size_t i = 0; i < items.size(); ++i) {
    Range loc = none ? s.loc : listed ? s.value->items[i]->loc : s.value->loc;
    Value &item = items[i];
    if (item.isError()) continue;
    if (!item.isGraph()) {
      fail(Code::E_RETURN_TYPE, loc, "a graph function returns tensors, found " + describe(item),
           item.isScalar() ? "make a tensor of it: ts.full((1,), x)" : "");
      continue;
    }
    const Dims &dims = graphDims(item);
    if (hasResultAnnotation_) {
      const TensorType &want = results_[i];
      Dims annotated;
      for (const Dim &d : want.dims)
        annotated.push_back(graphDim(d));
      if (want.dtype != item.dtype || annotated != dims) {
        bool onlyType = annotated == dims;
        fail(Code::E_RETURN_TYPE, loc,
             "the function returns " + describe(item) + ", but its annotation says " + name(want.dtype) +
                 " " + dimsText(annotated),
             onlyType ? std::string("convert it with ts.cast(x, ts.") + name(want.dtype) + ")" : "");
        continue;
      }
    }
    const GraphValue &node = graph_->out.values[static_cast<size_t>(item.index)];
    if (node.op == GraphOp::Param) { // updated in place, or returned unchanged
      // Callers count the values of an unwritten tuple by the names of its results, and would miss this one.
      if (!none && !listed && i > 1 && kernel_.params.back().name == "result" + std::to_string(i - 1)) {
        fail(Code::E_UNIMPLEMENTED, loc,
             "value " + std::to_string(i) + " of the tuple that is returned is the parameter '" +
                 kernel_.params[static_cast<size_t>(node.param)].name + "', after results",
             "unpack the tuple, and return the parameter by its own name");
        continue;
      }
      kernel_.params[static_cast<size_t>(node.param)].returned = true;
      continue;
    }
    Param p;
    p.name = items.size() == 1 ? "result" : "result" + std::to_string(i);
    bool taken = std::ranges::any_of(kernel_.params, [&](const Param &q) { return q.name == p.name; }) ||
                 std::ranges::find(kernel_.dims, p.name) != kernel_.dims.end();
    if (taken) {
      fail(Code::E_DUPLICATE, loc, "the returned value is called '" + p.name + "', but so is a parameter",
           "rename the parameter");
      continue;
    }
    p.loc = hasResultAnnotation_ ? results_[i].loc : loc;
    p.isTensor = p.isResult = p.returned = p.writes = true;
    p.dtype = item.dtype;
    if (hasResultAnnotation_) {
      p.dims = results_[i].dims;
      p.policy = results_[i].policy;
    } else {
      for (const DimExpr &d : dims)
        p.dims.push_back(d.dim());
    }
    graph_->out.outputs.push_back({static_cast<int>(kernel_.params.size()), graphNode(item, loc)});
    kernel_.params.push_back(std::move(p));
  }
}

/// Records the effects on the parameters after every value is known.
void Elaborator::graphFinish() {
  GraphFunction &f = graph_->out;
  std::vector<GraphFunction::Output> updated;
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    if (kernel_.params[i].isResult || !kernel_.params[i].isTensor) continue;
    Value v;
    v.kind = Value::Graph;
    v.index = static_cast<int>(i);
    int last = graphNode(v, kernel_.loc);
    if (last == v.index) continue;
    kernel_.params[i].writes = true;
    updated.push_back({v.index, last});
  }
  f.outputs.insert(f.outputs.begin(), updated.begin(), updated.end());
  auto read = [&](int value) {
    const GraphValue *v = value < 0 ? nullptr : &f.values[static_cast<size_t>(value)];
    if (v && v->op == GraphOp::Param && !v->isScalar)
      kernel_.params[static_cast<size_t>(v->param)].reads = true;
  };
  for (const GraphValue &v : f.values) {
    if (v.op != GraphOp::Launch) {
      for (int arg : v.args)
        read(arg);
      continue;
    }
    size_t next = 0; // tensors come first
    for (const Param &p : f.kernels[static_cast<size_t>(v.kernel)].params)
      if (p.isTensor && !p.isResult) {
        if (p.reads) read(v.args[next]);
        ++next;
      }
  }
}

/// Kernels round the operands of their products to tf32; the groups of a graph function have no such tensors.
void Elaborator::graphRefuseTf32() {
  for (const GraphValue &v : graph_->out.values)
    if (v.dtype == DType::TF32 && !v.isScalar) {
      fail(Code::E_UNIMPLEMENTED, v.loc, "a graph function has no tensors of tf32",
           "use f32, or multiply in a @ts.kernel whose parameters are tf32");
      return;
    }
}

bool Elaborator::runGraph(const FunctionDecl &f, GraphFunction &out) {
  declare(f);
  if (sink_.hasErrors() || !expandLeading(*this)) return false;
  const ast::Stmt &fn = *f.stmt;
  graph_ = std::make_unique<GraphState>();
  frames_.push_back(std::make_unique<Frame>());
  frame().function = fn.text;
  frame().isKernel = true;
  frame().specializations = specializations_;
  collectAssigned(fn.body, frame().assigned);
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const Param &p = kernel_.params[i];
    Dims dims;
    for (const Dim &d : p.dims)
      dims.push_back(graphDim(d));
    Local local;
    local.loc = p.loc;
    local.order = localCount_++;
    local.value = graphValue(GraphOp::Param, p.dtype, std::move(dims), p.loc);
    local.value.accum = p.policy.accum;
    graphLast().param = static_cast<int>(i);
    graph_->names.back() = p.name;
    if (!p.isTensor) {
      graphLast().isScalar = true;
      ExprPtr e = make(Op::ParamRef, {Type::Scalar, p.dtype, {}}, p.loc);
      e->param = static_cast<int>(i);
      local.value = Value::of(std::move(e));
      local.value.yields = p.isInt;
      if (isInt(p.dtype))
        local.value.linear = AtomTable::of(atoms_.intern("param:" + p.name, {}, true, p.dtype));
    }
    frame().locals[p.name] = std::move(local);
  }
  block(fn.body);
  if (!frame().returned.did && hasResultAnnotation_ && !results_.empty())
    fail(Code::E_RETURN_TYPE, fn.returns->loc,
         "the function is annotated to return something, but has no return");
  frames_.pop_back();
  graphRefuseTf32();
  if (sink_.hasErrors()) return false;
  graphFinish();
  if (graph_->out.outputs.empty()) {
    const auto kept = std::ranges::find_if(kernel_.params, &Param::returned);
    fail(Code::E_RETURN_TYPE, kernel_.loc,
         kept == kernel_.params.end()
             ? "the graph function returns nothing, and no kernel that it calls writes a parameter"
             : "the graph function computes nothing: what it returns is its parameter '" + kept->name + "'",
         "end it with a return of what it computes");
    return false;
  }
  out = std::move(graph_->out);
  out.unused = withoutEffect();
  out.name = kernel_.name;
  out.loc = kernel_.loc;
  out.params = std::move(kernel_.params);
  out.dims = kernel_.dims;
  for (const std::string &dim : out.dims)
    if (specialized_.count(dim))
      for (const auto &[name, value] : options_.dims)
        if (name == dim) out.specialized.emplace_back(name, value);
  return true;
}

} // namespace tessera::frontend
