// The text of index expressions: a recursive-descent parser, and the printer whose output it accepts.
#include "core/metadata/IndexExpr.h"
#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

using Code = IndexExpr::Code;

// Limits for untrusted input. Real expressions have a handful of nodes.
constexpr size_t kMaxText = 4096;
constexpr int kMaxNesting = 32;
constexpr const char *kTooDeep = "expression is nested too deeply";

constexpr std::pair<std::string_view, Code> kFunctions[] = {
    {"floordiv", Code::FloorDiv}, {"mod", Code::Mod}, {"ceildiv", Code::CeilDiv},
    {"min", Code::Min},           {"max", Code::Max},
};

bool isIdentStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isIdent(char c) { return isIdentStart(c) || isDigit(c); }

Error tooLong() {
  return {"E_SYNTAX", "expression is longer than " + std::to_string(kMaxText) + " characters", ""};
}

} // namespace

class IndexExpr::Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expected<IndexExpr> run() {
    if (text_.size() > kMaxText) return tooLong();
    if (sum(0) && (atEnd() || fail("an operator"))) return std::move(out_);
    return Error{"E_SYNTAX", why_, ""};
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

  bool push(Code code, int64_t value = 0, size_t column = 0) {
    bool leaf = code == Code::Const || code == Code::Slot;
    depth_ += leaf ? 1 : code == Code::Neg ? 0 : -1;
    if (depth_ > kMaxStack) return say(kTooDeep);
    out_.nodes_.push_back({code, static_cast<uint16_t>(column), value});
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
    isDivisor_ = false;
    if (!unary(nesting)) return false;
    for (;;) {
      Code code = Code::Mul;
      if (accept('%'))
        code = Code::Mod;
      else if (acceptDivision())
        code = Code::FloorDiv;
      else if (!accept('*'))
        return true;
      isDivisor_ = code != Code::Mul;
      if (!unary(nesting) || !push(code)) return false;
    }
  }

  bool acceptDivision() {
    skipBlanks();
    if (!text_.substr(pos_).starts_with("//")) return false;
    pos_ += 2;
    return true;
  }

  bool unary(int nesting) {
    if (nesting > kMaxNesting) return say(kTooDeep);
    if (accept('-')) return unary(nesting + 1) && negate();
    if (accept('(')) return sum(nesting + 1) && (accept(')') || fail("')'"));
    skipBlanks();
    if (size_t end = symbolEnd()) return symbol(end);
    if (pos_ < text_.size() && isDigit(text_[pos_])) return number();
    if (pos_ < text_.size() && isIdentStart(text_[pos_])) return call(nesting);
    return fail("a number, a name or '('");
  }

  bool negate() {
    Node &last = out_.nodes_.back();
    if (last.code != Code::Const) return push(Code::Neg);
    last.value = -last.value; // the parser has no INT64_MIN
    return true;
  }

  /// Returns the end of the symbol at this position; 0 if there is none. A divisor is one factor.
  size_t symbolEnd() const {
    size_t end = 0;
    bool hasName = false;
    for (size_t at = pos_; at < text_.size() && isIdent(text_[at]); ++at) {
      const bool isName = isIdentStart(text_[at]);
      while (at < text_.size() && (isName ? isIdent(text_[at]) : isDigit(text_[at])))
        ++at;
      size_t next = std::min(text_.find_first_not_of(" \t", at), text_.size());
      if (isName && next < text_.size() && text_[next] == '(') break; // a function
      hasName |= isName;
      end = at;
      if (at == text_.size() || text_[at] != '*' || isDivisor_) break;
    }
    return hasName ? end : 0;
  }

  bool symbol(size_t end) {
    std::string_view name = text_.substr(pos_, end - pos_);
    for (size_t at = pos_; at < end; at = std::min(text_.find('*', at), end) + 1)
      if (int64_t value; isDigit(text_[at]) && !readNumber(at, value)) return false;
    if (!push(Code::Slot, out_.intern(name), pos_ + 1)) return false;
    pos_ = end;
    return true;
  }

  /// Reads the digits at `at`; returns their end, or 0 with the reason noted.
  size_t readNumber(size_t at, int64_t &value) {
    auto [end, error] = std::from_chars(text_.data() + at, text_.data() + text_.size(), value);
    if (error == std::errc()) return static_cast<size_t>(end - text_.data());
    say("number at column " + std::to_string(at + 1) + " needs more than 64 bits");
    return 0;
  }

  bool number() {
    int64_t value = 0;
    size_t end = readNumber(pos_, value);
    if (!end) return false;
    pos_ = end;
    return push(Code::Const, value);
  }

  bool call(int nesting) {
    size_t begin = pos_;
    while (pos_ < text_.size() && isIdent(text_[pos_]))
      ++pos_;
    std::string_view word = text_.substr(begin, pos_ - begin);
    for (auto [name, code] : kFunctions)
      if (word == name)
        return (accept('(') || fail("'('")) && sum(nesting + 1) && (accept(',') || fail("','")) &&
               sum(nesting + 1) && (accept(')') || fail("')'")) && push(code);
    return say("unknown name '" + std::string(word) + "' at column " + std::to_string(begin + 1));
  }

  std::string_view text_;
  IndexExpr out_;
  size_t pos_ = 0;
  int depth_ = 0;          // current depth of the evaluation stack
  bool isDivisor_ = false; // the next factor follows "//" or "%"
  std::string why_;
};

Expected<IndexExpr> IndexExpr::parse(std::string_view text) { return Parser(text).run(); }

bool IndexExpr::parse(std::string_view text, const std::vector<std::string> &names, IndexExpr &out,
                      std::string &why) {
  Expected<IndexExpr> parsed = parse(text);
  if (!parsed) return why = parsed.error().message, false;
  Expected<IndexExpr> bound = parsed->bind(names);
  if (!bound) return why = bound.error().message, false;
  out = std::move(*bound);
  return true;
}

IndexExpr::Rendered IndexExpr::render() const {
  enum Precedence { kSum, kProduct, kUnary };
  std::vector<Rendered> stack;
  auto operand = [&](const Rendered &r, int atLeast) {
    if (r.precedence >= atLeast) return r;
    return Rendered{"(" + r.text + ")", kUnary, r.nesting + 1};
  };
  for (const Node &node : nodes_) {
    if (node.code == Code::Const) {
      // The parser reads a sign and then the digits, and the digits of INT64_MIN overflow.
      const bool isLowest = node.value == INT64_MIN;
      stack.push_back({isLowest ? "-9223372036854775807 - 1" : std::to_string(node.value),
                       isLowest ? kSum : kUnary, node.value < 0});
      continue;
    }
    if (node.code == Code::Slot) {
      stack.push_back({symbols_[static_cast<size_t>(node.value)], kUnary, 0});
      continue;
    }
    Rendered rhs = std::move(stack.back());
    stack.pop_back();
    if (node.code == Code::Neg) {
      Rendered r = operand(rhs, kUnary);
      stack.push_back({"-" + r.text, kUnary, r.nesting + 1});
      continue;
    }
    Rendered &lhs = stack.back();
    auto join = [&](const char *sign, int precedence, int ofRhs) {
      Rendered x = operand(lhs, precedence), y = operand(rhs, ofRhs);
      lhs = {x.text + sign + y.text, precedence, std::max(x.nesting, y.nesting)};
    };
    if (node.code == Code::Add) {
      join(" + ", kSum, kProduct);
    } else if (node.code == Code::Sub) {
      join(" - ", kSum, kProduct);
    } else if (node.code == Code::Mul) {
      join(" * ", kProduct, kUnary);
    } else if (node.code == Code::FloorDiv || node.code == Code::Mod) {
      const bool isProduct =
          rhs.text.find('*') != std::string::npos && rhs.text.find('(') == std::string::npos;
      if (isProduct) rhs.precedence = std::min<int>(rhs.precedence, kProduct); // "M // (2*K)": one factor
      join(node.code == Code::Mod ? " % " : " // ", kProduct, kUnary);
    } else {
      auto function = std::ranges::find(kFunctions, node.code, &std::pair<std::string_view, Code>::second);
      lhs = {std::string(function->first) + "(" + lhs.text + ", " + rhs.text + ")", kUnary,
             std::max(lhs.nesting, rhs.nesting) + 1};
    }
  }
  return std::move(stack.back());
}

std::string IndexExpr::text() const { return nodes_.empty() ? "" : render().text; }

MaybeError IndexExpr::checkText() const {
  if (nodes_.empty()) return Error{"E_SYNTAX", "the expression is empty", ""};
  Rendered rendered = render();
  if (rendered.text.size() > kMaxText) return tooLong();
  if (rendered.nesting > kMaxNesting) return Error{"E_SYNTAX", kTooDeep, ""};
  Expected<IndexExpr> bound = bind(symbols_);
  return bound ? std::nullopt : MaybeError(bound.error());
}

} // namespace tessera
