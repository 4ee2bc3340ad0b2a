// Traces: what is reported about work on the CPU, calls, ranges and collectives, and when.
#include "core/test/Functions.h"
#include "core/test/Support.h"
#include <mutex>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::test;

namespace {

struct Record {
  tsr_trace_record_t r;
  std::string name, backend;
};

class Tracing : public RuntimeTest {
protected:
  void TearDown() override {
    if (isOn_) EXPECT_OK(tsrTraceStop());
    RuntimeTest::TearDown();
  }
  tsr_status_t start(uint32_t kinds = 0) {
    const tsr_trace_options_t options = {sizeof options, &Tracing::take, this, kinds};
    const tsr_status_t status = tsrTraceStart(&options);
    isOn_ = isOn_ || status == TSR_SUCCESS;
    return status;
  }
  /// Ends the trace. Returns the records of `kind` in the order they were reported.
  std::vector<Record> stop(int32_t kind) {
    if (std::exchange(isOn_, false)) EXPECT_OK(tsrTraceStop());
    std::vector<Record> out;
    std::ranges::copy_if(records_, std::back_inserter(out),
                         [&](const Record &r) { return r.r.kind == kind; });
    return out;
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return records_.size();
  }
  static void take(void *user, const tsr_trace_record_t *record) {
    auto &self = *static_cast<Tracing *>(user);
    std::lock_guard lock(self.mutex_);
    EXPECT_EQ(record->struct_size, sizeof *record);
    EXPECT_LE(record->begin_ns, record->end_ns);
    self.records_.push_back({*record, record->name, record->backend});
    if (self.inside_) self.inside_();
  }

  std::mutex mutex_;
  std::vector<Record> records_; // guarded by the mutex
  std::function<void()> inside_;
  bool isOn_ = false;
};

TEST_F(Tracing, ACallAndItsWorkShareACorrelation) {
  tsr_stream_t s = stream();
  auto *x = alloc<float>(500, 1), *y = alloc<float>(500, 2);
  auto *from = alloc<float>(100, 3), *to = alloc<float>(100, 4); // the other stream is not ordered with s
  tsr_kernel_t k = kernel(kSaxpyYaml, saxpy);
  ASSERT_OK(start());
  EXPECT_OK(launch(k, s, x, y, 3.0f, int64_t{500}));
  EXPECT_OK(tsrMemsetAsync(context, x, 0, 2000, s));
  EXPECT_OK(tsrMemcpyD2DAsync(context, to, from, 400, nullptr));
  EXPECT_OK(tsrSynchronize(context));
  const auto calls = stop(TSR_TRACE_CALL), launches = stop(TSR_TRACE_LAUNCH), fills = stop(TSR_TRACE_FILL),
             copies = stop(TSR_TRACE_COPY);
  ASSERT_EQ(calls.size(), 3u);
  ASSERT_EQ(launches.size(), 1u);
  ASSERT_EQ(fills.size(), 1u);
  ASSERT_EQ(copies.size(), 1u);
  const Record *work[] = {&launches[0], &fills[0], &copies[0]};
  const char *names[] = {"tsrLaunch", "tsrMemsetAsync", "tsrMemcpyD2DAsync"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(calls[i].name, names[i]);
    EXPECT_NE(calls[i].r.correlation, 0u);
    EXPECT_EQ(calls[i].r.correlation, work[i]->r.correlation);
    EXPECT_EQ(calls[i].r.stream, work[i]->r.stream);
    EXPECT_LE(calls[i].r.begin_ns, work[i]->r.begin_ns);
    EXPECT_EQ(calls[i].r.thread, uint64_t(gettid()));
    EXPECT_EQ(work[i]->r.thread, 0u);
    for (const Record *r : {&calls[i], work[i]}) {
      EXPECT_EQ(r->backend, "cpu");
      EXPECT_EQ(r->r.device, 0);
      EXPECT_EQ(r->r.context, context);
      EXPECT_EQ(r->r.comm, nullptr);
    }
  }
  EXPECT_LT(calls[0].r.correlation, calls[1].r.correlation);
  tsr_stream_t standard = nullptr;
  EXPECT_OK(tsrGetDefaultStream(context, &standard));
  EXPECT_EQ(launches[0].r.stream, s);
  EXPECT_EQ(copies[0].r.stream, standard);
  EXPECT_EQ(launches[0].name, "saxpy");
  EXPECT_EQ(launches[0].r.programs, 8);
  EXPECT_EQ(fills[0].name, "");
  EXPECT_EQ(fills[0].r.bytes, 2000u);
  EXPECT_EQ(copies[0].r.bytes, 400u);
}

TEST_F(Tracing, WorkOfSeveralThreadsKeepsItsCorrelation) {
  auto *word = alloc<int64_t>(1);
  ASSERT_OK(start());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        EXPECT_OK(tsrMemsetAsync(context, word, 0, 8, nullptr));
    });
  for (auto &t : threads)
    t.join();
  EXPECT_OK(tsrSynchronize(context));
  std::set<uint64_t> called, done;
  for (const Record &r : stop(TSR_TRACE_CALL))
    called.insert(r.r.correlation);
  for (const Record &r : stop(TSR_TRACE_FILL))
    done.insert(r.r.correlation);
  EXPECT_EQ(called.size(), 200u);
  EXPECT_EQ(called, done);
}

TEST_F(Tracing, StepsAndNodesHaveTheCorrelationOfTheirCall) {
  auto *word = alloc<int64_t>(1);
  tsr_kernel_t k = kernel(kDigitYaml, digit);
  tsr_stream_t s = stream();
  tsr_graph_t g = nullptr;
  ASSERT_OK(tsrStreamBeginCapture(s));
  EXPECT_OK(launch(k, s, word, int32_t{1}));
  EXPECT_OK(launch(k, s, word, int32_t{2}));
  ASSERT_OK(tsrStreamEndCapture(s, &g));
  ASSERT_OK(start());
  EXPECT_OK(tsrGraphLaunch(g, s));
  EXPECT_OK(tsrGraphLaunch(g, nullptr));
  EXPECT_OK(tsrSynchronize(context));
  const auto calls = stop(TSR_TRACE_CALL), launches = stop(TSR_TRACE_LAUNCH);
  ASSERT_EQ(calls.size(), 2u);
  ASSERT_EQ(launches.size(), 4u);
  for (const Record &call : calls) {
    EXPECT_EQ(call.name, "tsrGraphLaunch");
    EXPECT_EQ(
        std::ranges::count(launches, call.r.correlation, [](const Record &r) { return r.r.correlation; }), 2);
  }
}

TEST_F(Tracing, RangesNestAndNameTheirThread) {
  ASSERT_OK(start());
  EXPECT_OK(tsrRangePush(context, "step"));
  EXPECT_OK(tsrRangePush(context, "forward"));
  EXPECT_OK(tsrRangePop(context));
  EXPECT_OK(tsrRangePop(context));
  const auto ranges = stop(TSR_TRACE_RANGE);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].name, "forward");
  EXPECT_EQ(ranges[1].name, "step");
  EXPECT_LE(ranges[1].r.begin_ns, ranges[0].r.begin_ns);
  EXPECT_LE(ranges[0].r.end_ns, ranges[1].r.end_ns);
  EXPECT_EQ(ranges[0].r.thread, uint64_t(gettid()));
  EXPECT_EQ(ranges[0].r.correlation, 0u);
  EXPECT_EQ(ranges[0].r.context, context);
}

TEST_F(Tracing, CollectivesAreReported) {
  const tsr_comm_options_t o = {sizeof o, nullptr, "traced", 0, 1, 0};
  tsr_comm_t comm = nullptr;
  ASSERT_OK(tsrCreateComm(&o, &comm));
  float in[3] = {1, 2, 3}, out[3];
  ASSERT_OK(start());
  EXPECT_OK(tsrAllReduce(comm, in, out, 3, TSR_DTYPE_F32, TSR_REDUCE_SUM));
  EXPECT_EQ(tsrAllReduce(comm, nullptr, out, 3, TSR_DTYPE_F32, TSR_REDUCE_SUM), TSR_EINVAL);
  EXPECT_EQ(tsrBroadcast(comm, in, out, 3, static_cast<tsr_dtype_t>(TSR_DTYPE_U64 + 1), 0), TSR_EINVAL);
  const auto all = stop(TSR_TRACE_COLLECTIVE);
  ASSERT_EQ(all.size(), 1u); // failures are not reported
  EXPECT_EQ(all[0].name, "all_reduce");
  EXPECT_EQ(all[0].backend, "inprocess");
  EXPECT_EQ(all[0].r.bytes, 12u);
  EXPECT_EQ(all[0].r.device, -1);
  EXPECT_EQ(all[0].r.comm, comm);
  EXPECT_EQ(all[0].r.context, nullptr);
  EXPECT_NE(all[0].r.correlation, 0u);
  EXPECT_OK(tsrDestroyComm(comm));
}

TEST_F(Tracing, OnlyTheKindsAskedForAreReported) {
  auto *word = alloc<int64_t>(1);
  ASSERT_OK(start(1u << TSR_TRACE_FILL));
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  int64_t host = 0;
  EXPECT_OK(tsrMemcpyD2H(context, &host, word, 8));
  EXPECT_EQ(stop(TSR_TRACE_FILL).size(), 1u);
  EXPECT_EQ(count(), 1u);
}

TEST_F(Tracing, FailedWorkAndRefusedCallsAreNotReported) {
  tsr_kernel_t greedyKernel = kernel(kGreedyYaml, [](const uint64_t *, int64_t, int64_t, uint8_t *) {});
  ASSERT_OK(start());
  EXPECT_EQ(launch(greedyKernel, nullptr, 1), TSR_EINVAL); // one argument too many
  EXPECT_OK(tsrLaunch(greedyKernel, nullptr, kFromMetadata, nullptr, 0));
  EXPECT_EQ(tsrSynchronize(context), TSR_EOOM);
  EXPECT_EQ(stop(TSR_TRACE_LAUNCH).size(), 0u);
  EXPECT_EQ(stop(TSR_TRACE_CALL).size(), 1u);
}

TEST_F(Tracing, LaterContextsTakePart) {
  ASSERT_OK(start());
  tsr_context_t later = nullptr;
  ASSERT_OK(tsrCreateContext(&later));
  void *p = nullptr;
  EXPECT_OK(tsrAlloc(later, 8, TSR_MEM_DEVICE, &p));
  EXPECT_OK(tsrMemset(later, p, 0, 8));
  EXPECT_OK(tsrDestroyContext(later));
  const auto fills = stop(TSR_TRACE_FILL);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(fills[0].r.context, later);
}

TEST_F(Tracing, NothingIsReportedOutsideTheTrace) {
  auto *word = alloc<int64_t>(1);
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  ASSERT_OK(start());
  EXPECT_EQ(start(), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("there is a trace already"));
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  EXPECT_EQ(stop(TSR_TRACE_FILL).size(), 1u);
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(tsrTraceStop(), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("there is no trace"));
  ASSERT_OK(start()); // a second trace
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  EXPECT_EQ(stop(TSR_TRACE_FILL).size(), 2u);
}

TEST_F(Tracing, EarlierWorkHasNoCorrelation) {
  tsr_stream_t s = stream();
  auto *word = alloc<int64_t>(1);
  auto *gate = holdStream(s);
  EXPECT_OK(tsrMemsetAsync(context, word, 0, 8, s));
  ASSERT_OK(start());
  open(gate);
  EXPECT_OK(tsrStreamSynchronize(s));
  const auto fills = stop(TSR_TRACE_FILL);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(fills[0].r.correlation, 0u);
  EXPECT_EQ(fills[0].r.stream, nullptr);
}

TEST_F(Tracing, TheCallbackCannotStartOrEndATrace) {
  auto *word = alloc<int64_t>(1);
  int asked = 0;
  inside_ = [&] {
    ++asked;
    EXPECT_EQ(tsrTraceStop(), TSR_EINVAL);
    const tsr_trace_options_t options = {sizeof options, &Tracing::take, this, 0};
    EXPECT_EQ(tsrTraceStart(&options), TSR_EINVAL);
  };
  ASSERT_OK(start(1u << TSR_TRACE_FILL));
  EXPECT_OK(tsrMemset(context, word, 0, 8));
  stop(TSR_TRACE_FILL);
  EXPECT_EQ(asked, 1);
}

TEST_F(Tracing, OptionsAreChecked) {
  tsr_trace_options_t options = {sizeof options, nullptr, nullptr, 0};
  EXPECT_EQ(tsrTraceStart(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("record is NULL"));
  options.record = &Tracing::take;
  options.kinds = 2u << TSR_TRACE_CALL;
  EXPECT_EQ(tsrTraceStart(&options), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("kinds: unknown bits"));
  options.kinds = 0;
  options.struct_size = 0;
  EXPECT_EQ(tsrTraceStart(&options), TSR_EINVAL);
}

TEST_F(Tracing, AForkedChildHasNoTrace) {
  ASSERT_OK(start());
  const pid_t child = fork();
  if (child == 0) {
    tsr_context_t own = nullptr;
    void *p = nullptr;
    const bool isWithout = tsrTraceStop() == TSR_EINVAL && !tsrCreateContext(&own) &&
                           !tsrAlloc(own, 8, 0, &p) && !tsrMemset(own, p, 0, 8) && records_.empty();
    const bool canStart = !start() && !tsrMemset(own, p, 0, 8) && !tsrTraceStop() && records_.size() == 2;
    _exit(isWithout && canStart ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(stop(TSR_TRACE_FILL).size(), 0u);
}

} // namespace
