// The queue of a stream of GpuBackend (gpu_backend.hpp): what reaches the driver when, and what is released
// when.
//
// A call queues its work in the driver's stream and returns. Work that must not reach the driver yet is held:
// what follows a call of the host, or a wait for an event that is itself held in another stream. A thread of
// the stream, started for the first such call, hands held work over in its order. This needs no callbacks of
// the driver, which may run one after another and then deadlock when host calls of two streams wait for each
// other, and it lets a failing host call drop the work after it.
#pragma once
#include <tessera/require_cxx20.hpp>

#include <chrono>
#include <csignal>
#include <deque>
#include <functional>
#include <tessera/gpu_graph.hpp>
#include <thread>

namespace tessera::gpu {

template <class D> class StreamQueue : public State<D>::Collector {
public:
  /// Releases what completed work no longer needs, and reports that work.
  void collect() override {
    std::lock_guard collecting(collectMutex_);
    collectLocked();
  }

protected:
  /// Throws StatusError. The derived class adds itself to the state.
  explicit StreamQueue(State<D> &state) : state_(state), number_(state.activities.nextStream()) {
    if (Outcome o = state.use([&] { return state.driver.createStream(state.context, stream_); }); o.failed())
      throw StatusError(o.status, o.text);
  }
  /// Waits for all work. The members of the derived class still exist.
  void end() {
    state_.remove(this);
    (void)finish(UINT64_MAX);
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    collect();
    pending_.clear(); // after a failure of the device nothing completes any more
    batch_.clear();
  }
  ~StreamQueue() {
    state_.always([&] { state_.driver.destroyStream(state_.context, stream_); });
  }

  using Clock = std::chrono::steady_clock;
  using Work = std::function<Outcome()>;
  static constexpr size_t kBatch = 64; // objects that one event releases

  struct Activity {
    tsr_be_activity_t row{};
    std::shared_ptr<Kernel<D>> kernel; // of a launch
  };
  /// What is released, and reported, once `end` is done.
  struct Pending {
    std::shared_ptr<Point<D>> begin, end; // begin: of work that is reported
    std::vector<std::shared_ptr<void>> kept;
    Activity activity;
  };
  struct Held {
    Work work;
    std::function<void(const Outcome &)> drop; // called with why it is not queued; may be empty
    bool isDroppable;
    uint64_t number;
  };
  /// The end of work that a caller waits for.
  struct Waiter {
    std::shared_ptr<Point<D>> point;
    Outcome outcome; // set before the point is queued or dropped
  };

  Activity describe(uint32_t kind, size_t bytes) const {
    Activity out;
    if (!state_.activities.areOn()) return out;
    const ActivityTag tag = state_.activities.tag();
    out.row.struct_size = sizeof out.row;
    out.row.kind = kind, out.row.bytes = bytes, out.row.stream = number_;
    out.row.tag[0] = tag[0], out.row.tag[1] = tag[1];
    return out;
  }

  bool isHolding() const { return !held_.empty() || isBusy_; }

  /// Queues droppable work, which is called with the context entered and the stream's lock held.
  template <class F> Outcome submit(const Activity &activity, bool wait, F work) {
    auto waiter = wait ? std::make_shared<Waiter>() : nullptr;
    if (wait)
      if (Outcome o = Point<D>::make(state_, false, waiter->point); o.failed()) return o;
    Pending times{{}, {}, {}, activity};
    if (activity.row.struct_size) { // here, since it may wait, and the lock is not held yet
      if (Outcome o = Point<D>::make(state_, true, times.begin); o.failed()) return o;
      if (Outcome o = Point<D>::make(state_, true, times.end); o.failed()) return o;
    }
    auto run = [this, waiter, times = std::move(times), work = std::move(work)]() mutable {
      Outcome out = runReported(times, work);
      return out.failed() || !waiter ? out : waiter->point->record(stream_);
    };
    auto drop = [waiter](const Outcome &why) {
      if (!waiter) return;
      waiter->outcome = why;
      waiter->point->drop();
    };
    if (Outcome o = queue(true, std::move(run), {}, std::move(drop)); o.failed()) return o;
    if (!waiter) return {};
    Outcome out = waiter->point->wait();
    if (!out.failed()) out = waiter->outcome;
    collect();
    return out;
  }

  /// `times` has points if the work is reported.
  template <class F> Outcome runReported(Pending &times, F &work) {
    if (!times.begin) return work();
    if (Outcome o = times.begin->record(stream_); o.failed()) return o;
    if (Outcome o = work(); o.failed()) return o;
    if (Outcome o = times.end->record(stream_); o.failed()) return o;
    pending_.push_back(std::move(times));
    return {};
  }

  /// Runs the work, or holds it behind work that is held. `then` is called under the lock if it was taken,
  /// `drop` if it was taken and is not queued after all.
  template <class F>
  Outcome queue(bool isDroppable, F work, const std::function<void()> &then = {},
                std::function<void(const Outcome &)> drop = {}) {
    tryCollect();
    std::unique_lock lock(mutex_);
    if (failure_.failed()) return takeFailure();
    if (isHolding()) {
      auto later = [this, work = std::move(work)]() mutable {
        std::lock_guard own(mutex_);
        return state_.use(work);
      };
      held_.push_back({std::move(later), std::move(drop), isDroppable, ++queued_});
      changed_.notify_all();
    } else if (Outcome o = state_.use(work); o.failed()) {
      return o;
    }
    if (then) then();
    return {};
  }

  /// Holds work for the stream's thread, which calls it without the lock.
  Outcome hold(bool isDroppable, Work work) {
    tryCollect();
    std::unique_lock lock(mutex_);
    if (failure_.failed()) return takeFailure();
    if (!thread_.joinable()) start();
    held_.push_back({std::move(work), {}, isDroppable, ++queued_});
    changed_.notify_all();
    return {};
  }

  void start() {
    sigset_t blocked, before; // signals of the process are for the program's own threads
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    try {
      thread_ = std::thread([this] { serve(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stop_ || !held_.empty(); });
      if (held_.empty()) return;
      Held next = std::move(held_.front());
      held_.pop_front();
      isBusy_ = true;
      const bool isDropped = next.isDroppable && next.number < dropBelow_;
      lock.unlock();
      Outcome out;
      try {
        if (!isDropped) out = next.work();
      } catch (const std::exception &e) {
        out = {TSR_EINTERNAL, e.what()};
      }
      // Others may wait for it, also if the device failed before the work was called.
      if (next.drop && (isDropped || out.failed())) next.drop(isDropped ? lastFailure_ : out);
      next = {}; // releases without the lock
      lock.lock();
      isBusy_ = false;
      if (out.failed()) {
        failure_ = lastFailure_ = out;
        dropBelow_ = UINT64_MAX; // until the failure is reported
      }
      changed_.notify_all();
    }
  }
  /// The lock is held and there is a failure. What was queued before this report is still dropped.
  Outcome takeFailure() {
    dropBelow_ = queued_ + 1;
    return std::exchange(failure_, {});
  }

  bool waitHeld(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    auto none = [&] { return !isHolding(); };
    if (deadline == Clock::time_point::max()) return changed_.wait(lock, none), true;
    return changed_.wait_until(lock, deadline, none);
  }
  /// As collect, unless another thread does it.
  void tryCollect() {
    std::unique_lock collecting(collectMutex_, std::try_to_lock);
    if (collecting) collectLocked();
  }
  /// With collectMutex_.
  void collectLocked() {
    for (;;) {
      Pending done;
      {
        std::lock_guard lock(mutex_);
        if (pending_.empty() || !pending_.front().end->isDone()) return;
        done = std::move(pending_.front());
        pending_.pop_front();
      }
      report(done);
    }
  }
  Outcome queryNow() {
    return state_.use([&] { return state_.driver.query(state_.context, stream_); });
  }
  /// Waits for all work. Leaves a failure of held work for the next call.
  Outcome finish(uint64_t timeoutNs) {
    const auto now = Clock::now();
    const auto longest = static_cast<uint64_t>((Clock::time_point::max() - now).count());
    const auto deadline =
        timeoutNs >= longest ? Clock::time_point::max() : now + std::chrono::nanoseconds(timeoutNs);
    const Outcome late{TSR_ETIMEOUT,
                       "the work of the stream is not done after " + std::to_string(timeoutNs) + " ns"};
    if (!waitHeld(deadline)) return late;
    {
      std::lock_guard lock(mutex_);
      if (!batch_.empty())
        if (Outcome o = closeBatch(); o.failed()) return o;
    }
    Outcome out;
    if (deadline == Clock::time_point::max())
      out = state_.use([&] { return state_.driver.synchronize(state_.context, stream_); });
    else
      while ((out = queryNow()).status == TSR_NOT_READY) {
        if (Clock::now() >= deadline) return late;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    collect();
    return out;
  }

  // With the lock held:

  /// Keeps an object until the work queued so far is done.
  void keep(std::shared_ptr<void> object) {
    if (!batch_.empty() && batch_.back() == object) return;
    batch_.push_back(std::move(object));
    if (batch_.size() >= kBatch) (void)closeBatch(); // a failure shows at the next call, too
  }
  /// Queues the event that releases the batch.
  Outcome closeBatch() {
    std::shared_ptr<Point<D>> end;
    if (Outcome o = Point<D>::make(state_, false, end); o.failed()) return o;
    if (Outcome o = state_.use([&] { return end->record(stream_); }); o.failed()) return o;
    pending_.push_back({{}, std::move(end), std::exchange(batch_, {}), {}});
    return {};
  }

private:
  void report(const Pending &done) {
    int64_t begin = 0, end = 0;
    if (!done.begin || done.begin->timestamp(begin) || done.end->timestamp(end)) return;
    tsr_be_activity_t row = done.activity.row;
    row.begin_ns = begin, row.end_ns = end;
    state_.activities.report(row, done.activity.kernel ? done.activity.kernel->name.c_str() : "");
  }

protected:
  State<D> &state_;
  const uint64_t number_; // in activity records
  typename D::Stream stream_{};

  std::mutex mutex_; // guards what follows, and the order of the driver's stream
  std::condition_variable changed_;
  std::deque<Held> held_;
  bool isBusy_ = false, stop_ = false; // isBusy_: the thread hands over held work
  uint64_t queued_ = 0, dropBelow_ = 0;
  Outcome failure_, lastFailure_;              // the one to be reported; the last one
  std::vector<std::shared_ptr<void>> batch_{}; // released by the next event
  std::deque<Pending> pending_;
  std::thread thread_;
  std::mutex collectMutex_; // taken before mutex_
};

} // namespace tessera::gpu
