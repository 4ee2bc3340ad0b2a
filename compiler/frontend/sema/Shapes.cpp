// Checks the shapes of one kernel against a policy.
#include "compiler/frontend/sema/Shapes.h"
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace tessera::frontend {

bool parseShapePolicy(std::string_view text, ShapePolicy &out, std::string &why) {
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    while (item.starts_with(' '))
      item.remove_prefix(1);
    while (item.ends_with(' '))
      item.remove_suffix(1);
    if (item.empty()) continue;
    size_t equals = item.find('=');
    std::string key(item.substr(0, equals));
    if (equals == std::string_view::npos) {
      if (key == "known")
        out.requireKnown = true;
      else if (key == "nonempty")
        out.requireNonEmpty = true;
      else if (key == "whole_tiles")
        out.requireWholeTiles = true;
      else {
        why = "unknown shape rule '" + key + "' (known, nonempty, whole_tiles, max_bytes=N, NAME=VALUE)";
        return false;
      }
      continue;
    }
    std::string_view digits = item.substr(equals + 1);
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || key.empty()) {
      why = "'" + std::string(item) + "' is not NAME=INTEGER";
      return false;
    }
    if (key == "max_bytes")
      out.maxBytes = value;
    else
      out.dims.emplace_back(key, value);
  }
  return true;
}

std::string ShapeReport::text() const {
  std::string out;
  for (const ShapeFinding &f : findings) {
    if (f.loc.line) out += std::to_string(f.loc.line) + ":" + std::to_string(f.loc.col) + ": ";
    out += f.subject + ": " + f.message + "\n";
  }
  return out;
}

namespace {

/// Returns the value of an index expression if every dim in it is known and nothing overflows.
std::optional<int64_t> evaluate(const Expr &e, const std::map<std::string, int64_t> &dims) {
  if (e.op == Op::ConstInt) return e.intValue;
  if (e.op == Op::DimRef) {
    auto it = dims.find(e.text);
    return it == dims.end() ? std::nullopt : std::optional(it->second);
  }
  std::vector<int64_t> v;
  for (const ExprPtr &a : e.args) {
    std::optional<int64_t> x = evaluate(*a, dims);
    if (!x) return std::nullopt;
    v.push_back(*x);
  }
  int64_t r = 0;
  auto checked = [&](bool overflow) { return overflow ? std::nullopt : std::optional(r); };
  auto floorDiv = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); };
  switch (e.op) {
  case Op::Cast:
    return v[0];
  case Op::Neg:
    return checked(__builtin_sub_overflow(int64_t(0), v[0], &r));
  case Op::Add:
    return checked(__builtin_add_overflow(v[0], v[1], &r));
  case Op::Sub:
    return checked(__builtin_sub_overflow(v[0], v[1], &r));
  case Op::Mul:
    return checked(__builtin_mul_overflow(v[0], v[1], &r));
  case Op::Minimum:
    return std::min(v[0], v[1]);
  case Op::Maximum:
    return std::max(v[0], v[1]);
  case Op::FloorDiv:
    if (v[1] == 0 || (v[0] == INT64_MIN && v[1] == -1)) return std::nullopt;
    return floorDiv(v[0], v[1]);
  case Op::Mod:
    if (v[1] == 0 || v[1] == -1) return v[1] == 0 ? std::nullopt : std::optional<int64_t>(0);
    return v[0] - floorDiv(v[0], v[1]) * v[1];
  default:
    return std::nullopt;
  }
}

class Validator {
public:
  Validator(const Kernel &k, const ShapePolicy &p) : k_(k), policy_(p) {
    for (const auto &[name, value] : k.specialized)
      dims_[name] = value;
    for (const auto &[name, value] : p.dims)
      given(name, value);
  }

  ShapeReport run() {
    for (const std::string &dim : k_.dims)
      if (policy_.requireKnown && !dims_.count(dim)) find(dim, "the dim has no value", k_.loc);
    for (const auto &[dim, value] : dims_) {
      if (value < 0)
        find(dim, "an extent of " + std::to_string(value) + " is impossible", k_.loc);
      else if (value == 0 && policy_.requireNonEmpty)
        find(dim, "the extent is 0", k_.loc);
    }
    for (const Param &p : k_.params)
      if (p.isTensor) tensor(p);
    for (const GridAxis &a : k_.grid)
      axis(a);
    return std::move(report_);
  }

private:
  void find(std::string subject, std::string message, Range loc) {
    report_.findings.push_back({std::move(subject), std::move(message), loc});
  }

  void given(const std::string &name, int64_t value) {
    if (std::ranges::find(k_.dims, name) == k_.dims.end()) {
      find(name, "'" + k_.name + "' has no such dim", k_.loc);
      return;
    }
    auto [it, isNew] = dims_.emplace(name, value);
    if (!isNew && it->second != value)
      find(name,
           "the kernel was compiled for " + std::to_string(it->second) + ", not " + std::to_string(value),
           k_.loc);
  }

  void tensor(const Param &p) {
    int64_t bytes = storageBytes(p.dtype);
    for (const Dim &d : p.dims) {
      int64_t extent = d.constant;
      if (!d.symbol.empty()) {
        auto it = dims_.find(d.symbol);
        if (it == dims_.end()) return;
        extent = it->second;
      }
      if (extent < 0) return; // reported together with the dim
      if (__builtin_mul_overflow(bytes, extent, &bytes)) {
        find(p.name, "its size does not fit in 64 bits", p.loc);
        return;
      }
    }
    if (isPacked(p.dtype)) bytes = tensorBytes(p.dtype, bytes);
    if (bytes > policy_.maxBytes)
      find(p.name,
           "it has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(policy_.maxBytes),
           p.loc);
  }

  void axis(const GridAxis &a) {
    if (!policy_.requireWholeTiles) return;
    std::optional<int64_t> lo = evaluate(*a.lo, dims_), hi = evaluate(*a.hi, dims_),
                           step = evaluate(*a.step, dims_);
    if (!lo || !hi || !step || *step < 1) return;
    int64_t length = 0;
    if (__builtin_sub_overflow(*hi, *lo, &length) || length % *step == 0) return;
    const Symbol &s = k_.symbols[static_cast<size_t>(a.symbol)];
    find(s.name,
         "its extent " + std::to_string(length) + " is not a multiple of the tile's " + std::to_string(*step),
         s.loc);
  }

  const Kernel &k_;
  const ShapePolicy &policy_;
  std::map<std::string, int64_t> dims_;
  ShapeReport report_;
};

} // namespace

ShapeReport validateShapes(const Kernel &k, const ShapePolicy &policy) { return Validator(k, policy).run(); }

} // namespace tessera::frontend
