#include "compiler/frontend/program/LaunchExpr.h"

namespace tessera::frontend {
namespace {

using ValueOf = std::function<IndexExpr(const Expr &)>;

/// May an operation on integers narrower than 64 bits, or a cast to such a type, wrap?
bool wraps(const Expr &e) {
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

/// Returns the expression of an operation on 64-bit integers.
std::optional<IndexExpr> exactExpr(const Expr &e, const ValueOf &valueOf) {
  auto arg = [&](size_t i) { return launchExpr(*e.args[i], valueOf); };
  auto binary = [&](IndexExpr::Code code) -> std::optional<IndexExpr> {
    const std::optional<IndexExpr> a = arg(0), b = arg(1);
    return a && b ? std::optional(IndexExpr::binary(code, *a, *b)) : std::nullopt;
  };
  switch (e.op) {
  case Op::ConstInt:
    return IndexExpr::constant(e.intValue);
  case Op::DimRef:
  case Op::ParamRef:
    return valueOf(e);
  case Op::Cast:
    return arg(0);
  case Op::Neg: {
    const std::optional<IndexExpr> a = arg(0);
    return a ? std::optional(IndexExpr::negate(*a)) : std::nullopt;
  }
  case Op::Add:
    return binary(IndexExpr::Code::Add);
  case Op::Sub:
    return binary(IndexExpr::Code::Sub);
  case Op::Mul:
    return binary(IndexExpr::Code::Mul);
  case Op::FloorDiv:
    return binary(IndexExpr::Code::FloorDiv);
  case Op::Mod:
    return binary(IndexExpr::Code::Mod);
  case Op::Minimum:
    return binary(IndexExpr::Code::Min);
  case Op::Maximum:
    return binary(IndexExpr::Code::Max);
  default:
    return std::nullopt;
  }
}

} // namespace

/// Index expressions have only 64-bit integers, so a narrower type wraps by a remainder.
std::optional<IndexExpr> launchExpr(const Expr &e, const ValueOf &valueOf) {
  const std::optional<IndexExpr> exact = exactExpr(e, valueOf);
  const int bits = info(e.type.dtype).bits;
  if (!exact || !wraps(e) || bits == 64) return exact;
  const IndexExpr range = IndexExpr::constant(int64_t{1} << bits);
  if (isUnsigned(e.type.dtype)) return IndexExpr::binary(IndexExpr::Code::Mod, *exact, range);
  const IndexExpr half = IndexExpr::constant(int64_t{1} << (bits - 1));
  return IndexExpr::binary(
      IndexExpr::Code::Sub,
      IndexExpr::binary(IndexExpr::Code::Mod, IndexExpr::binary(IndexExpr::Code::Add, *exact, half), range),
      half);
}

} // namespace tessera::frontend
