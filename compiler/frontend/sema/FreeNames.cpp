#include "compiler/frontend/sema/FreeNames.h"
#include "compiler/frontend/sema/ModuleData.h"
#include "compiler/frontend/syntax/Walk.h"
#include <algorithm>
#include <cctype>
#include <map>
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

namespace {

/// Follows which parameter each name is, and what the returns of a function say, nested functions aside.
class Parameters {
public:
  explicit Parameters(const ast::Stmt &function) {
    for (const ast::Parameter &p : function.parameters)
      is_[p.name] = p.name;
    walk(function.body);
  }

  /// By position, the parameter that every return gives back; "" for other values, and where returns differ.
  const std::vector<std::string> &returned() const { return returned_; }

private:
  /// +x is x: no operation computes it.
  static bool isPlus(const ast::Expr &value) { return value.kind == ast::Expr::Unary && value.text == "+"; }

  /// The parameter that an expression is if it is one at all; "" if that is not followed.
  std::string of(const ast::Expr &value) const {
    if (isPlus(value)) return of(*value.items[0]);
    const auto known = value.kind == ast::Expr::Name ? is_.find(value.text) : is_.end();
    return known == is_.end() || known->second == kNew ? "" : known->second;
  }

  void add(const ast::Stmt &statement) {
    if (!statement.value || statement.value->kind == ast::Expr::None) return;
    std::vector<std::string> values;
    const ast::Expr &value = *statement.value;
    if (value.kind == ast::Expr::Tuple || value.kind == ast::Expr::List)
      for (const ast::ExprPtr &item : value.items)
        values.push_back(of(*item));
    else
      values.push_back(of(value));
    if (!std::exchange(hasReturn_, true)) {
      returned_ = std::move(values);
      return;
    }
    const size_t longest = std::max(returned_.size(), values.size());
    returned_.resize(longest);
    values.resize(longest);
    for (size_t i = 0; i < longest; ++i)
      if (returned_[i] != values[i]) returned_[i].clear();
  }

  /// Does the block end in a return?
  bool walk(const ast::Block &block) {
    for (const ast::Stmt &s : block) {
      if (s.kind == ast::Stmt::Return) return add(s), true;
      if (s.kind == ast::Stmt::Function) continue;
      if (s.kind == ast::Stmt::Assign)
        for (const ast::ExprPtr &target : s.targets)
          assign(*target, s.value.get());
      else if (s.kind == ast::Stmt::For)
        assign(*s.targets[0], nullptr);
      const std::map<std::string, std::string> before = is_;
      for (const ast::Block *inner : {&s.body, &s.orelse}) {
        if (walk(*inner))
          is_ = before; // what follows is not run after it
        else
          merge(before);
      }
    }
    return false;
  }

  void assign(const ast::Expr &target, const ast::Expr *value) {
    if (target.kind == ast::Expr::Name) {
      const bool isNew =
          value && (value->kind == ast::Expr::Binary || (value->kind == ast::Expr::Unary && !isPlus(*value)));
      is_[target.text] = isNew ? kNew : value ? of(*value) : "";
      return;
    }
    if (target.kind != ast::Expr::Tuple && target.kind != ast::Expr::List) return;
    const bool isPaired =
        value && value->kind == ast::Expr::Tuple && value->items.size() == target.items.size();
    std::vector<std::string> values; // before the first name changes: x, y = y, x
    for (size_t i = 0; i < target.items.size(); ++i)
      values.push_back(isPaired ? of(*value->items[i]) : "");
    for (size_t i = 0; i < target.items.size(); ++i)
      if (target.items[i]->kind == ast::Expr::Name) is_[target.items[i]->text] = values[i];
  }

  /// After a block that may not run. A value that is new is no parameter, so the other one decides.
  void merge(const std::map<std::string, std::string> &before) {
    for (auto &[name, parameter] : is_) {
      const auto other = before.find(name);
      if (other == before.end() || other->second == parameter || other->second == kNew) continue;
      parameter = parameter == kNew ? other->second : "";
    }
  }

  static constexpr const char *kNew = "+"; // the value of an operator
  std::map<std::string, std::string> is_;
  bool hasReturn_ = false;
  std::vector<std::string> returned_;
};

} // namespace

std::vector<std::string> returnedParameters(const ast::Stmt &function) {
  return Parameters(function).returned();
}

} // namespace tessera::frontend
