// Send and recv, splits, aborts, and all_to_all against an independent transposition.
#include "plugins/inprocess/test/Ranks.h"
#include <future>
#include <gmock/gmock.h>
#include <numeric>
#include <tessera/collective_call.hpp>

using namespace tessera;
using namespace tessera::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// An element that says from which rank it comes, to which it goes, and its place.
int64_t mark(int from, int to, size_t i) { return from * 1000003 + to * 1009 + static_cast<int64_t>(i); }

TEST(AllToAll, TransposesThePartsOfTheRanks) {
  for (int size : {1, 2, 3, 5, 8})
    for (size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{1031}, size_t{70001}})
      onRanks(size, [&](Comm &comm, int rank) {
        for (const char *algorithm : {"", "direct", "staged"}) {
          const auto ranks = static_cast<size_t>(size);
          std::vector<int64_t> src(ranks * count), dst(ranks * count + 1, -7);
          for (size_t i = 0; i < src.size(); ++i)
            src[i] = mark(rank, static_cast<int>(i / count), i % count);
          tsr_collective_call_t call{};
          call.struct_size = sizeof call;
          call.kind = TSR_ALL_TO_ALL;
          call.dtype = TSR_DTYPE_I64;
          call.count = count;
          call.src = src.data();
          call.dst = dst.data();
          call.algorithm = algorithm;
          comm.run(call);
          for (size_t i = 0; i < ranks * count; ++i)
            ASSERT_EQ(dst[i], mark(static_cast<int>(i / count), rank, i % count)) << algorithm << " " << i;
          EXPECT_EQ(dst.back(), -7);
        }
      });
}

TEST(AllToAll, BytesOfEveryDtype) {
  onRanks(3, [](Comm &comm, int rank) {
    for (int dtype = TSR_DTYPE_F64; dtype <= TSR_DTYPE_U64; ++dtype) {
      const size_t bytes = collective::kBytes[dtype];
      std::vector<uint8_t> src(3 * 5 * bytes), dst(src.size());
      std::iota(src.begin(), src.end(), static_cast<uint8_t>(rank * 80));
      EXPECT_EQ(tsrAllToAll(comm.handle(), src.data(), dst.data(), 5, static_cast<tsr_dtype_t>(dtype)),
                TSR_SUCCESS);
      for (size_t i = 0; i < dst.size(); ++i) {
        const size_t from = i / (5 * bytes), at = static_cast<size_t>(rank) * 5 * bytes + i % (5 * bytes);
        ASSERT_EQ(dst[i], static_cast<uint8_t>(from * 80 + at)) << "dtype " << dtype;
      }
    }
  });
}

// A send does not wait, so that a ring may send before it receives.
TEST(Pairs, ARingShifts) {
  for (int size : {1, 2, 5})
    for (size_t count : {size_t{0}, size_t{1}, size_t{1031}, size_t{1} << 19})
      onRanks(size, [&](Comm &comm, int rank) {
        std::vector<int32_t> src(count, rank), dst(count, -1);
        comm.send(src.data(), count, (rank + 1) % size, 3);
        std::fill(src.begin(), src.end(), 99); // it has been copied
        comm.recv(dst.data(), count, (rank + size - 1) % size, 3);
        EXPECT_EQ(dst, std::vector<int32_t>(count, (rank + size - 1) % size));
      });
}

TEST(Pairs, TagsSelectAndTheOrderOfATagStays) {
  onRanks(3, [](Comm &comm, int rank) {
    if (rank) {
      for (int i : {10, 11, 12}) {
        const int value = 100 * rank + i;
        comm.send(&value, 1, 0, i % 2);
      }
      return;
    }
    auto next = [&](int peer, int tag) {
      int out = 0;
      comm.recv(&out, 1, peer, tag);
      return out;
    };
    EXPECT_EQ(next(2, 1), 211);
    EXPECT_EQ(next(1, 0), 110);
    EXPECT_EQ(next(2, 0), 210);
    EXPECT_EQ(next(1, 0), 112);
    EXPECT_EQ(next(1, 1), 111);
    EXPECT_EQ(next(2, 0), 212);
  });
}

// They do not count among the calls that all ranks make.
TEST(Pairs, StandBesideCollectives) {
  onRanks(3, [](Comm &comm, int rank) {
    int one = 1, sum = 0, got = 0;
    if (rank == 0) comm.send(&one, 1, 2);
    comm.allReduce(&one, &sum, 1, TSR_REDUCE_SUM);
    if (rank == 2) comm.recv(&got, 1, 0);
    comm.allReduce(&one, &sum, 1, TSR_REDUCE_SUM);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(got, rank == 2);
  });
}

TEST(Pairs, AMessageOfAnotherCountOrDtypeBreaksTheCommunicator) {
  for (bool otherCount : {true, false})
    onRanks(2, [&](Comm &comm, int rank) {
      int64_t words[4] = {};
      if (rank == 0) {
        comm.send(words, 2, 1, 5);
        return;
      }
      tsr_collective_call_t call{};
      call.struct_size = sizeof call;
      call.kind = TSR_RECV;
      call.dtype = otherCount ? TSR_DTYPE_I64 : TSR_DTYPE_F64;
      call.count = otherCount ? 3 : 2;
      call.dst = words;
      call.tag = 5;
      call.where = "b.py:2";
      EXPECT_THAT(failure(tsrCollective(comm.handle(), &call)),
                  AllOf(HasSubstr("TSR_EINVAL"), HasSubstr("rank 0 calls send(i64, 2 elements, tag 5)"),
                        HasSubstr("rank 1 calls recv("), HasSubstr("b.py:2"), HasSubstr("broken")));
      EXPECT_THAT(failure(tsrSend(comm.handle(), words, 1, TSR_DTYPE_I64, 0, 0)), HasSubstr("TSR_EINVAL"));
    });
}

TEST(Pairs, BadCallsAreRefusedAndTheCommunicatorStays) {
  onRanks(1, [](Comm &comm, int) {
    int64_t word = 7, out = 0;
    auto send = [&](const void *src, int peer, int tag) {
      return failure(tsrSend(comm.handle(), src, 1, TSR_DTYPE_I64, peer, tag));
    };
    EXPECT_THAT(send(&word, 1, 0), HasSubstr("peer: expected 0 to 0, found 1"));
    EXPECT_THAT(send(&word, -1, 0), HasSubstr("peer: expected 0 to 0, found -1"));
    EXPECT_THAT(send(&word, 0, -1), HasSubstr("tag: expected 0 to 8191, found -1"));
    EXPECT_THAT(send(&word, 0, 8192), HasSubstr("tag: expected 0 to 8191, found 8192"));
    EXPECT_THAT(send(nullptr, 0, 0), HasSubstr("src is NULL"));
    EXPECT_THAT(send(reinterpret_cast<char *>(&word) + 1, 0, 0), HasSubstr("not aligned"));
    EXPECT_THAT(failure(tsrRecv(comm.handle(), nullptr, 1, TSR_DTYPE_I64, 0, 0)), HasSubstr("dst is NULL"));
    comm.send(&word, 1, 0, 8191);
    comm.recv(&out, 1, 0, 8191);
    EXPECT_EQ(out, 7);
  });
}

TEST(Pairs, ARecvWithoutASendTimesOutAndNamesThePeer) {
  onRanks(2, [](Comm &comm, int rank) {
    if (rank) return;
    int word = 0;
    tsr_collective_call_t call{};
    call.struct_size = sizeof call;
    call.kind = TSR_RECV;
    call.dtype = TSR_DTYPE_I32;
    call.count = 1;
    call.dst = &word;
    call.peer = 1;
    call.timeout_ns = 50 * kMillisecond;
    const std::string text = failure(tsrCollective(comm.handle(), &call));
    // The other rank leaves early, or late enough for the time limit.
    EXPECT_THAT(text, testing::AnyOf(HasSubstr("rank 1 did not send within 50 ms"),
                                     HasSubstr("rank 1 has destroyed its end while rank 0 waits for it")));
  });
}

TEST(Pairs, AMessageOutlivesItsSender) {
  std::promise<void> sent, gone;
  onRanks(2, [&](Comm &comm, int rank) {
    int word = 5;
    if (rank == 0) {
      comm.send(&word, 1, 1);
      comm = Comm(tsr_comm_t{});
      return gone.set_value();
    }
    gone.get_future().wait();
    word = 0;
    comm.recv(&word, 1, 0);
    EXPECT_EQ(word, 5);
    EXPECT_THAT(failure(tsrRecv(comm.handle(), &word, 1, TSR_DTYPE_I32, 0, 0)),
                HasSubstr("rank 0 has destroyed its end while rank 1 waits for it"));
  });
}

TEST(Split, GroupsByColorAndOrdersByKey) {
  onRanks(5, [](Comm &comm, int rank) {
    // Colors 0: ranks 0, 2, 4; 1: ranks 1, 3. Keys reverse the order; equal keys keep it.
    auto part = comm.split(rank % 2, rank % 2 ? 7 : -rank);
    ASSERT_TRUE(part);
    const tsr_comm_info_t info = part->info();
    EXPECT_EQ(info.size, rank % 2 ? 2 : 3);
    EXPECT_EQ(info.rank, rank % 2 ? rank / 2 : 2 - rank / 2);
    int64_t mine = rank, all[3] = {-1, -1, -1};
    part->allGather(&mine, all, 1);
    const int64_t even[] = {4, 2, 0}, odd[] = {1, 3};
    for (int i = 0; i < info.size; ++i)
      EXPECT_EQ(all[i], rank % 2 ? odd[i] : even[i]);
    // The parent goes on, and a second split gives other groups.
    auto again = comm.split(rank == 3 ? -1 : 4, 0);
    EXPECT_EQ(again.has_value(), rank != 3);
    if (again) EXPECT_EQ(again->info().size, 4);
    int64_t sum = 0;
    comm.allReduce(&mine, &sum, 1, TSR_REDUCE_SUM);
    EXPECT_EQ(sum, 10);
  });
}

TEST(Split, AChildOutlivesItsParent) {
  onRanks(2, [](Comm &comm, int) {
    auto child = comm.split(0, 0);
    comm = Comm(tsr_comm_t{});
    int one = 1, sum = 0;
    child->allReduce(&one, &sum, 1, TSR_REDUCE_SUM);
    EXPECT_EQ(sum, 2);
    auto alone = child->split(child->info().rank, 0);
    EXPECT_EQ(alone->info().size, 1);
  });
}

TEST(Split, RanksThatDoSomethingElseAreNamed) {
  onRanks(2, [](Comm &comm, int rank) {
    int64_t words[4] = {};
    tsr_comm_t out = nullptr;
    const std::string text = failure(rank ? tsrAllGather(comm.handle(), words, words + 2, 1, TSR_DTYPE_I64)
                                          : tsrCommSplit(comm.handle(), 0, 0, &out));
    EXPECT_THAT(text, AllOf(HasSubstr("TSR_EINVAL"), HasSubstr("rank 0 calls split, its call 0"),
                            HasSubstr("rank 1 calls all_gather(i64, 1 elements)")));
    EXPECT_FALSE(out);
    EXPECT_THAT(failure(tsrCommSplit(comm.handle(), 0, 0, &out)), HasSubstr("broken"));
  });
}

// For messages of every way in which a call waits: staged, direct, recv, split.
TEST(Abort, EndsEveryWait) {
  for (int way = 0; way < 4; ++way)
    onRanks(3, [&](Comm &comm, int rank) {
      if (rank == 2) {
        comm.abort("a cell is empty");
        EXPECT_THAT(failure(tsrCommAbort(comm.handle(), "again")), "");
        int word = 0;
        EXPECT_THAT(failure(tsrSend(comm.handle(), &word, 1, TSR_DTYPE_I32, 0, 0)),
                    AllOf(HasSubstr("TSR_EDEVICE"), HasSubstr("rank 2 has aborted: a cell is empty")));
        return;
      }
      std::vector<float> src(10000, 1), dst(10000);
      tsr_comm_t out = nullptr;
      const size_t count = way == 0 ? 1 : 10000;
      const std::string text = failure(
          way < 2 ? tsrAllReduce(comm.handle(), src.data(), dst.data(), count, TSR_DTYPE_F32, TSR_REDUCE_SUM)
          : way == 2 ? tsrRecv(comm.handle(), dst.data(), 1, TSR_DTYPE_F32, 2, 0)
                     : tsrCommSplit(comm.handle(), 0, 0, &out));
      EXPECT_THAT(text, AllOf(HasSubstr("TSR_EDEVICE"), HasSubstr("rank 2 has aborted: a cell is empty")));
    });
}

// Another thread of the rank aborts while its call waits.
TEST(Abort, MayComeFromAnotherThread) {
  for (size_t count : {size_t{1}, size_t{10000}})
    onRanks(2, [&](Comm &comm, int rank) {
      if (rank) return; // destroyed only after rank 0 has been aborted or has seen this rank leave
      std::vector<float> src(count, 1), dst(count);
      std::thread other([&] { EXPECT_EQ(tsrCommAbort(comm.handle(), nullptr), TSR_SUCCESS); });
      EXPECT_NE(
          failure(tsrAllReduce(comm.handle(), src.data(), dst.data(), count, TSR_DTYPE_F32, TSR_REDUCE_SUM)),
          "");
      other.join();
    });
}

// A call either completes on all ranks that return success with the right result, or fails; after a failure
// nobody uses its buffers, which sanitizers would see.
TEST(Abort, RacesWithDirectCalls) {
  for (int round = 0; round < 60; ++round)
    onRanks(3, [&](Comm &comm, int rank) {
      std::atomic<bool> stop{false};
      std::thread other;
      if (rank == round % 3)
        other = std::thread([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(10 * round));
          comm.abort("enough");
        });
      for (int i = 0; !stop; ++i) {
        auto src = std::make_unique<std::vector<int32_t>>(5000, i + rank);
        auto dst = std::make_unique<std::vector<int32_t>>(5000, -1);
        if (tsrAllReduce(comm.handle(), src->data(), dst->data(), 5000, TSR_DTYPE_I32, TSR_REDUCE_SUM))
          stop = true;
        else
          EXPECT_EQ(*dst, std::vector<int32_t>(5000, 3 * i + 3));
      }
      if (other.joinable()) other.join();
    });
}

TEST(Abort, FailsTheStreamOfAQueuedCall) {
  onRanks(2, [](Comm &comm, int rank) {
    Context context;
    Stream stream = context.stream();
    static float values[2][4];
    tsr_collective_call_t call{};
    call.struct_size = sizeof call;
    call.kind = TSR_ALL_REDUCE;
    call.dtype = TSR_DTYPE_F32;
    call.count = 4;
    call.src = call.dst = values[rank];
    if (rank == 1) return comm.abort("no more");
    comm.run(call, stream);
    EXPECT_THAT(failure(tsrStreamSynchronize(stream.handle())), HasSubstr("rank 1 has aborted: no more"));
  });
}

} // namespace
