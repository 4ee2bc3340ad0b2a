// Python's tokens: names, numbers, strings, operators, and the Newline, Indent and Dedent tokens that
// represent its layout.
#pragma once
#include "compiler/frontend/diagnostics/Diagnostics.h"
#include <string>
#include <vector>

namespace tessera::frontend {

struct Token {
  enum Kind : uint8_t { Name, Int, Float, String, Op, Newline, Indent, Dedent, End };
  Kind kind = End;
  Range loc;
  std::string text;     // Name, Op: spelling; String: the value
  int64_t intValue = 0; // Int: at least 0, except that 2^63, which a minus makes valid, is INT64_MIN
  double floatValue = 0;

  bool is(const char *spelling) const { return (kind == Op || kind == Name) && text == spelling; }
};

/// Larger sources are refused before they are read.
constexpr size_t kMaxSourceBytes = size_t(4) << 20;
/// The largest number of indentation levels, and of open brackets.
constexpr size_t kMaxNesting = 200;

/// Turns a source into tokens; always ends with End, whatever the input. Errors go to the sink, and the
/// offending characters are skipped, so that the parser sees as much of the rest as possible.
/// The first line of each piece may be indented; the blocks of the piece before it end there.
std::vector<Token> tokenize(const SourceText &, DiagnosticSink &,
                            const std::vector<SourcePiece> &pieces = {});

/// The tokens of the definition that the source begins with: decorators, head and body. `bytes` receives its
/// length. What follows it may be any UTF-8 text.
std::vector<Token> tokenizeDefinition(const SourceText &, DiagnosticSink &, size_t &bytes);

} // namespace tessera::frontend
