// Ranks as threads, each with its end of a communicator.
#pragma once
#include <atomic>
#include <barrier>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <tessera/tessera.hpp>
#include <thread>
#include <vector>

namespace tessera::test {

inline constexpr uint64_t kSecond = 1000000000, kMillisecond = 1000000;

inline std::string freshId() {
  static std::atomic<int> next{0};
  return "group" + std::to_string(next++);
}

/// Runs body(comm, rank) on `size` threads and joins them.
inline void onRanks(int size, const std::function<void(Comm &, int)> &body,
                    uint64_t timeoutNs = 60 * kSecond) {
  const std::string id = freshId();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Comm comm(id, rank, size, timeoutNs);
        body(comm, rank);
      } catch (const Error &e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
      }
    });
  for (std::thread &t : threads)
    t.join();
}

/// The call's failure: "TSR_EINVAL: text"; "" when it succeeds.
inline std::string failure(tsr_status_t status) {
  return status ? std::string(tsrStatusName(status)) + ": " + tsrLastError() : "";
}

} // namespace tessera::test
