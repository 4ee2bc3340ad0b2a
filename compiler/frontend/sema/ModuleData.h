// A parsed file with its module-level names resolved: imports, functions and their decorators, constants.
#pragma once
#include "compiler/frontend/diagnostics/Diagnostics.h"
#include "compiler/frontend/syntax/Ast.h"
#include <map>
#include <string>
#include <vector>

namespace tessera::frontend {

struct FunctionDecl {
  enum Kind : uint8_t { Helper, Kernel, Graph };
  const ast::Stmt *stmt = nullptr;
  Kind kind = Helper;
  const ast::Expr *space = nullptr;          // of @ts.kernel.autotune
  std::vector<const ast::Expr *> specialize; // the @ts.op.specialize of a graph function
  // a decorator that is declared but not implemented: autodiff
  const ast::Expr *notBuilt = nullptr;
};

/// What a module-level name refers to.
struct Global {
  enum Kind : uint8_t {
    ImportedModule, // path: "tessera", "tessera.tile", "math"
    ImportedName,   // name of module path
    Foreign,        // imported from a module that the language does not know
    Function,       // functions[function]
    Constant,       // stmt: the assignment
  };
  Kind kind = Foreign;
  std::string path, name;
  size_t function = 0;
  const ast::Stmt *stmt = nullptr;
};

struct ModuleData {
  ModuleData(std::string text, std::string fileName) : source(std::move(text), std::move(fileName)) {}
  SourceText source;
  ast::Block body;
  ast::Block supplied; // constants of the caller, as assignments
  bool valid = false;  // no error so far
  std::vector<FunctionDecl> functions;
  std::map<std::string, Global> globals;
};

/// Fills functions and globals from body.
void resolveModule(ModuleData &, DiagnosticSink &);

/// "ts.kernel.autotune" for an attribute chain, "" for anything else.
std::string dottedName(const ast::Expr &);

/// The items of `dict(NAME=...)` and of `{"NAME": ...}`; null: it is no such dict, or an empty one.
const std::vector<ast::Keyword> *dictItems(const ast::Expr &);

} // namespace tessera::frontend
