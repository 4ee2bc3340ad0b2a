// Checks of activity records: their content, order, times and lifetime.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Kernels.h"
#include <array>
#include <list>
#include <mutex>
#include <thread>
#include <time.h>

namespace tessera::kit {
namespace {

struct Record {
  uint32_t kind;
  std::string name;
  int64_t begin, end, programs;
  uint64_t bytes, stream;
  std::array<uint64_t, 2> tag;
};

/// The records that a sink received.
struct Given {
  std::mutex mutex;
  std::vector<Record> all;
};

/// Lives as long as the process, because a broken plugin may keep reporting after the end.
Given &makeGiven() {
  static std::list<Given> every;
  return every.emplace_back();
}

/// Receives the activity reports of the shared context during its lifetime.
class Records {
public:
  explicit Records(Subject &s) : s_(s) {
    const tsr_be_activity_sink_t sink = {sizeof sink, &given_, [](void *user, const tsr_be_activity_t *a) {
                                           const tsr_be_activity_t r = thunk::copyIn(a);
                                           auto &given = *static_cast<Given *>(user);
                                           std::lock_guard lock(given.mutex);
                                           given.all.push_back({r.kind,
                                                                r.name ? r.name : "(NULL)",
                                                                r.begin_ns,
                                                                r.end_ns,
                                                                r.programs,
                                                                r.bytes,
                                                                r.stream,
                                                                {r.tag[0], r.tag[1]}});
                                         }};
    thunk::Text why;
    const int32_t status = s.api().activity_report(s.context(), &sink, why);
    if (status == TSR_UNIMPLEMENTED) {
      s.mustFail("activity_report", status, why);
      throw Skip{"it reports no activities (" + why.str() + ")"};
    }
    s.must("activity_report", status, why);
  }
  ~Records() {
    thunk::Text why;
    if (!isDone_) (void)s_.api().activity_report(s_.context(), nullptr, why);
  }
  /// Ends the reports and returns all records.
  const std::vector<Record> &finish() {
    thunk::Text why;
    isDone_ = true;
    s_.must("activity_report of NULL", s_.api().activity_report(s_.context(), nullptr, why), why);
    return given_.all;
  }
  size_t count() {
    std::lock_guard lock(given_.mutex);
    return given_.all.size();
  }

private:
  Subject &s_;
  bool isDone_ = false;
  Given &given_ = makeGiven();
};

void expectRecord(const Record &r, uint32_t kind, uint64_t bytes, const char *what) {
  expect(r.kind == kind && r.bytes == bytes, std::string("the record of ") + what + " of its bytes",
         "kind " + std::to_string(r.kind) + ", " + std::to_string(r.bytes) + " bytes");
}

void copies(Subject &s) {
  Stream stream(s), other(s);
  const Memory a(s, 4096), b(s, 4096);
  Records records(s);
  stream.write(a, Bytes(4096, 1));
  stream.copy(b, a, 1000);
  stream.synchronize();
  other.copy(b, a, 24, true);
  const auto &all = records.finish();
  expectEqual(all.size(), size_t{3}, "records of three copies:");
  expectRecord(all[0], TSR_ACTIVITY_COPY, 4096, "a copy from the host");
  expectRecord(all[1], TSR_ACTIVITY_COPY, 1000, "a copy on the device");
  expectRecord(all[2], TSR_ACTIVITY_COPY, 24, "a copy on another stream");
  expect(all[0].stream == all[1].stream && all[0].stream != all[2].stream && all[0].stream && all[2].stream,
         "a number for each stream", "others");
  for (const Record &r : all)
    expect(r.name.empty() && r.programs == 0, "no name and no programs of a copy", "'" + r.name + "'");
}

int64_t monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// The accuracy, in nanoseconds, with which a backend must convert its device's clock.
constexpr int64_t kClockError = 1'000'000;

void times(Subject &s) {
  Stream stream(s);
  const Memory m(s, 1 << 20);
  Event before(s), after(s);
  Records records(s);
  const int64_t begin = monotonic();
  stream.record(before);
  for (int i = 0; i < 5; ++i)
    stream.fill(m, 1, 1 << 20);
  stream.record(after);
  stream.synchronize();
  const int64_t end = monotonic();
  const auto &all = records.finish();
  expectEqual(all.size(), size_t{5}, "records of five fills:");
  int64_t last = before.timestamp();
  for (const Record &r : all) {
    expectRecord(r, TSR_ACTIVITY_FILL, 1 << 20, "a fill");
    expect(last <= r.begin && r.begin <= r.end, "times in the stream's order, on the clock of its events",
           std::to_string(r.begin) + " to " + std::to_string(r.end) + " after " + std::to_string(last));
    last = r.end;
  }
  expect(last <= after.timestamp(), "an end no later than the event recorded after it", std::to_string(last));
  expect(begin - kClockError <= all.front().begin && last <= end + kClockError,
         "times of CLOCK_MONOTONIC, which was " + std::to_string(begin) + " before and " +
             std::to_string(end) + " after the work",
         std::to_string(all.front().begin) + " to " + std::to_string(last));
}

void tags(Subject &s) {
  const auto tag = s.api().activity_tag;
  Stream stream(s), other(s);
  const Memory m(s, 64);
  Records records(s);
  tag(s.context(), 7, 70);
  stream.write(m, Bytes(64, 1));
  stream.copy(m, m, 32);
  std::thread([&] { other.write(m, Bytes(48, 2)); }).join();
  tag(s.context(), 8, 80);
  stream.copy(m, m, 16);
  tag(s.context(), 0, 0);
  stream.copy(m, m, 8);
  stream.synchronize();
  const auto &all = records.finish();
  expectEqual(all.size(), size_t{5}, "records of five copies:");
  for (const Record &r : all) { // the other thread's copy has 48 bytes, the untagged one 8
    const std::array<uint64_t, 2> wanted = r.bytes == 48 || r.bytes == 8 ? std::array<uint64_t, 2>{0, 0}
                                           : r.bytes == 16               ? std::array<uint64_t, 2>{8, 80}
                                                                         : std::array<uint64_t, 2>{7, 70};
    expect(r.tag == wanted,
           "the tag " + std::to_string(wanted[0]) + ", " + std::to_string(wanted[1]) + " of the copy of " +
               std::to_string(r.bytes) + " bytes",
           std::to_string(r.tag[0]) + ", " + std::to_string(r.tag[1]));
  }
}

void activitiesLaunches(Subject &s) {
  const Kernel kernel(s, "count", countKernel, 1);
  Stream stream(s);
  const Memory cells(s, 400);
  stream.write(cells, Bytes(400, 0));
  Records records(s);
  const uint64_t values[] = {word(cells)};
  stream.launch(kernel, values, 10, 5, 2);
  stream.synchronize();
  const auto &all = records.finish();
  expectEqual(all.size(), size_t{1}, "records of a launch:");
  expectRecord(all[0], TSR_ACTIVITY_LAUNCH, 0, "a launch");
  expect(all[0].name == "count" && all[0].programs == 100, "the kernel count with 100 programs",
         all[0].name + " with " + std::to_string(all[0].programs));
}

void ranges(Subject &s) {
  Records records(s);
  s.api().range_push(s.context(), "outer");
  s.api().range_push(s.context(), "inner");
  s.api().range_pop(s.context());
  s.api().range_pop(s.context());
  const auto &all = records.finish();
  expectEqual(all.size(), size_t{2}, "records of two ranges:");
  expect(all[0].name == "inner" && all[1].name == "outer" && all[0].kind == TSR_ACTIVITY_RANGE &&
             all[1].begin <= all[0].begin && all[0].end <= all[1].end && !all[0].stream,
         "the inner range within the outer one", all[0].name + " and " + all[1].name);
}

void ends(Subject &s) {
  Stream stream(s);
  const Memory m(s, 64);
  Records records(s), replacing(s);
  stream.write(m, Bytes(64, 1));
  expectEqual(records.count(), size_t{0}, "records to a sink that was replaced:");
  expectEqual(replacing.finish().size(), size_t{1}, "records to the sink in force:");
  stream.write(m, Bytes(64, 2));
  expectEqual(replacing.count(), size_t{1}, "records once the reports have ended:");
}

constexpr const char *kSlot = "activity_report";
constexpr Check kActivitiesChecks[] = {
    {"activities.copies", "Each copy is reported once, with its bytes and its stream.", copies,
     Needs::Context, kSlot},
    {"activities.tags", "Records have the tag that the queueing thread had set.", tags, Needs::Context,
     "activity_report,activity_tag"},
    {"activities.times", "Times are in order and on the clock of events.", times, Needs::Context,
     "activity_report,stream_fill,stream_record,event_create,event_timestamp"},
    {"activities.launches", "Each launch is reported, with its kernel and its programs.", activitiesLaunches,
     Needs::Context, kSlot},
    {"activities.ranges", "Each range is reported when it ends.", ranges, Needs::Context,
     "activity_report,range_push,range_pop"},
    {"activities.ends", "A sink is not called once it was replaced or the reports have ended.", ends,
     Needs::Context, kSlot},
};

} // namespace

extern const Group kActivities = {"activities", TSR_PLUGIN_BACKEND, false, kActivitiesChecks};

} // namespace tessera::kit
