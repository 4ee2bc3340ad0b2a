#include "compiler/frontend/sema/Effects.h"
#include <algorithm>
#include <map>
#include <utility>

namespace tessera::frontend {
namespace {

class Summarizer {
public:
  Summarizer(const ModuleData &m, EffectSummary &out) : m_(m), out_(out) {}

  /// `names` maps names inside this function to parameters of the kernel.
  void function(const ast::Stmt &fn, std::map<std::string, std::string> names, unsigned depth) {
    constexpr unsigned kMaxDepth = 32;
    if (depth > kMaxDepth || !seen_.emplace(&fn, names).second) return;
    std::swap(names_, names);
    unsigned outer = std::exchange(depth_, depth);
    block(fn.body);
    depth_ = outer;
    std::swap(names_, names);
  }

  void returns(const ast::Block &body) {
    for (const ast::Stmt &s : body) {
      if (s.kind == ast::Stmt::Return && s.value) {
        out_.returnedParams.clear();
        bool many = s.value->kind == ast::Expr::Tuple;
        for (size_t i = 0; i < (many ? s.value->items.size() : 1); ++i)
          out_.returnedParams.push_back(tensor(many ? *s.value->items[i] : *s.value));
      }
      returns(s.body);
      returns(s.orelse);
    }
  }

  void bind(const std::string &parameter) { names_[parameter] = parameter; }

private:
  std::string tensor(const ast::Expr &e) const {
    if (e.kind != ast::Expr::Name) return {};
    auto it = names_.find(e.text);
    return it == names_.end() ? "" : it->second;
  }

  void block(const ast::Block &body) {
    for (const ast::Stmt &s : body) {
      for (const ast::ExprPtr &t : s.targets)
        target(*t, s.kind == ast::Stmt::Aug);
      if (s.value) {
        if (s.kind == ast::Stmt::Assign && s.targets[0]->kind == ast::Expr::Name && !tensor(*s.value).empty())
          names_[s.targets[0]->text] = tensor(*s.value);
        expression(*s.value);
      }
      block(s.body);
      block(s.orelse);
    }
  }

  void target(const ast::Expr &e, bool alsoReads) {
    if (e.kind == ast::Expr::Subscript) {
      if (std::string t = tensor(*e.items[0]); !t.empty()) {
        out_.writes.insert(t);
        if (alsoReads) out_.reads.insert(t);
      }
      for (size_t i = 1; i < e.items.size(); ++i)
        expression(*e.items[i]);
    }
    if (e.kind == ast::Expr::Tuple || e.kind == ast::Expr::List)
      for (const ast::ExprPtr &item : e.items)
        target(*item, alsoReads);
  }

  void expression(const ast::Expr &e) {
    if (e.kind == ast::Expr::Subscript)
      if (std::string t = tensor(*e.items[0]); !t.empty()) out_.reads.insert(t);
    if (e.kind == ast::Expr::Call && call(e)) return;
    for (const ast::ExprPtr &item : e.items)
      if (item) expression(*item);
    for (const ast::Keyword &k : e.keywords)
      expression(*k.value);
  }

  /// Handles calls that write tensors or pass them on; returns true if it has visited the arguments.
  bool call(const ast::Expr &e) {
    std::string dotted = dottedName(*e.items[0]);
    std::string last = dotted.substr(dotted.rfind('.') + 1);
    if (auto it = m_.globals.find(dotted); it != m_.globals.end() && it->second.kind == Global::Function) {
      const FunctionDecl &f = m_.functions[it->second.function];
      std::map<std::string, std::string> names;
      for (size_t i = 1; i < e.items.size() && i <= f.stmt->parameters.size(); ++i)
        if (std::string t = tensor(*e.items[i]); !t.empty()) names[f.stmt->parameters[i - 1].name] = t;
      for (const ast::Keyword &k : e.keywords)
        if (std::string t = tensor(*k.value); !t.empty()) names[k.name] = t;
      if (!names.empty()) function(*f.stmt, std::move(names), depth_ + 1);
      return false;
    }
    auto argument = [&](const char *name) -> const ast::Expr * {
      if (e.items.size() > 1) return e.items[1].get();
      const auto found = std::ranges::find(e.keywords, name, &ast::Keyword::name);
      return found == e.keywords.end() ? nullptr : found->value.get();
    };
    if (const ast::Expr *of = last.starts_with("atomic_") ? argument("tensor") : nullptr) {
      const ast::Expr &place = *of;
      if (std::string t = tensor(place.kind == ast::Expr::Subscript ? *place.items[0] : place); !t.empty()) {
        out_.reads.insert(t);
        out_.writes.insert(t);
      }
      return false;
    }
    if (const ast::Expr *from = last == "load" ? argument("src") : nullptr)
      if (std::string t = tensor(*from); !t.empty()) out_.reads.insert(t);
    if (const ast::Expr *to = last == "store" ? argument("dst") : nullptr) {
      if (std::string t = tensor(*to); !t.empty()) out_.writes.insert(t);
      target(*to, false);
      for (size_t i = 2; i < e.items.size(); ++i)
        expression(*e.items[i]);
      for (const ast::Keyword &k : e.keywords)
        expression(*k.value);
      return true;
    }
    return false;
  }

  const ModuleData &m_;
  EffectSummary &out_;
  std::map<std::string, std::string> names_;
  std::set<std::pair<const ast::Stmt *, std::map<std::string, std::string>>> seen_;
  unsigned depth_ = 0;
};

} // namespace

EffectSummary summarizeEffects(const ModuleData &m, const FunctionDecl &f) {
  EffectSummary out;
  Summarizer s(m, out);
  std::map<std::string, std::string> names;
  for (const ast::Parameter &p : f.stmt->parameters)
    names[p.name] = p.name;
  s.function(*f.stmt, names, 0);
  Summarizer r(m, out);
  // Aliases are not known outside function(): a returned name is a parameter's own name.
  for (const ast::Parameter &p : f.stmt->parameters)
    r.bind(p.name);
  r.returns(f.stmt->body);
  return out;
}

bool EffectfulCalls::in(const ast::Expr &e) {
  for (const ast::ExprPtr &item : e.items)
    if (item && in(*item)) return true;
  for (const ast::Keyword &k : e.keywords)
    if (in(*k.value)) return true;
  if (e.kind != ast::Expr::Call) return false;
  const std::string dotted = dottedName(*e.items[0]);
  const std::string last = dotted.substr(dotted.rfind('.') + 1);
  static const std::set<std::string> kEffects = {"store",   "cp_async", "commit_group", "wait_group",
                                                 "barrier", "fence",    "print",        "assert_"};
  if (last.starts_with("atomic_") || kEffects.count(last)) return true;
  auto global = m_.globals.find(dotted);
  if (global == m_.globals.end() || global->second.kind != Global::Function) return false;
  const FunctionDecl &f = m_.functions[global->second.function];
  if (f.kind == FunctionDecl::Kernel) return true;
  auto [it, isNew] = helpers_.emplace(f.stmt, false); // a recursive helper is refused elsewhere
  return isNew ? it->second = in(f.stmt->body) : it->second;
}

bool EffectfulCalls::in(const ast::Stmt &s) {
  for (const ast::ExprPtr &target : s.targets)
    if (in(*target)) return true;
  if (!s.value || s.kind == ast::Stmt::Aug || s.value->kind != ast::Expr::Call)
    return s.value && in(*s.value);
  return std::ranges::any_of(s.value->items, [this](const auto &item) { return in(*item); }) ||
         std::ranges::any_of(s.value->keywords, [this](const auto &k) { return in(*k.value); });
}

static bool isStored(const ast::Expr &target) {
  return target.kind == ast::Expr::Subscript ||
         ((target.kind == ast::Expr::Tuple || target.kind == ast::Expr::List) &&
          std::ranges::any_of(target.items, [](const auto &item) { return isStored(*item); }));
}

bool EffectfulCalls::in(const ast::Block &body) {
  return std::ranges::any_of(body, [this](const ast::Stmt &s) {
    return std::ranges::any_of(s.targets, [](const auto &t) { return isStored(*t); }) || in(s) ||
           (s.value && in(*s.value)) || in(s.body) || in(s.orelse);
  });
}

} // namespace tessera::frontend
