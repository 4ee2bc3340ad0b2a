// What stands between the C ABI and every stream of a backend: it passes work on, or records it into a graph
// while a capture is going on.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>

namespace tessera {

/// Thread-safe, as the stream below is. A call that meets the end of a capture is recorded or queued.
class CapturableStream final : public DeviceStream {
public:
  explicit CapturableStream(std::unique_ptr<DeviceStream> below) : below_(std::move(below)) {}

  /// Starts recording. TSR_EINVAL when already recording; a failure of work queued earlier is returned
  /// instead.
  tsr_status_t beginCapture(std::string &why);
  /// What becomes of recorded work. Runs while the stream records nothing and queues nothing.
  using Take = std::function<tsr_status_t(GraphWork work, std::string &why)>;
  /// Ends it and gives `take` what was recorded. When that fails or throws, the capture goes on with all it
  /// has. TSR_EINVAL when not recording.
  tsr_status_t endCapture(const Take &take, std::string &why);
  /// Forgets what was recorded, if anything; the stream is about to go.
  void abandonCapture();
  bool isCapturing() const { return capturing_.load(std::memory_order_acquire); }
  /// Records several pieces as one, with the memory they use: all or, when it throws, none. False when
  /// nothing is being recorded.
  bool append(GraphWork work);

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) override;
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) override;
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override;
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) override;
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) override;
  tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) override;
  /// TSR_EINVAL while recording: nothing recorded runs, so nobody can wait for it.
  tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) override;
  tsr_status_t query(std::string &why) override;
  /// Never refuses: waits for what was queued before the capture.
  void drain() override { below_->drain(); }
  /// Of what was queued before the capture.
  bool isIdle() override { return below_->isIdle(); }

private:
  template <class Make> bool recorded(Make make);
  bool refuses(const char *what, std::string &why) const;

  const std::unique_ptr<DeviceStream> below_;
  std::atomic<bool> capturing_{false}; // changes under the mutex only
  std::mutex mutex_;
  GraphWork work_; // guarded by the mutex
};

} // namespace tessera
