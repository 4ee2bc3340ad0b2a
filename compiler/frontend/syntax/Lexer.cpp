#include "compiler/frontend/syntax/Lexer.h"
#include <array>
#include <charconv>
#include <cstdlib>

namespace tessera::frontend {
namespace {

bool isNameStart(unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; }
bool isNamePart(unsigned char c) { return isNameStart(c) || std::isdigit(c); }

class Lexer {
public:
  Lexer(const SourceText &source, DiagnosticSink &sink, const std::vector<SourcePiece> &pieces,
        bool oneDefinition = false)
      : s_(source.text()), sink_(sink), pieces_(pieces), oneDefinition_(oneDefinition) {
    if (s_.starts_with("\xEF\xBB\xBF")) i_ = 3; // byte order mark
  }

  std::vector<Token> run() {
    indents_.push_back(0);
    while (i_ < s_.size() && !gaveUp_ && !isPast_) {
      if (atLineStart_ && brackets_.empty() && !layout()) continue;
      token();
    }
    if (!brackets_.empty() && !gaveUp_)
      sink_.error(Code::E_BRACKET, brackets_.back().loc, "'" + brackets_.back().text + "' is never closed");
    if (!tokens_.empty() && tokens_.back().kind != Token::Newline) push(Token::Newline, here());
    while (indents_.size() > 1) {
      indents_.pop_back();
      push(Token::Dedent, here());
    }
    push(Token::End, here());
    if (!isPast_ && !atLineStart_) end_ = s_.size();
    return std::move(tokens_);
  }

  size_t end() const { return end_; }

private:
  char peek(size_t k = 0) const { return i_ + k < s_.size() ? s_[i_ + k] : '\0'; }
  Range here() const { return {line_, col_, line_, col_ + 1}; }
  Range since(Range start) const { return {start.line, start.col, line_, std::max(col_, start.col)}; }

  void advance(size_t n = 1) {
    for (; n && i_ < s_.size(); --n) {
      char c = s_[i_++];
      if (c == '\r' && peek() == '\n') continue;
      if (c == '\n' || c == '\r') {
        ++line_;
        col_ = 1;
      } else if ((static_cast<unsigned char>(peek()) >> 6) != 2 || i_ == s_.size()) {
        ++col_;
      }
    }
  }

  Token &push(Token::Kind kind, Range loc) {
    Token &t = tokens_.emplace_back();
    t.kind = kind;
    t.loc = loc;
    return t;
  }

  bool atLineEnd() const { return i_ >= s_.size() || peek() == '\n' || peek() == '\r'; }
  void skipComment() {
    while (!atLineEnd())
      advance();
  }
  void skipLineEnd() {
    if (peek() == '\r' && peek(1) == '\n') advance();
    advance();
  }

  /// Measures the indentation of a line; returns false if the line is blank.
  bool layout() {
    size_t width = 0;
    bool spaces = false, tabsAfterSpaces = false;
    Range start = here();
    for (;; advance()) {
      if (peek() == ' ') {
        ++width;
        spaces = true;
      } else if (peek() == '\t') {
        width = (width / 8 + 1) * 8;
        tabsAfterSpaces |= spaces;
      } else if (peek() != '\f' || i_ >= s_.size()) {
        break;
      }
    }
    if (peek() == '#') skipComment();
    if (atLineEnd()) {
      if (i_ < s_.size()) skipLineEnd();
      return false;
    }
    if (isPastDefinition(width)) return false;
    atLineStart_ = false;
    Range loc = since(start);
    if (beginsPiece()) {
      for (; indents_.size() > 1; indents_.pop_back())
        push(Token::Dedent, here());
      indents_[0] = width;
    }
    if (tabsAfterSpaces)
      sink_.error(Code::E_INDENTATION, loc, "tabs follow spaces in the indentation",
                  "indent with spaces only");
    if (width > indents_.back()) {
      if (indents_.size() > kMaxNesting) return giveUp(loc, "blocks are nested too deeply");
      indents_.push_back(width);
      push(Token::Indent, loc);
    } else {
      while (width < indents_.back()) {
        indents_.pop_back();
        push(Token::Dedent, here());
      }
      if (width != indents_.back()) {
        sink_.error(Code::E_INDENTATION, loc, "this indentation matches no enclosing block",
                    "align the line with the block it belongs to");
        indents_.push_back(width);
        push(Token::Indent, loc);
      }
    }
    return true;
  }

  bool beginsPiece() {
    const bool begins = nextPiece_ < pieces_.size() && line_ >= pieces_[nextPiece_].line;
    while (nextPiece_ < pieces_.size() && line_ >= pieces_[nextPiece_].line)
      ++nextPiece_;
    return begins;
  }

  /// Of one definition: does this line, which is indented by `width`, follow it?
  bool isPastDefinition(size_t width) {
    if (!oneDefinition_) return false;
    if (!hasHead_) {
      hasHead_ = peek() != '@';
      return false;
    }
    return isPast_ = width <= indents_[0];
  }

  bool giveUp(Range loc, const char *what) {
    sink_.error(Code::E_NESTING, loc,
                std::string(what) + " (the limit is " + std::to_string(kMaxNesting) + ")");
    gaveUp_ = true;
    return false;
  }

  void token() {
    char c = peek();
    if (c == ' ' || c == '\t' || c == '\f') return advance();
    if (c == '#') return skipComment();
    if (c == '\n' || c == '\r') return lineEnd();
    if (c == '\\') return continuation();
    if (isStringStart()) return string();
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1)))))
      return number();
    if (isNameStart(static_cast<unsigned char>(c))) return name();
    op();
  }

  void lineEnd() {
    if (brackets_.empty()) {
      push(Token::Newline, here());
      atLineStart_ = true;
      skipLineEnd();
      end_ = i_;
      return;
    }
    skipLineEnd();
    // A declaration at the left margin inside an open bracket: the bracket was not closed. Report it and
    // continue there.
    if (s_.substr(i_).starts_with("def ") || s_.substr(i_).starts_with("@ts.") ||
        s_.substr(i_).starts_with("import ")) {
      sink_.error(Code::E_BRACKET, brackets_.back().loc, "'" + brackets_.back().text + "' is never closed");
      brackets_.clear();
      push(Token::Newline, here());
      atLineStart_ = true;
    }
  }

  void continuation() {
    Range loc = here();
    advance();
    if (!atLineEnd() || i_ >= s_.size()) {
      sink_.error(Code::E_CHARACTER, loc, "a backslash continues a line only as its last character");
      return;
    }
    skipLineEnd();
  }

  bool isStringStart() const {
    if (peek() == '"' || peek() == '\'') return true;
    size_t k = 0;
    while (k < 2 && std::string_view("rRbBuUfFtT").find(peek(k)) != std::string_view::npos && peek(k))
      ++k;
    return k > 0 && (peek(k) == '"' || peek(k) == '\'');
  }

  void string() {
    Range start = here();
    bool raw = false;
    const char *refused = nullptr;
    for (; peek() != '"' && peek() != '\''; advance()) {
      char p = static_cast<char>(std::tolower(peek()));
      raw |= p == 'r';
      if (p == 'f' || p == 't') refused = "formatted strings";
      if (p == 'b') refused = "byte strings";
    }
    char quote = peek();
    bool triple = peek(1) == quote && peek(2) == quote;
    advance(triple ? 3 : 1);
    std::string value;
    for (;;) {
      if (i_ >= s_.size() || (!triple && atLineEnd())) {
        sink_.error(Code::E_STRING, since(start), "this string is never closed");
        break;
      }
      if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        advance(triple ? 3 : 1);
        break;
      }
      if (peek() == '\\' && i_ + 1 < s_.size()) {
        escape(value, raw);
        continue;
      }
      value += peek();
      advance();
    }
    if (refused)
      sink_.error(Code::E_STRING, since(start), std::string(refused) + " are not part of the tile language",
                  "a kernel computes nothing from text: leave it out, or write a plain string");
    Token &t = push(Token::String, since(start));
    t.text = std::move(value);
  }

  void escape(std::string &value, bool raw) {
    char c = peek(1);
    if (raw) {
      value += '\\';
      value += c;
    } else if (c == 'n') {
      value += '\n';
    } else if (c == 't') {
      value += '\t';
    } else if (c != '\n' && c != '\r') {
      if (c != '\\' && c != '"' && c != '\'') value += '\\';
      value += c;
    }
    advance(2);
  }

  void number() {
    Range start = here();
    std::string digits;
    auto take = [&](auto accept) {
      while (i_ < s_.size() && (accept(peek()) || peek() == '_')) {
        if (peek() != '_') digits += peek();
        advance();
      }
    };
    int base = 10;
    bool isFloat = false;
    if (peek() == '0' && peek(1) && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos) {
      char b = static_cast<char>(std::tolower(peek(1)));
      base = b == 'x' ? 16 : b == 'o' ? 8 : 2;
      advance(2);
      take([](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
    } else {
      auto isDigit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
      take(isDigit);
      if (peek() == '.') {
        isFloat = true;
        digits += '.';
        advance();
        take(isDigit);
      }
      size_t sign = peek(1) == '+' || peek(1) == '-';
      if ((peek() == 'e' || peek() == 'E') && isDigit(peek(1 + sign))) {
        isFloat = true;
        digits += 'e';
        if (sign) digits += peek(1);
        advance(1 + sign);
        take(isDigit);
      }
    }
    bool junk = false;
    while (i_ < s_.size() && isNamePart(static_cast<unsigned char>(peek()))) {
      junk = true;
      advance();
    }
    Range loc = since(start);
    Token &t = push(isFloat ? Token::Float : Token::Int, loc);
    if (isFloat) {
      t.floatValue = std::strtod(digits.c_str(), nullptr);
    } else {
      uint64_t value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
      t.intValue = static_cast<int64_t>(value);
      if (error == std::errc::result_out_of_range || value > uint64_t{1} << 63) {
        sink_.error(Code::E_NUMBER, loc, "this integer does not fit in 64 bits");
        return;
      }
      junk |= end != digits.data() + digits.size() || error != std::errc();
      // Python refuses 007 as well; 00 is accepted.
      if (base == 10 && digits.size() > 1 && digits[0] == '0' && t.intValue != 0) junk = true;
    }
    if (junk)
      sink_.error(Code::E_NUMBER, loc, "this is not a number of the language", "write 42, 0x2a, 1.5 or 1e-3");
  }

  void name() {
    Range start = here();
    size_t from = i_;
    while (i_ < s_.size() && isNamePart(static_cast<unsigned char>(peek())))
      advance();
    std::string text(s_.substr(from, i_ - from));
    for (unsigned char c : text)
      if (c >= 0x80) {
        sink_.error(Code::E_CHARACTER, since(start), "names are made of ASCII letters, digits and '_'");
        break;
      }
    push(Token::Name, since(start)).text = std::move(text);
  }

  void op() {
    static constexpr std::array kOps = {
        "**=", "//=", ">>=", "<<=", "...", "->", "**", "//", ">>", "<<", "<=", ">=", "==", "!=", "+=", "-=",
        "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", ":=", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",
        "^",   "~",   "<",   ">",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  ";",  "="};
    Range start = here();
    for (std::string_view candidate : kOps) {
      if (!s_.substr(i_).starts_with(candidate)) continue;
      advance(candidate.size());
      Token &t = push(Token::Op, since(start));
      t.text = candidate;
      bracket(t);
      return;
    }
    advance();
    while (i_ < s_.size() && (static_cast<unsigned char>(peek()) >> 6) == 2)
      advance();
    const char c = s_[i_ - 1];
    sink_.error(Code::E_CHARACTER, start, "this character is not part of the language",
                c == '?'   ? "write a if condition else b; of tiles, ts.tile.where(condition, a, b)"
                : c == '!' ? "write 'not' before a scalar, '~' before a mask"
                           : "");
  }

  void bracket(const Token &t) {
    char c = t.text[0];
    if (t.text.size() != 1) return;
    if (c == '(' || c == '[' || c == '{') {
      brackets_.push_back(t);
      if (brackets_.size() > kMaxNesting) giveUp(t.loc, "brackets are nested too deeply");
    } else if (c == ')' || c == ']' || c == '}') {
      char open = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (!brackets_.empty() && brackets_.back().text[0] == open) {
        brackets_.pop_back();
        return;
      }
      if (brackets_.empty())
        sink_.error(Code::E_BRACKET, t.loc, "'" + t.text + "' closes nothing");
      else
        sink_.error(Code::E_BRACKET, t.loc,
                    "'" + t.text + "' does not match the '" + brackets_.back().text + "' of line " +
                        std::to_string(brackets_.back().loc.line));
      if (!brackets_.empty()) brackets_.pop_back();
    }
  }

  std::string_view s_;
  DiagnosticSink &sink_;
  size_t i_ = 0;
  uint32_t line_ = 1, col_ = 1;
  bool atLineStart_ = true, gaveUp_ = false;
  const std::vector<SourcePiece> &pieces_;
  size_t nextPiece_ = 0;
  const bool oneDefinition_;
  bool hasHead_ = false, isPast_ = false; // of one definition: the line of `def` was read; its body was
  size_t end_ = 0;                        // of the last logical line
  std::vector<size_t> indents_;
  std::vector<Token> brackets_, tokens_;
};

} // namespace

/// Reports a source that is not text, or too long.
static bool isReadable(const SourceText &source, DiagnosticSink &sink) {
  if (source.text().size() > kMaxSourceBytes) {
    sink.error(Code::E_SOURCE_TOO_LARGE, {},
               "the source has " + std::to_string(source.text().size()) + " bytes; the limit is " +
                   std::to_string(kMaxSourceBytes));
    return false;
  }
  if (uint32_t line = source.firstBrokenLine()) {
    sink.error(Code::E_CHARACTER, {line, 1, line, 2},
               "this is not source text: the line holds a NUL or bytes that are not UTF-8",
               "check that this is the right file, and save it as UTF-8");
    return false;
  }
  return true;
}

std::vector<Token> tokenize(const SourceText &source, DiagnosticSink &sink,
                            const std::vector<SourcePiece> &pieces) {
  if (!isReadable(source, sink)) return {Token{}};
  return Lexer(source, sink, pieces).run();
}

std::vector<Token> tokenizeDefinition(const SourceText &source, DiagnosticSink &sink, size_t &bytes) {
  if (!isReadable(source, sink)) return {Token{}};
  const std::vector<SourcePiece> margin(1);
  Lexer lexer(source, sink, margin, /*oneDefinition=*/true);
  std::vector<Token> tokens = lexer.run();
  bytes = lexer.end();
  return tokens;
}

} // namespace tessera::frontend
