#include "core/service/CompilerService.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

Diagnostic sample() {
  Diagnostic d;
  d.code = "E_UNKNOWN_NAME";
  d.message = "unknown name 'alhpa'";
  d.hint = "did you mean 'alpha'?";
  d.file = "a.py";
  d.line = 3;
  d.col = 9;
  d.endCol = 14;
  d.sourceLine = "    y = alhpa * x";
  return d;
}

TEST(Diagnostic, ShowsPositionCodeLineAndCaret) {
  EXPECT_EQ(render(sample(), false), "a.py:3:9: error: [E_UNKNOWN_NAME] unknown name 'alhpa'\n"
                                     "      y = alhpa * x\n"
                                     "          ^~~~~\n"
                                     "  hint: did you mean 'alpha'?\n");
}

TEST(Diagnostic, WithoutAPositionOrHint) {
  Diagnostic d;
  d.severity = Diagnostic::Severity::Warning;
  d.message = "slow";
  EXPECT_EQ(render(d, false), "warning: slow\n");
  d.file = "a.py";
  d.severity = Diagnostic::Severity::Note;
  EXPECT_EQ(render(d, false), "a.py: note: slow\n");
}

TEST(Diagnostic, CaretIsUnderItsCharacterAfterTabsAndUtf8) {
  Diagnostic d = sample();
  d.hint.clear();
  d.sourceLine = "\t\xC3\xA4 = q"; // a tab, and a-umlaut in two bytes
  d.col = 6;                       // in code points
  d.endCol = 7;
  EXPECT_EQ(render(d, false),
            "a.py:3:6: error: [E_UNKNOWN_NAME] unknown name 'alhpa'\n  \t\xC3\xA4 = q\n  \t    ^\n");
}

TEST(Diagnostic, BytesThatAreNotTextAreReplaced) {
  Diagnostic d = sample();
  d.message = "a\xFF \x1B[2J";
  d.hint = "\xC3\xA4 \xC0\x80 \xED\xA0\x80";
  d.sourceLine = std::string("\xE2\x82 = q\0\tx", 9);
  d.col = 6;
  d.endCol = 7;
  EXPECT_EQ(render(d, false), "a.py:3:6: error: [E_UNKNOWN_NAME] a? ?[2J\n  ?? = q?\tx\n       ^\n"
                              "  hint: \xC3\xA4 ?? ???\n");
}

TEST(Diagnostic, InvalidColumnsAreHarmless) {
  Diagnostic d = sample();
  for (uint32_t col : {0u, 1u, 17u, 18u, 19u, 4000000000u})
    for (uint32_t end : {0u, 1u, 18u, 4000000000u}) {
      d.col = col;
      d.endCol = end;
      EXPECT_LT(render(d, true).size(), 300u);
    }
}

TEST(Diagnostic, Colour) {
  EXPECT_NE(render(sample(), true).find("\033[1;31merror"), std::string::npos);
  EXPECT_EQ(render(sample(), false).find('\033'), std::string::npos);
}

} // namespace
