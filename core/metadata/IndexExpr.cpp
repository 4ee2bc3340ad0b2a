// Index expressions: a postfix program, evaluated on a small stack. IndexExprText.cpp parses and prints it.
#include "core/metadata/IndexExpr.h"
#include "core/support/NearestName.h"
#include <algorithm>
#include <array>
#include <charconv>

namespace tessera {
namespace {

using Code = IndexExpr::Code;

bool floorDiv(int64_t a, int64_t b, int64_t &out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  out = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

bool apply(Code code, int64_t a, int64_t b, int64_t &out) {
  switch (code) {
  case Code::Add:
    return !__builtin_add_overflow(a, b, &out);
  case Code::Sub:
    return !__builtin_sub_overflow(a, b, &out);
  case Code::Mul:
    return !__builtin_mul_overflow(a, b, &out);
  case Code::Min:
    out = std::min(a, b);
    return true;
  case Code::Max:
    out = std::max(a, b);
    return true;
  case Code::FloorDiv:
    return floorDiv(a, b, out);
  case Code::CeilDiv: // the floor, plus one unless the division is exact
    if (!floorDiv(a, b, out)) return false;
    out += a % b != 0;
    return true;
  case Code::Mod:
    if (b == 0) return false;
    if (b == -1) return out = 0, true; // INT64_MIN % -1 traps
    out = a % b;
    if (out != 0 && (out < 0) != (b < 0)) out += b;
    return true;
  default:
    return false;
  }
}

bool isLeaf(Code code) { return code == Code::Const || code == Code::Slot; }

} // namespace

IndexExpr IndexExpr::constant(int64_t value) {
  IndexExpr out;
  out.nodes_.push_back({Code::Const, 0, value});
  return out;
}

IndexExpr IndexExpr::symbol(std::string_view name) {
  IndexExpr out;
  out.nodes_.push_back({Code::Slot, 0, out.intern(name)});
  return out;
}

IndexExpr IndexExpr::negate(IndexExpr operand) {
  if (std::optional<int64_t> value = operand.asConstant(); value && *value != INT64_MIN)
    return constant(-*value);
  operand.nodes_.push_back({Code::Neg, 0, 0});
  return operand;
}

IndexExpr IndexExpr::binary(Code code, IndexExpr lhs, const IndexExpr &rhs) {
  for (Node node : rhs.nodes_) {
    if (node.code == Code::Slot) node.value = lhs.intern(rhs.symbols_[static_cast<size_t>(node.value)]);
    lhs.nodes_.push_back(node);
  }
  lhs.nodes_.push_back({code, 0, 0});
  return lhs;
}

std::optional<IndexExpr> IndexExpr::product(const std::vector<IndexExpr> &factors) {
  int64_t constant = 1;
  std::string names;
  std::vector<const IndexExpr *> others;
  for (const IndexExpr &factor : factors)
    if (std::optional<int64_t> value = factor.asConstant()) {
      if (__builtin_mul_overflow(constant, *value, &constant)) return std::nullopt;
    } else if (std::string_view name = factor.asSymbol(); !name.empty()) {
      names.append(names.empty() ? "" : "*").append(name);
    } else {
      others.push_back(&factor);
    }
  if (constant == 0) return IndexExpr::constant(0);
  IndexExpr out;
  if (!names.empty())
    out = symbol(constant == 1 ? names : std::to_string(constant) + "*" + names);
  else if (constant != 1 || others.empty())
    out = IndexExpr::constant(constant);
  for (const IndexExpr *other : others)
    out = out.nodes_.empty() ? *other : binary(Code::Mul, std::move(out), *other);
  return out;
}

int64_t IndexExpr::intern(std::string_view name) {
  auto it = std::ranges::find(symbols_, name);
  if (it == symbols_.end()) it = symbols_.emplace(it, name);
  return it - symbols_.begin();
}

std::optional<int64_t> IndexExpr::asConstant() const {
  if (nodes_.size() != 1 || nodes_[0].code != Code::Const) return std::nullopt;
  return nodes_[0].value;
}

std::string_view IndexExpr::asSymbol() const {
  return nodes_.size() == 1 && nodes_[0].code == Code::Slot && symbols_.size() == 1
             ? std::string_view(symbols_[0])
             : "";
}

std::optional<int64_t> IndexExpr::ceilDivisor() const {
  if (nodes_.empty() || nodes_.back().code != Code::CeilDiv) return std::nullopt;
  const Node &divisor = nodes_[nodes_.size() - 2];
  return divisor.code == Code::Const ? std::optional(divisor.value) : std::nullopt;
}

/// Rewrites an expression to the slots of the names. It keeps, for each operand on the stack, where its nodes
/// begin in the source and in the result: an operand that is a name by itself replaces the nodes of its
/// parts.
class IndexExpr::Binder {
public:
  Binder(const IndexExpr &source, const std::vector<std::string> &names, const std::vector<IndexExpr> *values)
      : source_(source), names_(names), values_(values) {}

  Expected<IndexExpr> run() {
    for (size_t i = 0; i < source_.nodes_.size(); ++i) {
      const Node &node = source_.nodes_[i];
      switch (node.code) {
      case Code::Const:
        operands_.push_back({i, nodes_.size()});
        nodes_.push_back(node);
        break;
      case Code::Slot:
        operands_.push_back({i, nodes_.size()});
        bindSymbol(source_.symbols_[static_cast<size_t>(node.value)], node.column);
        break;
      case Code::Neg:
        nodes_.push_back(node);
        break;
      default:
        operands_.pop_back();
        nodes_.push_back(node);
      }
      if (values_) bindOperand(i);
    }
    int depth = 0;
    for (const Node &node : nodes_) {
      if (node.code == Code::Slot && node.value < 0) return unknown_[static_cast<size_t>(-1 - node.value)];
      depth += isLeaf(node.code) ? 1 : node.code == Code::Neg ? 0 : -1;
      if (depth > kMaxStack) return Error{"E_SYNTAX", "expression is nested too deeply", ""};
    }
    IndexExpr out;
    out.nodes_ = std::move(nodes_);
    return out;
  }

private:
  struct Operand {
    size_t source, result; // first node
  };

  std::optional<size_t> find(std::string_view name) const {
    auto it = std::ranges::find(names_, name);
    return it == names_.end() ? std::nullopt : std::optional(static_cast<size_t>(it - names_.begin()));
  }

  void push(Code code, int64_t value, uint16_t column) { nodes_.push_back({code, column, value}); }

  void bindSymbol(std::string_view symbol, uint16_t column) {
    for (size_t begin = 0; begin < symbol.size();) {
      size_t end = symbol.size();
      std::optional<size_t> slot = find(symbol.substr(begin));
      while (!slot) {
        size_t star = symbol.rfind('*', end - 1);
        if (star == std::string_view::npos || star <= begin) break;
        end = star;
        slot = find(symbol.substr(begin, end - begin));
      }
      if (slot)
        push(Code::Slot, static_cast<int64_t>(*slot), column);
      else
        pushFactor(symbol.substr(begin, end - begin), column, begin);
      if (begin) push(Code::Mul, 0, 0);
      begin = end + 1;
    }
  }

  void pushFactor(std::string_view factor, uint16_t column, size_t offset) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), value);
    if (error == std::errc() && end == factor.data() + factor.size()) return push(Code::Const, value, 0);
    std::string why = "unknown name '" + std::string(factor) + "'";
    if (column) why += " at column " + std::to_string(column + offset);
    const std::string_view nearest = nearestName(factor, names_);
    unknown_.push_back({"E_SYNTAX", std::move(why), nearest.empty() ? "" : "write " + std::string(nearest)});
    push(Code::Slot, -static_cast<int64_t>(unknown_.size()), column);
  }

  /// Replaces the operand that ends at node `last` of the source if it is one of the values.
  void bindOperand(size_t last) {
    const Operand &operand = operands_.back();
    const size_t length = last - operand.source + 1;
    for (size_t i = 0; length > 1 && i < values_->size(); ++i) {
      const IndexExpr &value = (*values_)[i];
      auto isSame = [&](const Node &x, const Node &y) {
        if (x.code != y.code) return false;
        if (x.code != Code::Slot) return x.value == y.value;
        return source_.symbols_[static_cast<size_t>(x.value)] == value.symbols_[static_cast<size_t>(y.value)];
      };
      const Node *first = source_.nodes_.data() + operand.source;
      if (!std::equal(first, first + length, value.nodes_.begin(), value.nodes_.end(), isSame)) continue;
      nodes_.resize(operand.result);
      return push(Code::Slot, static_cast<int64_t>(i), 0);
    }
  }

  const IndexExpr &source_;
  const std::vector<std::string> &names_;
  const std::vector<IndexExpr> *values_;
  std::vector<Node> nodes_;
  std::vector<Operand> operands_;
  std::vector<Error> unknown_; // node value -1 - i refers to entry i
};

Expected<IndexExpr> IndexExpr::bind(const std::vector<std::string> &names) const {
  return Binder(*this, names, nullptr).run();
}

Expected<IndexExpr> IndexExpr::bind(const std::vector<IndexExpr> &values) const {
  std::vector<std::string> names;
  for (const IndexExpr &value : values)
    names.emplace_back(value.asSymbol());
  return Binder(*this, names, &values).run();
}

bool IndexExpr::evaluate(const int64_t *slots, int64_t &out) const {
  if (nodes_.empty()) return false;
  std::array<int64_t, kMaxStack> stack;
  size_t top = 0;
  for (const Node &node : nodes_) {
    if (top == kMaxStack) return false;
    switch (node.code) {
    case Code::Const:
      stack[top++] = node.value;
      break;
    case Code::Slot:
      stack[top++] = slots[node.value];
      break;
    case Code::Neg:
      if (__builtin_sub_overflow(int64_t{0}, stack[top - 1], &stack[top - 1])) return false;
      break;
    default:
      --top;
      if (!apply(node.code, stack[top - 1], stack[top], stack[top - 1])) return false;
    }
  }
  out = stack[0];
  return true;
}

void IndexExpr::forEach(const std::function<void(Code, int64_t)> &visit) const {
  for (const Node &node : nodes_)
    visit(node.code, node.value);
}

} // namespace tessera
