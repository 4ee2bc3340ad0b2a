// Prints a GraphFunction as readable text.
#include "compiler/frontend/program/GraphProgram.h"
#include <cmath>
#include <cstdio>

namespace tessera::frontend {
namespace {

std::string dimsText(const std::vector<Dim> &dims) {
  std::string out = "[";
  for (const Dim &d : dims)
    out += (out.size() > 1 ? ", " : "") + (d.symbol.empty() ? std::to_string(d.constant) : d.symbol);
  return out + "]";
}

std::string number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", v);
  return buffer;
}

std::string number(const Number &value) {
  const auto *integer = std::get_if<int64_t>(&value);
  return integer ? std::to_string(*integer) : number(std::get<double>(value));
}

std::string typeText(const GraphValue &v) {
  return (v.isScalar ? "" : dimsText(v.dims) + " ") + name(v.dtype);
}

void put(std::string &out, const GraphFunction &f, size_t index) {
  const GraphValue &v = f.values[index];
  auto ref = [&](int value) {
    if (value < 0) return std::string("none");
    const GraphValue &a = f.values[static_cast<size_t>(value)];
    return a.op == GraphOp::Param ? f.params[static_cast<size_t>(a.param)].name : "%" + std::to_string(value);
  };
  if (v.op == GraphOp::Param) return;
  out += "  " + (v.op == GraphOp::Launch ? "" : "%" + std::to_string(index) + " = ");
  out += v.op == GraphOp::Elementwise || v.op == GraphOp::Reduce ? opName(v.function) : opName(v.op);
  if (v.op == GraphOp::Constant)
    out += " " + (isFloat(v.dtype) ? number(v.number) : std::to_string(v.integer));
  if (v.op == GraphOp::Launch)
    out += "." + std::to_string(index) + " " + f.kernels[static_cast<size_t>(v.kernel)].name;
  if (!v.args.empty()) {
    out += "(";
    for (size_t i = 0; i < v.args.size(); ++i)
      out += (i ? ", " : "") + ref(v.args[i]);
    out += ")";
  }
  if (!v.ints.empty()) {
    out += " {";
    for (size_t i = 0; i < v.ints.size(); ++i)
      out += (i ? ", " : "") + std::to_string(v.ints[i]);
    out += "}";
  }
  for (const std::string &text : v.texts)
    out += " '" + text + "'";
  if (v.keepDims) out += " keep";
  for (const Specialization &s : v.specializations)
    out += " specialize '" + s.backend + ":" + s.arch + "' " + std::to_string(s.tileSizes[0]) + "x" +
           std::to_string(s.tileSizes[1]) + "x" + std::to_string(s.tileSizes[2]);
  if (v.op == GraphOp::LayerNorm || v.op == GraphOp::RmsNorm) out += " eps " + number(v.number);
  if (v.op == GraphOp::Attention)
    out += std::isnan(v.number) ? " scale default" : " scale " + number(v.number);
  out += v.op == GraphOp::Launch ? "\n" : " : " + typeText(v) + "\n";
}

} // namespace

std::string dump(const GraphFunction &f) {
  std::string out = "graph " + f.name + "\n";
  for (const Param &p : f.params) {
    out += std::string("  ") + (p.isResult ? "result " : "param ") + p.name + " : " +
           (p.isTensor ? dimsText(p.dims) + " " : "") + name(p.dtype);
    if (p.policy.accum) out += std::string(" @accum(") + name(*p.policy.accum) + ")";
    if (p.reads) out += " reads";
    if (p.writes) out += " writes";
    if (p.returned && !p.isResult) out += " returned";
    if (p.defaultValue) out += " = " + number(*p.defaultValue);
    out += "\n";
  }
  if (!f.dims.empty()) {
    out += "  dims";
    for (const std::string &d : f.dims)
      out += " " + d;
    out += "\n";
  }
  for (const auto &[dim, value] : f.specialized)
    out += "  specialized " + dim + "=" + std::to_string(value) + "\n";
  for (const Kernel &k : f.kernels)
    out += "  uses " + k.name + "\n";
  for (size_t i = 0; i < f.values.size(); ++i)
    put(out, f, i);
  for (const GraphFunction::Check &c : f.checks)
    out += "  check " + c.value + "\n";
  for (const GraphFunction::Output &o : f.outputs) {
    const GraphValue &v = f.values[static_cast<size_t>(o.value)];
    out += "  return " + f.params[static_cast<size_t>(o.param)].name + " = " +
           (v.op == GraphOp::Param ? f.params[static_cast<size_t>(v.param)].name
                                   : "%" + std::to_string(o.value)) +
           "\n";
  }
  return out;
}

} // namespace tessera::frontend
