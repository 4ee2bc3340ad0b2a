// The process's trace: who records activities, and which contexts report theirs.
//
// Devices report launches, copies, fills and ranges; the C ABI adds its own calls and collectives. The tag of
// a device's record is the correlation number of the call and the handle of the stream.
#pragma once
#include "core/objects/Objects.h"
#include "core/support/Fork.h"
#include <atomic>
#include <memory>
#include <string>

namespace tessera {

class TraceSink;

/// Thread-safe. A child of a fork starts without a trace.
class Tracer {
public:
  /// Is there a trace in this process? One load when there is none.
  static bool isOn() {
    const uint64_t process = process_.load(std::memory_order_relaxed);
    return process && process == forkCount() + 1;
  }

  /// TSR_EINVAL: there is a trace, or a record is being taken by this thread. TSR_UNIMPLEMENTED: the backend
  /// of a context has no activity records.
  static tsr_status_t start(const tsr_trace_options_t &options, std::string &why);
  /// Returns when the callback is not running and will not be called again.
  static tsr_status_t stop(std::string &why);

  /// Each context from its creation on until before it is destroyed.
  static void add(ContextObject &context);
  static void remove(ContextObject &context);

  static uint64_t nextCorrelation();
  static int64_t now();
  /// Gives the record to the callback, if there is one that wants its kind. Fills in `thread`.
  static void report(tsr_trace_record_t record);

private:
  /// forkCount() + 1 of the process that has the trace; 0: there is none.
  inline static std::atomic<uint64_t> process_{0};
};

/// Describes one call of the C ABI that queues work, and tags that work.
class TracedCall {
public:
  /// Runs `queue`, which queues on `stream` and returns a status. `call` is the function's name.
  template <class Queue> static tsr_status_t run(const char *call, const StreamObject &stream, Queue queue) {
    if (!Tracer::isOn()) [[likely]]
      return queue();
    TracedCall traced(call, stream);
    const tsr_status_t status = queue();
    if (status == TSR_SUCCESS) traced.report();
    return status;
  }

  /// Of the call that this thread is in; 0: of none.
  static uint64_t correlation();

private:
  TracedCall(const char *call, const StreamObject &stream);
  ~TracedCall();
  void report();

  const StreamObject &stream_;
  tsr_trace_record_t record_{};
};

} // namespace tessera
