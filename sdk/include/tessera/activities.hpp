// The activity records of one context, for backends that report them. When off, they cost a load and a branch
// for each piece of work.
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tessera/backend.hpp>
#include <utility>
#include <vector>

namespace tessera {

/// Thread-safe.
class Activities {
public:
  /// Sets the sink. The previous sink is not called after this has returned.
  void setSink(ActivitySink sink) {
    std::lock_guard lock(mutex_);
    sink_ = std::move(sink);
    on_.store(bool(sink_), std::memory_order_relaxed);
  }
  bool areOn() const { return on_.load(std::memory_order_relaxed); }
  uint64_t nextStream() { return 1 + streams_.fetch_add(1, std::memory_order_relaxed); }

  /// Nanoseconds of CLOCK_MONOTONIC.
  static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

  /// Calls `run`, which returns false if the work failed, and reports successful work.
  template <class Run> bool time(tsr_be_activity_t activity, const char *name, Run run) {
    activity.begin_ns = now();
    if (!run()) return false;
    activity.end_ns = now();
    report(activity, name);
    return true;
  }
  /// Reports completed work, whose begin and end are set.
  void report(tsr_be_activity_t activity, const char *name) {
    activity.struct_size = sizeof activity;
    activity.name = name;
    std::shared_lock lock(mutex_);
    if (sink_) sink_(activity);
  }

  /// Sets the tag of the work that the calling thread queues.
  void setTag(const ActivityTag &tag) { tagOfThread() = {this, tag}; }
  ActivityTag tag() const {
    const Tag &tag = tagOfThread();
    return tag.owner == this ? tag.numbers : ActivityTag{};
  }

  /// Push and pop ranges of the calling thread. A range that begins while the records are off is not
  /// reported.
  void pushRange(const char *name) { ranges().push_back({this, areOn() ? name : "", areOn() ? now() : 0}); }
  void popRange() {
    auto &open = ranges();
    for (size_t i = open.size(); i-- > 0;) {
      if (open[i].owner != this) continue;
      const Range range = std::move(open[i]);
      open.erase(open.begin() + static_cast<ptrdiff_t>(i));
      tsr_be_activity_t activity{};
      activity.kind = TSR_ACTIVITY_RANGE;
      activity.begin_ns = range.begin, activity.end_ns = now();
      if (range.begin && areOn()) report(activity, range.name.c_str());
      return;
    }
  }

private:
  struct Range {
    const Activities *owner;
    std::string name;
    int64_t begin; // 0: not to be reported
  };
  struct Tag {
    const Activities *owner = nullptr;
    ActivityTag numbers{};
  };
  static Tag &tagOfThread() {
    thread_local Tag tag;
    return tag;
  }
  static std::vector<Range> &ranges() {
    thread_local std::vector<Range> open;
    return open;
  }
  std::atomic<bool> on_{false};
  std::atomic<uint64_t> streams_{0};
  std::shared_mutex mutex_; // held shared while a report is delivered
  ActivitySink sink_;       // guarded by the mutex
};

} // namespace tessera
