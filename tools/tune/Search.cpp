#include "tools/tune/Search.h"
#include <algorithm>
#include <array>
#include <limits>
#include <random>

namespace tessera::tune {
namespace {

constexpr std::array<size_t, 3> kRounds = {1, 3, 9}; // pairs that each round adds

class SuccessiveHalving final : public TuneSearch {
public:
  explicit SuccessiveHalving(HalvingOptions options) : options_(options) {}

  std::vector<Trial> next(std::span<const Standing> standings) override {
    if (round_ == 0)
      first(standings);
    else
      halve(standings);
    std::vector<Trial> out;
    if (round_ == kRounds.size()) return out;
    for (size_t c : left_)
      out.push_back({c, kRounds[round_]});
    ++round_;
    return out;
  }

private:
  void first(std::span<const Standing> standings) {
    for (size_t c = 1; c < standings.size(); ++c)
      if (!standings[c].isOut) left_.push_back(c);
    auto estimate = [&](size_t c) {
      const double ns = standings[c].predictedNs;
      return ns < 0 ? std::numeric_limits<double>::infinity() : ns;
    };
    std::ranges::stable_sort(left_, std::less<>(), estimate);
    if (left_.size() <= options_.ranked + options_.random) return;
    // An estimate may be wrong about all of what it likes.
    std::mt19937_64 random(options_.seed);
    std::shuffle(left_.begin() + static_cast<ptrdiff_t>(options_.ranked), left_.end(), random);
    left_.resize(options_.ranked + options_.random);
  }

  void halve(std::span<const Standing> standings) {
    std::erase_if(left_, [&](size_t c) { return standings[c].isOut || standings[c].samples.empty(); });
    std::ranges::stable_sort(left_, std::greater<>(),
                             [&](size_t c) { return judge(standings[c].samples).gain; });
    left_.resize((left_.size() + 1) / 2);
  }

  HalvingOptions options_;
  size_t round_ = 0;
  std::vector<size_t> left_;
};

} // namespace

std::unique_ptr<TuneSearch> successiveHalving(HalvingOptions options) {
  return std::make_unique<SuccessiveHalving>(options);
}

} // namespace tessera::tune
