// Collectives on streams: their place in the order, their failures, what they keep.
#include "plugins/inprocess/test/Ranks.h"
#include <gmock/gmock.h>

using namespace tessera;
using namespace tessera::test;

namespace {

tsr_collective_call_t callOf(tsr_collective_kind_t kind, const float *src, float *dst, size_t count) {
  tsr_collective_call_t call{};
  call.struct_size = sizeof call;
  call.kind = kind;
  call.dtype = TSR_DTYPE_F32;
  call.count = count;
  call.src = src;
  call.dst = dst;
  return call;
}

/// One context and stream for each rank, all driven by one thread: nothing but the streams runs the calls.
class Async : public testing::Test {
protected:
  struct Rank {
    Context context{"cpu"};
    Stream stream = context.stream();
    std::unique_ptr<Comm> comm;
    Buffer<float> a, b;
  };
  void begin(int size, size_t count) {
    const std::string id = freshId();
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r) {
      ranks.push_back(std::make_unique<Rank>());
      ranks.back()->a = ranks.back()->context.alloc<float>(count);
      ranks.back()->b = ranks.back()->context.alloc<float>(count * static_cast<size_t>(size));
    }
    for (int r = 0; r < size; ++r)
      threads.emplace_back(
          [&, r] { ranks[size_t(r)]->comm = std::make_unique<Comm>(id, r, size, 60 * kSecond); });
    for (auto &t : threads)
      t.join();
  }
  std::vector<std::unique_ptr<Rank>> ranks;
};

TEST_F(Async, RunsInTheOrderOfTheStream) {
  for (size_t count : {size_t{7}, size_t{5000}}) { // staged and direct
    ranks.clear();
    begin(3, count);
    std::vector<std::vector<float>> out(3, std::vector<float>(3 * count));
    for (int round = 1; round <= 5; ++round) {
      std::vector<std::vector<float>> in;
      for (size_t r = 0; r < 3; ++r)
        in.emplace_back(count, float(round) * float(r + 1));
      for (size_t r = 0; r < 3; ++r) {
        Rank &rank = *ranks[r];
        rank.a.upload(in[r], rank.stream);
        rank.comm->run(callOf(TSR_ALL_REDUCE, rank.a.get(), rank.a.get(), count), rank.stream);
        rank.comm->run(callOf(TSR_ALL_GATHER, rank.a.get(), rank.b.get(), count), rank.stream);
        rank.b.download(out[r], rank.stream);
      }
      for (size_t r = 0; r < 3; ++r) {
        ranks[r]->stream.synchronize();
        EXPECT_THAT(out[r], testing::Each(float(6 * round)));
      }
    }
  }
}

TEST_F(Async, AFailureIsTheStreams) {
  begin(2, 4);
  Rank &first = *ranks[0], &second = *ranks[1];
  std::vector<float> untouched(4, 5), after(4, 6);
  first.a.upload(untouched);
  auto call = callOf(TSR_ALL_REDUCE, first.a.get(), first.a.get(), 4);
  call.where = "train.py:31";
  first.comm->run(call, first.stream);
  first.a.upload(after, first.stream); // dropped
  second.comm->run(callOf(TSR_ALL_REDUCE, second.a.get(), second.a.get(), 3), second.stream);
  for (Rank *rank : {&first, &second}) {
    EXPECT_EQ(tsrStreamSynchronize(rank->stream.handle()), TSR_EINVAL);
    EXPECT_THAT(tsrLastError(), testing::HasSubstr("train.py:31"));
    EXPECT_EQ(tsrStreamSynchronize(rank->stream.handle()), TSR_SUCCESS); // it was reported
  }
  EXPECT_EQ(first.a.download(), untouched);
  EXPECT_THROW(first.comm->allReduce(first.a.get(), first.a.get(), 4, TSR_REDUCE_SUM), Error); // broken
}

TEST_F(Async, ATimeoutNamesTheMissingRank) {
  begin(2, 4);
  Rank &first = *ranks[0];
  auto call = callOf(TSR_ALL_REDUCE, first.a.get(), first.a.get(), 4);
  call.timeout_ns = kMillisecond;
  first.comm->run(call, first.stream);
  EXPECT_EQ(tsrStreamSynchronize(first.stream.handle()), TSR_ETIMEOUT);
  EXPECT_THAT(tsrLastError(), testing::HasSubstr("rank 1"));
}

TEST_F(Async, CallsPastTheQueuedOnesAreRefused) {
  begin(2, 4);
  Rank &first = *ranks[0], &second = *ranks[1];
  Stream other = first.context.stream();
  const auto mine = callOf(TSR_ALL_REDUCE, first.a.get(), first.a.get(), 4);
  const auto theirs = callOf(TSR_ALL_REDUCE, second.a.get(), second.a.get(), 4);
  first.comm->run(mine, first.stream); // waits for the second rank
  EXPECT_EQ(tsrCollective(first.comm->handle(), &mine), TSR_EINVAL);
  EXPECT_THAT(tsrLastError(), testing::HasSubstr("synchronize their stream first"));
  EXPECT_EQ(tsrCollectiveAsync(first.comm->handle(), &mine, other.handle()), TSR_EINVAL);
  EXPECT_THAT(tsrLastError(), testing::HasSubstr("another stream"));
  second.comm->run(theirs, second.stream);
  first.stream.synchronize();
  second.stream.synchronize();
  first.comm->run(mine, other);
  second.comm->run(theirs, second.stream);
  other.synchronize();
  second.stream.synchronize();
}

TEST_F(Async, HandlesAndStreamsAreChecked) {
  begin(1, 4);
  Rank &rank = *ranks[0];
  const auto call = callOf(TSR_ALL_REDUCE, rank.a.get(), rank.a.get(), 4);
  const tsr_comm_t comm = rank.comm->handle();
  EXPECT_EQ(tsrCollectiveAsync(nullptr, &call, rank.stream.handle()), TSR_EINVAL);
  EXPECT_EQ(tsrCollectiveAsync(comm, &call, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrCollectiveAsync(comm, nullptr, rank.stream.handle()), TSR_EINVAL);
  rank.stream.beginCapture();
  EXPECT_EQ(tsrCollectiveAsync(comm, &call, rank.stream.handle()), TSR_EINVAL);
  EXPECT_THAT(tsrLastError(), testing::HasSubstr("being captured"));
  const Graph graph = rank.stream.endCapture();
  EXPECT_EQ(tsrCollective(comm, &call), TSR_SUCCESS); // nothing is queued
}

TEST_F(Async, QueuedCallsOutliveTheirCommunicator) {
  begin(2, 4);
  for (auto &rank : ranks) {
    rank->a.upload(std::vector<float>(4, 2));
    rank->comm->run(callOf(TSR_ALL_REDUCE, rank->a.get(), rank->a.get(), 4), rank->stream);
    rank->comm.reset();
  }
  for (auto &rank : ranks) {
    rank->stream.synchronize();
    EXPECT_THAT(rank->a.download(), testing::Each(4.0f));
  }
}

TEST_F(Async, TheTraceConnectsTheCallAndTheCollective) {
  begin(1, 4);
  Rank &rank = *ranks[0];
  std::mutex mutex;
  std::vector<tsr_trace_record_t> records;
  {
    Trace trace(
        [&](const tsr_trace_record_t &r) {
          std::lock_guard lock(mutex);
          records.push_back(r);
        },
        1u << TSR_TRACE_CALL | 1u << TSR_TRACE_COLLECTIVE);
    rank.comm->run(callOf(TSR_ALL_REDUCE, rank.a.get(), rank.a.get(), 4), rank.stream);
    rank.stream.synchronize();
  }
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0].kind, records[1].kind);
  EXPECT_NE(records[0].correlation, 0u);
  EXPECT_EQ(records[0].correlation, records[1].correlation);
  for (const auto &r : records)
    EXPECT_EQ(r.stream, rank.stream.handle());
}

} // namespace
