// The child of a fork has none of its parent's threads, which may hold any lock at that moment. It must still
// be able to create its own contexts and to destroy the parent's.
#include "core/support/Fork.h"
#include "core/test/Support.h"
#include <atomic>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::test {
namespace {

#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // tsan cannot start threads after a fork

constexpr int kForks = 50;
constexpr unsigned kLimitSeconds = 20; // SIGALRM kills a child that hangs

/// Runs in the program's threads while another one forks.
class Busy {
public:
  void add(std::function<void()> body) {
    threads_.emplace_back([this, body = std::move(body)] {
      while (!stop_)
        body();
    });
  }
  ~Busy() {
    stop_ = true;
    for (std::thread &t : threads_)
      t.join();
  }

private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

class Forks : public RuntimeTest {
protected:
  /// Threads that hold every lock of the process and of the context in turn.
  void keepBusy(Busy &busy) {
    k_ = kernel(kSaxpyYaml, saxpy);
    busy.add([this] { compute(context, k_); });
    busy.add([this] {
      tsr_stream_t s = nullptr;
      tsr_event_t e = nullptr;
      if (tsrCreateStream(context, &s) != TSR_SUCCESS || tsrCreateEvent(context, &e) != TSR_SUCCESS) return;
      tsrEventRecord(e, s);
      tsrDestroyEvent(e);
      tsrDestroyStream(s);
    });
    busy.add([] {
      tsr_context_t other = nullptr;
      if (tsrCreateContext(&other) == TSR_SUCCESS) tsrDestroyContext(other);
    });
    busy.add([] {
      tsrSetLogCallback([](void *, tsr_log_level_t, const char *, const char *) {}, nullptr, TSR_LOG_DEBUG);
      tsr_backend_info_t info = {};
      info.struct_size = sizeof info;
      tsrGetBackendInfo(0, &info);
    });
  }

  /// Launches a kernel of many programs several times. Returns whether the results are right.
  static bool compute(tsr_context_t c, tsr_kernel_t k) {
    constexpr int64_t n = 64 * 256;
    void *x = nullptr, *y = nullptr;
    bool good = tsrAlloc(c, n * 4, TSR_MEM_DEVICE, &x) == TSR_SUCCESS &&
                tsrAlloc(c, n * 4, TSR_MEM_DEVICE, &y) == TSR_SUCCESS &&
                tsrMemset(c, x, 0, n * 4) == TSR_SUCCESS && tsrMemset(c, y, 0, n * 4) == TSR_SUCCESS;
    if (good) {
      std::fill_n(static_cast<float *>(x), n, 1.0f);
      float alpha = 2;
      int64_t dim = n;
      void *args[] = {&x, &y, &alpha, &dim};
      for (int i = 0; i < 4; ++i)
        good = good && tsrLaunch(k, nullptr, kFromMetadata, args, 4) == TSR_SUCCESS;
      good = good && tsrSynchronize(c) == TSR_SUCCESS;
      for (int64_t i = 0; i < n; ++i)
        good = good && static_cast<float *>(y)[i] == 8.0f;
    }
    tsrFree(c, x);
    tsrFree(c, y);
    return good;
  }

  /// Creates its own context and computes on it.
  static bool computeOnOwn() {
    tsr_context_t own = nullptr;
    tsr_module_t m = nullptr;
    tsr_kernel_t k = nullptr;
    return tsrCreateContext(&own) == TSR_SUCCESS &&
           createModule(own, {compiled(kSaxpyYaml, saxpy)}, &m) == TSR_SUCCESS &&
           tsrGetKernel(m, nullptr, &k) == TSR_SUCCESS && compute(own, k) &&
           tsrDestroyContext(own) == TSR_SUCCESS;
  }

  /// Forks. `body` runs in the child and returns whether it succeeded.
  static void inChild(const std::function<bool()> &body, bool exits = false) {
    pid_t child = fork();
    if (child == 0) {
      alarm(kLimitSeconds);
      const int code = body() ? 0 : 1;
      if (exits) std::exit(code);
      _exit(code);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_FALSE(WIFSIGNALED(status)) << strsignal(WTERMSIG(status));
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }

  tsr_kernel_t k_ = nullptr;
};

// Without asan: a thread that ends takes a lock of its allocator, which another thread may hold at the fork.
// The child then waits for it without end. (LLVM 22, Quarantine::Drain.)
#if !defined(__has_feature) || !__has_feature(address_sanitizer)

TEST_F(Forks, AChildOfBusyThreadsUsesItsOwnContextAndDestroysTheParents) {
  Busy busy;
  keepBusy(busy);
  for (int i = 0; i < kForks && !HasFatalFailure(); ++i)
    inChild([&] { return computeOnOwn() && tsrDestroyContext(context) == TSR_SUCCESS && computeOnOwn(); },
            i % 2 != 0);
}

TEST_F(Forks, TheParentsContextMayGoFirst) {
  Busy busy;
  keepBusy(busy);
  for (int i = 0; i < kForks && !HasFatalFailure(); ++i)
    inChild([&] { return tsrDestroyContext(context) == TSR_SUCCESS && computeOnOwn(); });
}

#endif

// Each handle of the parent can only be destroyed. Other handles stay usable.
TEST_F(Forks, ObjectsOfTheParentCanOnlyBeDestroyed) {
  auto s = stream();
  auto e = event();
  auto k = kernel(kSaxpyYaml, saxpy);
  auto m = module({compiled(kSaxpyYaml, saxpy)});
  tsr_graph_t g = nullptr;
  ASSERT_OK(tsrStreamBeginCapture(s));
  ASSERT_OK(tsrStreamEndCapture(s, &g));
  auto *word = alloc<char>(8);
  inChild([&] {
    void *p = nullptr;
    tsr_stream_t other = nullptr;
    bool refused = tsrAlloc(context, 8, TSR_MEM_DEVICE, &p) == TSR_EDEVICE &&
                   tsrMemset(context, word, 0, 8) == TSR_EDEVICE && tsrStreamSynchronize(s) == TSR_EDEVICE &&
                   tsrStreamQuery(s) == TSR_EDEVICE && tsrEventQuery(e) == TSR_EDEVICE &&
                   tsrGraphLaunch(g, s) == TSR_EDEVICE && tsrCreateStream(context, &other) == TSR_EDEVICE &&
                   tsrLaunch(k, s, kFromMetadata, nullptr, 0) == TSR_EDEVICE &&
                   lastErrorHas("make a new context in the child");
    bool ended = tsrFree(context, word) == TSR_SUCCESS && tsrDestroyGraph(g) == TSR_SUCCESS &&
                 tsrDestroyEvent(e) == TSR_SUCCESS && tsrUnloadModule(m) == TSR_SUCCESS &&
                 tsrDestroyStream(s) == TSR_SUCCESS && tsrDestroyContext(context) == TSR_SUCCESS;
    bool gone = tsrDestroyStream(s) == TSR_EINVAL && tsrDestroyContext(context) == TSR_EINVAL;
    return refused && ended && gone;
  });
  EXPECT_OK(tsrMemset(context, word, 1, 8));
  EXPECT_OK(tsrStreamSynchronize(s));
}

// A grandchild's parent is the child.
TEST_F(Forks, Grandchild) {
  inChild([&] {
    tsr_context_t own = nullptr;
    if (tsrCreateContext(&own) != TSR_SUCCESS) return false;
    void *p = nullptr;
    if (tsrAlloc(own, 8, TSR_MEM_DEVICE, &p) != TSR_SUCCESS || tsrMemset(own, p, 0, 8) != TSR_SUCCESS)
      return false;
    inChild([&] {
      return tsrMemset(own, p, 0, 8) == TSR_EDEVICE && tsrDestroyContext(own) == TSR_SUCCESS &&
             computeOnOwn();
    });
    return !HasFatalFailure() && tsrDestroyContext(own) == TSR_SUCCESS;
  });
}

// fork() waits for the holder of such a mutex, in whatever order two of them are locked.
TEST(HeldAcrossFork, IsFreeInTheChild) {
  std::mutex first, second;
  HeldAcrossFork held{first}, heldToo{second};
  int inside = 0; // guarded by the mutexes
  std::atomic<bool> stop{false};
  auto take = [&](std::mutex &a, std::mutex &b) {
    while (!stop) {
      std::unique_lock one(a, std::defer_lock), two(b, std::defer_lock);
      std::lock(one, two);
      ++inside;
      std::this_thread::yield();
      --inside;
    }
  };
  std::thread threads[] = {std::thread(take, std::ref(first), std::ref(second)),
                           std::thread(take, std::ref(second), std::ref(first))};
  for (int i = 0; i < kForks; ++i) {
    pid_t child = fork();
    if (child == 0) {
      const bool good = first.try_lock() && second.try_lock() && inside == 0;
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread &t : threads)
    t.join();
}

#endif

} // namespace
} // namespace tessera::test
