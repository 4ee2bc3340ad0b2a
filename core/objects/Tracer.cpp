#include "core/objects/Tracer.h"
#include "core/log/Log.h"
#include <atomic>
#include <chrono>
#include <set>
#include <shared_mutex>
#include <unistd.h>

namespace tessera {

static_assert(int(TSR_TRACE_LAUNCH) == TSR_ACTIVITY_LAUNCH && int(TSR_TRACE_COPY) == TSR_ACTIVITY_COPY &&
              int(TSR_TRACE_FILL) == TSR_ACTIVITY_FILL && int(TSR_TRACE_RANGE) == TSR_ACTIVITY_RANGE);

namespace {
thread_local bool isInCallback = false;
thread_local uint64_t correlationOfCall = 0;
} // namespace

/// One trace's callback. Reports of devices share it, so it outlives the trace.
class TraceSink {
public:
  explicit TraceSink(const tsr_trace_options_t &o) : options_(o) {}

  void report(tsr_trace_record_t &record) {
    if (options_.kinds && !(options_.kinds >> record.kind & 1)) return;
    record.struct_size = sizeof record;
    std::shared_lock lock(mutex_);
    if (isClosed_) return;
    isInCallback = true;
    options_.record(options_.user, &record);
    isInCallback = false;
  }
  /// Waits for the callbacks that run.
  void close() {
    std::lock_guard lock(mutex_);
    isClosed_ = true;
  }

private:
  const tsr_trace_options_t options_;
  std::shared_mutex mutex_; // shared: the callback runs
  bool isClosed_ = false;   // guarded by the mutex
};

namespace {

struct TraceState {
  std::atomic<uint64_t> correlation{0};
  /// Guards the contexts, and is held while a trace starts or ends. Plugins run under it.
  std::recursive_mutex mutex;
  HeldAcrossFork heldAcrossFork{mutex};
  std::set<ContextObject *> contexts;
  std::mutex sinkMutex; // guards the pointer only; taken after `mutex`
  HeldAcrossFork sinkHeldAcrossFork{sinkMutex};
  std::shared_ptr<TraceSink> sink;

  std::shared_ptr<TraceSink> currentSink() {
    std::lock_guard lock(sinkMutex);
    return sink;
  }
  std::shared_ptr<TraceSink> exchangeSink(std::shared_ptr<TraceSink> next) {
    std::lock_guard lock(sinkMutex);
    std::swap(sink, next);
    return next;
  }
};

TraceState &traceState() {
  static TraceState *state = new TraceState; // never destroyed: streams may report while the process ends
  return *state;
}
[[maybe_unused]] const TraceState &madeState = traceState(); // when the library is loaded: see HeldAcrossFork

/// What a device reports to a trace.
ActivitySink sinkOf(const ContextObject &context, std::shared_ptr<TraceSink> sink) {
  return [sink = std::move(sink), handle = context.handle(), backend = std::string(context.backend->name()),
          device = context.ordinal](const tsr_be_activity_t &activity) {
    if (activity.kind > TSR_ACTIVITY_RANGE) return; // of a later interface
    tsr_trace_record_t record{};
    record.kind = static_cast<int32_t>(activity.kind);
    record.name = activity.name ? activity.name : "";
    record.backend = backend.c_str();
    record.device = device;
    record.context = handle;
    record.begin_ns = activity.begin_ns, record.end_ns = activity.end_ns;
    record.correlation = activity.tag[0];
    record.stream = reinterpret_cast<tsr_stream_t>(activity.tag[1]);
    record.bytes = activity.bytes;
    record.programs = activity.programs;
    if (activity.kind == TSR_ACTIVITY_RANGE) record.thread = static_cast<uint64_t>(gettid());
    sink->report(record);
  };
}

tsr_status_t attach(ContextObject &context, const std::shared_ptr<TraceSink> &sink, std::string &why) {
  std::string reason;
  const tsr_status_t status = context.device->reportActivities(sinkOf(context, sink), reason);
  if (status != TSR_SUCCESS)
    why = "a context on backend " + std::string(context.backend->name()) + " cannot be traced: " + reason;
  return status;
}

void detach(ContextObject &context) {
  std::string why; // a backend that cannot end its reports reports to a closed sink
  (void)context.device->reportActivities(nullptr, why);
}

} // namespace

tsr_status_t Tracer::start(const tsr_trace_options_t &options, std::string &why) {
  if (isInCallback) {
    why = "a trace's callback cannot start a trace";
    return TSR_EINVAL;
  }
  LogLater later;
  TraceState &s = traceState();
  std::lock_guard lock(s.mutex);
  if (isOn()) {
    why = "there is a trace already: end it with tsrTraceStop";
    return TSR_EINVAL;
  }
  std::erase_if(s.contexts, [](ContextObject *c) { return c->isInherited(); });
  auto sink = std::make_shared<TraceSink>(options);
  for (auto it = s.contexts.begin(); it != s.contexts.end(); ++it) {
    const tsr_status_t status = attach(**it, sink, why);
    if (status == TSR_SUCCESS) continue;
    while (it != s.contexts.begin())
      detach(**--it);
    sink->close();
    return status;
  }
  s.exchangeSink(std::move(sink));
  process_.store(forkCount() + 1, std::memory_order_relaxed);
  return TSR_SUCCESS;
}

tsr_status_t Tracer::stop(std::string &why) {
  if (isInCallback) {
    why = "a trace's callback cannot end the trace";
    return TSR_EINVAL;
  }
  LogLater later;
  TraceState &s = traceState();
  std::lock_guard lock(s.mutex);
  if (!isOn()) {
    why = "there is no trace: start one with tsrTraceStart";
    return TSR_EINVAL;
  }
  process_.store(0, std::memory_order_relaxed);
  for (ContextObject *context : s.contexts)
    detach(*context);
  s.exchangeSink(nullptr)->close();
  return TSR_SUCCESS;
}

void Tracer::add(ContextObject &context) {
  LogLater later;
  TraceState &s = traceState();
  std::lock_guard lock(s.mutex);
  std::string why;
  if (isOn() && attach(context, s.currentSink(), why)) log(TSR_LOG_WARNING, "W_TRACE", why);
  s.contexts.insert(&context);
}

void Tracer::remove(ContextObject &context) {
  TraceState &s = traceState();
  std::lock_guard lock(s.mutex);
  s.contexts.erase(&context);
}

uint64_t Tracer::nextCorrelation() {
  return 1 + traceState().correlation.fetch_add(1, std::memory_order_relaxed);
}

int64_t Tracer::now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

void Tracer::report(tsr_trace_record_t record) {
  const auto sink = traceState().currentSink();
  if (!sink || !isOn()) return;
  record.thread = static_cast<uint64_t>(gettid());
  sink->report(record);
}

TracedCall::TracedCall(const char *call, const StreamObject &stream) : stream_(stream) {
  const ContextObject &context = *stream.context;
  record_.kind = TSR_TRACE_CALL;
  record_.name = call;
  record_.backend = context.backend->name();
  record_.device = context.ordinal;
  record_.context = context.handle();
  record_.stream = stream.handle();
  record_.correlation = Tracer::nextCorrelation();
  context.device->tagActivities(
      {record_.correlation, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(record_.stream))});
  correlationOfCall = record_.correlation;
  record_.begin_ns = Tracer::now();
}

TracedCall::~TracedCall() {
  correlationOfCall = 0;
  stream_.context->device->tagActivities({});
}

uint64_t TracedCall::correlation() { return correlationOfCall; }

void TracedCall::report() {
  record_.end_ns = Tracer::now();
  Tracer::report(record_);
}

} // namespace tessera
