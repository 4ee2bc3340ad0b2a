// Programs that are compared with each other. They alternate, with a pause between them, because a library's
// threads keep spinning for a while after its call returns.
#pragma once
#include "bench/Timing.h"
#include <functional>
#include <thread>
#include <vector>

namespace tessera::bench {

struct Contender {
  const char *name;
  std::function<void()> run;
  std::function<std::vector<float>()> result;
  double best = 1e30; // seconds
  bool ok = false;
};

/// Runs for about `budget` seconds in one go and keeps the fastest call.
inline void turn(Contender &c, double budget) {
  c.run();
  double spent = 0;
  for (int i = 0; spent < budget || i < 3; ++i) {
    const auto start = Clock::now();
    c.run();
    const double s = secondsSince(start);
    c.best = std::min(c.best, s);
    spent += s;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
}

} // namespace tessera::bench
