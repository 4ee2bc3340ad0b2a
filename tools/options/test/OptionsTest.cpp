#include "tools/options/Options.h"
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

const CommandSpec spec = {"run",
                          "FILE",
                          "run",
                          "Runs.",
                          {{"in", 0, OptionSpec::Named, "NAME=FILE", "inputs"},
                           {"kernel", 'k', OptionSpec::Value, "NAME", "which"},
                           {"time", 0, OptionSpec::Value, "N", "repetitions"},
                           {"raw", 0, OptionSpec::Flag, "", "bits"},
                           {"print", 0, OptionSpec::OptionalValue, "DIR", "snapshots"}},
                          1,
                          ""};

MaybeError parse(std::vector<std::string> words, Arguments &out) {
  std::vector<char *> pointers;
  for (std::string &w : words)
    pointers.push_back(w.data());
  return parseArguments(spec, pointers, out);
}

std::string codeOf(std::vector<std::string> words) {
  Arguments args;
  auto e = parse(std::move(words), args);
  return e ? e->code : "";
}

TEST(Options, ReadsEveryForm) {
  Arguments args;
  ASSERT_FALSE(
      parse({"file.py", "--in", "X=x.npy", "Y=y.npy", "--in=Z=a=b.npy", "-k", "gemm", "--raw"}, args));
  EXPECT_EQ(args.positional(), std::vector<std::string>{"file.py"});
  EXPECT_EQ(args.named("in"), (std::vector<NamedValue>{{"X", "x.npy"}, {"Y", "y.npy"}, {"Z", "a=b.npy"}}));
  EXPECT_EQ(args.value("kernel"), "gemm");
  EXPECT_TRUE(args.has("raw"));
  EXPECT_FALSE(args.has("time"));
}

TEST(Options, NamedValuesEndBeforeTheFile) {
  Arguments args;
  ASSERT_FALSE(parse({"--in", "X=x.npy", "file.py"}, args));
  EXPECT_EQ(args.positional(), std::vector<std::string>{"file.py"});
}

TEST(Options, OptionalValuesNeedAnEqualsSign) {
  Arguments args;
  ASSERT_FALSE(parse({"--print", "file.py"}, args));
  EXPECT_TRUE(args.has("print"));
  EXPECT_EQ(args.value("print"), "");
  EXPECT_EQ(args.positional().size(), 1u);
  ASSERT_FALSE(parse({"--print=dir"}, args));
  EXPECT_EQ(args.value("print"), "dir");
}

TEST(Options, DoubleDashEndsOptions) {
  Arguments args;
  ASSERT_FALSE(parse({"--", "--raw"}, args));
  EXPECT_EQ(args.positional(), std::vector<std::string>{"--raw"});
}

TEST(Options, SuggestsTheOptionMeant) {
  Arguments args;
  auto e = parse({"--tmie", "3"}, args);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code, "E_UNKNOWN_OPTION");
  EXPECT_EQ(e->message, "unknown option --tmie, did you mean --time?");
}

TEST(Options, RefusesMalformedOptions) {
  EXPECT_EQ(codeOf({"--frobnicate"}), "E_UNKNOWN_OPTION");
  EXPECT_EQ(codeOf({"-x"}), "E_UNKNOWN_OPTION");
  EXPECT_EQ(codeOf({"-kx"}), "E_UNKNOWN_OPTION");
  EXPECT_EQ(codeOf({"--time"}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--time="}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--in", "x.npy"}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--in", "=x.npy"}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--in", "X="}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--in"}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--raw=yes"}), "E_OPTION_VALUE");
  EXPECT_EQ(codeOf({"--kernel", "a", "--kernel", "b"}), "E_OPTION_REPEATED");
  EXPECT_EQ(codeOf({"a.py", "b.py"}), "E_OPTION_VALUE");
}

TEST(Options, EveryCommandHasHelp) {
  Arguments args;
  ASSERT_FALSE(parse({"-h"}, args));
  EXPECT_TRUE(args.wantsHelp());
  EXPECT_NE(spec.help().find("--kernel NAME"), std::string::npos);
}

TEST(Options, SupportsAProgramWithOneCommand) {
  static const std::vector<OptionSpec> common = {{"help", 'h', OptionSpec::Flag, "", "print this text"}};
  const CommandSpec kit = {"",
                           "--plugin FILE",
                           "",
                           "Checks.",
                           {{"only", 0, OptionSpec::Repeated, "PATTERN", "which checks"},
                            {"child", 0, OptionSpec::Value, "FOLDER", ""}},
                           0,
                           "",
                           "kit",
                           &common};
  EXPECT_EQ(kit.help(), "usage: kit --plugin FILE\n\nChecks.\n\noptions:\n"
                        "  --only PATTERN                   which checks\n"
                        "  -h, --help                       print this text\n");
  Arguments args;
  auto parsed = [&](std::vector<std::string> words) {
    std::vector<char *> pointers;
    for (std::string &w : words)
      pointers.push_back(w.data());
    auto e = parseArguments(kit, pointers, args);
    return e ? e->message : "";
  };
  EXPECT_EQ(parsed({"--only", "a", "--only=b", "--child", "f"}), "");
  EXPECT_EQ(args.values("only"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(args.value("child"), "f");
  EXPECT_EQ(parsed({"--color", "never"}), "unknown option --color of kit");
  EXPECT_EQ(parsed({"--hlep"}), "unknown option --hlep, did you mean --help?");
  EXPECT_EQ(parsed({"--chld"}), "unknown option --chld of kit"); // internal options are not suggested
  EXPECT_EQ(parsed({"x"}), "unexpected argument 'x'");
}

TEST(Options, IntegersAreWholeAndDecimal) {
  int64_t v;
  EXPECT_TRUE(parseInt("-42", v) && v == -42);
  for (const char *bad : {"", "1 ", " 1", "+1", "1.0", "0x10", "9223372036854775808", "1e3"})
    EXPECT_FALSE(parseInt(bad, v)) << bad;
}

} // namespace
} // namespace tessera::cli
