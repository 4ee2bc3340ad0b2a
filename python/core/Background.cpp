#include "python/core/Background.h"
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
};

void run(const std::shared_ptr<Task> &task) {
  task->work();
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
    std::thread([task] { run(task); }).detach();
  } catch (const std::system_error &) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

} // namespace

bool runInterruptibly(std::function<void()> work) {
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  if (!start(task)) {
    WithoutGil released;
    run(task);
    return true;
  }
  while (true) {
    bool isDone;
    {
      WithoutGil released;
      std::unique_lock lock(task->mutex);
      isDone = task->changed.wait_for(lock, std::chrono::nanoseconds(kPollNs), [&] { return task->isDone; });
    }
    if (isDone) return true;
    if (PyErr_CheckSignals()) return false;
  }
}

} // namespace tessera::python
