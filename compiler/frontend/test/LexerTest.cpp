#include "compiler/frontend/syntax/Lexer.h"
#include <gtest/gtest.h>

namespace tessera::frontend::test {
namespace {

std::string kinds(const std::string &text) {
  SourceText source(text, "t.py");
  DiagnosticSink sink(source);
  std::string out;
  for (const Token &t : tokenize(source, sink)) {
    switch (t.kind) {
    case Token::Name:
      out += t.text + " ";
      break;
    case Token::Int:
      out += std::to_string(t.intValue) + " ";
      break;
    case Token::Float:
      out += "f" + std::to_string(t.floatValue) + " ";
      break;
    case Token::String:
      out += "'" + t.text + "' ";
      break;
    case Token::Op:
      out += t.text + " ";
      break;
    case Token::Newline:
      out += "NL ";
      break;
    case Token::Indent:
      out += "IN ";
      break;
    case Token::Dedent:
      out += "DE ";
      break;
    case Token::End:
      out += "END";
      break;
    }
  }
  return out + (sink.hasErrors() ? " !" : "");
}

TEST(Lexer, Layout) {
  EXPECT_EQ(kinds("if a:\n    b\nc\n"), "if a : NL IN b NL DE c NL END");
  EXPECT_EQ(kinds("if a:\n  if b:\n    c"), "if a : NL IN if b : NL IN c NL DE DE END");
  EXPECT_EQ(kinds("a\n\n   # comment\n\nb # more\n"), "a NL b NL END");
  EXPECT_EQ(kinds("a\r\nb\rc\n"), "a NL b NL c NL END");
  EXPECT_EQ(kinds("\xEF\xBB\xBFx"), "x NL END");
  EXPECT_EQ(kinds(""), "END");
}

TEST(Lexer, JoinsLines) {
  EXPECT_EQ(kinds("f(a,\n   b)\n"), "f ( a , b ) NL END");
  EXPECT_EQ(kinds("a = \\\n  b\n"), "a = b NL END");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(kinds("1_000 0x1F 0b101 0o17"), "1000 31 5 15 NL END");
  EXPECT_EQ(kinds("1.5 .5 2. 1e3 1E-2"), "f1.500000 f0.500000 f2.000000 f1000.000000 f0.010000 NL END");
  EXPECT_EQ(kinds("9223372036854775807"), "9223372036854775807 NL END");
  EXPECT_EQ(kinds("9223372036854775808"), "-9223372036854775808 NL END"); // fits after a minus
  EXPECT_EQ(kinds("9223372036854775809"), "-9223372036854775807 NL END !");
  EXPECT_EQ(kinds("0b12"), "1 NL END !");
}

TEST(Lexer, Strings) {
  EXPECT_EQ(kinds("'a' \"b\" r'\\n' '\\'x'"), "'a' 'b' '\\n' ''x' NL END");
  EXPECT_EQ(kinds("'''a\nb'''"), "'a\nb' NL END");
  EXPECT_EQ(kinds("b'x'"), "'x' NL END !");
}

TEST(Lexer, PositionsCountCodePoints) {
  SourceText source("'ö' x\n  y", "t.py");
  DiagnosticSink sink(source);
  std::vector<Token> tokens = tokenize(source, sink);
  EXPECT_EQ(tokens[1].loc.col, 5u);
  EXPECT_EQ(tokens[1].loc.endCol, 6u);
}

} // namespace
} // namespace tessera::frontend::test
