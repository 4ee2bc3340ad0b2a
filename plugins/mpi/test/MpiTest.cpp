// What an MPI plugin does, under the launcher with two ranks: mpi-collective-test PLUGIN.so. The program
// itself links no MPI, and calls the plugin through its C table as the runtime does.
#include "tools/tsr-conformance/CollectiveReference.h"
#include <cstdio>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <tessera/collective.hpp>
#include <tessera/tessera.hpp>
#include <thread>

using namespace tessera;
using namespace tessera::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

constexpr uint64_t kSecond = 1000000000;
tsr_plugin_info_t plugin;
std::unique_ptr<TableCollective> mpi;

std::unique_ptr<Communicator> meet(const std::string &id, uint64_t timeoutNs = 20 * kSecond) {
  tsr_cl_options_t o = {sizeof o, id.c_str(), -1, -1, timeoutNs};
  tsr_status_t status = TSR_SUCCESS;
  std::string why;
  auto out = mpi->create(o, status, why);
  EXPECT_TRUE(out) << why;
  if (!out) std::abort(); // else the other rank waits
  return out;
}

tsr_cl_call_t callOf(uint32_t kind, DType t, int op, size_t count, const void *src, void *dst) {
  tsr_cl_call_t call{};
  call.struct_size = sizeof call;
  call.kind = kind;
  call.dtype = static_cast<int32_t>(t);
  call.op = static_cast<uint32_t>(op);
  call.count = count;
  call.src = src;
  call.dst = dst;
  return call;
}

std::string run(Communicator &comm, const tsr_cl_call_t &call) {
  std::string why;
  const tsr_status_t status = comm.run(call, why);
  return status ? std::to_string(status) + " " + why : "";
}

TEST(Mpi, SaysWhatItIs) {
  EXPECT_STREQ(mpi->topology(), "network");
  EXPECT_STREQ(mpi->algorithms(TSR_ALL_REDUCE), "native,ordered");
  EXPECT_STREQ(mpi->algorithms(TSR_BROADCAST), "native");
  EXPECT_STREQ(mpi->algorithms(9), "");
  EXPECT_EQ(plugin.kinds, uint32_t{TSR_PLUGIN_COLLECTIVE});
}

tsr_cl_call_t pairOf(uint32_t kind, int32_t peer, int32_t tag, std::vector<int64_t> &data) {
  auto call = callOf(kind, DType::I64, 0, data.size(), data.data(), data.data());
  call.peer = peer;
  call.tag = tag;
  return call;
}

TEST(Mpi, SendsDoNotWaitAndTagsSelect) {
  auto comm = meet("pairs");
  const int rank = comm->rank(), other = 1 - rank;
  for (size_t count : {size_t{0}, size_t{1}, size_t{1031}, size_t{300007}}) {
    for (int tag : {5, 0, int{collective::kMostTag}}) {
      std::vector<int64_t> data(count, 10 * rank + tag);
      EXPECT_EQ(run(*comm, pairOf(TSR_SEND, other, tag, data)), "");
      std::fill(data.begin(), data.end(), -1);
    }
    for (int tag : {0, int{collective::kMostTag}, 5}) {
      std::vector<int64_t> data(count, -2);
      EXPECT_EQ(run(*comm, pairOf(TSR_RECV, other, tag, data)), "");
      EXPECT_EQ(data, std::vector<int64_t>(count, 10 * other + tag));
    }
  }
  std::vector<int64_t> data = {3};
  EXPECT_EQ(run(*comm, pairOf(TSR_SEND, rank, 0, data)), "");
  EXPECT_EQ(run(*comm, pairOf(TSR_RECV, rank, 0, data)), "");
  EXPECT_THAT(run(*comm, pairOf(TSR_SEND, 2, 0, data)), HasSubstr("peer: expected 0 to 1, found 2"));
}

TEST(Mpi, ARecvOfAnotherCountBreaksTheCommunicatorOfBoth) {
  auto comm = meet("pairs-mismatch");
  std::vector<int64_t> two(2), three(3), sum(3);
  if (comm->rank() == 0)
    EXPECT_EQ(run(*comm, pairOf(TSR_SEND, 1, 2, two)), "");
  else
    EXPECT_THAT(run(*comm, pairOf(TSR_RECV, 0, 2, three)),
                AllOf(HasSubstr("rank 0 calls send(i64, 2 elements, tag 2)"),
                      HasSubstr("rank 1 calls recv(i64, 3 elements, tag 2)")));
  EXPECT_THAT(run(*comm, callOf(TSR_ALL_REDUCE, DType::I64, TSR_REDUCE_SUM, 3, three.data(), sum.data())),
              HasSubstr("calls recv(i64, 3 elements, tag 2)"));
}

TEST(Mpi, ARecvTimesOut) {
  auto comm = meet("pairs-late");
  std::vector<int64_t> data(1);
  if (comm->rank()) return;
  auto call = pairOf(TSR_RECV, 1, 0, data);
  call.timeout_ns = kSecond / 10;
  EXPECT_THAT(run(*comm, call), HasSubstr("rank 1 did not send within 100 ms"));
}

TEST(Mpi, SplitsAndTheParentGoesOn) {
  auto comm = meet("split");
  const int rank = comm->rank();
  std::unique_ptr<Communicator> turned, alone;
  ASSERT_EQ(comm->split(1, -rank, turned).text, "");
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->rank(), 1 - rank);
  EXPECT_EQ(turned->size(), 2);
  int64_t mine = rank, all[2] = {-1, -1};
  EXPECT_EQ(run(*turned, callOf(TSR_ALL_GATHER, DType::I64, 0, 1, &mine, all)), "");
  EXPECT_EQ(all[0], 1);
  EXPECT_EQ(all[1], 0);
  EXPECT_EQ(comm->split(rank ? -1 : 0, 0, alone).text, "");
  EXPECT_EQ(alone != nullptr, rank == 0);
  if (alone) EXPECT_EQ(alone->size(), 1);
  EXPECT_EQ(run(*comm, callOf(TSR_ALL_GATHER, DType::I64, 0, 1, &mine, all)), "");
  EXPECT_EQ(all[1], 1);
}

TEST(Mpi, AnAbortEndsEveryWait) {
  for (bool receives : {false, true}) {
    auto comm = meet(receives ? "abort-recv" : "abort");
    std::vector<int64_t> data(1), sum(1);
    const auto reduce = callOf(TSR_ALL_REDUCE, DType::I64, TSR_REDUCE_SUM, 1, data.data(), sum.data());
    if (comm->rank() == 1) EXPECT_FALSE(comm->abort("planted").failed());
    EXPECT_THAT(run(*comm, receives && comm->rank() == 0 ? pairOf(TSR_RECV, 1, 0, data) : reduce),
                AllOf(HasSubstr(std::to_string(TSR_EDEVICE)), HasSubstr("rank 1 has aborted: planted")));
    EXPECT_THAT(run(*comm, reduce), HasSubstr("planted"));
  }
}

TEST(Mpi, AnotherThreadMayAbort) {
  auto comm = meet("abort-thread");
  std::vector<int64_t> data(1), sum(1);
  if (comm->rank()) return; // never calls
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(comm->abort("from aside").failed());
  });
  EXPECT_THAT(run(*comm, callOf(TSR_ALL_REDUCE, DType::I64, TSR_REDUCE_SUM, 1, data.data(), sum.data())),
              HasSubstr("rank 0 has aborted: from aside"));
  other.join();
}

TEST(Mpi, EveryKindOpAndDType) {
  auto comm = meet("results");
  const int rank = comm->rank(), size = comm->size();
  ASSERT_EQ(size, 2);
  uint64_t seed = 0;
  for (const DTypeInfo &d : allDTypes()) {
    if (isPacked(d.dtype)) continue; // collectives have none
    for (size_t count : {size_t{0}, size_t{1}, size_t{61}, size_t{1031}, size_t{150001}})
      for (uint32_t kind = TSR_ALL_REDUCE; kind <= TSR_ALL_TO_ALL; ++kind)
        for (int op = 0; op < (collective::reduces(kind) ? 4 : 1); ++op)
          for (const char *algorithm : {"", "ordered"}) {
            if (*algorithm && !collective::reduces(kind)) continue;
            if (count > 100000 && (op || (d.dtype != DType::F32 && d.dtype != DType::BF16))) continue;
            const int root = static_cast<int>(++seed % 2);
            const auto bytes = static_cast<size_t>(d.storageBytes);
            const size_t sources = count * (kind == TSR_REDUCE_SCATTER || kind == TSR_ALL_TO_ALL ? 2 : 1);
            const std::vector<Bytes> inputs = {data(d.dtype, sources, 0, seed),
                                               data(d.dtype, sources, 1, seed)};
            Bytes dst(count * bytes * (kind == TSR_ALL_GATHER || kind == TSR_ALL_TO_ALL ? 2 : 1), 0xEE);
            auto call =
                callOf(kind, d.dtype, op, count, inputs[static_cast<size_t>(rank)].data(), dst.data());
            call.root = root;
            call.algorithm = algorithm;
            const std::string name = std::string(collective::kKinds[kind]) + " " + collective::kOps[op] +
                                     " " + d.name + " " + std::to_string(count) + " " + algorithm;
            ASSERT_EQ(run(*comm, call), "") << name;
            if (kind == TSR_BROADCAST) {
              ASSERT_EQ(dst, inputs[static_cast<size_t>(root)]) << name;
            } else if (kind == TSR_ALL_GATHER) {
              Bytes all = inputs[0];
              all.insert(all.end(), inputs[1].begin(), inputs[1].end());
              ASSERT_EQ(dst, all) << name;
            } else if (kind == TSR_ALL_TO_ALL) {
              const size_t from = static_cast<size_t>(rank) * count * bytes;
              Bytes parts;
              for (const Bytes &input : inputs)
                parts.insert(parts.end(), input.data() + from, input.data() + from + count * bytes);
              ASSERT_EQ(dst, parts) << name;
            } else {
              const size_t part = kind == TSR_REDUCE_SCATTER ? static_cast<size_t>(rank) * count : 0;
              for (size_t i = 0; i < count; i += count > 10000 ? 97 : 1)
                ASSERT_TRUE(agrees(dst, i, inputs, part + i, d.dtype, op)) << name << " at " << i;
            }
          }
  }
}

TEST(Mpi, NaNStaysInMaxAndInPlaceWorks) {
  auto comm = meet("values");
  float v[2] = {comm->rank() ? std::numeric_limits<float>::quiet_NaN() : 1.0f, float(comm->rank() + 1)};
  ASSERT_EQ(run(*comm, callOf(TSR_ALL_REDUCE, DType::F32, TSR_REDUCE_MAX, 2, v, v)), "");
  EXPECT_TRUE(std::isnan(v[0]));
  EXPECT_EQ(v[1], 2);
}

TEST(Mpi, MismatchesNameBothRanksAndCalls) {
  using Change = void (*)(tsr_cl_call_t &);
  const std::pair<Change, const char *> changes[] = {
      {[](tsr_cl_call_t &c) { c.count = 5; }, "all_reduce(sum, f32, 5 elements)"},
      {[](tsr_cl_call_t &c) { c.dtype = TSR_DTYPE_I32; }, "all_reduce(sum, i32, 4 elements)"},
      {[](tsr_cl_call_t &c) { c.op = TSR_REDUCE_MIN; }, "all_reduce(min, f32, 4 elements)"},
      {[](tsr_cl_call_t &c) { c.kind = TSR_BROADCAST; }, "broadcast(f32, 4 elements, root 0)"},
      {[](tsr_cl_call_t &c) { c.algorithm = "ordered"; }, "algorithm ordered"}};
  for (auto &[change, text] : changes) {
    auto comm = meet(text);
    float src[8] = {}, dst[8] = {};
    auto call = callOf(TSR_ALL_REDUCE, DType::F32, TSR_REDUCE_SUM, 4, src, dst);
    call.where = comm->rank() ? "b.py:2" : "a.py:1";
    if (comm->rank()) change(call);
    EXPECT_THAT(run(*comm, call),
                AllOf(HasSubstr("2 communicator"),
                      HasSubstr("rank 0 calls all_reduce(sum, f32, 4 elements), its call 0"),
                      HasSubstr("rank 1 calls"), HasSubstr(text), HasSubstr("a.py:1"), HasSubstr("b.py:2")));
    EXPECT_THAT(run(*comm, call), AllOf(HasSubstr("2 communicator"), HasSubstr("it is broken")));
  }
}

TEST(Mpi, WhoIsMissingIsNamedAndTheLateComerIsTold) {
  auto comm = meet("late"), after = meet("after");
  float src[4] = {}, dst[4] = {};
  auto call = callOf(TSR_ALL_REDUCE, DType::F32, TSR_REDUCE_SUM, 4, src, dst);
  if (comm->rank() == 0) {
    call.timeout_ns = kSecond / 5;
    EXPECT_THAT(run(*comm, call),
                AllOf(HasSubstr("3 communicator 'late'"), HasSubstr("rank 1 did not come within 200 ms")));
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_THAT(run(*comm, call), AllOf(HasSubstr("3 communicator 'late'"), HasSubstr("rank 0 has given up"),
                                        HasSubstr("rank 1 did not come")));
  }
  EXPECT_THAT(run(*comm, call), HasSubstr("it is broken"));
  EXPECT_EQ(run(*after, callOf(TSR_ALL_REDUCE, DType::F32, TSR_REDUCE_SUM, 4, src, dst)),
            ""); // others live on
}

TEST(Mpi, BadOptionsAreRefused) {
  tsr_status_t status = TSR_SUCCESS;
  std::string why;
  tsr_cl_options_t o = {sizeof o, "x", 7, -1, kSecond};
  EXPECT_FALSE(mpi->create(o, status, why));
  EXPECT_EQ(status, TSR_EINVAL);
  EXPECT_THAT(why, HasSubstr("rank: the options say 7, the launcher "));
  o.rank = -1;
  o.size = 5;
  EXPECT_FALSE(mpi->create(o, status, why));
  EXPECT_THAT(why, HasSubstr("size: the options say 5, the launcher 2"));
}

TEST(Mpi, TheRuntimeFindsItByName) {
  tsr_comm_options_t o = {sizeof o, plugin.name, nullptr, -1, -1, 0};
  Comm comm(o);
  EXPECT_STREQ(comm.info().implementation, plugin.name);
  EXPECT_STREQ(comm.info().topology, "network");
  EXPECT_EQ(comm.info().size, 2);
  const int64_t mine = comm.info().rank + 1;
  int64_t sum = 0;
  comm.allReduce(&mine, &sum, 1, TSR_REDUCE_SUM);
  EXPECT_EQ(sum, 3);
}

// The last one: afterwards the ranks do not meet any more.
TEST(Mpi, ZIdsMustAgree) {
  auto first = meet("the first");
  tsr_status_t status = TSR_SUCCESS;
  std::string why;
  const std::string id = first->rank() ? "red" : "blue";
  tsr_cl_options_t o = {sizeof o, id.c_str(), -1, -1, 5 * kSecond};
  EXPECT_FALSE(mpi->create(o, status, why));
  EXPECT_EQ(status, TSR_EINVAL);
  EXPECT_THAT(why,
              AllOf(HasSubstr("communicator 'red'"), HasSubstr("communicator 'blue'"), HasSubstr("rank 1")));
  EXPECT_FALSE(mpi->create(o, status, why));
  EXPECT_THAT(why, HasSubstr("do not meet any more"));
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) return 2;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  auto query = reinterpret_cast<tsr_plugin_query_fn>(dlsym(library, "tsrPluginQuery"));
  tsr_host_info_t host{};
  host.struct_size = sizeof host;
  plugin.struct_size = sizeof plugin;
  if (!query || query(&host, &plugin)) return 2;
  mpi = std::make_unique<TableCollective>(plugin.collective, &host);
  const int result = RUN_ALL_TESTS();
  plugin.shutdown();
  return result;
}
