// Elementwise operations of graph functions: shapes broadcast as in NumPy, by symbol.
#include "compiler/frontend/sema/ElabGraph.h"

namespace tessera::frontend {

/// Returns the dims that several operands broadcast to, aligned at the last axis. Two symbolic extents are
/// equal only if they are the same polynomial: nothing is assumed about the values of the symbols.
std::optional<Dims> Elaborator::graphBroadcast(const std::vector<const Value *> &operands, Range loc) {
  size_t rank = 0;
  for (const Value *v : operands)
    rank = std::max(rank, graphDims(*v).size());
  Dims out(rank, DimExpr(1));
  std::vector<const Value *> from(rank, nullptr);
  for (const Value *v : operands) {
    const Dims &dims = graphDims(*v);
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t at = rank - dims.size() + i;
      if (dims[i] == out[at] || dims[i].isOne()) continue;
      if (out[at].isOne()) {
        out[at] = dims[i];
        from[at] = v;
        continue;
      }
      std::string x = out[at].text(), y = dims[i].text();
      bool numbers = out[at].isConstant() && dims[i].isConstant();
      const bool divides = (x + y).find("//") != std::string::npos; // D - D // 2 is D // 2 for even D only
      fail(Code::E_SHAPE, loc,
           graphName(*from[at]) + " and " + graphName(*v) + " do not broadcast: " +
               (numbers ? x + " and " + y + " differ" : x + " would have to equal " + y),
           numbers   ? "shapes are aligned at their last axis; insert axes with x[:, None]"
           : divides ? "name the part instead of the whole: a dim of \"2*h\" has the halves \"h\""
                     : "give both dims one name, or insert an axis with x[:, None]");
      return std::nullopt;
    }
  }
  return out;
}

Value Elaborator::graphElementwise(Op op, Value v, Range loc) {
  int node = graphNode(v, loc);
  Value out = graphValue(GraphOp::Elementwise, v.dtype, graphDims(v), loc, {node});
  if (!out.isError()) graphLast().function = op;
  return out;
}

Value Elaborator::graphElementwise(Op op, Value a, Value b, Range loc) {
  std::optional<Dims> dims = graphBroadcast({&a, &b}, loc);
  if (!dims) return Value::error();
  bool compares = ops::isComparison(op);
  int x = graphNode(a, loc), y = graphNode(b, loc);
  Value out =
      graphValue(GraphOp::Elementwise, compares ? DType::Bool : a.dtype, std::move(*dims), loc, {x, y});
  if (!out.isError()) graphLast().function = op;
  return out;
}

Value Elaborator::graphActivation(GraphOp op, Value v, Range loc, const char *what) {
  v = floatOperand(std::move(v), loc, what);
  if (v.isError()) return v;
  int node = graphNode(v, loc);
  Value out = graphValue(op, v.dtype, graphDims(v), loc, {node});
  return v.isGraph() || out.isError() ? std::move(out) : Value::of(graphVar(out.index, loc));
}

Value Elaborator::graphSelect(Value c, Value a, Value b, Range loc) {
  std::optional<Dims> dims = graphBroadcast({&c, &a, &b}, loc);
  if (!dims) return Value::error();
  int x = graphNode(c, loc), y = graphNode(a, loc), z = graphNode(b, loc);
  return graphValue(GraphOp::Select, a.dtype, std::move(*dims), loc, {x, y, z});
}

Value Elaborator::graphCast(Value v, DType to, Range loc) {
  if (v.dtype == to) return graphReshapeTo(v, graphDims(v), loc);
  int node = graphNode(v, loc);
  return graphValue(GraphOp::Cast, to, graphDims(v), loc, {node});
}

} // namespace tessera::frontend
