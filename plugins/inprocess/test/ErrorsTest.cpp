// What goes wrong among ranks: calls that differ, ranks that do not come, ends destroyed, bad arguments.
#include "plugins/inprocess/test/Ranks.h"
#include <chrono>
#include <gmock/gmock.h>
#include <semaphore>

using namespace tessera;
using namespace tessera::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

tsr_collective_call_t good(float *src, float *dst) {
  tsr_collective_call_t call{};
  call.struct_size = sizeof call;
  call.kind = TSR_ALL_REDUCE;
  call.dtype = TSR_DTYPE_F32;
  call.count = 4;
  call.src = src;
  call.dst = dst;
  return call;
}

/// What each of `size` ranks is told when rank 1's call is as `change` makes it; then that all are broken.
void expectMismatch(int size, const std::function<void(tsr_collective_call_t &)> &change, const char *zero,
                    const char *one) {
  onRanks(size, [&](Comm &comm, int rank) {
    std::vector<float> src(20000), dst(60000);
    auto call = good(src.data(), dst.data());
    call.where = rank == 1 ? "b.py:2" : "a.py:1";
    if (rank == 1) change(call);
    const std::string told = failure(tsrCollective(comm.handle(), &call));
    EXPECT_THAT(told,
                AllOf(HasSubstr("TSR_EINVAL"), HasSubstr(zero), HasSubstr(one), HasSubstr("rank 1 calls"),
                      HasSubstr("b.py:2"), HasSubstr("a.py:1"), HasSubstr("is broken")));
    auto again = good(src.data(), dst.data());
    EXPECT_THAT(failure(tsrCollective(comm.handle(), &again)),
                AllOf(HasSubstr("TSR_EINVAL"), HasSubstr("it is broken"), HasSubstr("b.py:2")));
  });
}

TEST(Mismatch, OfEachField) {
  const char *plain = "all_reduce(sum, f32, 4 elements), its call 0";
  for (int size : {2, 3}) {
    expectMismatch(size, [](auto &c) { c.count = 5; }, plain, "all_reduce(sum, f32, 5 elements)");
    expectMismatch(size, [](auto &c) { c.count = 0; }, plain, "all_reduce(sum, f32, 0 elements)");
    expectMismatch(size, [](auto &c) { c.count = 20000; }, plain, "20000 elements"); // the other algorithm
    expectMismatch(size, [](auto &c) { c.dtype = TSR_DTYPE_I32; }, plain, "all_reduce(sum, i32, 4 elements)");
    expectMismatch(size, [](auto &c) { c.op = TSR_REDUCE_MAX; }, plain, "all_reduce(max, f32, 4 elements)");
    expectMismatch(
        size, [](auto &c) { c.kind = TSR_BROADCAST; }, plain, "broadcast(f32, 4 elements, root 0)");
    expectMismatch(size, [](auto &c) { c.kind = TSR_ALL_GATHER; }, plain, "all_gather(f32, 4 elements)");
    expectMismatch(size, [](auto &c) { c.algorithm = "direct"; }, plain, "algorithm direct");
  }
}

TEST(Mismatch, OfTheRootAndOfLargeCalls) {
  onRanks(3, [](Comm &comm, int rank) {
    std::vector<float> v(50000);
    EXPECT_THAT(failure(tsrBroadcast(comm.handle(), v.data(), v.data(), v.size(), TSR_DTYPE_F32, rank == 2)),
                AllOf(HasSubstr("root 0"), HasSubstr("root 1")));
  });
  onRanks(2, [](Comm &comm, int rank) {
    std::vector<float> v(50000 + static_cast<size_t>(rank)), w(v.size());
    EXPECT_THAT(
        failure(tsrAllReduce(comm.handle(), v.data(), w.data(), v.size(), TSR_DTYPE_F32, TSR_REDUCE_SUM)),
        AllOf(HasSubstr("50000 elements"), HasSubstr("50001 elements")));
  });
}

TEST(Mismatch, TheCallsAreCounted) {
  onRanks(2, [](Comm &comm, int rank) {
    float a = 1, b = 0;
    for (int i = 0; i < 3; ++i)
      comm.allReduce(&a, &b, 1, TSR_REDUCE_SUM);
    EXPECT_THAT(failure(tsrAllReduce(comm.handle(), &a, &b, 1, TSR_DTYPE_F32,
                                     rank ? TSR_REDUCE_SUM : TSR_REDUCE_PROD)),
                HasSubstr("its call 3"));
  });
}

TEST(Timeout, NamesWhoIsMissing) {
  for (size_t count : {size_t{4}, size_t{50000}}) {
    std::barrier gate(4);
    onRanks(4, [&](Comm &comm, int rank) {
      std::vector<float> src(count), dst(count);
      auto call = good(src.data(), dst.data());
      call.count = count;
      call.timeout_ns = 900 * kMillisecond; // ranks 0 and 2 meet in this time on a busy machine, too
      call.where = "train.py:31";
      if (rank == 0 || rank == 2) {
        EXPECT_THAT(failure(tsrCollective(comm.handle(), &call)),
                    AllOf(HasSubstr("TSR_ETIMEOUT"),
                          HasSubstr("rank 1 and rank 3 did not come within 900 ms"), HasSubstr("train.py:31"),
                          HasSubstr("all_reduce(sum, f32")));
      }
      gate.arrive_and_wait();
      // Who comes late is told why, at once.
      EXPECT_THAT(failure(tsrCollective(comm.handle(), &call)),
                  AllOf(HasSubstr("TSR_ETIMEOUT"), HasSubstr("it is broken"), HasSubstr("rank 1 and rank 3"),
                        HasSubstr("make a new one")));
    });
  }
}

/// One rank's patience ends about when the other comes: either both have the sum, or nobody wrote anywhere
/// after its call, which the sanitizers see.
TEST(Timeout, RacesWithTheLastRank) {
  for (size_t count : {size_t{4}, size_t{20000}})
    for (int i = 0; i < 60; ++i)
      onRanks(2, [&](Comm &comm, int rank) {
        auto src = std::make_unique<std::vector<float>>(count, 1.0f),
             dst = std::make_unique<std::vector<float>>(count);
        auto call = good(src->data(), dst->data());
        call.count = count;
        call.timeout_ns = rank ? 10 * kSecond : 300000;
        if (rank) std::this_thread::sleep_for(std::chrono::microseconds(200 + 5 * i));
        const tsr_status_t status = tsrCollective(comm.handle(), &call);
        if (status == TSR_SUCCESS)
          EXPECT_EQ((*dst)[count - 1], 2.0f);
        else
          EXPECT_EQ(status, TSR_ETIMEOUT);
      });
}

TEST(Meeting, NamesWhoDidNotCome) {
  std::vector<std::thread> threads;
  for (int rank : {0, 2})
    threads.emplace_back([rank] {
      tsr_comm_options_t o = {sizeof o, nullptr, "few", rank, 4, 30 * kMillisecond};
      tsr_comm_t comm = nullptr;
      EXPECT_THAT(
          failure(tsrCreateComm(&o, &comm)),
          AllOf(HasSubstr("TSR_ETIMEOUT"), HasSubstr("communicator 'few'"),
                testing::AnyOf(HasSubstr("rank 1 and rank 3 did not come within 30 ms"),
                               HasSubstr("did not come within 30 ms")))); // the second may meet nobody
    });
  for (std::thread &t : threads)
    t.join();
  onRanks(1, [](Comm &, int) {}); // the table is as before
}

std::string refused(const char *id, int rank, int size, const char *implementation = nullptr) {
  tsr_comm_options_t o = {sizeof o, implementation, id, rank, size, 20 * kMillisecond};
  tsr_comm_t comm = nullptr;
  std::string out = failure(tsrCreateComm(&o, &comm));
  EXPECT_EQ(comm, nullptr);
  return out;
}

TEST(Meeting, RefusesBadOptions) {
  EXPECT_THAT(refused(nullptr, 0, 1), HasSubstr("id: ranks of one process meet by a name"));
  EXPECT_THAT(refused("x", 0, 0), HasSubstr("size: expected 1 to 1024 ranks, found 0"));
  EXPECT_THAT(refused("x", 0, -1), HasSubstr("size: expected"));
  EXPECT_THAT(refused("x", 2, 2), HasSubstr("rank: expected 0 to 1, found 2"));
  EXPECT_THAT(refused("x", -1, 2), HasSubstr("rank: expected 0 to 1, found -1"));
  EXPECT_THAT(refused("x", 0, 1, "smoke"),
              AllOf(HasSubstr("TSR_ENOTFOUND"), HasSubstr("implementation 'smoke'"), HasSubstr("inprocess")));
  EXPECT_THAT(refused("x", 0, 1, "../../x"), HasSubstr("TSRP-401: '../../x' is not a plugin name"));
  EXPECT_THAT(refused("x", 0, 1, ""), HasSubstr("TSRP-401: '' is not a plugin name"));
}

TEST(Meeting, SizesAndRanksMustFit) {
  std::barrier gate(2);
  std::thread waiting([&] {
    tsr_comm_options_t o = {sizeof o, nullptr, "fit", 0, 2, 10 * kSecond};
    tsr_comm_t comm = nullptr;
    gate.arrive_and_wait();
    std::string why; // the other thread may be the first of this id: then its size counts, until it gives up
    do
      why = failure(tsrCreateComm(&o, &comm));
    while (why.find("other ranks of this id say 3") != why.npos);
    EXPECT_EQ(why, "");
    EXPECT_EQ(tsrDestroyComm(comm), TSR_SUCCESS);
  });
  gate.arrive_and_wait();
  std::string why; // until the thread waits, nobody comes
  do
    why = refused("fit", 1, 3);
  while (why.find("did not come") != why.npos);
  EXPECT_THAT(why, HasSubstr("size is 3, but other ranks of this id say 2"));
  EXPECT_THAT(refused("fit", 0, 2), HasSubstr("another thread waits on this id as the same rank"));
  EXPECT_EQ(refused("fit", 0, 1).substr(0, 10), "TSR_EINVAL");
  tsr_comm_options_t o = {sizeof o, nullptr, "fit", 1, 2, 10 * kSecond};
  tsr_comm_t comm = nullptr;
  EXPECT_EQ(failure(tsrCreateComm(&o, &comm)), "");
  waiting.join();
  EXPECT_EQ(tsrDestroyComm(comm), TSR_SUCCESS);
}

TEST(Ends, WhoWaitsForADestroyedEndIsTold) {
  for (size_t count : {size_t{4}, size_t{50000}})
    onRanks(2, [&](Comm &comm, int rank) {
      std::vector<float> v(count);
      comm.allReduce(v.data(), v.data(), count, TSR_REDUCE_SUM);
      if (rank == 0)
        EXPECT_THAT(
            failure(tsrAllReduce(comm.handle(), v.data(), v.data(), count, TSR_DTYPE_F32, TSR_REDUCE_SUM)),
            AllOf(HasSubstr("TSR_EINVAL"), HasSubstr("rank 1 has destroyed its end while rank 0 waits")));
    });
}

TEST(Ends, OneCallAtATime) {
  std::binary_semaphore isRefused{0};
  onRanks(2, [&](Comm &comm, int rank) {
    if (rank == 1) {
      float a = 1, b = 0;
      isRefused.acquire();
      comm.allReduce(&a, &b, 1, TSR_REDUCE_SUM);
      EXPECT_EQ(b, 2);
      return;
    }
    // Two threads of one rank: who comes second is refused, and the other rank comes only then.
    float sums[2] = {0, 0};
    std::string failures[2];
    auto call = [&](int i) {
      float a = 1;
      failures[i] = failure(tsrAllReduce(comm.handle(), &a, &sums[i], 1, TSR_DTYPE_F32, TSR_REDUCE_SUM));
      if (!failures[i].empty()) isRefused.release();
    };
    std::thread other(call, 1);
    call(0);
    other.join();
    const int second = failures[0].empty() ? 1 : 0;
    EXPECT_THAT(failures[second], HasSubstr("another thread is in a call of this rank"));
    EXPECT_EQ(failures[1 - second], "");
    EXPECT_EQ(sums[1 - second], 2);
  });
}

TEST(Arguments, AreCheckedBeforeAnythingHappens) {
  onRanks(1, [](Comm &comm, int) {
    float v[8] = {}, w[8] = {};
    auto told = [&](const std::function<void(tsr_collective_call_t &)> &change) {
      auto call = good(v, w);
      change(call);
      return failure(tsrCollective(comm.handle(), &call));
    };
    EXPECT_EQ(told([](auto &) {}), "");
    EXPECT_THAT(told([](auto &c) { c.kind = 7; }), HasSubstr("kind: there is no 7"));
    EXPECT_THAT(told([](auto &c) { c.dtype = 19; }), HasSubstr("all_reduce: dtype: there is no 19"));
    EXPECT_THAT(told([](auto &c) { c.dtype = -1; }), HasSubstr("dtype: there is no -1"));
    EXPECT_THAT(told([](auto &c) { c.op = 9; }), HasSubstr("op: there is no 9"));
    EXPECT_THAT(told([](auto &c) { c.kind = TSR_BROADCAST, c.root = 1; }),
                HasSubstr("root: expected 0 to 0, found 1"));
    EXPECT_THAT(told([](auto &c) { c.count = SIZE_MAX; }),
                HasSubstr("elements per rank do not fit any memory"));
    EXPECT_THAT(told([](auto &c) { c.src = nullptr; }), HasSubstr("src is NULL"));
    EXPECT_THAT(told([](auto &c) { c.dst = nullptr; }), HasSubstr("dst is NULL"));
    EXPECT_THAT(told([&](auto &c) { c.dst = reinterpret_cast<char *>(w) + 2; }),
                HasSubstr("dst is not aligned to 4"));
    EXPECT_THAT(told([&](auto &c) { c.dst = v + 2; }), HasSubstr("src and dst overlap"));
    EXPECT_THAT(told([&](auto &c) { c.kind = TSR_ALL_GATHER, c.dst = v; }), HasSubstr("src and dst overlap"));
    EXPECT_THAT(told([](auto &c) { c.algorithm = "ring"; }),
                HasSubstr("algorithm: there is no 'ring'; known: direct,staged"));
    EXPECT_EQ(told([](auto &c) { c.count = 0, c.src = nullptr, c.dst = nullptr; }), "");
    EXPECT_THAT(told([](auto &c) { c.struct_size = 0; }), HasSubstr("struct_size is not set"));
  });
}

} // namespace
