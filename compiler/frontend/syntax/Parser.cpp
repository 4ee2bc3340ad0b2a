#include "compiler/frontend/syntax/Parser.h"
#include "compiler/frontend/syntax/Keywords.h"
#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::frontend {
namespace {

using ast::Stmt;
using AstExpr = ast::Expr;
using AstPtr = ast::ExprPtr;

/// Aborts the statement in which the error occurred; the error is already in the sink.
struct SyntaxError {};

class Parser {
public:
  Parser(const std::vector<Token> &tokens, DiagnosticSink &sink)
      : tokens_(tokens), sink_(sink), brokenLines_(sink.lines()) {}

  ast::Block file() {
    ast::Block out;
    while (!at(Token::End))
      statement(out);
    return out;
  }

private:
  // --- Tokens ---

  const Token &cur() const { return tokens_[i_]; }
  const Token &next() const { return tokens_[std::min(i_ + 1, tokens_.size() - 1)]; }
  bool at(Token::Kind k) const { return cur().kind == k; }
  bool at(const char *s) const { return cur().is(s); }
  const Token &take() {
    const Token &t = tokens_[i_];
    if (i_ + 1 < tokens_.size()) ++i_;
    return t;
  }
  bool accept(const char *s) {
    if (!at(s)) return false;
    take();
    return true;
  }
  static std::string describe(const Token &t) {
    switch (t.kind) {
    case Token::Newline:
      return "the end of the line";
    case Token::Indent:
      return "an indented block";
    case Token::Dedent:
      return "the end of the block";
    case Token::End:
      return "the end of the file";
    case Token::String:
      return "a string";
    case Token::Int:
    case Token::Float:
      return "a number";
    default:
      return "'" + t.text + "'";
    }
  }
  [[noreturn]] void fail(Code code, Range loc, std::string message, std::string hint = {}) {
    // What the lexer has reported in this statement is also the cause of what the parser finds.
    const bool isConsequence =
        code == Code::E_SYNTAX && std::ranges::any_of(brokenLines_, [&](uint32_t line) {
          return line >= statementLine_ && line <= loc.line;
        });
    if (hint.empty() && code == Code::E_SYNTAX) hint = habitOfC();
    if (!isConsequence) sink_.error(code, loc, std::move(message), std::move(hint));
    throw SyntaxError();
  }

  /// Returns how an operator of C that ends at the current token is written; "" if there is none.
  std::string habitOfC() const {
    auto isBefore = [&](size_t n, const char *s) { return i_ >= n && tokens_[i_ - n].is(s); };
    if (at("&") && isBefore(1, "&")) return "write 'and' between scalars, '&' between tiles";
    if (at("|") && isBefore(1, "|")) return "write 'or' between scalars, '|' between tiles";
    if (isBefore(1, "+") && isBefore(2, "+")) return "write += 1";
    if (isBefore(1, "-") && isBefore(2, "-")) return "write -= 1";
    if (at("//") && i_ > 0 && tokens_[i_ - 1].kind != Token::Op) return "a comment begins with #";
    if (at("{")) return "write ':' and indent the statements of the block";
    if (at("->")) return "there are no pointers: write x[i] or x.name";
    const bool isDeclaration = at(Token::Name) && next().is("=") && i_ > 0 &&
                               tokens_[i_ - 1].kind == Token::Name &&
                               tokens_[i_ - 1].loc.line == cur().loc.line;
    if (isDeclaration) return "variables are not declared: write " + cur().text + " = ...";
    return {};
  }
  void expect(const char *s, const char *where) {
    if (!accept(s))
      fail(Code::E_SYNTAX, cur().loc,
           std::string("expected '") + s + "' " + where + ", found " + describe(cur()),
           *s == ':' && at("=") ? "compare with ==" : "");
  }
  std::string expectName(const char *what) {
    if (!at(Token::Name) || isKeyword(cur().text))
      fail(Code::E_SYNTAX, cur().loc, std::string("expected ") + what + ", found " + describe(cur()));
    return take().text;
  }
  Range since(Range start) const {
    const Range &end = tokens_[i_ ? i_ - 1 : 0].loc;
    return {start.line, start.col, end.endLine, end.endCol};
  }

  // --- Statements ---

  /// Parses one statement (or a line of them separated by `;`); after an error skips to the next line, and
  /// over the block below it.
  void statement(ast::Block &out) {
    size_t before = i_;
    statementLine_ = cur().loc.line;
    try {
      if (at(Token::Newline) || at(Token::Dedent)) {
        take();
        return;
      }
      if (at(Token::Indent))
        fail(Code::E_INDENTATION, cur().loc, "this line is indented without a block to belong to");
      compound(out);
    } catch (SyntaxError) {
      Stmt &error = out.emplace_back();
      error.loc = tokens_[before].loc;
      recover();
      if (i_ == before) take();
    }
  }

  void recover() {
    while (!at(Token::Newline) && !at(Token::End) && !at(Token::Indent) && !at(Token::Dedent))
      take();
    if (at(Token::Newline)) take();
    if (!at(Token::Indent)) return;
    for (unsigned depth = 0; !at(Token::End);) {
      if (at(Token::Indent)) ++depth;
      if (at(Token::Dedent) && --depth == 0) break;
      take();
    }
    if (at(Token::Dedent)) take();
  }

  /// A statement with a body, or a line of simple statements.
  void compound(ast::Block &out) {
    if (at("@") || at("def"))
      out.push_back(function());
    else if (at("if"))
      out.push_back(ifStatement());
    else if (at("for"))
      out.push_back(forStatement());
    else if (at("while"))
      out.push_back(whileStatement());
    else
      line(out);
  }

  /// Simple statements with `;` between them. One may also follow the last.
  void line(ast::Block &out) {
    if ((at("except") || at("finally")) && sink_.has(Code::E_UNSUPPORTED))
      throw SyntaxError(); // of a refused try
    do
      out.push_back(simple());
    while (accept(";") && !at(Token::Newline) && !at(Token::End));
    if (at(Token::End)) return;
    if (!at(Token::Newline))
      fail(Code::E_SYNTAX, cur().loc, "expected the end of the statement, found " + describe(cur()));
    take();
  }

  ast::Block block(const char *after) {
    expect(":", after);
    ast::Block out;
    if (!at(Token::Newline)) { // `if x: y = 1`
      line(out);
      return out;
    }
    take();
    if (!at(Token::Indent))
      fail(Code::E_INDENTATION, cur().loc, std::string("expected an indented block ") + after);
    DepthScope scope(*this, cur().loc);
    take();
    while (!at(Token::Dedent) && !at(Token::End))
      statement(out);
    if (at(Token::Dedent)) take();
    return out;
  }

  Stmt function() {
    Stmt s;
    s.kind = Stmt::Function;
    while (accept("@")) {
      s.decorators.push_back(expression());
      if (!at(Token::Newline)) fail(Code::E_SYNTAX, cur().loc, "expected a new line after the decorator");
      while (at(Token::Newline))
        take();
    }
    s.loc = cur().loc;
    if (at("class")) refuse(cur());
    expect("def", "after the decorators");
    s.nameLoc = cur().loc;
    s.text = expectName("a function name");
    expect("(", "after the function name");
    bool isKeywordOnly = false;
    while (!at(")")) {
      if (at("*") && next().is(",") && !isKeywordOnly) {
        isKeywordOnly = true;
        take(), take();
        if (at(")")) fail(Code::E_SYNTAX, cur().loc, "expected a parameter after the *");
      }
      if (at("*") || at("**") || at("/"))
        fail(Code::E_UNSUPPORTED, cur().loc,
             "'" + cur().text + "' in a parameter list is not part of the tile language",
             "name every parameter");
      ast::Parameter &p = s.parameters.emplace_back();
      p.loc = cur().loc;
      p.isKeywordOnly = isKeywordOnly;
      p.name = expectName("a parameter name");
      if (accept(":")) p.annotation = expression();
      if (accept("=")) p.defaultValue = expression();
      if (!at(")")) expect(",", "between parameters");
    }
    take();
    if (accept("->")) s.returns = expressionList();
    s.body = block("after the function's head");
    return s;
  }

  Stmt ifStatement() {
    // A chain of elif is parsed in a loop and nested from its end, so that only its length counts as depth.
    std::vector<Stmt> chain;
    ast::Block orelse;
    unsigned entered = 0;
    try {
      for (;;) {
        Stmt &s = chain.emplace_back();
        s.kind = Stmt::If;
        s.loc = take().loc;
        enter(s.loc);
        ++entered;
        s.value = expression();
        s.body = block("after the condition");
        if (at("elif")) continue;
        if (accept("else")) orelse = block("after 'else'");
        break;
      }
    } catch (SyntaxError) {
      depth_ -= entered;
      throw;
    }
    depth_ -= entered;
    while (chain.size() > 1) {
      Stmt last = std::move(chain.back());
      chain.pop_back();
      last.orelse = std::move(orelse);
      orelse = ast::Block();
      orelse.push_back(std::move(last));
    }
    chain[0].orelse = std::move(orelse);
    return std::move(chain[0]);
  }

  Stmt forStatement() {
    Stmt s;
    s.kind = Stmt::For;
    s.loc = take().loc;
    s.targets.push_back(targetList());
    expect("in", "after the loop variable");
    s.value = expression();
    s.body = block("after the loop's head");
    refuseLoopElse();
    return s;
  }

  Stmt whileStatement() {
    Stmt s;
    s.kind = Stmt::While;
    s.loc = take().loc;
    s.value = expression();
    s.body = block("after the condition");
    refuseLoopElse();
    return s;
  }

  void refuseLoopElse() {
    if (at("else")) fail(Code::E_UNSUPPORTED, cur().loc, "'else' of a loop is not part of the tile language");
  }

  [[noreturn]] void refuse(const Token &t) {
    std::string hint;
    for (const Refused &r : kRefusedStatements)
      if (t.text == r.word) hint = r.hint;
    fail(Code::E_UNSUPPORTED, t.loc, "'" + t.text + "' is not part of the tile language", hint);
  }

  Stmt simple() {
    Stmt s;
    Range start = cur().loc;
    s.loc = start;
    if (accept("pass")) {
      s.kind = Stmt::Pass;
    } else if (accept("return")) {
      s.kind = Stmt::Return;
      if (!at(Token::Newline) && !at(Token::End) && !at(";")) s.value = expressionList();
    } else if (at("import") || at("from")) {
      importStatement(s);
    } else {
      for (const Refused &r : kRefusedStatements)
        if (at(r.word) && (isKeyword(cur().text) || next().kind == Token::Name)) refuse(cur());
      assignment(s);
    }
    s.loc = since(start);
    return s;
  }

  void importStatement(Stmt &s) {
    s.kind = Stmt::Import;
    auto dotted = [&] {
      std::string name;
      while (accept("."))
        name += '.';
      name += expectName("a module name");
      while (accept("."))
        name += "." + expectName("a module name");
      return name;
    };
    auto alias = [&](const std::string &name) { return accept("as") ? expectName("an alias") : name; };
    if (accept("from")) {
      s.text = dotted();
      expect("import", "after the module name");
      if (at("*"))
        fail(Code::E_UNSUPPORTED, cur().loc, "'import *' is not part of the tile language",
             "name what you import");
      bool bracket = accept("(");
      do {
        if (bracket && at(")")) break;
        std::string name = expectName("a name to import");
        std::string as = alias(name);
        s.names.emplace_back(name, as);
      } while (accept(","));
      if (bracket) expect(")", "after the imported names");
      return;
    }
    take();
    s.text = dotted();
    std::string as = alias(s.text.substr(0, s.text.find('.')));
    s.names.emplace_back("", as);
    if (at(",")) fail(Code::E_UNSUPPORTED, cur().loc, "one module per import", "write one import per line");
  }

  void assignment(Stmt &s) {
    AstPtr first = expressionList();
    static constexpr std::array kAug = {
        "+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="};
    for (const char *op : kAug) {
      if (!at(op)) continue;
      take();
      s.kind = Stmt::Aug;
      s.text = std::string_view(op).substr(0, std::string_view(op).size() - 1);
      checkTarget(*first, false);
      s.targets.push_back(std::move(first));
      s.value = expressionList();
      return;
    }
    if (at("@=") || at(":="))
      fail(Code::E_UNSUPPORTED, cur().loc, "'" + cur().text + "' is not part of the tile language");
    if (accept(":")) { // x: ts.f32 = ...: the annotation is ignored, because the value determines the type
      fail(Code::E_UNSUPPORTED, first->loc, "local variables carry no annotation",
           "leave it out: a value has its dtype, and ts.tile.cast(value, dtype) gives it another");
    }
    if (!at("=")) {
      s.kind = Stmt::Expr;
      s.value = std::move(first);
      return;
    }
    s.kind = Stmt::Assign;
    while (accept("=")) {
      checkTarget(*first, true);
      s.targets.push_back(std::move(first));
      first = expressionList();
    }
    s.value = std::move(first);
  }

  void checkTarget(const AstExpr &e, bool tuples) {
    if (e.kind == AstExpr::Name || e.kind == AstExpr::Subscript) return;
    if (tuples && (e.kind == AstExpr::Tuple || e.kind == AstExpr::List)) {
      for (const AstPtr &item : e.items)
        checkTarget(*item, true);
      return;
    }
    fail(Code::E_SYNTAX, e.loc, "this cannot be assigned to",
         "assign to a name, an element A[i, j] or a slice A[i:i+64]");
  }

  AstPtr targetList() {
    Range start = cur().loc;
    AstPtr e = postfix();
    if (at(",")) {
      AstPtr tuple = node(AstExpr::Tuple, start);
      tuple->items.push_back(std::move(e));
      while (accept(",") && !at("in"))
        tuple->items.push_back(postfix());
      e = close(std::move(tuple), start);
    }
    checkTarget(*e, true);
    return e;
  }

  // --- Expressions ---

  struct DepthScope {
    DepthScope(Parser &p, Range loc) : p(p) { p.enter(loc); }
    ~DepthScope() { --p.depth_; }
    Parser &p;
  };
  void enter(Range loc) {
    if (depth_ >= ast::kMaxDepth) tooDeep(loc);
    ++depth_;
  }
  [[noreturn]] void tooDeep(Range loc) {
    fail(Code::E_NESTING, loc,
         "this is nested too deeply (the limit is " + std::to_string(ast::kMaxDepth) + ")",
         "split it into several statements");
  }

  AstPtr node(AstExpr::Kind kind, Range loc) {
    auto e = std::make_unique<AstExpr>();
    e->kind = kind;
    e->loc = loc;
    return e;
  }
  /// Completes a node that began at `start`: sets its range and its depth.
  AstPtr close(AstPtr e, Range start) {
    e->loc = since(start);
    unsigned depth = 0;
    for (const AstPtr &item : e->items)
      if (item) depth = std::max<unsigned>(depth, item->depth);
    for (const ast::Keyword &k : e->keywords)
      depth = std::max<unsigned>(depth, k.value->depth);
    if (depth + 1 > ast::kMaxDepth) tooDeep(e->loc);
    e->depth = static_cast<uint16_t>(depth + 1);
    return e;
  }

  AstPtr expressionList() {
    Range start = cur().loc;
    AstPtr first = expression();
    if (!at(",")) return first;
    AstPtr tuple = node(AstExpr::Tuple, start);
    tuple->items.push_back(std::move(first));
    while (accept(",")) {
      if (at(Token::Newline) || at("=") || at(")") || at("]") || at(Token::End)) break;
      tuple->items.push_back(expression());
    }
    return close(std::move(tuple), start);
  }

  AstPtr expression() {
    DepthScope scope(*this, cur().loc);
    if (at("lambda"))
      fail(Code::E_UNSUPPORTED, cur().loc, "'lambda' is not part of the tile language",
           "write a helper function at module level, def f(a, b): return a + b, and use its name: "
           "ts.tile.associative_scan(x, 0, f)");
    for (const char *word : {"yield", "await"})
      if (at(word))
        fail(Code::E_UNSUPPORTED, cur().loc, std::string("'") + word + "' is not part of the tile language",
             "return a value, or a tuple of them");
    Range start = cur().loc;
    AstPtr value = orTest();
    if (at(":="))
      fail(Code::E_UNSUPPORTED, cur().loc, "':=' is not part of the tile language",
           "assign on a line of its own");
    if (!accept("if")) return value;
    AstPtr e = node(AstExpr::IfExp, start);
    AstPtr condition = orTest();
    expect("else", "in the conditional expression");
    AstPtr other = expression();
    e->items.push_back(std::move(condition));
    e->items.push_back(std::move(value));
    e->items.push_back(std::move(other));
    return close(std::move(e), start);
  }

  AstPtr orTest() {
    return boolOp("or", [this] { return boolOp("and", [this] { return notTest(); }); });
  }

  template <typename F> AstPtr boolOp(const char *word, F operand) {
    Range start = cur().loc;
    AstPtr e = operand();
    while (accept(word)) {
      AstPtr outer = node(AstExpr::BoolOp, start);
      outer->text = word;
      outer->items.push_back(std::move(e));
      outer->items.push_back(operand());
      e = close(std::move(outer), start);
    }
    return e;
  }

  AstPtr notTest() {
    if (!at("not")) return comparison();
    DepthScope scope(*this, cur().loc);
    return unary(take().text, [this] { return notTest(); });
  }

  template <typename F> AstPtr unary(std::string op, F operand) {
    Range start = tokens_[i_ - 1].loc;
    AstPtr e = node(AstExpr::Unary, start);
    e->text = std::move(op);
    e->items.push_back(operand());
    return close(std::move(e), start);
  }

  AstPtr comparison() {
    Range start = cur().loc;
    AstPtr first = binary(0);
    AstPtr e;
    for (;;) {
      std::string op;
      for (const char *candidate : {"<", "<=", ">", ">=", "==", "!="})
        if (at(candidate)) op = candidate;
      if (at("is") || at("in") || (at("not") && next().is("in")))
        fail(Code::E_UNSUPPORTED, cur().loc, "'" + cur().text + "' is not part of the tile language",
             "compare with == or !=");
      if (op.empty()) break;
      take();
      if (!e) {
        e = node(AstExpr::Compare, start);
        e->items.push_back(std::move(first));
      }
      e->ops.push_back(op);
      e->items.push_back(binary(0));
    }
    return e ? close(std::move(e), start) : std::move(first);
  }

  /// Returns the precedence of a binary operator, loosest first; -1 if the token is not one.
  int precedence() const {
    if (!at(Token::Op)) return -1;
    static constexpr std::pair<const char *, int> kTable[] = {{"|", 0},  {"^", 1},  {"&", 2}, {"<<", 3},
                                                              {">>", 3}, {"+", 4},  {"-", 4}, {"*", 5},
                                                              {"/", 5},  {"//", 5}, {"%", 5}, {"@", 5}};
    for (auto [op, p] : kTable)
      if (cur().text == op) return p;
    return -1;
  }

  AstPtr binary(int lowest) {
    Range start = cur().loc;
    AstPtr left = factor();
    for (int p = precedence(); p >= lowest; p = precedence()) {
      AstPtr e = node(AstExpr::Binary, start);
      e->text = take().text;
      e->items.push_back(std::move(left));
      e->items.push_back(binary(p + 1));
      left = close(std::move(e), start);
    }
    return left;
  }

  AstPtr factor() {
    DepthScope scope(*this, cur().loc);
    if (at("-") || at("+") || at("~")) {
      std::string op = take().text;
      if (op == "-" && at(Token::Int) && cur().intValue == INT64_MIN && !next().is("**")) {
        Range start = tokens_[i_ - 1].loc;
        AstPtr e = node(AstExpr::Int, start);
        e->intValue = take().intValue;
        return close(std::move(e), start);
      }
      return unary(op, [this] { return factor(); });
    }
    Range start = cur().loc;
    AstPtr base = postfix();
    if (!at("**")) return base;
    take();
    AstPtr e = node(AstExpr::Binary, start);
    e->text = "**";
    e->items.push_back(std::move(base));
    e->items.push_back(factor());
    return close(std::move(e), start);
  }

  AstPtr postfix() {
    Range start = cur().loc;
    AstPtr e = atom();
    for (;;) {
      if (accept(".")) {
        AstPtr outer = node(AstExpr::Attribute, start);
        outer->items.push_back(std::move(e));
        outer->text = expectName("an attribute name");
        e = close(std::move(outer), start);
      } else if (accept("(")) {
        e = call(std::move(e), start);
      } else if (accept("[")) {
        AstPtr outer = node(AstExpr::Subscript, start);
        outer->items.push_back(std::move(e));
        do {
          if (outer->items.size() > 1) outer->text = ",";
          if (at("]") && outer->items.size() > 1) break;
          outer->items.push_back(sliceOrExpression());
        } while (accept(","));
        expect("]", "after the index");
        e = close(std::move(outer), start);
      } else {
        return e;
      }
    }
  }

  AstPtr call(AstPtr callee, Range start) {
    AstPtr e = node(AstExpr::Call, start);
    e->items.push_back(std::move(callee));
    while (!at(")")) {
      if (at("*") || at("**"))
        fail(Code::E_UNSUPPORTED, cur().loc, "unpacking in a call is not part of the tile language",
             "write the arguments out");
      if (at(Token::Name) && next().is("=") && !isKeyword(cur().text)) {
        ast::Keyword k;
        k.loc = cur().loc;
        k.name = take().text;
        take();
        k.value = expression();
        e->keywords.push_back(std::move(k));
      } else {
        if (!e->keywords.empty())
          fail(Code::E_SYNTAX, cur().loc, "a positional argument follows a named one");
        e->items.push_back(expression());
        if (at("for")) refuseComprehension();
      }
      if (!at(")")) expect(",", "between arguments");
    }
    take();
    return close(std::move(e), start);
  }

  [[noreturn]] void refuseComprehension() {
    fail(Code::E_UNSUPPORTED, cur().loc, "this comprehension is not part of the tile language",
         "write a list, [f(i) for i in ts.static_range(n)], or a loop");
  }

  AstPtr sliceOrExpression() {
    Range start = cur().loc;
    auto stops = [&] { return at(":") || at(",") || at("]"); };
    AstPtr first = stops() ? nullptr : expression();
    if (!at(":")) {
      if (!first) fail(Code::E_SYNTAX, cur().loc, "expected an index, found " + describe(cur()));
      return first;
    }
    AstPtr e = node(AstExpr::Slice, start);
    e->items.push_back(std::move(first));
    take();
    e->items.push_back(stops() ? nullptr : expression());
    e->items.push_back(accept(":") && !stops() ? expression() : nullptr);
    return close(std::move(e), start);
  }

  AstPtr atom() {
    const Token &t = cur();
    switch (t.kind) {
    case Token::Int: {
      if (t.intValue < 0) fail(Code::E_NUMBER, t.loc, "this integer does not fit in 64 bits");
      AstPtr e = node(AstExpr::Int, t.loc);
      e->intValue = take().intValue;
      return e;
    }
    case Token::Float: {
      AstPtr e = node(AstExpr::Float, t.loc);
      e->floatValue = take().floatValue;
      return e;
    }
    case Token::String: {
      AstPtr e = node(AstExpr::Str, t.loc);
      while (at(Token::String))
        e->text += take().text;
      return close(std::move(e), t.loc);
    }
    case Token::Name:
      return nameAtom();
    default:
      break;
    }
    if (at("(")) return parenthesised();
    if (at("[")) return list();
    if (at("{")) return dict();
    if (at("...")) { // a name without a value; what may hold it looks for it
      AstPtr e = node(AstExpr::Name, t.loc);
      e->text = take().text;
      return e;
    }
    fail(Code::E_SYNTAX, t.loc, "expected an expression, found " + describe(t));
  }

  AstPtr nameAtom() {
    const Token &t = cur();
    if (t.text == "True" || t.text == "False") {
      AstPtr e = node(AstExpr::Bool, t.loc);
      e->intValue = take().text == "True";
      return e;
    }
    if (t.text == "None") return node(AstExpr::None, take().loc);
    if (isKeyword(t.text)) fail(Code::E_SYNTAX, t.loc, "expected an expression, found '" + t.text + "'");
    AstPtr e = node(AstExpr::Name, t.loc);
    e->text = take().text;
    return e;
  }

  AstPtr parenthesised() {
    Range start = take().loc;
    if (accept(")")) return close(node(AstExpr::Tuple, start), start);
    AstPtr e = expression();
    if (at("for")) refuseComprehension();
    if (at(",")) {
      AstPtr tuple = node(AstExpr::Tuple, start);
      tuple->items.push_back(std::move(e));
      while (accept(",") && !at(")"))
        tuple->items.push_back(expression());
      e = std::move(tuple);
    }
    expect(")", "to close the bracket");
    e->loc = since(start);
    return close(std::move(e), start);
  }

  AstPtr list() {
    Range start = take().loc;
    AstPtr e = node(AstExpr::List, start);
    while (!at("]")) {
      e->items.push_back(expression());
      if (at("for")) return comprehension(std::move(e), start);
      if (!at("]")) expect(",", "between the list's items");
    }
    take();
    return close(std::move(e), start);
  }

  /// The rest of [element for target in values if condition]. With more loops, each is the element of the one
  /// before, which joins the lists that it gives.
  AstPtr comprehension(AstPtr e, Range start) {
    DepthScope scope(*this, cur().loc);
    if (e->items.size() > 1) refuseComprehension();
    e->kind = AstExpr::Comprehension;
    take();
    e->items.push_back(targetList());
    expect("in", "between the variable and its values");
    e->items.push_back(orTest());
    if (accept("if")) e->items.push_back(orTest());
    if (at("for")) {
      AstPtr inner = node(AstExpr::List, start);
      inner->items.push_back(std::move(e->items[0]));
      e->items[0] = comprehension(std::move(inner), start);
      e->joins = true;
      return close(std::move(e), start);
    }
    expect("]", "to close the list");
    return close(std::move(e), start);
  }

  AstPtr dict() {
    Range start = take().loc;
    AstPtr e = node(AstExpr::Dict, start);
    while (!at("}")) {
      ast::Keyword k;
      k.loc = cur().loc;
      if (!at(Token::String))
        fail(Code::E_UNSUPPORTED, cur().loc, "only dictionaries with string keys are read, and no sets");
      k.name = take().text;
      expect(":", "after the key");
      k.value = expression();
      e->keywords.push_back(std::move(k));
      if (!at("}")) expect(",", "between the dictionary's items");
    }
    take();
    return close(std::move(e), start);
  }

  const std::vector<Token> &tokens_;
  DiagnosticSink &sink_;
  const std::vector<uint32_t> brokenLines_; // that have errors of the lexer
  uint32_t statementLine_ = 0;
  size_t i_ = 0;
  unsigned depth_ = 0;
};

} // namespace

ast::Block parse(const std::vector<Token> &tokens, DiagnosticSink &sink) {
  return Parser(tokens, sink).file();
}

} // namespace tessera::frontend
