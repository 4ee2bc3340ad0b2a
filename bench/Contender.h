// Programs that are compared with each other. They take turns, with a pause between them if there are several
// threads, because a library's threads keep spinning for a while after its call returns.
#pragma once
#include "bench/Timing.h"
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tessera::bench {

struct Contender {
  std::string name;
  std::function<void()> run;
  void *output; // where run() stores its result, in host memory
  size_t bytes;
  std::vector<double> samples = {}; // seconds, one for each turn: its fastest call
  bool ok = false;                  // the result was right

  double best() const { return summarize(samples).min; }
  double median() const { return summarize(samples).median; }
  /// Overwrites the result with NaN (in integers -1), so that an element that run() does not write is
  /// noticed.
  void poison() const { std::memset(output, 0xFF, bytes); }
};

/// Runs for about `budget` seconds in one go and stores the time of the fastest call. Calls that are short
/// beside the clock's resolution are timed in batches.
inline void turn(Contender &c, double budget, bool pause = true) {
  const auto first = Clock::now();
  c.run(); // untimed: it brings the data into the caches
  const int least = secondsSince(first) > budget ? 1 : 3;
  double best = 1e30, spent = 0;
  int batch = 1;
  for (int i = 0; spent < budget || i < least; ++i) {
    const auto start = Clock::now();
    for (int call = 0; call < batch; ++call)
      c.run();
    const double seconds = secondsSince(start);
    best = std::min(best, seconds / batch);
    spent += seconds;
    if (seconds < 5e-6) batch *= 2;
  }
  c.samples.push_back(best);
  if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(40));
}

} // namespace tessera::bench
