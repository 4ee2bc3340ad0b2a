// The names that a function uses and does not define.
#pragma once
#include "compiler/frontend/syntax/Ast.h"
#include "core/service/CompilerService.h"
#include <vector>

namespace tessera::frontend {

/// Returns each name once, with the place of its first use, in the order of the text. A chain of attributes
/// is one name: "ts.tile.zeros". Parameters, assigned names and the dims of annotations are defined by the
/// function; builtin functions and implicit iterators are not.
std::vector<FreeName> freeNames(ast::Stmt &function);

/// Returns, for each value that the function returns, the parameter that it is if it is one at all, also
/// under another name (`r = x`); "" if that depends on what is called, on a branch, or on which `return` is
/// taken. If returns have different numbers of values, as many as the longest one.
std::vector<std::string> returnedParameters(const ast::Stmt &function);

} // namespace tessera::frontend
