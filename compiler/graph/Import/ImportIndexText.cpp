// Grid bounds and lane counts as text in the expression language of the kernel metadata.
#include "compiler/graph/Import/Importer.h"

namespace tessera::graph {

using frontend::Expr;
using frontend::Op;

/// Whether the text of `e` needs parentheses as an operand of `*`, or of `-` on the right.
static bool isSum(const Expr &e) {
  return e.op == Op::Add || e.op == Op::Sub || e.op == Op::Neg || (e.op == Op::ConstInt && e.intValue < 0) ||
         (e.op == Op::Cast && isSum(*e.args[0]));
}

std::string KernelImporter::indexText(const Expr &e) {
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
    return arg(0); // between integers, and the language has i64 here
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
