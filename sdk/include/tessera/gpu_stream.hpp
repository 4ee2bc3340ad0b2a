// Streams of GpuBackend (gpu_backend.hpp).
//
// A call queues its work in the driver's stream and returns. Work that must not reach the driver yet is held:
// what follows a call of the host, or a wait for an event that is itself held in another stream. A thread of
// the stream, started for the first such call, hands held work over in its order. This needs no callbacks of
// the driver, which may run one after another and then deadlock when host calls of two streams wait for each
// other, and it lets a failing host call drop the work after it.
#pragma once
#include <chrono>
#include <csignal>
#include <deque>
#include <functional>
#include <tessera/gpu_graph.hpp>
#include <thread>

namespace tessera::gpu {

template <class D> class Stream final : public DeviceStream, State<D>::Collector {
public:
  /// Throws StatusError.
  Stream(State<D> &state, MemoryPool &memory)
      : state_(state), memory_(memory), number_(state.activities.nextStream()) {
    if (Outcome o = state.use([&] { return state.driver.createStream(state.context, stream_); }); o.failed())
      throw StatusError(o.status, o.text);
    state.add(this);
  }
  ~Stream() override {
    state_.remove(this);
    drain();
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    collect();
    pending_.clear(); // after a failure of the device nothing completes any more
    batch_.clear();
    workspace_.reset();
    state_.always([&] { state_.driver.destroyStream(state_.context, stream_); });
  }

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) override {
    return submit(record(TSR_ACTIVITY_COPY, bytes), wait,
                  [=, this] { return bytes == 0 || dst == src ? Outcome() : copyNow(dst, src, bytes); })
        .into(why);
  }
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) override {
    return submit(record(TSR_ACTIVITY_FILL, bytes), wait,
                  [=, this] {
                    if (bytes == 0) return Outcome();
                    return state_.driver.fill(state_.context, stream_, dst, value, bytes);
                  })
        .into(why);
  }
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override {
    auto own = std::static_pointer_cast<Kernel<D>>(kernel);
    if (Outcome o = own->check(grid); o.failed()) return std::move(o).into(why);
    Activity activity = record(TSR_ACTIVITY_LAUNCH, 0);
    activity.kernel = own;
    activity.row.programs = grid.programs();
    return submit(activity, false,
                  [this, own, grid, parameters = own->pack(values)]() mutable {
                    if (grid.programs() == 0) return Outcome();
                    void *workspace = nullptr;
                    if (Outcome o = growWorkspace(own->workspaceBytes(grid), workspace); o.failed()) return o;
                    Outcome out = own->launch(stream_, grid, parameters, workspace);
                    keep(own);
                    return out;
                  })
        .into(why);
  }
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) override {
    std::shared_ptr<Point<D>> point;
    if (Outcome o = Point<D>::make(state_, true, point); o.failed()) return std::move(o).into(why);
    return queue(
               false,
               [this, point] {
                 Outcome out = point->record(stream_);
                 keep(point);
                 return out;
               },
               [&] { static_cast<Event<D> &>(*event).setPoint(point); },
               [point](const Outcome &) { point->drop(); })
        .into(why);
  }
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) override {
    auto point = static_cast<Event<D> &>(*event).point();
    auto work = [this, point] {
      if (!point) return Outcome();
      Outcome out = point->await(stream_);
      keep(point);
      return out;
    };
    if (!point || point->isQueued()) return queue(false, work).into(why);
    return hold(false,
                [this, point, work] {
                  point->waitQueued();
                  std::lock_guard lock(mutex_);
                  return state_.use(work);
                })
        .into(why);
  }
  tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) override {
    auto kept = std::const_pointer_cast<DeviceGraph>(graph);
    const auto *recorded = dynamic_cast<const Graph<D> *>(graph.get());
    if (recorded && !state_.activities.areOn()) // which a recorded graph does not report
      return submit({}, false,
                    [this, recorded, kept] {
                      Outcome out = recorded->launch(stream_);
                      keep(kept);
                      return out;
                    })
          .into(why);
    const tsr_status_t status = DeviceStream::replay(graph, why);
    std::lock_guard lock(mutex_); // what was queued, if only a part, needs the graph
    if (!isHolding()) {
      keep(kept);
    } else {
      auto later = [this, kept] {
        std::lock_guard own(mutex_);
        keep(kept);
        return Outcome();
      };
      held_.push_back({later, {}, false, ++queued_});
      changed_.notify_all();
    }
    return status;
  }

  tsr_status_t callHost(HostCall call, std::string &why) override {
    if (isNative_) {
      why = "a stream whose native handle was taken runs no functions of the host";
      return TSR_UNIMPLEMENTED;
    }
    return hold(true,
                [this, call = std::move(call)] {
                  Outcome out =
                      state_.use([&] { return state_.driver.synchronize(state_.context, stream_); });
                  if (!out.failed()) out.status = call(out.text);
                  return out;
                })
        .into(why);
  }
  /// From now on no host calls are taken: held work would not be ordered with what is queued through the
  /// handle.
  tsr_status_t native(const char *&api, void *&handle, std::string &) override {
    isNative_ = true;
    waitHeld(std::chrono::steady_clock::time_point::max());
    api = D::kStreamApi;
    handle = D::nativeStream(stream_);
    return TSR_SUCCESS;
  }

  tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) override {
    Outcome out = finish(timeoutNs);
    if (out.status != TSR_ETIMEOUT) {
      std::lock_guard lock(mutex_);
      if (failure_.failed()) out = takeFailure();
    }
    return std::move(out).into(why);
  }
  void drain() override { (void)finish(UINT64_MAX); }
  tsr_status_t query(std::string &why) override {
    tryCollect();
    std::vector<std::shared_ptr<void>> done; // released without the lock
    std::lock_guard lock(mutex_);
    if (isHolding()) return TSR_NOT_READY;
    if (failure_.failed()) return takeFailure().into(why);
    Outcome out = queryNow();
    if (!out.failed()) done.swap(batch_);
    return std::move(out).into(why);
  }
  bool isIdle() override {
    std::lock_guard lock(mutex_);
    return !isHolding() && queryNow().status != TSR_NOT_READY;
  }

  /// Releases what completed work no longer needs, and reports that work.
  void collect() override {
    std::lock_guard collecting(collectMutex_);
    collectLocked();
  }
  void trim() override {
    collect();
    std::shared_ptr<void> workspace; // released without the lock
    std::vector<std::shared_ptr<void>> done;
    std::lock_guard lock(mutex_);
    if (isHolding() || queryNow().status == TSR_NOT_READY) return;
    workspace.swap(workspace_);
    workspaceBytes_ = 0;
    done.swap(batch_);
  }

private:
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

  Activity record(uint32_t kind, size_t bytes) const {
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

  // With the lock held and the context entered:

  /// Takes a block, if need be one that work of this stream no longer uses.
  Outcome take(size_t bytes, std::shared_ptr<void> &out) {
    Outcome took = takeBlock(memory_, bytes, out);
    if (took.status != TSR_EOOM) return took;
    for (Pending &p : pending_) {
      if (!p.end->isDone()) break;
      p.kept.clear();
    }
    return takeBlock(memory_, bytes, out);
  }
  /// As keep, but with an event of its own, because others may need the memory.
  void keepMemory(std::shared_ptr<void> block) {
    batch_.push_back(std::move(block));
    (void)closeBatch();
  }
  Outcome growWorkspace(size_t bytes, void *&out) {
    if (bytes > workspaceBytes_) {
      if (workspace_) keepMemory(std::move(workspace_)); // queued launches use it
      workspaceBytes_ = 0;
      if (Outcome o = take(bytes, workspace_); o.failed()) return o;
      workspaceBytes_ = bytes;
    }
    out = bytes ? workspace_.get() : nullptr;
    return {};
  }
  Outcome copyNow(void *dst, const void *src, size_t bytes) {
    const auto to = reinterpret_cast<uintptr_t>(dst), from = reinterpret_cast<uintptr_t>(src);
    if (to + bytes <= from || from + bytes <= to)
      return state_.driver.copy(state_.context, stream_, dst, src, bytes);
    std::shared_ptr<void> between; // no driver orders the bytes of ranges that overlap
    if (Outcome o = take(bytes, between); o.failed()) return o;
    Outcome out = state_.driver.copy(state_.context, stream_, between.get(), src, bytes);
    if (!out.failed()) out = state_.driver.copy(state_.context, stream_, dst, between.get(), bytes);
    keepMemory(std::move(between));
    return out;
  }

  void report(const Pending &done) {
    int64_t begin = 0, end = 0;
    if (!done.begin || done.begin->timestamp(begin) || done.end->timestamp(end)) return;
    tsr_be_activity_t row = done.activity.row;
    row.begin_ns = begin, row.end_ns = end;
    state_.activities.report(row, done.activity.kernel ? done.activity.kernel->name.c_str() : "");
  }

  State<D> &state_;
  MemoryPool &memory_;
  const uint64_t number_; // in activity records
  typename D::Stream stream_{};
  std::atomic<bool> isNative_{false};

  std::mutex mutex_; // guards what follows, and the order of the driver's stream
  std::condition_variable changed_;
  std::deque<Held> held_;
  bool isBusy_ = false, stop_ = false; // isBusy_: the thread hands over held work
  uint64_t queued_ = 0, dropBelow_ = 0;
  Outcome failure_, lastFailure_;              // the one to be reported; the last one
  std::vector<std::shared_ptr<void>> batch_{}; // released by the next event
  std::deque<Pending> pending_;
  std::shared_ptr<void> workspace_;
  size_t workspaceBytes_ = 0;
  std::thread thread_;
  std::mutex collectMutex_; // taken before mutex_
};

} // namespace tessera::gpu
