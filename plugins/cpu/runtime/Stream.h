// Streams and events of the CPU backend.
//
// A stream is a queue, a thread and a token. Callers append under a lock that is held briefly; the reader
// takes no lock. Commands are stored in chunks that are recycled, so a steady stream does not allocate.
//
// Only the holder of the token runs commands: the stream's thread, a caller whose brief work finds the stream
// idle, or a host that waits for the stream (Executor.h, docs/decisions/0010). The thread starts with the
// first queued command, and ends when nothing was queued for a while.
#pragma once
#include "plugins/cpu/runtime/Executor.h"
#include "plugins/cpu/runtime/Gate.h"
#include "plugins/cpu/runtime/Kernel.h"
#include "plugins/cpu/runtime/Workers.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <tessera/activities.hpp>
#include <thread>
#include <vector>

namespace tessera::cpu {

/// One recording of an event. Shared by the event, the recording stream and the waiters.
struct EventPoint {
  std::atomic<bool> done{false};
  int64_t nanoseconds = 0; // written before `done` is set
  Gate gate;

  void reach(); // marks the point as reached at the current time
  void await(std::chrono::microseconds spin);
};

class Event final : public DeviceEvent {
public:
  bool isDone() override;
  void wait() override;
  tsr_status_t timestamp(int64_t &nanoseconds) override;

  std::shared_ptr<EventPoint> point() const;
  void setPoint(std::shared_ptr<EventPoint>);

private:
  mutable std::mutex mutex_;
  std::shared_ptr<EventPoint> point_; // null: never recorded
};

struct Command {
  enum class Kind : uint8_t { Copy, Fill, Launch, Record, Wait, Replay, Call };
  static constexpr size_t kInlineValues = 16;

  Kind kind = Kind::Copy;
  uint8_t byte = 0;
  bool isAlone = false; // a launch on one core, because the caller computes on several
  bool isTimed = true;  // false: a brief launch in a calling thread, which does not look at the clock
  void *dst = nullptr;
  const void *src = nullptr;
  size_t bytes = 0;
  bool *ran = nullptr; // set, for a caller that waits, if the command was not dropped
  LaunchGrid grid;
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<EventPoint> point;
  uint64_t inlineValues[kInlineValues];
  std::vector<uint64_t> moreValues; // all values, if there are more than kInlineValues
  std::shared_ptr<const DeviceGraph> graph;
  std::vector<std::shared_ptr<EventPoint>> graphPoints; // of its records and waits, in order
  DeviceStream::HostCall call;
  ActivityTag tag{};                             // 0, 0 while records are off
  std::chrono::steady_clock::time_point begun{}; // when a calling thread took the command; else not set

  void release();
};

class Stream final : public DeviceStream {
public:
  /// `activities` must outlive the stream.
  explicit Stream(Activities &activities);
  ~Stream() override;

  tsr_status_t copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) override;
  tsr_status_t fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) override;
  tsr_status_t launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                      const LaunchGrid &grid, std::string &why) override;
  tsr_status_t record(const std::shared_ptr<DeviceEvent> &event, std::string &why) override;
  tsr_status_t wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) override;
  tsr_status_t replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) override;
  tsr_status_t callHost(HostCall call, std::string &why) override;
  tsr_status_t synchronize(uint64_t timeoutNs, std::string &why) override;
  tsr_status_t query(std::string &why) override;
  void drain() override;
  bool isIdle() override { return executor_.passed(executor_.published()); }

private:
  static constexpr size_t kChunkCommands = 64;
  struct Chunk {
    Command commands[kChunkCommands];
    Chunk *next = nullptr;
  };

  template <class Fill> void fillIn(Command &, Fill fill);
  template <class Fill> tsr_status_t push(std::string &why, Fill fill, uint64_t *count = nullptr);
  template <class Fill> bool runHere(int64_t predictedPs, bool waits, bool maySkipClock, Fill fill);
  template <class Fill>
  tsr_status_t submit(std::string &why, int64_t predictedPs, Fill fill, bool maySkipClock = false);
  template <class Fill> tsr_status_t submitAndWait(std::string &why, Fill fill);
  void help(uint64_t target);
  void startThread();
  void appendChunk();
  void recycle(Chunk *);
  tsr_status_t takeFailure(std::string &why);
  tsr_status_t takeFailureLocked(std::string &why);

  void run();
  Command &next();
  void executeNext();
  void execute(Command &, bool drop);
  void replay(const Command &, bool drop);
  void callNow(const HostCall &);
  bool launch(Kernel &, const uint64_t *values, const LaunchGrid &, const Command &);
  tsr_be_activity_t activity(uint32_t kind, uint64_t bytes, int64_t programs) const;
  void copyNow(void *dst, const void *src, size_t bytes);
  void fillNow(void *dst, uint8_t byte, size_t bytes);
  bool launchNow(Kernel &, const uint64_t *values, const LaunchGrid &, const Command &);
  static int64_t predict(const DeviceGraph &, const std::vector<std::shared_ptr<EventPoint>> &points);
  void fail(tsr_status_t, std::string text);

  // used by the token holder; first, because the constructor may fail to get a chunk after it
  Launcher launcher_;
  Activities &activities_;
  const uint64_t number_; // in activity records
  const bool usesCallers_;
  std::mutex mutex_; // guards the writing end and the failure
  Chunk *tail_;
  size_t tailUsed_ = 0;
  tsr_status_t failure_ = TSR_SUCCESS;
  std::string failureText_;
  tsr_status_t lastFailure_ = TSR_SUCCESS; // the last failure that was reported
  std::string lastFailureText_;
  std::thread thread_;    // started by a queued command if there is none
  bool isServed_ = false; // the thread will look at the queue again

  Executor executor_;
  std::atomic<bool> failed_{false};    // mirrors failure_
  std::atomic<uint64_t> dropBelow_{0}; // commands queued after a failure that has since been reported
  std::atomic<Chunk *> spare_{nullptr};

  // The members below belong to the holder of the token.
  Chunk *head_; // the reading end
  size_t headUsed_ = 0;
  ActivityTag tag_{};               // of the running command
  Command here_;                    // the command that runs in the calling thread
  std::atomic<int64_t> spentPs_{0}; // time used in callers since a host waited or paused between calls
  int64_t untimedPs_ = 0;           // expected time of untimed work in callers since lastHere_
  std::chrono::steady_clock::time_point lastHere_{};
};

} // namespace tessera::cpu
