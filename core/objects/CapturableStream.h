// A layer between the C ABI and every stream of a backend: it forwards work to the stream, or records it into
// a graph during a capture.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>

namespace tessera {

/// Thread-safe if the wrapped stream is. A call concurrent with the end of a capture is either recorded or
/// queued.
class CapturableStream final : public DeviceStream {
public:
  /// `noted` is called after work was queued on a stream that had none since takeNote(). It throws nothing.
  CapturableStream(std::unique_ptr<DeviceStream> below, std::function<void()> noted)
      : below_(std::move(below)), noted_(std::move(noted)) {}

  /// Has the stream no work? Then `noted` is called for what is queued next. Work of which only the native
  /// handle knows cannot be noted, so a stream whose handle was given out always may have some.
  bool takeNote();

  /// Starts recording. Returns TSR_EINVAL when already recording, or the failure of work queued earlier.
  tsr_status_t beginCapture(std::string &why);
  /// Receives the recorded work. While it runs, the stream neither records nor queues.
  using Take = std::function<tsr_status_t(GraphWork work, std::string &why)>;
  /// Ends the recording and passes the recorded work to `take`. When `take` fails or throws, the capture
  /// continues with all its work. Returns TSR_EINVAL when not recording.
  tsr_status_t endCapture(const Take &take, std::string &why);
  /// Discards recorded work, if any, before the stream is destroyed.
  void abandonCapture();
  bool isCapturing() const { return capturing_.load(std::memory_order_acquire); }
  /// Records several pieces as one, with the memory they use: all of them or, when it throws, none. Returns
  /// false when not recording.
  bool append(GraphWork work);

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) override;
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) override;
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override;
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) override;
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) override;
  tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) override;
  /// TSR_EINVAL while recording: a graph has no calls of the host.
  tsr_status_t callHost(HostCall call, std::string &why) override;
  /// TSR_EINVAL while recording: what is queued through the handle would not be recorded.
  tsr_status_t native(const char *&api, void *&handle, std::string &why) override;
  /// TSR_EINVAL while recording: the order would not be part of the graph.
  tsr_status_t waitNative(const char *api, void *handle, std::string &why) override;
  tsr_status_t nativeWaits(const char *api, void *handle, std::string &why) override;
  /// Returns TSR_EINVAL while recording: recorded work does not run, so waiting for it would never end.
  tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) override;
  tsr_status_t query(std::string &why) override;
  /// Never fails: waits for the work queued before the capture.
  void drain() override { below_->drain(); }
  /// Refers to the work queued before the capture.
  bool isIdle() override { return below_->isIdle(); }

private:
  template <class Make> bool recorded(Make make);
  /// Queues work below, and notes it.
  template <class Queue> tsr_status_t queued(Queue queue);
  bool refuses(const char *what, std::string &why) const;

  const std::unique_ptr<DeviceStream> below_;
  const std::function<void()> noted_;
  std::atomic<bool> mayWork_{false}, isShared_{false}; // isShared_: the native handle was given out
  std::atomic<bool> capturing_{false};                 // modified under the mutex only
  std::mutex mutex_;
  GraphWork work_; // guarded by the mutex
};

} // namespace tessera
