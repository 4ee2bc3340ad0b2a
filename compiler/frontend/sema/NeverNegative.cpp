// The signs of tensors of integers, from the operations that compute them.
#include "compiler/frontend/sema/NeverNegative.h"

namespace tessera::frontend {

bool isNeverNegative(const GraphState &g, int node) {
  const GraphValue &v = g.out.values[static_cast<size_t>(node)];
  if (v.dtype == DType::U8 || v.dtype == DType::U16 || v.dtype == DType::U32) return true;
  auto isArg = [&](size_t i) { return isNeverNegative(g, v.args[i]); };
  switch (v.op) {
  case GraphOp::Iota:
    return true;
  case GraphOp::Constant:
    return v.integer >= 0;
  case GraphOp::Extent:
    return g.extents.at(v.texts[0]).isNeverNegative();
  case GraphOp::Reshape:
  case GraphOp::Broadcast:
  case GraphOp::Slice:
  case GraphOp::Transpose:
    return isArg(0);
  case GraphOp::Reduce:
    return v.function == Op::ArgMax || v.function == Op::ArgMin;
  case GraphOp::Elementwise:
    if (v.function == Op::Maximum) return isArg(0) || isArg(1);
    if (v.function == Op::Minimum || v.function == Op::FloorDiv) return isArg(0) && isArg(1);
    return v.function == Op::Mod && isArg(1); // the sign of a remainder is the divisor's
  default:
    return false;
  }
}

} // namespace tessera::frontend
