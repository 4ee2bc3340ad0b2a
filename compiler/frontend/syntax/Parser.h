// Recursive-descent parser with error recovery at statement ends: one run reports every broken statement.
#pragma once
#include "compiler/frontend/syntax/Ast.h"
#include "compiler/frontend/syntax/Lexer.h"

namespace tessera::frontend {

/// Parses a whole file. Errors go to the sink; what could be parsed is returned.
ast::Block parse(const std::vector<Token> &, DiagnosticSink &);

} // namespace tessera::frontend
