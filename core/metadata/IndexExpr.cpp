// Index expressions of the kernel metadata. A recursive-descent parser emits a postfix program, which is
// evaluated on a small stack.
#include "core/metadata/KernelMetadata.h"
#include <algorithm>
#include <array>
#include <charconv>

namespace tessera {
namespace {

using Code = IndexExpr::Code;

// Limits for untrusted input. Real expressions have a handful of nodes.
constexpr size_t kMaxText = 4096;
constexpr int kMaxNesting = 32;
constexpr int kMaxStack = 64;

bool isIdentStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isIdent(char c) { return isIdentStart(c) || isDigit(c); }

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

} // namespace

struct IndexExpr::Node {
  Code code;
  int64_t value; // Const: the constant; Slot: its index
};

IndexExpr::IndexExpr() = default;
IndexExpr::IndexExpr(IndexExpr &&) noexcept = default;
IndexExpr &IndexExpr::operator=(IndexExpr &&) noexcept = default;
IndexExpr::~IndexExpr() = default;

namespace {

/// Parses an expression and writes its postfix nodes through `emit`. It is a template because `Node` is
/// private to IndexExpr.
template <class Emit> class Parser {
public:
  Parser(std::string_view text, const std::vector<std::string> &names, Emit emit)
      : text_(text), names_(names), emit_(emit) {}

  bool run(std::string &why) {
    bool ok = text_.size() <= kMaxText ? sum(0) && (atEnd() || fail("an operator")) : false;
    if (ok) return true;
    if (why_.empty()) why_ = "expression is longer than " + std::to_string(kMaxText) + " characters";
    why = why_;
    return false;
  }

private:
  void skipBlanks() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t'))
      ++pos_;
  }
  bool atEnd() { return skipBlanks(), pos_ == text_.size(); }
  bool accept(char c) {
    skipBlanks();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  bool fail(std::string_view expected) {
    if (!why_.empty()) return false;
    std::string found = pos_ < text_.size() ? std::string("'") + text_[pos_] + "'" : "the end";
    why_ =
        "expected " + std::string(expected) + " at column " + std::to_string(pos_ + 1) + ", found " + found;
    return false;
  }
  bool say(std::string text) { return why_ = std::move(text), false; }

  bool push(Code code, int64_t value = 0) {
    bool leaf = code == Code::Const || code == Code::Slot;
    depth_ += leaf ? 1 : code == Code::Neg ? 0 : -1;
    if (depth_ > kMaxStack) return say("expression is nested too deeply");
    emit_(code, value);
    return true;
  }

  bool sum(int nesting) {
    if (!product(nesting)) return false;
    for (;;) {
      if (accept('+')) {
        if (!product(nesting) || !push(Code::Add)) return false;
      } else if (accept('-')) {
        if (!product(nesting) || !push(Code::Sub)) return false;
      } else {
        return true;
      }
    }
  }

  bool product(int nesting) {
    if (!unary(nesting)) return false;
    while (accept('*'))
      if (!unary(nesting) || !push(Code::Mul)) return false;
    return true;
  }

  bool unary(int nesting) {
    if (nesting > kMaxNesting) return say("expression is nested too deeply");
    if (accept('-')) return unary(nesting + 1) && push(Code::Neg);
    if (accept('(')) return sum(nesting + 1) && (accept(')') || fail("')'"));
    skipBlanks();
    if (size_t slot = longestName(); slot != names_.size()) {
      pos_ += names_[slot].size();
      return push(Code::Slot, static_cast<int64_t>(slot));
    }
    if (pos_ < text_.size() && isDigit(text_[pos_])) return number();
    if (pos_ < text_.size() && isIdentStart(text_[pos_])) return call(nesting);
    return fail("a number, a name or '('");
  }

  /// Returns the index of the longest name at this position, since a product dim is one symbol named by its
  /// text ("B*H"). A word followed by a parenthesis is a function, even if a dim has the same name:
  /// ceildiv(ceildiv, 4).
  size_t longestName() const {
    size_t best = names_.size();
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string &name = names_[i];
      if (name.empty() || text_.compare(pos_, name.size(), name) != 0) continue;
      size_t end = pos_ + name.size();
      if (end < text_.size() && isIdent(text_[end])) continue;
      size_t next = std::min(text_.find_first_not_of(" \t", end), text_.size());
      if (next < text_.size() && text_[next] == '(') continue;
      if (best == names_.size() || name.size() > names_[best].size()) best = i;
    }
    return best;
  }

  bool number() {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), value);
    if (error != std::errc())
      return say("number at column " + std::to_string(pos_ + 1) + " needs more than 64 bits");
    pos_ = static_cast<size_t>(end - text_.data());
    return push(Code::Const, value);
  }

  bool call(int nesting) {
    size_t begin = pos_;
    while (pos_ < text_.size() && isIdent(text_[pos_]))
      ++pos_;
    std::string_view word = text_.substr(begin, pos_ - begin);
    static constexpr std::pair<std::string_view, Code> kFunctions[] = {
        {"floordiv", Code::FloorDiv}, {"mod", Code::Mod}, {"ceildiv", Code::CeilDiv},
        {"min", Code::Min},           {"max", Code::Max},
    };
    for (auto [name, code] : kFunctions)
      if (word == name)
        return (accept('(') || fail("'('")) && sum(nesting + 1) && (accept(',') || fail("','")) &&
               sum(nesting + 1) && (accept(')') || fail("')'")) && push(code);
    return say("unknown name '" + std::string(word) + "' at column " + std::to_string(begin + 1));
  }

  std::string_view text_;
  const std::vector<std::string> &names_;
  Emit emit_;
  size_t pos_ = 0;
  int depth_ = 0; // current depth of the evaluation stack
  std::string why_;
};

} // namespace

bool IndexExpr::parse(std::string_view text, const std::vector<std::string> &names, IndexExpr &out,
                      std::string &why) {
  std::vector<Node> nodes;
  auto emit = [&](Code code, int64_t value) { nodes.push_back({code, value}); };
  if (!Parser(text, names, emit).run(why)) return false;
  out.nodes_ = std::move(nodes);
  return true;
}

bool IndexExpr::evaluate(const int64_t *slots, int64_t &out) const {
  if (nodes_.empty()) return false;
  std::array<int64_t, kMaxStack> stack;
  size_t top = 0;
  for (const Node &node : nodes_) {
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
