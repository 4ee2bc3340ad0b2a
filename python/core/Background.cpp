#include "python/core/Background.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace tessera::python {
namespace {

struct Task {
  std::function<void()> work;
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false;
  std::exception_ptr thrown; // by `work`, for who waits
};

std::atomic<int> running = 0; // threads that have not ended their work

void run(const std::shared_ptr<Task> &task) {
  try {
    task->work();
  } catch (const std::exception &) {
    task->thrown = std::current_exception();
  }
  task->work = nullptr; // what it owns ends here, not in a thread with the GIL
  std::lock_guard lock(task->mutex);
  task->isDone = true;
  task->changed.notify_one();
}

/// Starts a thread that takes no signals of the process. Returns false if there is none to have.
bool start(const std::shared_ptr<Task> &task) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    ++running;
    std::thread([task] {
      run(task);
      --running;
    }).detach();
  } catch (const std::system_error &) {
    --running;
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

} // namespace

bool runInterruptibly(std::function<void()> work, const std::function<bool()> &meanwhile) {
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  if (!start(task)) {
    WithoutGil released;
    run(task);
  }
  while (true) {
    bool isDone;
    { // at once if the work is done already
      WithoutGil released;
      std::unique_lock lock(task->mutex);
      isDone = task->changed.wait_for(lock, std::chrono::nanoseconds(kPollNs), [&] { return task->isDone; });
    }
    if (isDone && task->thrown) std::rethrow_exception(task->thrown);
    if (isDone) return true;
    if (PyErr_CheckSignals() || (meanwhile && !meanwhile())) return false;
  }
}

bool endInBackground(uint64_t limitNs) {
  for (uint64_t waited = 0; isInBackground() && waited < limitNs; waited += kPollNs / 50) {
    {
      WithoutGil released;
      std::this_thread::sleep_for(std::chrono::nanoseconds(kPollNs / 50));
    }
    if (PyErr_CheckSignals()) return false;
  }
  return true;
}

bool isInBackground() { return running > 0; }

void forgetBackground() { running = 0; }

} // namespace tessera::python
