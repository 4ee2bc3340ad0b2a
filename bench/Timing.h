// Measures how long something takes: repeats it until the result is steady enough, and returns the median and
// the minimum.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

namespace tessera::bench {

using Clock = std::chrono::steady_clock;
inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Timing {
  double median = 0, min = 0; // seconds
  int runs = 0;
};

inline Timing summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t n = seconds.size();
  return {n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2, seconds[0], int(n)};
}

/// Runs `before` untimed and `body` timed: once to warm up, then for `budget` seconds and at least five
/// times.
template <typename Body, typename Before> Timing measure(Body body, Before before, double budget = 0.3) {
  before();
  body();
  std::vector<double> seconds;
  for (double spent = 0; spent < budget || seconds.size() < 5;) {
    before();
    const auto start = Clock::now();
    body();
    seconds.push_back(secondsSince(start));
    spent += seconds.back();
    if (seconds.size() >= 10000) break;
  }
  return summarize(std::move(seconds));
}

template <typename Body> Timing measure(Body body, double budget = 0.3) {
  return measure(body, [] {}, budget);
}

} // namespace tessera::bench
