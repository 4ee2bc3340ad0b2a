// Builds the index expressions of grid bounds and lane counts.
#include "compiler/graph/Import/Importer.h"

namespace tessera::graph {

using frontend::Expr;
using frontend::Op;

/// May an operation on integers narrower than 64 bits, or a cast to such a type, wrap?
static bool wraps(const Expr &e) {
  DType t = e.type.dtype;
  switch (e.op) {
  case Op::Neg:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::FloorDiv: // the smallest integer divided by -1
    return t != DType::I64;
  case Op::Cast: {
    DType from = e.args[0]->type.dtype;
    bool widens = info(from).bits < info(t).bits && (isUnsigned(from) || !isUnsigned(t));
    return from != t && !widens;
  }
  default:
    return false;
  }
}

/// Index expressions have only 64-bit integers, so a narrower type wraps by a remainder.
IndexExpr KernelImporter::indexExpr(const Expr &e) {
  using Code = IndexExpr::Code;
  IndexExpr exact = exactIndexExpr(e);
  if (!wraps(e) || info(e.type.dtype).bits == 64) return exact;
  const IndexExpr range = IndexExpr::constant(int64_t{1} << info(e.type.dtype).bits);
  if (isUnsigned(e.type.dtype)) return IndexExpr::binary(Code::Mod, exact, range);
  const IndexExpr half = IndexExpr::constant(int64_t{1} << (info(e.type.dtype).bits - 1));
  return IndexExpr::binary(
      Code::Sub, IndexExpr::binary(Code::Mod, IndexExpr::binary(Code::Add, exact, half), range), half);
}

/// Returns the expression of an operation on 64-bit integers.
IndexExpr KernelImporter::exactIndexExpr(const Expr &e) {
  using Code = IndexExpr::Code;
  auto arg = [&](size_t i) { return indexExpr(*e.args[i]); };
  auto binary = [&](Code code) { return IndexExpr::binary(code, arg(0), arg(1)); };
  switch (e.op) {
  case Op::ConstInt:
    return IndexExpr::constant(e.intValue);
  case Op::DimRef:
    return IndexExpr::symbol(e.text);
  case Op::ParamRef:
    return IndexExpr::symbol(kernel_.params[e.param].name);
  case Op::Cast:
    return arg(0);
  case Op::Neg:
    return IndexExpr::negate(arg(0));
  case Op::Add:
    return binary(Code::Add);
  case Op::Sub:
    return binary(Code::Sub);
  case Op::Mul:
    return binary(Code::Mul);
  case Op::FloorDiv:
    return binary(Code::FloorDiv);
  case Op::Mod:
    return binary(Code::Mod);
  case Op::Minimum:
    return binary(Code::Min);
  case Op::Maximum:
    return binary(Code::Max);
  default:
    break;
  }
  emitUnimplemented(
      e, "launch bounds of anything but dims, integer scalars, constants and + - * // % minimum maximum");
  return IndexExpr::constant(0);
}

} // namespace tessera::graph
