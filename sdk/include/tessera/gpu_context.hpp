// The state of a context of GpuBackend (gpu_backend.hpp) that its objects share: calls of the driver, events
// and their clock.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <tessera/activities.hpp>
#include <tessera/gpu_driver.hpp>
#include <utility>

namespace tessera::gpu {

template <class D> class Point;

/// Outlives all objects of the context. Thread-safe.
template <class D> class State {
public:
  State(D &driver, typename D::Context context) : driver(driver), context(context) {}
  State(const State &) = delete;
  State &operator=(const State &) = delete;
  ~State() {
    epoch_.reset();
    if (hasClockStream_) always([&] { driver.destroyStream(this->context, clockStream_); });
    always([&] {
      for (auto event : idle_)
        driver.destroyEvent(this->context, event);
    });
    driver.close(context);
  }

  /// Calls f(), which returns an Outcome, with the context entered. After the device has failed, nothing is
  /// called.
  template <class F> Outcome use(F &&f) {
    if (isLost()) {
      std::lock_guard lock(mutex_);
      return {TSR_EDEVICE, lost_};
    }
    Outcome out = driver.enter(context);
    if (!out.failed()) {
      const Leave leave{*this};
      out = f();
    }
    if (out.status == TSR_EDEVICE) {
      std::lock_guard lock(mutex_);
      if (lost_.empty()) lost_ = "the device failed and the context cannot be used any more: " + out.text;
      out.text = lost_;
      isLost_.store(true, std::memory_order_release);
    }
    return out;
  }
  /// Calls f() with the context entered; also after the device has failed.
  template <class F> void always(F f) {
    if (driver.enter(context).failed()) return f();
    const Leave leave{*this};
    f();
  }
  bool isLost() const { return isLost_.load(std::memory_order_acquire); }

  /// Events are reused, since making one costs more than recording it.
  Outcome takeEvent(typename D::Event &out) {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        out = idle_.back();
        idle_.pop_back();
        return {};
      }
    }
    return use([&] { return driver.createEvent(context, out); });
  }
  void giveEvent(typename D::Event event) {
    std::lock_guard lock(mutex_);
    idle_.push_back(event);
  }

  /// A recent point of the device's time whose time on CLOCK_MONOTONIC is known.
  struct Epoch {
    State &state;
    typename D::Event event;
    int64_t time; // nanoseconds
    ~Epoch() { state.giveEvent(event); }
  };
  /// Distances between events are exact for some seconds only, so a new point is made every second. The
  /// thread that makes it waits for the device; meanwhile the others use the point before.
  Outcome epoch(std::shared_ptr<const Epoch> &out) {
    if (isFresh(out)) return {};
    std::unique_lock making(clockMutex_, std::defer_lock);
    if (!out)
      making.lock();
    else if (!making.try_lock())
      return {};
    if (isFresh(out)) return {}; // another thread was faster
    if (Outcome o = advance(); o.failed()) return o;
    (void)isFresh(out);
    return {};
  }

  D &driver;
  const typename D::Context context;
  Activities activities;

  /// The streams of the context, to collect what they have done.
  struct Collector {
    virtual void collect() = 0;
    /// Returns memory that an idle stream keeps for later.
    virtual void trim() = 0;

  protected:
    ~Collector() = default;
  };
  void add(Collector *stream) {
    std::lock_guard lock(streamsMutex_);
    streams_.insert(stream);
  }
  void remove(Collector *stream) {
    std::lock_guard lock(streamsMutex_);
    streams_.erase(stream);
  }
  void collect() {
    std::lock_guard lock(streamsMutex_);
    for (Collector *stream : streams_)
      stream->collect();
  }
  void trim() {
    std::lock_guard lock(streamsMutex_);
    for (Collector *stream : streams_)
      stream->trim();
  }

private:
  struct Leave {
    State &state;
    ~Leave() { state.driver.leave(state.context); }
  };
  static constexpr int kTries = 8;
  static constexpr int64_t kExact = 50'000; // nanoseconds

  /// Sets `out` to the last point, if there is one, and returns whether it can still be used.
  bool isFresh(std::shared_ptr<const Epoch> &out) {
    std::shared_ptr<const Epoch>
        last; // then the one before, which gives its event back and takes the lock for it
    std::lock_guard lock(mutex_);
    last = epoch_;
    out.swap(last);
    return out && Activities::now() - epochMade_ <= 1'000'000'000;
  }
  /// The device passes a reference between two readings of the host's clock. The first reference is the one
  /// of several tries whose readings are closest. The time of a later one follows from its distance to the
  /// one before, within its two readings.
  Outcome advance() {
    if (!hasClockStream_) {
      if (Outcome o = use([&] { return driver.createStream(context, clockStream_); }); o.failed()) return o;
      hasClockStream_ = true;
    }
    std::shared_ptr<const Epoch> best;
    int64_t least = INT64_MAX, made = 0;
    for (int i = 0; i < (epoch_ ? 1 : kTries) && least > kExact; ++i) {
      typename D::Event event;
      if (Outcome o = takeEvent(event); o.failed()) return o;
      auto next = std::shared_ptr<Epoch>(new Epoch{*this, event, 0});
      int64_t passed = 0;
      const int64_t before = Activities::now();
      Outcome out = use([&] {
        Outcome o = driver.record(context, clockStream_, event);
        if (!o.failed()) o = driver.synchronizeEvent(context, event);
        if (!o.failed() && epoch_) o = driver.elapsed(context, epoch_->event, event, passed);
        return o;
      });
      if (out.failed()) return out;
      made = Activities::now();
      if (made - before >= least) continue;
      least = made - before;
      next->time = epoch_ ? std::clamp(epoch_->time + passed, before, made) : before + least / 2;
      best = std::move(next);
    }
    std::lock_guard lock(mutex_);
    epoch_.swap(best); // the one before is released without the lock
    epochMade_ = made;
    return {};
  }

  std::mutex mutex_; // guards the text, the idle events and the epoch
  std::string lost_;
  std::atomic<bool> isLost_{false};
  std::vector<typename D::Event> idle_;
  std::shared_ptr<const Epoch> epoch_; // set only with clockMutex_, too
  int64_t epochMade_ = 0;
  std::mutex streamsMutex_;
  std::set<Collector *> streams_;
  std::mutex clockMutex_; // guards what follows
  bool hasClockStream_ = false;
  typename D::Stream clockStream_{};
};

/// One recording of an event. Shared by the event, the streams that wait for it, and what is released after
/// it. Thread-safe.
template <class D> class Point {
public:
  /// `isTimed`: it has a timestamp; then this may wait for the device once a second.
  static Outcome make(State<D> &state, bool isTimed, std::shared_ptr<Point> &out) {
    std::shared_ptr<const typename State<D>::Epoch> epoch;
    typename D::Event event{};
    if (isTimed)
      if (Outcome o = state.epoch(epoch); o.failed()) return o;
    if (Outcome o = state.takeEvent(event); o.failed()) return o;
    out = std::make_shared<Point>(state, std::move(epoch), event);
    return {};
  }
  Point(State<D> &state, std::shared_ptr<const typename State<D>::Epoch> epoch, typename D::Event event)
      : state_(state), epoch_(std::move(epoch)), event_(event) {}
  Point(const Point &) = delete;
  Point &operator=(const Point &) = delete;
  ~Point() { state_.giveEvent(event_); }

  /// Records it in the stream; the context is entered. After a failure the caller drops it.
  Outcome record(typename D::Stream stream) {
    Outcome out = state_.driver.record(state_.context, stream, event_);
    if (!out.failed()) mark(Phase::Recorded);
    return out;
  }
  /// It will not be recorded, and counts as done.
  void drop() { mark(Phase::Dropped); }
  bool isQueued() const { return phase_.load(std::memory_order_acquire) != Phase::Held; }
  /// Makes the stream wait for it; the context is entered and it is queued.
  Outcome await(typename D::Stream stream) {
    if (phase_.load(std::memory_order_acquire) != Phase::Recorded) return {};
    return state_.driver.wait(state_.context, stream, event_);
  }
  /// Blocks until its work has reached the driver.
  void waitQueued() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return isQueued(); });
  }
  bool isDone() {
    const Phase phase = phase_.load(std::memory_order_acquire);
    if (phase == Phase::Recorded) {
      const Outcome out = state_.use([&] { return state_.driver.queryEvent(state_.context, event_); });
      if (out.status == TSR_NOT_READY) return false;
      mark(out.failed() ? Phase::Dropped : Phase::Done); // a lost device completes nothing any more
    }
    return phase != Phase::Held;
  }
  Outcome wait() {
    waitQueued();
    if (phase_.load(std::memory_order_acquire) != Phase::Recorded) return {};
    Outcome out = state_.use([&] { return state_.driver.synchronizeEvent(state_.context, event_); });
    mark(out.failed() ? Phase::Dropped : Phase::Done);
    return out;
  }
  /// Its time on CLOCK_MONOTONIC. TSR_EINVAL: it was dropped or has none; TSR_NOT_READY: it
  /// is not done.
  tsr_status_t timestamp(int64_t &nanoseconds) {
    if (!isDone()) return TSR_NOT_READY;
    if (phase_.load(std::memory_order_acquire) != Phase::Done || !epoch_) return TSR_EINVAL;
    int64_t passed = 0;
    if (Outcome o =
            state_.use([&] { return state_.driver.elapsed(state_.context, epoch_->event, event_, passed); });
        o.failed())
      return o.status;
    nanoseconds = epoch_->time + passed;
    return TSR_SUCCESS;
  }

private:
  enum class Phase : uint8_t { Held, Recorded, Done, Dropped };
  void mark(Phase phase) {
    std::lock_guard lock(mutex_);
    phase_.store(phase, std::memory_order_release);
    changed_.notify_all();
  }

  State<D> &state_;
  const std::shared_ptr<const typename State<D>::Epoch> epoch_;
  const typename D::Event event_;
  std::atomic<Phase> phase_{Phase::Held};
  std::mutex mutex_;
  std::condition_variable changed_;
};

template <class D> class Event final : public DeviceEvent {
public:
  bool isDone() override {
    const auto p = point();
    return !p || p->isDone();
  }
  void wait() override {
    if (const auto p = point()) (void)p->wait(); // the stream reports failures
  }
  tsr_status_t timestamp(int64_t &nanoseconds) override {
    const auto p = point();
    return p ? p->timestamp(nanoseconds) : TSR_EINVAL;
  }
  std::shared_ptr<Point<D>> point() const {
    std::lock_guard lock(mutex_);
    return point_;
  }
  void setPoint(std::shared_ptr<Point<D>> point) {
    std::lock_guard lock(mutex_);
    std::swap(point_, point);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<Point<D>> point_; // null: never recorded
};

} // namespace tessera::gpu
