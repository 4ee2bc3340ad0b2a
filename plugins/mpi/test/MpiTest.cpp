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

TEST(Mpi, EveryKindOpAndDType) {
  auto comm = meet("results");
  const int rank = comm->rank(), size = comm->size();
  ASSERT_EQ(size, 2);
  uint64_t seed = 0;
  for (const DTypeInfo &d : allDTypes())
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
