// The mappers that come with Tessera.
#include "mapper/host/Mappers.h"
#include "mapper/host/DecisionFile.h"
#include "mapper/host/Host.h"
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::mapping;

namespace {

Mapper::VariantCall matmul(int64_t m) {
  return {"matmul", "cpu:znver3", "f32", {"tile", "blas"}, {{"M", m}, {"N", -1}}};
}
const Mapper::CollectiveCall kSum = {"all_reduce", 4096, 8, "node", {"ring", "tree"}};
const Mapper::Region kRegionOfTwoLines = {"W\n1", "tp", "bf16", {64, 32}};
const Mapper::Mesh kMeshOfOneAxis = {{{"tp", 4}}, {"ptx:0", "ptx:1"}, {"local switch"}};

class Mappers : public testing::Test {
protected:
  void TearDown() override { unlink(file.c_str()); }
  std::unique_ptr<Mapper> make(const std::string &spec) {
    auto mapper = makeMapper(spec, failure);
    EXPECT_TRUE(mapper) << failure.message;
    return mapper;
  }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
  }
  void write(const std::string &contents) const { std::ofstream(file) << contents; }

  const std::string file = testing::TempDir() + "/decisions-" + std::to_string(getpid()) + ".yaml";
  Failure failure;
};

TEST_F(Mappers, RandomIsReproducible) {
  auto a = make("random(7)"), b = make("random(7)"), c = make("random(8)");
  std::set<std::string> answers, places;
  bool seedMatters = false;
  for (int64_t m = 0; m < 64; ++m) {
    std::string answer = a->chooseVariant(matmul(m)).name;
    answers.insert(answer);
    EXPECT_EQ(b->chooseVariant(matmul(m)).name, answer);
    EXPECT_EQ(a->chooseVariant(matmul(m)).name, answer); // the same on every call
    seedMatters |= c->chooseVariant(matmul(m)).name != answer;
    Mapper::Region r = kRegionOfTwoLines;
    r.shape = {m};
    places.insert(a->place(r, kMeshOfOneAxis).name);
  }
  EXPECT_EQ(answers, (std::set<std::string>{"tile", "blas"}));
  EXPECT_EQ(places, (std::set<std::string>{"ptx:0", "ptx:1", "local switch", "tp"}));
  EXPECT_TRUE(seedMatters);
  EXPECT_TRUE(kSum.offers(a->chooseCollective(kSum).name));
  EXPECT_EQ(a->place(kRegionOfTwoLines, {}).name, ""); // nothing to choose from
}

TEST_F(Mappers, LoggedDecisionsReplay) {
  auto logging = make("logging(random(1), " + file + ")");
  std::vector<std::string> answers;
  for (int64_t m = 0; m < 8; ++m)
    answers.push_back(logging->chooseVariant(matmul(m)).name);
  const std::string collective = logging->chooseCollective(kSum).name;
  const std::string place = logging->place(kRegionOfTwoLines, kMeshOfOneAxis).name;
  auto replay = make("replay(" + file + ")");
  for (int64_t m = 8; m-- > 0;)
    EXPECT_EQ(replay->chooseVariant(matmul(m)).name, answers[static_cast<size_t>(m)]);
  EXPECT_EQ(replay->chooseCollective(kSum).name, collective);
  EXPECT_EQ(replay->place(kRegionOfTwoLines, kMeshOfOneAxis).name, place);
  EXPECT_NE(text().find("call: choose_variant, about: \"op=matmul arch=cpu:znver3 dtype=f32 M=3 N=?\""),
            std::string::npos)
      << text();
}

TEST_F(Mappers, DefaultsAndPredictionsAreLogged) {
  struct Guess : Mapper {
    Choice chooseVariant(const VariantCall &) override { return {"blas", 12.5}; }
  };
  auto guess = makeLogging(std::make_unique<Guess>(), file);
  (void)guess->chooseVariant(matmul(1));
  (void)guess->chooseCollective(kSum);
  (void)guess->place(kRegionOfTwoLines, kMeshOfOneAxis);
  auto decisions = readDecisions(text());
  ASSERT_TRUE(decisions) << decisions.error().message << text();
  const std::vector<LoggedDecision> &read = *decisions;
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].choice, "blas");
  EXPECT_EQ(read[0].predictedNs, 12.5);
  EXPECT_EQ(read[1].choice, ""); // the implementation decides
  EXPECT_EQ(read[1].legal, kSum.algorithms);
  EXPECT_EQ(read[2].choice, "");
  EXPECT_EQ(make("replay(" + file + ")")->chooseVariant(matmul(1)).predictedNs, 12.5);
}

TEST_F(Mappers, AnIllegalAnswerIsNotLogged) {
  struct Wrong : Mapper {
    Choice chooseVariant(const VariantCall &) override { return "no"; }
  };
  auto logging = makeLogging(std::make_unique<Wrong>(), file);
  EXPECT_EQ(logging->chooseVariant(matmul(1)).name, "no");
  EXPECT_NE(text().find("decisions: []"), std::string::npos) << text();
}

TEST_F(Mappers, AQuestionAskedAgainGetsItsAnswersInOrder) {
  write("decisions:\n"
        "- {call: choose_collective, about: \"kind=all_reduce bytes=4096 ranks=8 topology=node\", choice: "
        "ring}\n"
        "- {call: choose_collective, about: \"kind=all_reduce bytes=4096 ranks=8 topology=node\", choice: "
        "tree}\n");
  auto replay = make("replay(" + file + ")");
  EXPECT_EQ(replay->chooseCollective(kSum).name, "ring");
  EXPECT_EQ(replay->chooseCollective(kSum).name, "tree");
  EXPECT_EQ(replay->chooseCollective(kSum).name, "tree");
}

TEST_F(Mappers, AMissingQuestionIsNamed) {
  write("decisions: []\n");
  Host host("replay", make("replay(" + file + ")"));
  try {
    (void)host.chooseVariant(matmul(5), "mlp.py:3");
    FAIL();
  } catch (const Failure &f) {
    EXPECT_EQ(f.code, "E_MAPPER_REPLAY");
    EXPECT_EQ(f.status, TSR_ENOTFOUND);
    EXPECT_NE(f.message.find(file +
                             " has no decision about choose_variant(op=matmul arch=cpu:znver3 dtype=f32 "
                             "M=5 N=?)"),
              std::string::npos)
        << f.message;
  }
}

TEST_F(Mappers, InvalidFiles) {
  auto refused = [&](const std::string &spec) {
    EXPECT_EQ(makeMapper(spec, failure), nullptr);
    return failure.code + " " + failure.message;
  };
  EXPECT_EQ(refused("replay(/nonexistent/x)"),
            "E_MAPPER_REPLAY /nonexistent/x cannot be read: No such file or directory");
  EXPECT_EQ(failure.status, TSR_EIO);
  EXPECT_NE(refused("logging(default, /nonexistent/x)")
                .find("E_MAPPER_LOG the decisions cannot be written to /nonexistent/x: No such file"),
            std::string::npos)
      << failure.message;
  struct {
    const char *text, *says;
  } const cases[] = {
      {"", ": line 1: file: expected a map"},
      {"decision: []", ": line 1: file: unknown key 'decision'"},
      {"{}", ": line 1: decisions: missing"},
      {"decisions: 3", ": line 1: decisions: expected a list"},
      {"decisions:\n- {call: choose_variant, about: x}", ": line 2: decisions: an entry has no choice"},
      {"decisions:\n- {call: chose, about: x, choice: y}", "'chose' is not one of place, choose_collective"},
      {"decisions:\n- {call: place, about: x, choice: y, predicted_ns: soon}",
       "expected a number, found 'soon'"},
      {"decisions: [", ": line "},
      {"---\ndecisions: []", "without markers (---)"},
  };
  for (const auto &c : cases) {
    write(c.text);
    const std::string said = refused("replay(" + file + ")");
    EXPECT_EQ(failure.status, TSR_EINVAL) << c.text;
    EXPECT_NE(said.find(file + ": "), std::string::npos) << said;
    EXPECT_NE(said.find(c.says), std::string::npos) << c.text << " -> " << said;
  }
}

TEST_F(Mappers, AFileThatCannotBeWrittenLaterFailsTheQuestion) {
  const std::string folder = file + ".d";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  auto logging = make("logging(default, " + folder + "/x)");
  ASSERT_EQ(unlink((folder + "/x").c_str()), 0);
  ASSERT_EQ(rmdir(folder.c_str()), 0);
  try {
    (void)logging->chooseVariant(matmul(1));
    FAIL();
  } catch (const Failure &f) {
    EXPECT_EQ(f.code, "E_MAPPER_LOG");
  }
}

} // namespace
