// The child of a fork has none of its parent's ranks, some of which may be waiting for others at that moment.
#include "plugins/inprocess/test/Ranks.h"
#include <chrono>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::test;

namespace {

#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // which cannot start threads after a fork

constexpr int kForks = 20;
constexpr unsigned kLimitSeconds = 20; // a child that hangs dies of SIGALRM

/// Whether two ranks that join `id` reduce what they should.
bool reduceAmongTwo(const std::string &id) {
  std::atomic<int> good{0};
  auto join = [&](int rank) {
    try {
      Comm comm(id, rank, 2, 10 * kSecond);
      float x = 1, y = 0;
      comm.allReduce(&x, &y, 1, TSR_REDUCE_SUM);
      good += y == 2;
    } catch (const Error &) {
    }
  };
  std::thread other(join, 1);
  join(0);
  other.join();
  return good == 2;
}

TEST(Forks, RanksOfTheChildMeetOnAnIdThatAParentsRankWaitsOn) {
  const std::string id = freshId();
  std::atomic<bool> stop{false};
  std::thread waits([&] {
    try {
      Comm comm(id, 0, 2, 60 * kSecond);
    } catch (const Error &e) {
      ADD_FAILURE() << e.what();
    }
  });
  std::thread meets([&] { // takes the lock of the table, again and again
    while (!stop)
      Comm alone(freshId(), 0, 1, kSecond);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50)); // until the first waits, most likely
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kLimitSeconds);
      _exit(reduceAmongTwo(id) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    if (HasFailure()) break;
  }
  stop = true;
  meets.join();
  Comm last(id, 1, 2, 60 * kSecond); // whom the parent's rank waits for
  waits.join();
}

#endif

} // namespace
