// Reading any text terminates quickly, with nodes or with an error.
#include "core/support/YamlText.h"
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::yaml {
namespace {

constexpr Bounds kBounds = {.bytes = 1 << 16, .nodes = 1 << 12};

std::string errorOf(const std::string &text) {
  try {
    (void)load(text, kBounds);
    return "";
  } catch (const YAML::Exception &e) {
    return describe(e);
  }
}

TEST(YamlText, OneDocument) {
  EXPECT_EQ(load("a: [1, 2]\nb: {c: d}\n", kBounds)["b"]["c"].Scalar(), "d");
  EXPECT_EQ(load("{a: 1} # the rest\n\n", kBounds)["a"].Scalar(), "1");
  EXPECT_TRUE(load("", kBounds).IsNull());
  EXPECT_TRUE(load("# nothing\n", kBounds).IsNull());
  for (const char *text : {",", ", a: 1", ",{a: 1}", "!t , a", "&a , b"})
    EXPECT_EQ(errorOf(text), "line 1: expected nothing after the document") << text;
  EXPECT_EQ(errorOf("[a]\nb"), "line 2: expected nothing after the document");
  EXPECT_EQ(errorOf("a: 1\n---\n"), "line 2: expected one YAML document without markers (---)");
  EXPECT_EQ(errorOf("a: 1\n..."), "line 2: expected one YAML document without markers (...)");
}

TEST(YamlText, BoundsAreEnforced) {
  EXPECT_EQ(errorOf(std::string(70000, ' ')), "line 1: it has 70000 bytes; expected at most 65536");
  for (const char *piece : {"- \n", ",", "? ", "a:\n", "[", "{"})
    for (std::string start : {"", "[", "{"}) {
      std::string text = start;
      while (text.size() + 4 < kBounds.bytes)
        text += piece;
      EXPECT_NE(errorOf(text), "") << start << piece;
    }
}

/// Texts made of pieces with a meaning in YAML. A parser that loops is ended by SIGALRM or by the memory
/// limit.
TEST(YamlText, ReadingTerminates) {
  const char *const pieces[] = {"-",  "- ",  "---", "...", "\n", "\n  ", " ", "\t", ",",           "[",
                                "]",  "{",   "}",   "?",   ": ", ":",    "a", "#",  "%",           "&x ",
                                "*x", "!t ", "|",   ">",   "\"", "'",    "@", "\r", "\xef\xbb\xbf"};
  constexpr size_t kTexts = 30000, kLeast = 4;
  const pid_t child = fork();
  if (child == 0) {
#if !defined(__has_feature) || !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
    const rlimit memory = {1 << 30, 1 << 30}; // sanitizers map more
    setrlimit(RLIMIT_AS, &memory);
#endif
    std::mt19937 random(7);
    auto any = [&] { return pieces[random() % std::size(pieces)]; };
    for (const char *a : pieces)
      for (const char *b : pieces)
        for (const char *c : pieces) {
          alarm(20);
          (void)errorOf(std::string(a) + b + c);
        }
    for (size_t i = 0; i < kTexts; ++i) {
      std::string text;
      for (size_t n = kLeast + random() % 12; n; --n)
        text += any();
      alarm(20);
      (void)errorOf(text);
    }
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace tessera::yaml
