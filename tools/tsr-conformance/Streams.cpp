// Checks of streams and events: order, waiting, timestamps, and destruction with work still queued.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Objects.h"
#include <atomic>
#include <chrono>
#include <memory>

namespace tessera::kit {
namespace {

using thunk::Text;
using Clock = std::chrono::steady_clock;

constexpr const char *kEventSlots =
    "event_create,event_destroy,event_query,event_synchronize,event_timestamp,stream_record,stream_wait";
constexpr size_t kBytes = 200003;

/// Queues `rounds` copies around a ring of buffers. The final bytes equal `sent` only if the copies run in
/// order.
void chain(Stream &stream, std::vector<Memory> &ring, const Bytes &noise, const Bytes &sent, int rounds) {
  stream.copy(ring[0], noise.data(), noise.size());
  for (int i = 0; i < rounds; ++i)
    stream.copy(ring[(i + 1) % ring.size()], ring[i % ring.size()], sent.size());
  stream.copy(ring[0], sent.data(), sent.size());
  for (size_t i = 1; i < ring.size(); ++i)
    stream.copy(ring[i], ring[i - 1], sent.size());
}

std::vector<Memory> ringOf(Subject &s, size_t bytes) {
  std::vector<Memory> ring;
  for (int i = 0; i < 4; ++i)
    ring.emplace_back(s, bytes);
  return ring;
}

void streamOrder(Subject &s) {
  auto ring = ringOf(s, kBytes);
  Stream stream(s);
  const Bytes noise = pattern(kBytes, 1);
  for (unsigned i = 0; i < 10; ++i) {
    const Bytes sent = pattern(kBytes, i + 2);
    chain(stream, ring, noise, sent, 12);
    stream.synchronize();
    expectBytes(stream.read(ring.back(), kBytes), sent, "what the last of a chain of copies left");
  }
}

void waitFlag(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream stream(s);
  for (unsigned i = 0; i < 30; ++i) {
    const Bytes sent = pattern(kBytes, i);
    Bytes found(kBytes, 0);
    stream.copy(a, sent.data(), kBytes);
    stream.copy(b, a, kBytes);
    stream.copy(found.data(), b, kBytes, /*wait=*/true);
    expectBytes(found, sent, "what a copy with wait 1 brought, as it returned");
  }
}

void synchronize(Subject &s) {
  const Memory a(s, kBytes);
  Stream stream(s);
  for (unsigned i = 0; i < 30; ++i) {
    const Bytes sent = pattern(kBytes, i);
    Bytes found(kBytes, 0);
    stream.copy(a, sent.data(), kBytes);
    stream.copy(found.data(), a, kBytes);
    stream.synchronize();
    expectBytes(found, sent, "what queued copies brought, after stream_synchronize");
  }
}

void timeouts(Subject &s) {
  const Memory a(s, 8 << 20), b(s, 8 << 20);
  Stream stream(s);
  for (uint64_t timeout : {uint64_t{0}, uint64_t{1000}, uint64_t{20000000000}}) {
    for (int i = 0; i < 8; ++i)
      stream.copy(b, a, 8 << 20);
    Text why;
    const int32_t status = s.api().stream_synchronize(stream, timeout, why);
    expect(status == TSR_SUCCESS || status == TSR_ETIMEOUT,
           "TSR_SUCCESS or TSR_ETIMEOUT of stream_synchronize with " + std::to_string(timeout) + " ns",
           statusName(status));
    if (timeout > 1000)
      s.must("stream_synchronize", status, why);
    else if (status == TSR_ETIMEOUT)
      s.mustFail("stream_synchronize", status, why);
  }
}

void streamQuery(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream stream(s);
  for (int i = 0; i < 20; ++i)
    stream.copy(b, a, kBytes);
  Text why;
  const int32_t busy = s.api().stream_query(stream, why);
  expect(busy == TSR_SUCCESS || busy == TSR_NOT_READY, "TSR_SUCCESS or TSR_NOT_READY of stream_query",
         statusName(busy));
  stream.synchronize();
  s.must("stream_query after stream_synchronize", s.api().stream_query(stream, why), why);
}

void idle(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream stream(s);
  expectEqual(s.api().stream_is_idle(stream), 1, "stream_is_idle of a new stream:");
  for (int i = 0; i < 20; ++i)
    stream.copy(b, a, kBytes);
  const int32_t busy = s.api().stream_is_idle(stream);
  expect(busy == 0 || busy == 1, "0 or 1 of stream_is_idle", std::to_string(busy));
  stream.synchronize();
  expectEqual(s.api().stream_is_idle(stream), 1, "stream_is_idle after stream_synchronize:");
}

void drain(Subject &s) {
  const Memory a(s, kBytes);
  const Bytes sent = pattern(kBytes, 5);
  Bytes found(kBytes, 0);
  Stream stream(s);
  stream.copy(a, sent.data(), kBytes);
  stream.copy(found.data(), a, kBytes);
  s.api().stream_drain(stream);
  expectBytes(found, sent, "what queued copies brought, after stream_drain");
}

void destroyWaits(Subject &s) {
  for (unsigned i = 0; i < 20; ++i) {
    auto ring = ringOf(s, kBytes);
    const Bytes sent = pattern(kBytes, i), noise = pattern(kBytes, i + 1);
    Bytes found(kBytes, 0);
    Stream stream(s);
    chain(stream, ring, noise, sent, 8);
    stream.copy(found.data(), ring.back(), kBytes);
    stream.destroy();
    expectBytes(found, sent, "what queued copies brought, after stream_destroy");
  }
}

void many(Subject &s) {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Memory> memory;
  std::vector<Bytes> found;
  constexpr size_t kSmall = 5000;
  for (unsigned i = 0; i < 48; ++i) {
    streams.push_back(std::make_unique<Stream>(s));
    memory.emplace_back(s, kSmall);
    found.emplace_back(kSmall);
  }
  for (unsigned round = 0; round < 5; ++round) {
    std::vector<Bytes> sent;
    for (unsigned i = 0; i < streams.size(); ++i)
      sent.push_back(pattern(kSmall, i + round));
    for (unsigned i = 0; i < streams.size(); ++i) {
      streams[i]->copy(memory[i], sent[i].data(), kSmall);
      streams[i]->copy(found[i].data(), memory[i], kSmall);
    }
    for (unsigned i = 0; i < streams.size(); ++i) {
      streams[i]->synchronize();
      expectBytes(found[i], sent[i], "what one of 48 streams brought");
    }
  }
}

void streamThreads(Subject &s) {
  (void)s.context();
  onThreads(8, [&](int t) {
    for (unsigned i = 0; i < 10; ++i) {
      Stream stream(s);
      auto ring = ringOf(s, 3000);
      const Bytes sent = pattern(3000, i + static_cast<unsigned>(t) * 31), noise = pattern(3000, 200);
      chain(stream, ring, noise, sent, 8);
      expectBytes(stream.read(ring.back(), 3000), sent, "what a thread's own stream brought");
    }
  });
}

/// A function for stream_call that counts its calls and releases. It lives as long as the process, since a
/// broken plugin calls it late.
struct Called {
  std::function<int32_t(Text &why)> body;
  std::atomic<int> calls{0}, releases{0};
};

int32_t queueCall(Subject &s, Stream &stream, Called &called, Text &why) {
  const tsr_be_call_t call = {sizeof call,
                              [](void *owner, tsr_text_t *text) -> int32_t {
                                auto &c = *static_cast<Called *>(owner);
                                ++c.calls;
                                Text inner;
                                const int32_t status = c.body(inner);
                                thunk::put(text, inner.str());
                                return status;
                              },
                              {&called, [](void *owner) { ++static_cast<Called *>(owner)->releases; }}};
  return s.api().stream_call(stream, &call, why);
}

Called &makeCalled(std::function<int32_t(Text &why)> body) {
  auto *called = new Called;
  called->body = std::move(body);
  return *called;
}

void mayCall(Subject &s, int32_t status, const Text &why) {
  if (status == TSR_UNIMPLEMENTED) {
    s.mustFail("stream_call", status, why);
    throw Skip{"it calls no functions of the host (" + why.str() + ")"};
  }
  s.must("stream_call", status, why);
}

void calls(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream stream(s);
  for (unsigned i = 0; i < 20; ++i) {
    const Bytes sent = pattern(kBytes, i), next = pattern(kBytes, i + 100);
    Bytes before(kBytes, 0), seen(kBytes, 0), after(kBytes, 0);
    Called &called = makeCalled([&](Text &) {
      seen = before; // as the copy before left it
      before = next; // for the copy after
      return TSR_SUCCESS;
    });
    stream.copy(a, sent.data(), kBytes);
    stream.copy(before.data(), a, kBytes);
    Text why;
    mayCall(s, queueCall(s, stream, called, why), why);
    stream.copy(b, before.data(), kBytes);
    stream.copy(after.data(), b, kBytes);
    stream.synchronize();
    expectBytes(seen, sent, "what a call of the host saw of the copy before it");
    expectBytes(after, next, "what the copies after a call of the host brought");
    expectEqual(called.calls.load(), 1, "calls of the function:");
  }
}

void callsFail(Subject &s) {
  Stream stream(s);
  Called &called = makeCalled([](Text &why) {
    thunk::put(why, "rank 3 is missing");
    return TSR_ETIMEOUT;
  });
  Text why;
  int32_t status = queueCall(s, stream, called, why);
  if (status != TSR_ETIMEOUT) { // a backend that works at once may say so here
    mayCall(s, status, why);
    Text later;
    status = s.api().stream_synchronize(stream, UINT64_MAX, later);
    s.mustFail("stream_synchronize after a failing call of the host", status, later, {TSR_ETIMEOUT});
    expect(later.str().find("rank 3 is missing") != std::string::npos, "the text of the function",
           later.str());
  }
  stream.synchronize(); // the failure was reported
  stream.destroy();
  expectEqual(called.releases.load(), 1, "releases of the function's object once its stream is destroyed:");
}

void native(Subject &s) {
  Stream first(s), second(s);
  auto handleOf = [&](Stream &stream) {
    const char *api = nullptr;
    void *handle = nullptr;
    Text why;
    const int32_t status = s.api().stream_native(stream, &api, &handle, why);
    if (status == TSR_UNIMPLEMENTED) {
      s.mustFail("stream_native", status, why);
      throw Skip{"its streams have no native handles (" + why.str() + ")"};
    }
    s.must("stream_native", status, why);
    expect(api && *api, "the name of the interface of a native handle", api ? "\"\"" : "null");
    expect(handle, "a native handle", "null");
    return handle;
  };
  void *const before = handleOf(first);
  expect(before != handleOf(second), "another native handle for another stream", "the same");
  const Memory a(s, kBytes);
  const Bytes sent = pattern(kBytes, 1); // read until the copy is done
  first.copy(a, sent.data(), kBytes);
  first.synchronize();
  expect(handleOf(first) == before, "the same native handle for the life of a stream", "another");
}

constexpr Check kStreamChecks[] = {
    {"streams.native", "Each stream has one native handle of its own.", native, Needs::Context,
     "stream_native"},
    {"streams.calls", "A call of the host runs in the stream's order.", calls, Needs::Context, "stream_call"},
    {"streams.calls_fail", "A failing call of the host fails the stream with its status and text.", callsFail,
     Needs::Context, "stream_call"},
    {"streams.order", "Calls on one stream take effect in their order.", streamOrder, Needs::Context},
    {"streams.wait_flag", "A copy with wait 1 is done when the call returns.", waitFlag, Needs::Context},
    {"streams.synchronize", "After stream_synchronize all that was queued is done.", synchronize,
     Needs::Context},
    {"streams.timeouts", "stream_synchronize keeps to its timeout: TSR_SUCCESS or TSR_ETIMEOUT.", timeouts,
     Needs::Context},
    {"streams.query", "stream_query tells finished work from TSR_NOT_READY.", streamQuery, Needs::Context,
     "stream_query"},
    {"streams.is_idle", "stream_is_idle says 1 when all is done.", idle, Needs::Context, "stream_is_idle"},
    {"streams.drain", "stream_drain waits for what was queued.", drain, Needs::Context, "stream_drain"},
    {"streams.destroy_waits", "stream_destroy waits for what was queued.", destroyWaits, Needs::Context},
    {"streams.many", "Dozens of streams work beside each other.", many, Needs::Context, {}, {}, 30},
    {"streams.threads",
     "Several threads make and use streams at once.",
     streamThreads,
     Needs::Context,
     {},
     {},
     30},
};

// ---- Events ----

void neverRecorded(Subject &s) {
  Event event(s);
  expect(event.query() == TSR_SUCCESS, "TSR_SUCCESS of event_query before any record",
         statusName(event.query()));
  event.synchronize();
  Stream stream(s);
  stream.wait(event);
  stream.synchronize();
  int64_t time = 77;
  const int32_t status = s.api().event_timestamp(event, &time);
  expect(status == TSR_EINVAL, "TSR_EINVAL of event_timestamp before any record", statusName(status));
  expectEqual(time, 77, "an out parameter that a failure leaves at");
}

void recorded(Subject &s) {
  const Memory a(s, kBytes);
  const Bytes sent = pattern(kBytes, 8);
  for (int i = 0; i < 10; ++i) {
    Bytes found(kBytes, 0);
    Stream stream(s);
    Event event(s);
    stream.copy(a, sent.data(), kBytes);
    stream.copy(found.data(), a, kBytes);
    stream.record(event);
    const int32_t early = event.query();
    expect(early == TSR_SUCCESS || early == TSR_NOT_READY, "TSR_SUCCESS or TSR_NOT_READY of event_query",
           statusName(early));
    event.synchronize();
    expectBytes(found, sent, "what was queued before the event, after event_synchronize");
    expect(event.query() == TSR_SUCCESS, "TSR_SUCCESS of event_query once it has passed",
           statusName(event.query()));
  }
}

void timestamps(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream first(s), second(s);
  Event begin(s), middle(s), end(s);
  for (int i = 0; i < 10; ++i) {
    first.record(begin);
    first.copy(b, a, kBytes);
    first.record(middle);
    second.wait(middle);
    second.record(end);
    second.synchronize();
    const int64_t t0 = begin.timestamp(), t1 = middle.timestamp(), t2 = end.timestamp();
    expect(t0 <= t1, "a later record with no earlier time",
           std::to_string(t0) + " ns, then " + std::to_string(t1));
    expect(t1 <= t2, "one clock for the context's streams",
           std::to_string(t1) + " ns, then, on a stream that waited, " + std::to_string(t2));
  }
}

void acrossStreams(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream producer(s), consumer(s);
  Event ready(s);
  for (unsigned i = 0; i < 30; ++i) {
    const Bytes sent = pattern(kBytes, i);
    Bytes found(kBytes, 0);
    producer.copy(a, sent.data(), kBytes);
    producer.copy(b, a, kBytes);
    producer.record(ready);
    consumer.wait(ready);
    consumer.copy(found.data(), b, kBytes);
    consumer.synchronize();
    expectBytes(found, sent, "what another stream had written before the event waited for");
  }
}

void destroyQueued(Subject &s) {
  const Memory a(s, kBytes);
  for (unsigned i = 0; i < 40; ++i) {
    const Bytes sent = pattern(kBytes, i);
    Bytes found(kBytes, 0);
    Stream producer(s), consumer(s);
    {
      Event ready(s);
      producer.copy(a, sent.data(), kBytes);
      producer.record(ready);
      consumer.wait(ready);
    }
    consumer.copy(found.data(), a, kBytes, /*wait=*/true);
    expectBytes(found, sent, "what came over an event that was destroyed while queued");
  }
}

void ofThreads(Subject &s) {
  (void)s.context();
  onThreads(8, [&](int) {
    Stream stream(s);
    for (int i = 0; i < 30; ++i) {
      Event event(s);
      stream.record(event);
      event.synchronize();
      (void)event.timestamp();
    }
  });
}

constexpr Check kEventChecks[] = {
    {"events.never_recorded", "An event that was never recorded has passed and has no time.", neverRecorded,
     Needs::Context, kEventSlots},
    {"events.recorded", "An event passes when what was queued before it is done.", recorded, Needs::Context,
     kEventSlots},
    {"events.timestamps", "Times do not run backwards, along a stream or across the context's.", timestamps,
     Needs::Context, kEventSlots},
    {"events.across_streams", "A stream that waits for an event sees what came before it.", acrossStreams,
     Needs::Context, kEventSlots},
    {"events.destroy_queued", "An event may be destroyed while records and waits of it are queued.",
     destroyQueued, Needs::Context, kEventSlots},
    {"events.threads",
     "Several threads make, record and wait for events at once.",
     ofThreads,
     Needs::Context,
     kEventSlots,
     {},
     30},
};

} // namespace

extern const Group kStreams = {"streams", TSR_PLUGIN_BACKEND, false, kStreamChecks};
extern const Group kEvents = {"events", TSR_PLUGIN_BACKEND, false, kEventChecks};

} // namespace tessera::kit
