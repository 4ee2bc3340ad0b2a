// The syntax of TESSERA_MAPPER: every error points at its character.
#include "mapper/host/Mappers.h"
#include <gtest/gtest.h>

using namespace tessera::mapping;

namespace {

Spec parsed(const std::string &text) {
  Spec spec;
  SpecError error;
  EXPECT_TRUE(parseSpec({text, 0}, spec, error)) << show(text, error);
  return spec;
}

TEST(Spec, NamesAndArguments) {
  EXPECT_EQ(parsed("default").name.text, "default");
  Spec s = parsed("  my-mapper_2 ( a(b), c ) ");
  EXPECT_EQ(s.name.text, "my-mapper_2");
  EXPECT_EQ(s.name.at, 2u);
  EXPECT_EQ(s.arguments.text, "a(b), c");
  EXPECT_EQ(s.arguments.at, 16u);
  EXPECT_EQ(parsed("m()").arguments.text, "");

  auto pieces = splitArguments({"replay(a,b), out.yaml ,", 10});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].text, "replay(a,b)");
  EXPECT_EQ(pieces[1].text, "out.yaml");
  EXPECT_EQ(pieces[1].at, 23u);
  EXPECT_EQ(pieces[2].text, "");
}

TEST(Spec, ErrorsPointAtTheCharacter) {
  struct {
    const char *text, *says;
  } const cases[] = {
      {"", "column 1: expected the name of a mapper"},
      {" (x)", "column 2: expected the name of a mapper"},
      {"7up", "column 1: expected the name of a mapper"},
      {"logging(replay(x.yaml)", "column 23: expected ')' for the '(' at column 8"},
      {"random(1) x", "column 11: expected the end after ')'"},
      {"random 1", "column 8: expected '(' or the end"},
      {"m(a\nb)", "column 4: a control character"},
      {"random(x)", "column 8: random needs a seed"},
      {"random", "column 7: random needs a seed"},
      {"random(-1)", "column 8: random needs a seed"},
      {"logging(logging( random(2x)))", "column 25: random needs a seed"},
      {"logging(default, )", "column 17: expected a file"},
      {"logging(default, a, b)", "column 21: logging takes a mapper and a file"},
      {"default(3)", "column 9: default takes nothing in parentheses"},
      {"replay()", "column 8: replay needs the file"},
  };
  for (const auto &c : cases) {
    Failure f;
    EXPECT_EQ(makeMapper(c.text, f), nullptr) << c.text;
    EXPECT_EQ(f.code, "E_MAPPER_SPEC") << c.text;
    EXPECT_NE(f.message.find(c.says), std::string::npos) << c.text << "\n" << f.message;
  }
  Failure f;
  EXPECT_EQ(makeMapper("random(x)", f), nullptr);
  EXPECT_NE(f.message.find("\n  random(x)\n         ^"), std::string::npos) << f.message;
}

TEST(Spec, LengthAndDepthAreBounded) {
  Failure f;
  EXPECT_EQ(makeMapper(std::string(5000, 'a'), f), nullptr);
  EXPECT_NE(f.message.find("longer than 4096 characters"), std::string::npos) << f.message;
  std::string deep = "default";
  for (int i = 0; i < 40; ++i)
    deep = "logging(" + deep + ", /nonexistent/x)";
  EXPECT_EQ(makeMapper(deep, f), nullptr);
  EXPECT_NE(f.message.find("more than 16 mappers in one another"), std::string::npos) << f.message;
}

} // namespace
