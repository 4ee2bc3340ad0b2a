// Streams of GpuBackend (gpu_backend.hpp). A call queues its work in the driver's stream and returns.
#pragma once
#include <tessera/require_cxx20.hpp>

#include <tessera/gpu_stream_queue.hpp>

namespace tessera::gpu {

template <class D> class Stream final : public DeviceStream, StreamQueue<D> {
  using Queue = StreamQueue<D>;
  using Queue::batch_, Queue::changed_, Queue::failure_, Queue::held_, Queue::mutex_, Queue::pending_,
      Queue::queued_, Queue::state_, Queue::stream_;
  using Queue::closeBatch, Queue::describe, Queue::finish, Queue::hold, Queue::isHolding, Queue::keep,
      Queue::queue, Queue::queryNow, Queue::submit, Queue::takeFailure, Queue::tryCollect, Queue::waitHeld;
  using typename Queue::Activity, typename Queue::Pending;

public:
  /// Throws StatusError.
  Stream(State<D> &state, MemoryPool &memory) : Queue(state), memory_(memory) { state.add(this); }
  ~Stream() override { this->end(); }

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) override {
    return submit(describe(TSR_ACTIVITY_COPY, bytes), wait,
                  [=, this] { return bytes == 0 || dst == src ? Outcome() : copyNow(dst, src, bytes); })
        .into(why);
  }
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) override {
    return submit(describe(TSR_ACTIVITY_FILL, bytes), wait,
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
    std::vector<std::byte> parameters;
    if (grid.programs() != 0)
      if (Outcome o = own->pack(values, parameters); o.failed()) return std::move(o).into(why);
    Activity activity = describe(TSR_ACTIVITY_LAUNCH, 0);
    activity.kernel = own;
    activity.row.programs = grid.programs();
    return submit(activity, false,
                  [this, own, grid, parameters = std::move(parameters)]() mutable {
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

  /// The other stream's event is recorded now, whatever this stream holds.
  tsr_status_t waitNative(const char *api, void *handle, std::string &why) override {
    std::shared_ptr<Point<D>> point;
    Outcome out = withForeign(api, handle, point, [&](auto other) { return point->record(other); });
    if (out.failed()) return std::move(out).into(why);
    return this->queue(false, [this, point] { return point->await(stream_); }).into(why);
  }
  /// Waits for held work to reach the driver: the other stream would go on without it.
  tsr_status_t nativeWaits(const char *api, void *handle, std::string &why) override {
    std::shared_ptr<Point<D>> point;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !isHolding(); });
    if (failure_.failed()) return takeFailure().into(why);
    return withForeign(api, handle, point,
                       [&](auto other) {
                         if (Outcome o = point->record(stream_); o.failed()) return o;
                         return point->await(other);
                       })
        .into(why);
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

  void trim() override {
    this->collect();
    std::shared_ptr<void> workspace; // released without the lock
    std::vector<std::shared_ptr<void>> done;
    std::lock_guard lock(mutex_);
    if (isHolding() || queryNow().status == TSR_NOT_READY) return;
    workspace.swap(workspace_);
    workspaceBytes_ = 0;
    done.swap(batch_);
  }

private:
  /// Calls f(stream of another library) with the context entered and a new point.
  template <class F>
  Outcome withForeign(const char *api, void *handle, std::shared_ptr<Point<D>> &point, F f) {
    if constexpr (!MeetsForeignStreams<D>) {
      return {TSR_UNIMPLEMENTED, "its driver has no order with streams of other libraries"};
    } else {
      if (std::string_view(api) != D::kStreamApi)
        return {TSR_EINVAL, "the stream is of the interface '" + std::string(api) + "', expected '" +
                                D::kStreamApi + "'"};
      if (Outcome o = Point<D>::make(state_, false, point); o.failed()) return o;
      return state_.use([&] {
        typename D::Stream other{};
        Outcome found = state_.driver.foreignStream(state_.context, handle, other);
        return found.failed() ? found : f(other);
      });
    }
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

  MemoryPool &memory_;
  std::atomic<bool> isNative_{false};
  std::shared_ptr<void> workspace_; // guarded by mutex_, as is its size
  size_t workspaceBytes_ = 0;
};

} // namespace tessera::gpu
