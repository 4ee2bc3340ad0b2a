#include "compiler/frontend/sema/ModuleData.h"
#include "compiler/frontend/diagnostics/Suggest.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/ops/ForeignNames.h"
#include "numerics/DType.h"
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace tessera::frontend {

std::string dottedName(const ast::Expr &e) {
  if (e.kind == ast::Expr::Name) return e.text;
  if (e.kind != ast::Expr::Attribute) return {};
  std::string base = dottedName(*e.items[0]);
  return base.empty() ? base : base + "." + e.text;
}

namespace {

class Resolver {
public:
  Resolver(ModuleData &m, DiagnosticSink &sink) : m_(m), sink_(sink) {}

  void run() {
    bool first = true;
    for (const ast::Stmt &s : m_.body) {
      statement(s, first);
      first = false;
    }
  }

private:
  void statement(const ast::Stmt &s, bool first) {
    switch (s.kind) {
    case ast::Stmt::Error:
    case ast::Stmt::Pass:
      return;
    case ast::Stmt::Import:
      return import(s);
    case ast::Stmt::Function:
      return function(s);
    case ast::Stmt::Assign:
      for (const ast::ExprPtr &t : s.targets)
        constant(s, *t);
      return;
    case ast::Stmt::Expr:
      if (s.value->kind == ast::Expr::Str) return; // docstrings and bare comments
      [[fallthrough]];
    default:
      sink_.error(Code::E_UNSUPPORTED, s.loc, "a module holds imports, constants and functions only",
                  "move host code into another file");
    }
  }

  void import(const ast::Stmt &s) {
    auto known = [](const std::string &path) {
      return path == "tessera" || path == "math" || path == "tessera.tile" || path == "tessera.op" ||
             path == "tessera.dist" || path == "tessera.group";
    };
    for (const auto &[name, alias] : s.names) {
      Global g;
      if (name.empty()) { // import tessera.tile binds `tessera`; with an alias it binds the submodule
        bool aliased = alias != s.text.substr(0, s.text.find('.'));
        g.path = aliased ? s.text : alias;
        g.kind = known(g.path) ? Global::ImportedModule : Global::Foreign;
      } else {
        g.path = s.text;
        g.name = name;
        g.kind = known(s.text) ? Global::ImportedName : Global::Foreign;
        if (std::string sub = ops::findSubmodule(s.text, name); !sub.empty()) {
          g.kind = Global::ImportedModule;
          g.path = sub;
        } else if (g.kind == Global::ImportedName && !provides(s.text, name)) {
          sink_.error(Code::E_IMPORT, s.loc, "module '" + s.text + "' has no '" + name + "'",
                      didYouMean(name, ops::namesOf(s.text)));
        }
      }
      m_.globals[alias] = g;
    }
  }

  static bool provides(const std::string &path, const std::string &name) {
    if (ops::findFunction(path, name) || ops::findConstant(path, name) || parseDType(name)) return true;
    for (const char *s : {"Tensor", "strides", "kernel", "jit", "autodiff", "grad", "runtime", "accum",
                          "round", "loss_scale", "rne"})
      if (name == s) return true;
    return false;
  }

  void constant(const ast::Stmt &s, const ast::Expr &target) {
    if (target.kind == ast::Expr::Tuple || target.kind == ast::Expr::List) {
      for (const ast::ExprPtr &t : target.items)
        constant(s, *t);
      return;
    }
    if (target.kind != ast::Expr::Name) {
      sink_.error(Code::E_UNSUPPORTED, target.loc, "only names are assigned at module level");
      return;
    }
    if (taken(target.text, target.loc)) return;
    Global g;
    g.kind = Global::Constant;
    g.stmt = &s;
    m_.globals[target.text] = g;
  }

  bool taken(const std::string &name, Range loc) {
    auto it = m_.globals.find(name);
    if (it == m_.globals.end() ||
        (it->second.kind != Global::Function && it->second.kind != Global::Constant))
      return false;
    sink_.error(Code::E_DUPLICATE, loc, "'" + name + "' is defined twice in this module",
                "rename one of the two");
    return true;
  }

  /// Returns the decorator's path from `tessera` on ("tessera.kernel"), following imports; "" if it is not
  /// one of tessera's.
  std::string resolve(const ast::Expr &e) {
    std::string dotted = dottedName(e);
    size_t dot = dotted.find('.');
    auto it = m_.globals.find(dotted.substr(0, dot));
    if (it == m_.globals.end()) return {};
    std::string rest = dot == std::string::npos ? "" : dotted.substr(dot);
    if (it->second.kind == Global::ImportedModule) return it->second.path + rest;
    if (it->second.kind == Global::ImportedName) return it->second.path + "." + it->second.name + rest;
    return {};
  }

  void function(const ast::Stmt &s) {
    FunctionDecl f;
    f.stmt = &s;
    for (const ast::ExprPtr &d : s.decorators)
      decorator(f, *d);
    if (!taken(s.text, s.nameLoc)) {
      Global g;
      g.kind = Global::Function;
      g.function = m_.functions.size();
      m_.globals[s.text] = g;
    }
    m_.functions.push_back(f);
  }

  void decorator(FunctionDecl &f, const ast::Expr &d) {
    bool isCall = d.kind == ast::Expr::Call;
    const ast::Expr &callee = isCall ? *d.items[0] : d;
    std::string path = resolve(callee);
    if (path == "tessera.kernel") {
      f.kind = FunctionDecl::Kernel;
      refuseArguments(d, callee);
    } else if (path == "tessera.kernel.autotune") {
      f.kind = FunctionDecl::Kernel;
      autotune(f, d, isCall);
    } else if (path == "tessera.jit") {
      f.kind = FunctionDecl::Graph;
      refuseArguments(d, callee);
    } else if (path == "tessera.op.specialize") {
      if (f.kind == FunctionDecl::Helper) f.kind = FunctionDecl::Graph;
      f.specialize.push_back(&d);
    } else if (path == "tessera.autodiff") {
      if (f.kind == FunctionDecl::Helper) f.kind = FunctionDecl::Graph;
      f.notBuilt = &d;
    } else if (std::string dotted = dottedName(callee);
               dotted != "staticmethod" || isCall) { // that of a class
      sink_.error(Code::E_DECORATOR, d.loc,
                  dotted.empty() ? "this decorator is not known"
                                 : "'@" + dotted + "' is not a decorator of the language",
                  decoratorHint(dotted, resolve(callee).empty()));
    }
  }

  static std::string decoratorHint(const std::string &dotted, bool isForeign) {
    if (isForeign && dotted.starts_with("ts.")) return "write 'import tessera as ts' at the top of the file";
    if (std::string hint = ops::foreignDecoratorHint(dotted); isForeign && !hint.empty()) return hint;
    return didYouMean(dotted, names::kDecorators, isForeign ? "is 'import tessera as ts' missing?" : "");
  }

  /// `@ts.kernel(...)` and `@ts.jit(...)` take no arguments. The hint says what to write instead.
  void refuseArguments(const ast::Expr &decorator, const ast::Expr &callee) {
    static constexpr std::pair<std::string_view, const char *> kElsewhere[] = {
        {"space", "tunables are declared with @ts.kernel.autotune(space=dict(NAME=[...], ...))"},
        {"tile", "make the extents tunables: @ts.kernel.autotune(space=dict(BLOCK_M=[64], ...))"},
        {"stages", "a loop takes it: ts.tile.range(lo, hi, step, stages=3)"},
        {"num_stages", "a loop takes it: ts.tile.range(lo, hi, step, stages=3)"},
        {"num_warps", "the target decides how many threads share a program"},
        {"vector", "the target decides the width of vectors: --target cpu:x86-64-v4"},
        {"epilogue", "write it in the body; a @ts.jit function fuses it into the product"},
        {"capture_graph",
         "the steps of a @ts.jit function are planned when it is compiled; calls run that plan"},
        {"numerics", "the compilation chooses the profile: --numerics NAME"},
        {"target", "the compilation chooses the target: --target NAME"},
    };
    if (decorator.kind != ast::Expr::Call) return;
    std::string name = '@' + dottedName(callee);
    for (const ast::Keyword &argument : decorator.keywords) {
      const auto *elsewhere =
          std::ranges::find_if(kElsewhere, [&](const auto &entry) { return entry.first == argument.name; });
      sink_.error(Code::E_DECORATOR, argument.loc, "'" + name + "' takes no argument '" + argument.name + "'",
                  elsewhere != std::end(kElsewhere) ? elsewhere->second : "remove it");
    }
    if (decorator.items.size() > 1)
      sink_.error(Code::E_DECORATOR, decorator.items[1]->loc, "'" + name + "' takes no arguments",
                  "write " + name);
  }

  void autotune(FunctionDecl &f, const ast::Expr &d, bool isCall) {
    if (isCall && d.items.size() == 1 && d.keywords.size() == 1 && d.keywords[0].name == "space") {
      f.space = d.keywords[0].value.get();
      return;
    }
    sink_.error(Code::E_TUNABLE_SPACE, d.loc, "autotune takes one argument, space=dict(NAME=[...], ...)");
  }

  ModuleData &m_;
  DiagnosticSink &sink_;
};

} // namespace

void resolveModule(ModuleData &m, DiagnosticSink &sink) { Resolver(m, sink).run(); }

} // namespace tessera::frontend
