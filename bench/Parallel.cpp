#include "bench/Parallel.h"
#include "bench/Machine.h"
#include <atomic>
#include <thread>
#include <vector>

namespace tessera::bench {

void forEachRow(size_t count, const std::function<void(size_t)> &body) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;)
      body(i);
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < usableCores(); ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread &t : helpers)
    t.join();
}

} // namespace tessera::bench
