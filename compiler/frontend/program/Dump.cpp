// Prints a Kernel as readable text.
#include "compiler/frontend/program/Program.h"
#include <cmath>
#include <cstdio>
#include <string>

namespace tessera::frontend {

namespace {

const char *kAtomics[] = {"add", "max", "min", "xchg", "cas"};
const char *kOrders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
const char *kScopes[] = {"group", "device", "system"};

std::string list(const std::vector<int64_t> &v, const char *separator = ", ") {
  std::string out;
  for (size_t i = 0; i < v.size(); ++i)
    out += (i ? separator : "") + std::to_string(v[i]);
  return out;
}

std::string typeText(const Type &t) {
  switch (t.kind) {
  case Type::None:
    return "none";
  case Type::Scalar:
    return name(t.dtype);
  case Type::Tensor:
    return std::string("tensor ") + name(t.dtype);
  default:
    return (t.kind == Type::Buffer ? "buffer<" : "<") + list(t.shape, "x") + "x" + name(t.dtype) + ">";
  }
}

std::string floatText(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", v);
  std::string out = buffer;
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string numberText(const Number &value) {
  const auto *integer = std::get_if<int64_t>(&value);
  return integer ? std::to_string(*integer) : floatText(std::get<double>(value));
}

class Dumper {
public:
  explicit Dumper(const Kernel &k) : k_(k) {}

  std::string run() {
    out_ = "kernel " + k_.name + "\n";
    for (const Param &p : k_.params)
      param(p);
    if (!k_.dims.empty()) {
      out_ += "  dims";
      for (const std::string &d : k_.dims)
        out_ += " " + d;
      out_ += "\n";
    }
    pairs("specialized", k_.specialized);
    pairs("tunables", k_.tunables);
    for (size_t i = 0; i < k_.symbols.size(); ++i) {
      const Symbol &s = k_.symbols[i];
      if (s.type.kind == Type::Buffer)
        out_ += "  shared " + symbol(static_cast<SymbolId>(i)) + " : " + typeText(s.type) + " swizzle " +
                s.swizzle + " align " + std::to_string(s.align) + "\n";
    }
    if (k_.sharedBytes) out_ += "  shared_bytes " + std::to_string(k_.sharedBytes) + "\n";
    for (const GridAxis &a : k_.grid)
      out_ += "  grid " + symbol(a.symbol) + " from " + expr(*a.lo) + " to " + expr(*a.hi) + " step " +
              expr(*a.step) + (a.isBatch ? " batch" : "") + "\n";
    if (k_.laneCount) out_ += "  lanes " + expr(*k_.laneCount) + "\n";
    block(k_.body, 1);
    return std::move(out_);
  }

private:
  void pairs(const char *what, const std::vector<std::pair<std::string, int64_t>> &v) {
    if (v.empty()) return;
    out_ += std::string("  ") + what;
    for (const auto &[n, value] : v)
      out_ += " " + n + "=" + std::to_string(value);
    out_ += "\n";
  }

  void param(const Param &p) {
    out_ += std::string("  ") + (p.isResult ? "result " : "param ") + p.name + " : ";
    if (p.isTensor) {
      out_ += "tensor[";
      for (size_t i = 0; i < p.dims.size(); ++i)
        out_ += (i ? ", " : "") +
                (p.dims[i].symbol.empty() ? std::to_string(p.dims[i].constant) : p.dims[i].symbol);
      out_ += std::string("] ") + name(p.dtype);
      for (size_t i = 0; i < p.strides.size(); ++i)
        out_ += (i ? ", " : " strides[") +
                (p.strides[i].symbol.empty() ? std::to_string(p.strides[i].constant) : p.strides[i].symbol) +
                (i + 1 == p.strides.size() ? "]" : "");
    } else {
      out_ += name(p.dtype);
    }
    if (p.policy.accum) out_ += std::string(" @accum(") + name(*p.policy.accum) + ")";
    if (p.policy.lossScale != 1.0) out_ += " @loss_scale(" + floatText(p.policy.lossScale) + ")";
    if (p.reads) out_ += " reads";
    if (p.writes) out_ += " writes";
    if (p.atomics) out_ += " atomics";
    if (p.returned && !p.isResult) out_ += " returned";
    if (p.defaultValue) out_ += " = " + numberText(*p.defaultValue);
    out_ += "\n";
  }

  std::string symbol(SymbolId s) const {
    return "%" + k_.symbols[static_cast<size_t>(s)].name + "." + std::to_string(s);
  }
  const std::string &paramName(int p) const { return k_.params[static_cast<size_t>(p)].name; }

  std::string place(const std::vector<ExprPtr> &starts, size_t from,
                    const std::vector<int64_t> &extents) const {
    std::string out = "[";
    for (size_t i = from; i < starts.size(); ++i) {
      out += (i > from ? ", " : "") + expr(*starts[i]);
      size_t d = i - from;
      if (d < extents.size() && extents[d] >= 0) out += " +" + std::to_string(extents[d]);
    }
    return out + "]";
  }

  std::string arguments(const Expr &e, size_t from = 0) const {
    std::string out = "(";
    for (size_t i = from; i < e.args.size(); ++i)
      out += (i > from ? ", " : "") + expr(*e.args[i]);
    return out + ")";
  }

  std::string expr(const Expr &e) const {
    switch (e.op) {
    case Op::ConstInt:
      return e.type.dtype == DType::Bool
                 ? (e.intValue ? "true" : "false")
                 : std::to_string(e.intValue) +
                       (e.type.dtype == DType::I64 ? "" : std::string(":") + name(e.type.dtype));
    case Op::ConstFloat:
      return floatText(e.floatValue) + ":" + name(e.type.dtype);
    case Op::Var:
      return symbol(e.symbol);
    case Op::ParamRef:
      return paramName(e.param);
    case Op::DimRef:
      return "dim " + e.text;
    case Op::LoadTile:
      return "load " + paramName(e.param) + place(e.args, 0, e.ints) + typeText(e.type);
    case Op::LoadElem:
      return "load_elem " + paramName(e.param) + place(e.args, 0, {});
    case Op::BufferRead:
      return "read " + symbol(e.symbol) + (e.args.empty() ? "" : place(e.args, 0, e.ints) + typeText(e.type));
    case Op::Cast:
      return std::string("cast ") + name(e.type.dtype) + arguments(e);
    case Op::Mma:
      return std::string("mma") + (e.ints[0] ? " trans_a" : "") + (e.ints[1] ? " trans_b" : "") +
             arguments(e) + typeText(e.type);
    case Op::Atomic:
      return std::string("atomic ") + kAtomics[static_cast<size_t>(e.atomic)] + " " +
             kOrders[static_cast<size_t>(e.order)] + " " + kScopes[static_cast<size_t>(e.scope)] + " " +
             paramName(e.param) + arguments(e);
    case Op::GroupReduce:
      return "group_reduce " + e.text + arguments(e);
    default:
      break;
    }
    std::string out = opName(e.op);
    if (!e.ints.empty()) out += " axis " + list(e.ints);
    if (!e.args.empty()) out += arguments(e);
    bool shapes = e.op == Op::Broadcast || e.op == Op::Reshape || e.op == Op::Arange || e.op == Op::Concat;
    return shapes ? out + typeText(e.type) : out;
  }

  void line(int depth, const std::string &text) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  std::string carried(const Stmt &s) const {
    std::string out;
    for (SymbolId c : s.carried)
      out += (out.empty() ? " carries " : ", ") + symbol(c);
    return out;
  }

  void block(const Block &body, int depth) {
    for (const Stmt &s : body)
      statement(s, depth);
  }

  void statement(const Stmt &s, int depth) {
    switch (s.kind) {
    case Stmt::Assign:
      return line(depth, symbol(s.symbol) + " : " + typeText(s.exprs[0]->type) + " = " + expr(*s.exprs[0]));
    case Stmt::StoreTile:
      return line(depth,
                  "store " + paramName(s.param) + place(s.exprs, 1, s.ints) + " = " + expr(*s.exprs[0]));
    case Stmt::StoreElem:
      return line(depth,
                  "store_elem " + paramName(s.param) + place(s.exprs, 1, {}) + " = " + expr(*s.exprs[0]));
    case Stmt::BufferWrite:
      return line(depth, "write " + symbol(s.symbol) + (s.exprs.size() > 1 ? place(s.exprs, 1, s.ints) : "") +
                             " = " + expr(*s.exprs[0]));
    case Stmt::CpAsync:
      return line(depth, "cp_async " + symbol(s.symbol) + " = " + expr(*s.exprs[0]));
    case Stmt::CommitGroup:
      return line(depth, "commit_group");
    case Stmt::WaitGroup:
      return line(depth, "wait_group " + list(s.ints));
    case Stmt::Barrier:
      return line(depth, "barrier");
    case Stmt::Prefetch:
      return line(depth, "prefetch " + expr(*s.exprs[0]));
    case Stmt::Fence:
      return line(depth, std::string("fence ") + kOrders[static_cast<size_t>(s.order)] + " " +
                             kScopes[static_cast<size_t>(s.scope)]);
    case Stmt::Eval:
      return line(depth, "eval " + expr(*s.exprs[0]));
    case Stmt::For:
      line(depth, "for " + symbol(s.symbol) + " from " + expr(*s.exprs[0]) + " to " + expr(*s.exprs[1]) +
                      " step " + expr(*s.exprs[2]) + (s.ints[0] ? " stages " + list(s.ints) : "") +
                      (s.isReductionIterator ? " reduction" : "") + carried(s));
      return block(s.body, depth + 1);
    case Stmt::While:
      line(depth, "while " + expr(*s.exprs[0]) + carried(s));
      return block(s.body, depth + 1);
    case Stmt::If:
      line(depth, "if " + expr(*s.exprs[0]) + carried(s));
      block(s.body, depth + 1);
      if (s.orelse.empty()) return;
      line(depth, "else");
      return block(s.orelse, depth + 1);
    }
  }

  const Kernel &k_;
  std::string out_;
};

} // namespace

std::string dump(const Kernel &k) { return Dumper(k).run(); }

} // namespace tessera::frontend
