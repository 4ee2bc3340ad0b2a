#include "compiler/frontend/sema/Supply.h"
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/frontend/syntax/Walk.h"
#include "numerics/DType.h"
#include <algorithm>
#include <cctype>

namespace tessera::frontend {
namespace {

/// Sets every location in `e` to `loc`: the text it was parsed from is in no file.
void place(ast::Expr &e, Range loc) {
  e.loc = loc;
  for (const ast::ExprPtr &item : e.items)
    if (item) place(*item, loc);
  for (ast::Keyword &k : e.keywords) {
    k.loc = loc;
    place(*k.value, loc);
  }
}

/// Replaces each expression that is written `name`, such as config.BLOCK, by the expression `text`.
void replace(ast::ExprPtr &e, const std::string &name, const std::string &what, const std::string &text,
             DiagnosticSink &sink);

/// Parses the expression `text` with `loc` as its location; returns null after reporting an error there.
ast::ExprPtr expression(const std::string &what, const std::string &text, Range loc, DiagnosticSink &sink) {
  const SourceText source(text, "");
  DiagnosticSink inner(source);
  ast::Block block;
  if (source.firstBrokenLine() == 0) block = parse(tokenize(source, inner), inner);
  if (inner.hasErrors() || block.size() != 1 || block[0].kind != ast::Stmt::Expr) {
    sink.error(Code::E_SYNTAX, loc, what + " is '" + text + "', which is not an expression");
    return nullptr;
  }
  place(*block[0].value, loc);
  return std::move(block[0].value);
}

void replace(ast::ExprPtr &e, const std::string &name, const std::string &what, const std::string &text,
             DiagnosticSink &sink) {
  if (dottedName(*e) != name)
    return ast::forEachPart(*e, [&](ast::ExprPtr &part) { replace(part, name, what, text, sink); });
  if (ast::ExprPtr value = expression(what, text, e->loc, sink)) e = std::move(value);
}

/// Is it a name, or several joined by dots?
bool isName(const std::string &text) {
  if (size_t dot = text.find('.'); dot != text.npos)
    return isName(text.substr(0, dot)) && isName(text.substr(dot + 1));
  auto isWord = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, isWord);
}

} // namespace

void supplyTypes(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink) {
  for (const auto &[name, text] : supplied.types) {
    std::vector<std::string> untyped; // parameters that could have been meant
    bool isUsed = false, isTyped = false;
    for (ast::Stmt &s : m.body) {
      if (s.kind != ast::Stmt::Function || s.decorators.empty())
        continue; // a helper's parameters have no types
      for (ast::Parameter &p : s.parameters) {
        const std::string full = s.text + "." + p.name;
        const bool isMeant = name == p.name || name == full;
        if (!p.annotation) untyped.push_back(name.find('.') == name.npos ? p.name : full);
        if (isMeant && p.annotation && name == full) isTyped = true;
        if (!isMeant || p.annotation) continue;
        p.annotation = expression("the type supplied for parameter '" + name + "'", text, p.loc, sink);
        isUsed = true;
      }
    }
    if (isTyped)
      sink.error(Code::E_PARAMETER, {},
                 "parameter '" + name + "' has a type in the source, and one is supplied",
                 "supply types for parameters without one only");
    else if (!isUsed)
      sink.error(Code::E_PARAMETER, {},
                 "a type is supplied for '" + name + "', which is no parameter without a type",
                 didYouMean(name, untyped));
  }
}

/// Replaces the name in annotations by the type of tensors that it stands for.
static void supplyType(ModuleData &m, const std::string &name, const std::string &text,
                       DiagnosticSink &sink) {
  const std::string what = "the constant supplied for '" + name + "'";
  for (ast::Stmt &s : m.body) {
    for (ast::Parameter &p : s.parameters)
      if (p.annotation) replace(p.annotation, name, what, text, sink);
    if (s.kind == ast::Stmt::Function && s.returns) replace(s.returns, name, what, text, sink);
  }
}

void supplyAttributes(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink) {
  for (const auto &[name, text] : supplied.constants)
    if (name.find('.') != name.npos && isName(name))
      for (ast::Stmt &s : m.body)
        ast::forEachExpression(s, [&](ast::ExprPtr &e) {
          replace(e, name, "the constant supplied for '" + name + "'", text, sink);
        });
    else if (text.starts_with("tessera.Tensor["))
      supplyType(m, name, text, sink);
}

void supplyConstants(ModuleData &m, const Supplied &supplied, DiagnosticSink &sink) {
  m.supplied.reserve(supplied.constants.size()); // globals refer to its elements, so it must not grow
  for (const auto &[name, text] : supplied.constants) {
    const std::string what = "the constant supplied for '" + name + "'";
    if (!isName(name)) {
      sink.error(Code::E_SYNTAX, {}, "a constant is supplied for '" + name + "', which is no name");
      continue;
    }
    if (m.globals.count(name)) {
      if (name == "__debug__")
        continue; // TESSERA_DEBUG supplies it to every source: the source's own value stays
      sink.error(Code::E_DUPLICATE, {},
                 "'" + name + "' is defined in the source, and a constant is supplied for it",
                 "supply constants for names that the source does not define");
      continue;
    }
    if (name.find('.') != name.npos) continue; // supplyAttributes() has replaced it
    Global g;
    if (auto other = m.globals.find(text);
        other != m.globals.end() && other->second.kind == Global::Function) {
      g = other->second;           // another name for a function of the source
    } else if (parseDType(text)) { // an alias, as an import creates one
      g.kind = Global::ImportedName;
      g.path = "tessera", g.name = text;
    } else {
      ast::Stmt s;
      s.kind = ast::Stmt::Assign;
      s.value = expression(what, text, {}, sink);
      if (!s.value) continue;
      auto target = std::make_unique<ast::Expr>();
      target->kind = ast::Expr::Name, target->text = name;
      s.targets.push_back(std::move(target));
      m.supplied.push_back(std::move(s));
      g.kind = Global::Constant;
      g.stmt = &m.supplied.back();
    }
    m.globals[name] = std::move(g);
  }
}

} // namespace tessera::frontend
