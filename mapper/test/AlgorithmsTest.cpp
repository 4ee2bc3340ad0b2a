// choose_collective from the calls of communicators: which mapper is asked, how often, and the effect of its
// answer.
#include "plugins/inprocess/test/Ranks.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tessera/mapper.hpp>

using namespace tessera;
using namespace tessera::test;
using testing::HasSubstr;

namespace {

std::atomic<int> asked;

/// Returns a given answer and counts the calls.
struct Told : Mapper {
  explicit Told(std::string a) : answer(std::move(a)) {}
  Choice chooseCollective(const CollectiveCall &c) override {
    ++asked;
    last = c;
    return {answer, 250};
  }
  static inline CollectiveCall last;
  const std::string answer;
};

class Algorithms : public testing::Test {
protected:
  void SetUp() override { asked = 0; }
  void TearDown() override {
    setMapper(nullptr);
    unsetenv("TESSERA_MAPPER");
  }
};

/// Sums `count` ones over two ranks, `times` times. Returns rank 0's decisions.
nlohmann::json reduce(size_t count, int times = 1) {
  nlohmann::json out;
  onRanks(2, [&](Comm &comm, int rank) {
    std::vector<float> src(count, 1), dst(count);
    for (int i = 0; i < times; ++i)
      comm.allReduce(src.data(), dst.data(), count, TSR_REDUCE_SUM);
    EXPECT_EQ(dst, std::vector<float>(count, 2));
    if (rank == 0) out = nlohmann::json::parse(comm.decisions());
  });
  return out;
}

} // namespace

TEST_F(Algorithms, WithoutAMapperNobodyDecides) {
  EXPECT_EQ(reduce(8), nlohmann::json::array());
  setenv("TESSERA_MAPPER", "default", 1);
  EXPECT_EQ(reduce(8), nlohmann::json::array());
}

TEST_F(Algorithms, AMapperIsAskedOnceForEachSizeAndItsAnswerIsRecorded) {
  setMapper(std::make_unique<Told>("direct"), "told");
  const nlohmann::json d = reduce(8, 5);
  ASSERT_EQ(d.size(), 1u);
  EXPECT_EQ(d[0]["kind"], "all_reduce");
  EXPECT_EQ(d[0]["bytes"], 32);
  EXPECT_EQ(d[0]["ranks"], 2);
  EXPECT_EQ(d[0]["topology"], "process");
  EXPECT_EQ(d[0]["from"], nlohmann::json({"direct", "staged"}));
  EXPECT_EQ(d[0]["choice"], "direct");
  EXPECT_EQ(d[0]["by"], "told");
  EXPECT_EQ(d[0]["predicted_ns"], 250);
  EXPECT_EQ(d[0]["calls"], 5);
  EXPECT_GT(d[0]["measured_ns"], 0);
  EXPECT_EQ(asked, 1); // once for two ranks and ten calls
  reduce(16);
  reduce(8); // another communicator
  EXPECT_EQ(asked, 2);
  onRanks(2, [](Comm &comm, int) {
    std::vector<int64_t> src(6, 1), dst(6);
    comm.reduceScatter(src.data(), dst.data(), 3, TSR_REDUCE_SUM);
  });
  EXPECT_EQ(Told::last.kind, "reduce_scatter");
  EXPECT_EQ(Told::last.bytes, 48u);
  onRanks(2, [](Comm &comm, int) {
    std::vector<int64_t> src(6, 1), dst(6);
    comm.allToAll(src.data(), dst.data(), 3);
  });
  EXPECT_EQ(Told::last.kind, "all_to_all");
  EXPECT_EQ(Told::last.bytes, 48u);
}

TEST_F(Algorithms, AnotherMapperIsAskedAgain) {
  setMapper(std::make_unique<Told>("direct"), "first");
  onRanks(1, [](Comm &comm, int) {
    float x = 1, y = 0;
    comm.allReduce(&x, &y, 1, TSR_REDUCE_SUM);
    setMapper(std::make_unique<Told>("staged"), "second");
    comm.allReduce(&x, &y, 1, TSR_REDUCE_SUM);
    setMapper(nullptr);
    comm.allReduce(&x, &y, 1, TSR_REDUCE_SUM);
    const auto d = nlohmann::json::parse(comm.decisions());
    ASSERT_EQ(d.size(), 2u);
    EXPECT_EQ(d[0]["by"], "first");
    EXPECT_EQ(d[1]["choice"], "staged");
  });
  EXPECT_EQ(asked, 2);
}

TEST_F(Algorithms, ACallThatNamesItsAlgorithmAsksNobody) {
  setMapper(std::make_unique<Told>("direct"), "told");
  onRanks(2, [](Comm &comm, int) {
    float x = 1, y = 0;
    tsr_collective_call_t call{};
    call.struct_size = sizeof call;
    call.kind = TSR_ALL_REDUCE, call.dtype = TSR_DTYPE_F32, call.op = TSR_REDUCE_SUM;
    call.count = 1, call.src = &x, call.dst = &y, call.algorithm = "staged";
    comm.run(call);
    EXPECT_EQ(y, 2);
  });
  EXPECT_EQ(asked, 0);
}

TEST_F(Algorithms, AnIllegalAnswerFailsTheCallOfThisRank) {
  setMapper(std::make_unique<Told>("derect"), "told");
  onRanks(1, [](Comm &comm, int) {
    float x = 1, y = 0;
    EXPECT_THAT(
        failure(tsrAllReduce(comm.handle(), &x, &y, 1, TSR_DTYPE_F32, TSR_REDUCE_SUM)),
        testing::AllOf(HasSubstr("TSR_EINVAL: [E_MAPPER_ANSWER] mapper told, choose_collective("
                                 "kind=all_reduce bytes=4 ranks=1 topology=process): the answer 'derect' "
                                 "is not legal here; legal: direct, staged"),
                       HasSubstr("did you mean direct?")));
    setMapper(nullptr); // nothing has been sent, so the communicator still works
    comm.allReduce(&x, &y, 1, TSR_REDUCE_SUM);
    EXPECT_EQ(y, 1);
  });
}

TEST_F(Algorithms, InvalidCallsAreRefusedByTheImplementation) {
  setMapper(std::make_unique<Told>("direct"), "told");
  onRanks(1, [](Comm &comm, int) {
    float x = 1;
    EXPECT_THAT(failure(tsrAllReduce(comm.handle(), &x, &x, 1, static_cast<tsr_dtype_t>(77), TSR_REDUCE_SUM)),
                HasSubstr("TSR_EINVAL"));
    EXPECT_THAT(failure(tsrAllReduce(comm.handle(), &x, &x, SIZE_MAX, TSR_DTYPE_F32, TSR_REDUCE_SUM)),
                HasSubstr("TSR_E"));
  });
  EXPECT_EQ(asked, 0);
}

TEST_F(Algorithms, DecisionsAreLoggedAndReplayed) {
  const std::string file = (std::filesystem::temp_directory_path() / freshId()).string() + ".yaml";
  setenv("TESSERA_MAPPER", ("logging(random(3), " + file + ")").c_str(), 1);
  const nlohmann::json first = reduce(8, 3), second = reduce(4096);
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(text, HasSubstr("call: choose_collective, about: \"kind=all_reduce bytes=32 ranks=2 "
                              "topology=process\", from: [\"direct\", \"staged\"]"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), 2);
  setenv("TESSERA_MAPPER", ("replay(" + file + ")").c_str(), 1);
  EXPECT_EQ(reduce(4096)[0]["choice"], second[0]["choice"]);
  EXPECT_EQ(reduce(8)[0]["choice"], first[0]["choice"]);
  onRanks(1, [](Comm &comm, int) {
    float x = 1;
    EXPECT_THAT(failure(tsrAllReduce(comm.handle(), &x, &x, 1, TSR_DTYPE_F32, TSR_REDUCE_SUM)),
                HasSubstr("TSR_EINVAL: [E_MAPPER_REPLAY]"));
  });
  std::filesystem::remove(file);
}
