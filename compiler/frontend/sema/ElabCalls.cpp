// Calls: argument binding, and the functions that give a value.
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Elaborator.h"
#include "numerics/Functions.h"
#include <cmath>

namespace tessera::frontend {

namespace {

struct ParameterName {
  std::string name;
  bool optional;
};

std::vector<ParameterName> split(const char *parameters) {
  std::vector<ParameterName> out;
  std::string word;
  for (const char *p = parameters;; ++p) {
    if (*p != ' ' && *p) {
      word += *p;
      continue;
    }
    if (!word.empty()) {
      bool optional = word.back() == '?';
      if (optional) word.pop_back();
      out.push_back({word, optional});
      word.clear();
    }
    if (!*p) return out;
  }
}

} // namespace

bool Elaborator::bind(const ast::Expr &call, const BuiltinInfo &b, Arguments &out) {
  std::vector<ParameterName> parameters = split(b.parameters);
  if (parameters.size() == 1 && parameters[0].name == "...") {
    for (size_t i = 1; i < call.items.size(); ++i)
      out.at.push_back(call.items[i].get());
    return true;
  }
  out.at.assign(parameters.size(), nullptr);
  if (call.items.size() - 1 > parameters.size()) {
    fail(Code::E_ARGUMENTS, call.loc,
         std::string("'") + b.name + "' takes at most " + std::to_string(parameters.size()) +
             " arguments, found " + std::to_string(call.items.size() - 1));
    return false;
  }
  for (size_t i = 1; i < call.items.size(); ++i)
    out.at[i - 1] = call.items[i].get();
  for (const ast::Keyword &k : call.keywords) {
    size_t i = 0;
    while (i < parameters.size() && parameters[i].name != k.name)
      ++i;
    if (i == parameters.size()) {
      std::vector<std::string> names;
      for (const ParameterName &p : parameters)
        names.push_back(p.name);
      fail(Code::E_ARGUMENTS, k.loc, std::string("'") + b.name + "' has no parameter '" + k.name + "'",
           didYouMean(k.name, names));
      return false;
    }
    if (out.at[i]) {
      fail(Code::E_ARGUMENTS, k.loc, "'" + k.name + "' is given twice");
      return false;
    }
    out.at[i] = k.value.get();
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!out.at[i] && !parameters[i].optional) {
      fail(Code::E_ARGUMENTS, call.loc,
           std::string("'") + b.name + "' lacks its argument '" + parameters[i].name + "'");
      return false;
    }
  return true;
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
    return fail(Code::E_NOT_CALLABLE, e.loc, describe(callee) + " cannot be called");
  }
  if (callee.builtin && graph_)
    return graphBuiltin(e, *callee.builtin, callee.items.empty() ? nullptr : &callee.items[0]);
  if (callee.builtin) return callBuiltin(e, *callee.builtin);
  const FunctionDecl &f = module_.functions[module_.globals.at(callee.text).function];
  if (f.kind == FunctionDecl::Helper) return inlineHelper(f, e);
  if (graph_) return f.kind == FunctionDecl::Graph ? graphInline(f, e) : graphLaunch(f, e);
  return fail(Code::E_NOT_CALLABLE, e.loc,
              "'" + callee.text + "' is a " + (f.kind == FunctionDecl::Kernel ? "kernel" : "graph function") +
                  " and cannot be called from a kernel",
              "move the shared part into a plain function");
}

Value Elaborator::callBuiltin(const ast::Expr &e, const BuiltinInfo &b) {
  if (b.id >= Builtin::Matmul)
    return fail(Code::E_UNIMPLEMENTED, e.loc,
                std::string("TSR_UNIMPLEMENTED: the library op '") + b.name +
                    "' works on whole tensors and is not built into tile kernels");
  Arguments a;
  if (!bind(e, b, a)) return Value::error();
  bool isMath = std::string_view(b.module) == "math";
  if (constantsOnly_ && !isMath && *b.module && b.id != Builtin::Cdiv)
    return fail(Code::E_MODULE_CONSTANT, e.loc,
                std::string("'") + b.name + "' cannot be called at module level");
  if (isMath) return callMath(b, evaluate(*a[0]), e.loc);

  switch (b.id) {
  case Builtin::PyFloat:
  case Builtin::PyInt:
  case Builtin::PyBool:
    return callPython(b, a, e.loc);
  case Builtin::PyMin:
    return binary(Op::Minimum, evaluate(*a[0]), evaluate(*a[1]), e.loc);
  case Builtin::PyMax:
    return binary(Op::Maximum, evaluate(*a[0]), evaluate(*a[1]), e.loc);
  case Builtin::Minimum:
    return binary(Op::Minimum, evaluate(*a[0]), evaluate(*a[1]), e.loc);
  case Builtin::Maximum:
    return binary(Op::Maximum, evaluate(*a[0]), evaluate(*a[1]), e.loc);
  case Builtin::Cdiv:
    return ceilDiv(operand(*a[0]), operand(*a[1]), e.loc);
  case Builtin::Abs: {
    Value v = operand(*a[0]);
    if (v.isError()) return v;
    if (v.dtype == DType::Bool) return fail(Code::E_TYPE, e.loc, "'abs' takes numbers, not bool");
    if (v.isScalar() && v.isConst)
      if (std::optional<Value> folded = fold(Op::Abs, v, nullptr, e.loc)) return std::move(*folded);
    return function(Op::Abs, std::move(v), e.loc);
  }
  case Builtin::Exp:
    return function(Op::Exp, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Exp2:
    return function(Op::Exp2, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Log:
    return function(Op::Log, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Log2:
    return function(Op::Log2, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Sqrt:
    return function(Op::Sqrt, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Rsqrt:
    return function(Op::Rsqrt, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Tanh:
    return function(Op::Tanh, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Sigmoid:
    return function(Op::Sigmoid, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Erf:
    return function(Op::Erf, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Sin:
    return function(Op::Sin, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Cos:
    return function(Op::Cos, floatOperand(evaluate(*a[0]), e.loc, b.name), e.loc);
  case Builtin::Fma: {
    Value x = floatOperand(evaluate(*a[0]), e.loc, "fma"), y = floatOperand(evaluate(*a[1]), e.loc, "fma"),
          z = floatOperand(evaluate(*a[2]), e.loc, "fma");
    if (!unify(x, y, e.loc, "fma") || !unify(y, z, e.loc, "fma") || !unify(x, z, e.loc, "fma"))
      return Value::error();
    if (!broadcastPair(x, y, e.loc) || !broadcastPair(y, z, e.loc) || !broadcastPair(x, z, e.loc))
      return Value::error();
    bool weak = x.weak && y.weak && z.weak;
    Type type = x.type();
    std::vector<ExprPtr> args;
    args.push_back(take(std::move(x), e.loc));
    args.push_back(take(std::move(y), e.loc));
    args.push_back(take(std::move(z), e.loc));
    return Value::of(make(Op::Fma, type, e.loc, std::move(args)), weak);
  }
  case Builtin::Zeros:
  case Builtin::Full:
  case Builtin::Arange:
    return makeTile(b, a, e.loc);
  case Builtin::Reshape:
  case Builtin::Broadcast:
  case Builtin::Cast:
  case Builtin::Where:
  case Builtin::Concat:
  case Builtin::Transpose:
    return shapeCall(b, a, e.loc);
  case Builtin::RowMax:
  case Builtin::RowMin:
  case Builtin::RowSum:
  case Builtin::Sum:
  case Builtin::Max:
  case Builtin::Min:
  case Builtin::Prod:
  case Builtin::ArgMax:
  case Builtin::ArgMin:
    return reduce(b, a, e.loc);
  case Builtin::CumSum:
    return scan(Op::CumSum, a, e.loc);
  case Builtin::CumMax:
    return scan(Op::CumMax, a, e.loc);
  case Builtin::Mma:
    return mma(a, e.loc);
  case Builtin::CausalMask:
    return causalMask(a, e.loc);
  case Builtin::GroupSum:
  case Builtin::GroupMax:
  case Builtin::GroupMin:
    return groupReduce(b, a, e.loc);
  case Builtin::Rand:
    return rand(a, e.loc);
  case Builtin::AllocShared:
    return allocShared(a, e.loc);
  case Builtin::Load:
    return load(a, e.loc);
  case Builtin::AtomicAdd:
  case Builtin::AtomicMax:
  case Builtin::AtomicMin:
  case Builtin::AtomicXchg:
  case Builtin::AtomicCas:
    return atomic(b, a, e.loc);
  case Builtin::Context: {
    Value v;
    v.kind = Value::Context;
    return v;
  }
  case Builtin::GroupId:
  case Builtin::LocalId:
  case Builtin::LaneId:
  case Builtin::GroupSize: {
    Op op = b.id == Builtin::GroupId   ? Op::GroupId
            : b.id == Builtin::LocalId ? Op::LocalId
            : b.id == Builtin::LaneId  ? Op::LaneIdInGroup
                                       : Op::GroupSize;
    Value v = cast(Value::of(make(op, {Type::Scalar, DType::I32, {}}, e.loc)), DType::I64, e.loc);
    return Value::extent(take(std::move(v), e.loc),
                         AtomTable::of(atoms_.intern(std::string("id:") + b.name, {}, false)));
  }
  case Builtin::LinearId: {
    if (gridForm_ != GridForm::None || !iterators_.empty())
      return fail(Code::E_GRID, e.loc, "linear_id() is a grid of its own and cannot be combined with another",
                  "use either linear_id() or tile loops");
    if (!linearId_) linearId_ = e.loc;
    ExprPtr lane = make(Op::LaneId, {Type::Scalar, DType::I64, {}}, e.loc);
    int atom = atoms_.intern("lane", {}, false);
    if (!atomExprs_.count(atom)) atomExprs_[atom] = clone(*lane);
    return Value::extent(std::move(lane), AtomTable::of(atom));
  }
  case Builtin::Range:
  case Builtin::Parallel:
    return fail(Code::E_GRID, e.loc, std::string("'") + b.name + "' stands in the head of a for loop only",
                std::string("write: for i in ts.tile.") + b.name + "(...):");
  case Builtin::Grid:
    return fail(Code::E_GRID, e.loc, "'grid' is assigned to its indices at the top of the kernel",
                "write: i, j = ts.tile.grid(n, m)");
  default:
    return fail(Code::E_TYPE, e.loc, std::string("'") + b.name + "' gives no value",
                "write it as a statement of its own");
  }
}

/// math.f folds on constants, with the bits that compiled code has; on run-time scalars it is the tile
/// function of that name. A literal is computed as f64 and stays weak.
Value Elaborator::callMath(const BuiltinInfo &b, Value v, Range loc) {
  v = floatOperand(std::move(v), loc, b.name);
  if (v.isError()) return v;
  using functions::Function;
  struct Entry {
    Builtin id;
    Function function;
    Op op;
  };
  static constexpr Entry kTable[] = {
      {Builtin::MathSqrt, Function::Sqrt, Op::Sqrt}, {Builtin::MathExp, Function::Exp, Op::Exp},
      {Builtin::MathLog, Function::Log, Op::Log},    {Builtin::MathLog2, Function::Log2, Op::Log2},
      {Builtin::MathSin, Function::Sin, Op::Sin},    {Builtin::MathCos, Function::Cos, Op::Cos},
      {Builtin::MathTanh, Function::Tanh, Op::Tanh},
  };
  for (const Entry &t : kTable) {
    if (t.id != b.id) continue;
    const bool isWide = v.weak || v.dtype == DType::F64;
    if (!v.isScalar() || !v.isConst || (!isWide && v.dtype != DType::F32))
      return function(t.op, std::move(v), loc);
    const double x = v.floatValue;
    if (v.weak && (t.function == Function::Sqrt                                  ? x < 0
                   : t.function == Function::Log || t.function == Function::Log2 ? x <= 0
                                                                                 : false))
      return fail(Code::E_LITERAL_RANGE, loc,
                  std::string("math.") + b.name + " of this constant is not defined");
    return Value::real(isWide ? functions::evaluate(t.function, x)
                              : functions::evaluate(t.function, static_cast<float>(x)),
                       v.dtype, v.weak);
  }
  if (v.isScalar() && v.isConst && std::abs(v.floatValue) < 0x1p62)
    return Value::integer(static_cast<int64_t>(b.id == Builtin::MathFloor ? std::floor(v.floatValue)
                                                                          : std::ceil(v.floatValue)));
  return fail(Code::E_CONSTANT, loc, std::string("math.") + b.name + " takes a constant",
              "divide integers with // or ts.cdiv");
}

Value Elaborator::callPython(const BuiltinInfo &b, const Arguments &a, Range loc) {
  Value v = evaluate(*a[0]);
  if (b.id == Builtin::PyFloat && v.kind == Value::Str) {
    std::string s = v.text;
    for (char &c : s)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    bool negative = s.starts_with("-");
    if (s.starts_with("-") || s.starts_with("+")) s.erase(0, 1);
    double value = s == "inf" || s == "infinity" ? HUGE_VAL : NAN;
    if (s != "inf" && s != "infinity" && s != "nan")
      return fail(Code::E_TYPE, loc, "float('" + v.text + "') is not known",
                  "write float('inf'), float('-inf') or float('nan')");
    return Value::real(negative ? -value : value);
  }
  if (b.id == Builtin::PyBool) return truth(std::move(v), loc);
  v = asOperand(std::move(v), loc);
  if (v.isError()) return v;
  if (v.isScalar() && v.isConst && v.weak) {
    if (b.id == Builtin::PyFloat)
      return isFloat(v.dtype) ? std::move(v) : Value::real(static_cast<double>(v.intValue));
    if (!isFloat(v.dtype)) return v;
    if (std::abs(v.floatValue) < 0x1p62) return Value::integer(static_cast<int64_t>(v.floatValue));
    return fail(Code::E_LITERAL_RANGE, loc, "the constant does not fit in 64 bits");
  }
  return cast(std::move(v), b.id == Builtin::PyFloat ? DType::F32 : DType::I32, loc);
}

} // namespace tessera::frontend
