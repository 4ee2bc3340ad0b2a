#include "compiler/frontend/sema/FreeNames.h"
#include "compiler/frontend/sema/ModuleData.h"
#include "compiler/frontend/syntax/Walk.h"
#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <utility>

namespace tessera::frontend {
namespace {

class Names {
public:
  std::vector<FreeName> of(ast::Stmt &function) {
    std::set<const ast::Expr *> defaults;
    for (ast::Parameter &p : function.parameters)
      defaults.insert(p.defaultValue.get());
    define(function);
    ast::forEachExpression(function, [&](ast::ExprPtr &e) {
      std::set<std::string> known;
      const bool isDefault = defaults.contains(e.get()); // n=n: the n around the function
      if (isDefault) defined_.swap(known);
      use(*e);
      if (isDefault) defined_.swap(known);
    });
    return std::move(found_);
  }

private:
  void define(ast::Stmt &s) {
    if (s.kind == ast::Stmt::Function) defined_.insert(s.text);
    for (ast::Parameter &p : s.parameters) {
      defined_.insert(p.name);
      if (p.annotation) defineDims(*p.annotation);
    }
    if (s.returns) defineDims(*s.returns);
    for (const auto &[name, alias] : s.names)
      defined_.insert(alias);
    for (ast::ExprPtr &target : s.targets)
      assign(*target);
    for (ast::Block *block : {&s.body, &s.orelse})
      for (ast::Stmt &inner : *block)
        define(inner);
  }

  void assign(ast::Expr &target) {
    if (target.kind == ast::Expr::Name) defined_.insert(target.text);
    if (target.kind == ast::Expr::Tuple || target.kind == ast::Expr::List)
      ast::forEachPart(target, [&](ast::ExprPtr &part) { assign(*part); });
  }

  /// The words of an annotation's strings: "n", "2*K".
  void defineDims(ast::Expr &annotation) {
    if (annotation.kind == ast::Expr::Str) {
      std::string word;
      for (const char c : annotation.text + ' ') {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
          word += c;
        } else if (!word.empty()) {
          defined_.insert(std::exchange(word, {}));
        }
      }
    }
    ast::forEachPart(annotation, [&](ast::ExprPtr &part) { defineDims(*part); });
  }

  void use(ast::Expr &e) {
    if (e.kind == ast::Expr::Comprehension) {
      // Its variable is known in it only, and not in what it loops over.
      use(*e.items[2]);
      const std::set<std::string> around = defined_;
      assign(*e.items[1]);
      for (size_t i : {size_t(0), size_t(3)})
        if (i < e.items.size() && e.items[i]) use(*e.items[i]);
      defined_ = around;
      return;
    }
    const std::string name = dottedName(e);
    if (name.empty()) return ast::forEachPart(e, [&](ast::ExprPtr &part) { use(*part); });
    if (!defined_.contains(name.substr(0, name.find('.'))) && seen_.insert(name).second)
      found_.push_back({name, e.loc.line, e.loc.col});
  }

  std::set<std::string> defined_, seen_;
  std::vector<FreeName> found_;
};

} // namespace

std::vector<FreeName> freeNames(ast::Stmt &function) { return Names().of(function); }

/// The first `return` of a block, nested functions aside; null if it has none.
static const ast::Stmt *findReturn(const ast::Block &block) {
  for (const ast::Stmt &s : block) {
    if (s.kind == ast::Stmt::Return) return &s;
    if (s.kind == ast::Stmt::Function) continue;
    for (const ast::Block *inner : {&s.body, &s.orelse})
      if (const ast::Stmt *found = findReturn(*inner)) return found;
  }
  return nullptr;
}

std::vector<std::string> returnedParameters(const ast::Stmt &function) {
  std::vector<std::string> out;
  const ast::Stmt *found = findReturn(function.body);
  if (!found || !found->value || found->value->kind == ast::Expr::None) return out;
  auto add = [&](const ast::Expr &value) {
    const bool isParameter = value.kind == ast::Expr::Name &&
                             std::ranges::any_of(function.parameters, [&](const ast::Parameter &p) {
                               return p.name == value.text;
                             });
    out.push_back(isParameter ? value.text : "");
  };
  if (found->value->kind == ast::Expr::Tuple || found->value->kind == ast::Expr::List)
    for (const ast::ExprPtr &item : found->value->items)
      add(*item);
  else
    add(*found->value);
  return out;
}

} // namespace tessera::frontend
