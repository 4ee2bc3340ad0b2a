#include "tools/tune/Tuner.h"
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <random>
#include <set>

namespace tessera::tune {
namespace {

using testing::HasSubstr;

/// A kernel whose configurations take planted times. Its clock goes on by what it "runs".
class FakeSubject : public TuneSubject {
public:
  FakeSubject(std::vector<double> ns, uint64_t seed = 1, double noise = 0.02)
      : ns_(std::move(ns)), random_(seed), noise_(noise) {}

  MaybeError prepare(size_t c) override {
    prepared.push_back(c);
    if (illegal.contains(c)) return Error{"E_TILE", "tile " + std::to_string(c) + " is too large", ""};
    return std::nullopt;
  }
  MaybeError check(size_t c) override {
    if (wrong.contains(c)) return Error{"E_TUNE_WRONG", "C: 1 of 4 elements differ", ""};
    return std::nullopt;
  }
  Expected<Sample> measure(size_t c) override {
    ++measured;
    Sample s{time(0), time(c)};
    clock += (s.baseNs + s.ns) * 1e-9;
    return s;
  }
  double now() override { return clock; }

  std::set<size_t> illegal, wrong;
  std::vector<size_t> prepared;
  size_t measured = 0;
  double clock = 1000;

private:
  /// Noise only ever adds, and one launch in ten is disturbed. Of three the fastest counts.
  double time(size_t c) {
    std::exponential_distribution<double> small(1);
    std::bernoulli_distribution isDisturbed(0.1);
    double least = 1e300;
    for (int i = 0; i < 3; ++i)
      least = std::min(least, ns_[c] * (1 + noise_ * small(random_) + (isDisturbed(random_) ? 0.3 : 0)));
    return least;
  }
  std::vector<double> ns_;
  std::mt19937_64 random_;
  double noise_;
};

struct Recorder : TuneObserver {
  MaybeError onTrial(size_t c, const std::vector<Sample> &samples, bool isConfirmation) override {
    confirmed += isConfirmation;
    trials.emplace_back(c, samples.size());
    return failure;
  }
  MaybeError onWrong(size_t c, const Error &) override {
    wrong.push_back(c);
    return std::nullopt;
  }
  void onIllegal(size_t c, const Error &) override { illegal.push_back(c); }
  void onProgress(size_t done, size_t all, size_t, double, double) override {
    EXPECT_LE(done, all);
    ++progress;
  }
  std::vector<std::pair<size_t, size_t>> trials;
  std::vector<size_t> wrong, illegal;
  size_t progress = 0, confirmed = 0;
  MaybeError failure;
};

std::vector<Configuration> space(size_t count) {
  std::vector<Configuration> out(count);
  for (size_t c = 0; c < count; ++c)
    out[c].values = {{"BLOCK", static_cast<int64_t>(c)}};
  return out;
}

TuneResult tuned(FakeSubject &subject, size_t count, double budget = 1e9) {
  Recorder recorder;
  auto search = successiveHalving();
  Expected<TuneResult> result = tune(space(count), *search, subject, recorder, budget);
  EXPECT_TRUE(result);
  return result ? *result : TuneResult();
}

std::vector<double> times(size_t count, size_t fast, double ns) {
  std::vector<double> out(count, 1e6);
  out[fast] = ns;
  return out;
}

TEST(Tuner, FindsAPlantedGainOfSixPercent) {
  int found = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeSubject subject(times(20, 13, 1e6 / 1.06), seed);
    found += tuned(subject, 20).winner == 13;
  }
  EXPECT_GE(found, 45);
}

TEST(Tuner, RefusesAPlantedGainOfTwoPercent) {
  int chosen = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeSubject subject(times(20, 13, 1e6 / 1.02), seed);
    chosen += tuned(subject, 20).winner != 0;
  }
  EXPECT_EQ(chosen, 0);
}

TEST(Tuner, NoiseAloneChangesNothing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeSubject subject(std::vector<double>(30, 1e6), seed, 0.05);
    EXPECT_EQ(tuned(subject, 30).winner, 0u) << seed;
  }
}

TEST(Tuner, AWrongConfigurationNeverWins) {
  FakeSubject subject(times(8, 3, 1e5));
  subject.wrong = {3};
  const TuneResult result = tuned(subject, 8);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_TRUE(result.standings[3].isOut);
  EXPECT_TRUE(result.standings[3].samples.empty()) << "what is wrong is not timed";
}

TEST(Tuner, AnIllegalConfigurationIsLeftOut) {
  FakeSubject subject(times(8, 3, 1e5));
  subject.illegal = {3, 5};
  const TuneResult result = tuned(subject, 8);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.illegal, 2u);
}

TEST(Tuner, ASpaceThatIsIllegalAsAWholeNamesEachReason) {
  FakeSubject subject(std::vector<double>(3, 1e6));
  subject.illegal = {0, 1, 2};
  Recorder recorder;
  auto search = successiveHalving();
  Expected<TuneResult> result = tune(space(3), *search, subject, recorder, 60);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "E_TUNE_EMPTY");
  for (const char *reason : {"BLOCK=0: tile 0 is too large", "BLOCK=1: tile 1", "BLOCK=2: tile 2"})
    EXPECT_THAT(result.error().message, HasSubstr(reason));
}

TEST(Tuner, AnIllegalDefaultIsAnErrorOfItsOwn) {
  FakeSubject subject(std::vector<double>(3, 1e6));
  subject.illegal = {0, 2};
  Recorder recorder;
  auto search = successiveHalving();
  Expected<TuneResult> result = tune(space(3), *search, subject, recorder, 60);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "E_TUNE_DEFAULT");
  EXPECT_THAT(result.error().message, HasSubstr("BLOCK=0"));
}

TEST(Tuner, AKernelWithOneConfigurationKeepsIt) {
  FakeSubject subject({1e6});
  const TuneResult result = tuned(subject, 1);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(subject.measured, 0u);
}

TEST(Tuner, EndsWithItsBudget) {
  FakeSubject subject(std::vector<double>(20, 1e9)); // a pair takes two seconds
  const TuneResult result = tuned(subject, 20, 10);
  EXPECT_TRUE(result.ranOutOfTime);
  EXPECT_LE(subject.measured, 6u);
  EXPECT_EQ(result.winner, 0u) << "too few pairs for a choice";
}

TEST(Tuner, ReportsEachTrialAndEndsIfOneCannotBeKept) {
  FakeSubject subject(std::vector<double>(4, 1e6));
  Recorder recorder;
  auto search = successiveHalving();
  ASSERT_TRUE(tune(space(4), *search, subject, recorder, 60));
  // 3 configurations with a pair, 2 of them with 3 more, 1 with 9 more
  size_t pairs = 0;
  for (const auto &[c, count] : recorder.trials)
    pairs += count;
  EXPECT_EQ(recorder.trials.size(), 6u);
  EXPECT_EQ(pairs, 3u * 1 + 2u * 3 + 1u * 9);
  EXPECT_EQ(pairs, subject.measured);
  EXPECT_EQ(recorder.progress, 6u);

  Recorder full;
  full.failure = Error{"E_TUNE_DATABASE", "the disk is full", ""};
  FakeSubject again(std::vector<double>(4, 1e6));
  auto other = successiveHalving();
  Expected<TuneResult> result = tune(space(4), *other, again, full, 60);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "E_TUNE_DATABASE");
  EXPECT_EQ(full.trials.size(), 1u);
}

/// Another search: each configuration in turn, with as many pairs as a choice needs.
struct OneAfterAnother : TuneSearch {
  std::vector<Trial> next(std::span<const Standing> standings) override {
    if (++at >= standings.size()) return {};
    return {{at, kLeastPairs}};
  }
  size_t at = 0;
};

TEST(Tuner, TakesAnotherSearch) {
  FakeSubject subject(times(5, 4, 5e5));
  Recorder recorder;
  OneAfterAnother search;
  Expected<TuneResult> result = tune(space(5), search, subject, recorder, 60);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->winner, 4u);
  EXPECT_EQ(subject.measured, 4 * kLeastPairs + kConfirmingPairs);
  EXPECT_EQ(recorder.confirmed, 1u);
}

TEST(Halving, TakesTheBestByEstimateAndSomeOthers) {
  std::vector<Standing> standings(101);
  for (size_t c = 1; c < standings.size(); ++c)
    standings[c].predictedNs = static_cast<double>(1000 - c);
  auto search = successiveHalving({.ranked = 24, .random = 8, .seed = 7});
  std::set<size_t> first;
  for (const Trial &t : search->next(standings)) {
    EXPECT_EQ(t.pairs, 1u);
    first.insert(t.configuration);
  }
  EXPECT_EQ(first.size(), 32u);
  EXPECT_FALSE(first.contains(0)) << "every pair measures the default";
  for (size_t c = 77; c <= 100; ++c)
    EXPECT_TRUE(first.contains(c)) << c;
  for (size_t c : first)
    standings[c].samples = {{1.0, 1.0 / static_cast<double>(c)}}; // the larger, the faster
  std::vector<Trial> second = search->next(standings);
  ASSERT_EQ(second.size(), 16u);
  EXPECT_EQ(second[0].configuration, 100u);
  EXPECT_EQ(second[0].pairs, 3u);
  EXPECT_EQ(search->next(standings).size(), 8u);
  EXPECT_TRUE(search->next(standings).empty());
}

TEST(Verdict, NeedsPairsGainAndWins) {
  auto samples = [](size_t wins, size_t losses, double gain) {
    std::vector<Sample> out(wins, Sample{gain, 1});
    out.insert(out.end(), losses, Sample{0.9, 1});
    return out;
  };
  EXPECT_TRUE(judge(samples(9, 0, 1.05)).isSignificant());
  EXPECT_FALSE(judge(samples(8, 0, 1.05)).isSignificant()) << "too few pairs";
  EXPECT_FALSE(judge(samples(9, 0, 1.02)).isSignificant()) << "too small a gain";
  EXPECT_FALSE(judge(samples(8, 4, 1.50)).isSignificant()) << "too few wins";
  EXPECT_TRUE(judge(samples(9, 3, 1.50)).isSignificant());
  EXPECT_FALSE(judge({}).isSignificant());
  EXPECT_EQ(judge({{0, 1}, {1, 0}, {std::nan(""), 1}}).pairs, 0u) << "a time is positive";
}

} // namespace
} // namespace tessera::tune
