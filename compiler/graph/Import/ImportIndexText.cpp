// Writes grid bounds and lane counts in the expression language of the kernel metadata.
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

/// Does the text of `e` need parentheses as an operand of `*`, or as the right operand of `-`?
static bool isSum(const Expr &e) {
  return e.op == Op::Add || e.op == Op::Sub || e.op == Op::Neg || (e.op == Op::ConstInt && e.intValue < 0) ||
         (e.op == Op::Cast && isSum(*e.args[0])) || wraps(e);
}

/// The language of launch bounds has only 64-bit integers, so a narrower type wraps by a remainder.
std::string KernelImporter::indexText(const Expr &e) {
  std::string text = exactIndexText(e);
  if (!wraps(e)) return text;
  uint64_t range = uint64_t{1} << info(e.type.dtype).bits;
  if (isUnsigned(e.type.dtype)) return "mod(" + text + ", " + std::to_string(range) + ")";
  std::string half = std::to_string(range / 2);
  return "mod(" + text + " + " + half + ", " + std::to_string(range) + ") - " + half;
}

/// Returns the text of an operation on 64-bit integers.
std::string KernelImporter::exactIndexText(const Expr &e) {
  auto arg = [&](size_t i) { return indexText(*e.args[i]); };
  auto factor = [&](size_t i) { return isSum(*e.args[i]) ? "(" + arg(i) + ")" : arg(i); };
  auto call = [&](const char *name) { return std::string(name) + "(" + arg(0) + ", " + arg(1) + ")"; };
  switch (e.op) {
  case Op::ConstInt:
    return std::to_string(e.intValue);
  case Op::DimRef:
    return e.text;
  case Op::ParamRef:
    return kernel_.params[e.param].name;
  case Op::Cast:
    return arg(0);
  case Op::Neg:
    return "-" + factor(0);
  case Op::Add:
    return arg(0) + " + " + factor(1);
  case Op::Sub:
    return arg(0) + " - " + factor(1);
  case Op::Mul:
    return factor(0) + " * " + factor(1);
  case Op::FloorDiv:
    return call("floordiv");
  case Op::Mod:
    return call("mod");
  case Op::Minimum:
    return call("min");
  case Op::Maximum:
    return call("max");
  default:
    break;
  }
  emitUnimplemented(
      e, "launch bounds of anything but dims, integer scalars, constants and + - * // % minimum maximum");
  return "0";
}

} // namespace tessera::graph
