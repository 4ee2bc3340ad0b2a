#include "tools/tune/Tuner.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

class Tuning {
public:
  Tuning(const std::vector<Configuration> &configurations, TuneSubject &subject, TuneObserver &observer,
         double budget)
      : configurations_(configurations), subject_(subject), observer_(observer), start_(subject.now()),
        end_(start_ + budget), state_(configurations.size(), State::New) {
    for (const Configuration &c : configurations)
      result_.standings.push_back({c.predictedNs, false, {}});
  }

  Expected<TuneResult> run(TuneSearch &search) {
    if (MaybeError error = subject_.prepare(0)) return refuseDefault(*error);
    state_[0] = State::Ready;
    for (std::vector<Trial> batch; !(batch = search.next(result_.standings)).empty();) {
      size_t done = 0;
      for (const Trial &trial : batch) {
        if (subject_.now() >= end_) {
          result_.ranOutOfTime = true;
          return conclude();
        }
        if (MaybeError error = measure(trial)) return *error;
        const auto [best, verdict] = fastest(1);
        observer_.onProgress(++done, batch.size(), best, verdict.gain, subject_.now() - start_);
      }
    }
    return conclude();
  }

private:
  enum class State : char { New, Ready };

  /// Compiles the others to learn whether one is legal.
  Error refuseDefault(const Error &reason) {
    std::string reasons = fmt::format("\n  {}: {}", textOf(configurations_[0].values), reason.message);
    size_t illegal = 1;
    for (size_t c = 1; c < configurations_.size(); ++c)
      if (MaybeError error = subject_.prepare(c)) {
        reasons += fmt::format("\n  {}: {}", textOf(configurations_[c].values), error->message);
        ++illegal;
      }
    if (illegal < configurations_.size())
      return {"E_TUNE_DEFAULT",
              fmt::format("the default {} is illegal: {}", textOf(configurations_[0].values), reason.message),
              "put a legal value first in each list of the space"};
    return {"E_TUNE_EMPTY",
            fmt::format("every one of the {} configurations is illegal:{}", configurations_.size(), reasons),
            ""};
  }

  MaybeError measure(const Trial &trial) {
    const size_t c = trial.configuration;
    Standing &standing = result_.standings[c];
    if (c == 0 || standing.isOut) return std::nullopt;
    if (state_[c] == State::New) {
      state_[c] = State::Ready;
      if (MaybeError error = subject_.prepare(c)) {
        standing.isOut = true;
        ++result_.illegal;
        observer_.onIllegal(c, *error);
        return std::nullopt;
      }
      if (MaybeError error = subject_.check(c)) {
        standing.isOut = true;
        ++result_.wrong;
        return observer_.onWrong(c, *error);
      }
    }
    std::vector<Sample> samples;
    for (size_t i = 0; i < trial.pairs; ++i) {
      Expected<Sample> sample = subject_.measure(c);
      if (!sample) return sample.error();
      samples.push_back(*sample);
    }
    standing.samples.insert(standing.samples.end(), samples.begin(), samples.end());
    return observer_.onTrial(c, samples, false);
  }

  /// Measures the fastest again if it seems faster than the default, and judges by these pairs alone.
  MaybeError confirm() {
    std::tie(result_.fastest, result_.verdict) = fastest(kLeastPairs);
    if (!result_.fastest || !result_.verdict.isSignificant()) return std::nullopt;
    std::vector<Sample> samples;
    while (samples.size() < kConfirmingPairs) {
      Expected<Sample> sample = subject_.measure(result_.fastest);
      if (!sample) return sample.error();
      samples.push_back(*sample);
    }
    result_.verdict = judge(samples);
    if (result_.verdict.isSignificant()) result_.winner = result_.fastest;
    return observer_.onTrial(result_.fastest, samples, true);
  }

  /// The configuration with the largest gain over at least so many pairs.
  std::pair<size_t, Verdict> fastest(size_t pairs) const {
    std::pair<size_t, Verdict> best;
    for (size_t c = 1; c < result_.standings.size(); ++c) {
      if (result_.standings[c].isOut) continue;
      const Verdict v = judge(result_.standings[c].samples);
      if (v.pairs >= pairs && (best.first == 0 || v.gain > best.second.gain)) best = {c, v};
    }
    return best;
  }

  Expected<TuneResult> conclude() {
    if (MaybeError error = confirm()) return *error;
    return std::move(result_);
  }

  const std::vector<Configuration> &configurations_;
  TuneSubject &subject_;
  TuneObserver &observer_;
  double start_, end_;
  std::vector<State> state_;
  TuneResult result_;
};

} // namespace

Expected<TuneResult> tune(const std::vector<Configuration> &configurations, TuneSearch &search,
                          TuneSubject &subject, TuneObserver &observer, double budgetSeconds) {
  return Tuning(configurations, subject, observer, budgetSeconds).run(search);
}

} // namespace tessera::tune
