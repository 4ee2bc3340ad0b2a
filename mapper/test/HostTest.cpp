// The errors a mapper may make, and how they are reported. The mappers here are called through the C table,
// as plugins are.
#include "mapper/host/Host.h"
#include "mapper/host/TableMapper.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::mapping;
using namespace std::chrono_literals;

namespace {

const Mapper::VariantCall kMatmul = {"matmul", "cpu:znver3", "f32", {"tile", "blas"}, {{"M", 96}, {"N", -1}}};
const Mapper::CollectiveCall kReduce = {"all_reduce", 4096, 8, "node", {"ring", "tree"}};
const Mapper::Region kRegion = {"W1", "tp", "bf16", {64, 32}};
const Mapper::Mesh kMesh = {{{"dp", 2}, {"tp", 4}}, {"ptx:0", "ptx:1"}, {"local_switch"}};

/// Returns the answer that the test sets.
struct Scripted : Mapper {
  std::function<Choice()> answer = [] { return Choice(); };
  Choice place(const Region &r, const Mesh &m) override {
    EXPECT_EQ(r.name + r.axis + r.dtype, "W1tpbf16");
    EXPECT_EQ(r.shape, (std::vector<int64_t>{64, 32}));
    EXPECT_EQ(m.axes, kMesh.axes);
    EXPECT_EQ(m.places(), kMesh.places());
    return answer();
  }
  Choice chooseCollective(const CollectiveCall &c) override {
    EXPECT_EQ(c.kind + c.topology, "all_reducenode");
    EXPECT_EQ(c.bytes + c.ranks, 4104u);
    EXPECT_TRUE(c.offers("tree"));
    return answer();
  }
  Choice chooseVariant(const VariantCall &c) override {
    EXPECT_EQ(c.op + c.arch + c.dtype, "matmulcpu:znver3f32");
    EXPECT_EQ(c.dim("M"), 96);
    EXPECT_EQ(c.dim("N"), -1);
    EXPECT_EQ(c.dim("K"), -1);
    EXPECT_FALSE(c.offers("gpu"));
    return answer();
  }
};

std::shared_ptr<Host> host(std::function<Mapper::Choice()> answer, std::chrono::milliseconds deadline = 10s) {
  auto mapper = std::make_unique<Scripted>();
  mapper->answer = std::move(answer);
  std::string why;
  auto *object = reinterpret_cast<tsr_mp_mapper_t *>(static_cast<Mapper *>(mapper.release()));
  std::shared_ptr<Mapper> wrapped = wrap(mapperTable<Scripted>(), object, why);
  EXPECT_TRUE(wrapped) << why;
  return std::make_shared<Host>("scripted", std::move(wrapped), deadline);
}

/// Returns the failure of `ask`.
Failure failureOf(const std::function<void()> &ask) {
  try {
    ask();
  } catch (const Failure &f) {
    return f;
  }
  ADD_FAILURE() << "nothing failed";
  return {};
}

Failure failure(std::function<Mapper::Choice()> answer) {
  auto h = host(std::move(answer));
  return failureOf([&] { h->chooseVariant(kMatmul, "mlp.py:7", {{"gpu", "backend cpu has none"}}); });
}

bool says(const Failure &f, const char *text) { return f.message.find(text) != std::string::npos; }

TEST(MapperHost, LegalAnswersComeThrough) {
  auto h = host([] { return Mapper::Choice("blas", 1500); });
  EXPECT_EQ(h->chooseVariant(kMatmul).name, "blas");
  EXPECT_EQ(h->chooseVariant(kMatmul).predictedNs, 1500);
  EXPECT_EQ(host([] { return "tree"; })->chooseCollective(kReduce).name, "tree");
  for (const char *place : {"ptx:1", "local_switch", "tp"})
    EXPECT_EQ(host([=] { return place; })->place(kRegion, kMesh).name, place);
}

TEST(MapperHost, AnEmptyAnswerIsTheDefault) {
  Host h("base", std::make_shared<Mapper>());
  EXPECT_EQ(h.chooseVariant(kMatmul).name, "tile");
  EXPECT_EQ(h.chooseVariant(kMatmul).predictedNs, -1);
  EXPECT_EQ(h.chooseCollective(kReduce).name, "");
  EXPECT_EQ(h.place(kRegion, kMesh).name, "");
  auto nonsense = host([] { return Mapper::Choice("", std::numeric_limits<double>::quiet_NaN()); });
  EXPECT_EQ(nonsense->chooseVariant(kMatmul).predictedNs, -1);
}

TEST(MapperHost, AnIllegalAnswerNamesMapperCallAnswerAndLegalSet) {
  Failure f = failure([] { return "blass"; });
  EXPECT_EQ(f.code, "E_MAPPER_ANSWER");
  EXPECT_EQ(f.status, TSR_EINVAL);
  EXPECT_EQ(f.message, "mapper scripted, choose_variant(op=matmul arch=cpu:znver3 dtype=f32 M=96 N=?) at "
                       "mlp.py:7: the answer 'blass' is not legal here; legal: tile, blas");
  EXPECT_EQ(f.hint, "did you mean blas?");
  f = failure([] { return "gpu"; });
  EXPECT_TRUE(says(f, "legal: tile, blas; gpu is not: backend cpu has none")) << f.message;

  auto h = host([] { return "sharp_ring"; });
  f = failureOf([&] { h->chooseCollective(kReduce); });
  EXPECT_EQ(f.message,
            "mapper scripted, choose_collective(kind=all_reduce bytes=4096 ranks=8 topology=node): "
            "the answer 'sharp_ring' is not legal here; legal: ring, tree");
  f = failureOf([&] { h->place(kRegion, kMesh); });
  EXPECT_EQ(f.message, "mapper scripted, place(region=W1 axis=tp dtype=bf16 shape=64x32 mesh=dp:2,tp:4): the "
                       "answer 'sharp_ring' is not legal here; legal: ptx:0, ptx:1, local_switch, dp, tp");
}

TEST(MapperHost, GarbageIsEscapedInMessages) {
  Failure f = failure([] { return std::string("\x1b[31m\xff") + std::string(500, 'x'); });
  EXPECT_TRUE(says(f, "the answer '\\x1b[31m\\xffxx")) << f.message;
  EXPECT_TRUE(says(f, "...' is not legal")) << f.message;
  f = failure([] { return std::string(5000, 'x'); });
  EXPECT_EQ(f.code, "E_MAPPER_ANSWER");
  EXPECT_TRUE(says(f, "its answer has 5000 bytes, at most 1023 are taken")) << f.message;
}

TEST(MapperHost, ExceptionsAreReported) {
  Failure f = failure([]() -> Mapper::Choice { throw std::runtime_error("no table for this machine"); });
  EXPECT_EQ(f.code, "E_MAPPER_FAILED");
  EXPECT_TRUE(says(f, "mapper scripted, choose_variant("));
  EXPECT_TRUE(says(f, "no table for this machine")) << f.message;
  f = failure([]() -> Mapper::Choice { throw 7; });
  EXPECT_TRUE(says(f, "an exception that is not a std::exception")) << f.message;
  f = failure([]() -> Mapper::Choice { throw std::bad_alloc(); });
  EXPECT_EQ(f.status, TSR_EOOM);
  // The same for a mapper that does not use the table.
  struct Direct : Mapper {
    Choice chooseVariant(const VariantCall &) override { throw 7; }
    Choice chooseCollective(const CollectiveCall &) override { throw std::runtime_error("direct"); }
    Choice place(const Region &, const Mesh &) override { throw std::bad_alloc(); }
  };
  Host h("direct", std::make_shared<Direct>());
  EXPECT_EQ(failureOf([&] { h.chooseVariant(kMatmul); }).code, "E_MAPPER_FAILED");
  EXPECT_TRUE(says(failureOf([&] { h.chooseCollective(kReduce); }), ": direct"));
  EXPECT_EQ(failureOf([&] { h.place(kRegion, kMesh); }).status, TSR_EOOM);
}

TEST(MapperHost, AStallEndsAtTheDeadline) {
  auto open = std::make_shared<std::atomic<bool>>(false);
  auto h = host(
      [open] {
        while (!*open)
          std::this_thread::sleep_for(1ms);
        return Mapper::Choice("blas");
      },
      50ms);
  Failure f = failureOf([&] { h->chooseVariant(kMatmul); });
  EXPECT_EQ(f.status, TSR_ETIMEOUT);
  EXPECT_EQ(f.code, "E_MAPPER_TIMEOUT");
  EXPECT_TRUE(says(f, "no answer within 0.05 s")) << f.message;
  f = failureOf([&] { h->chooseVariant(kMatmul); });
  EXPECT_TRUE(says(f, "an earlier question is unanswered")) << f.message;
  *open = true;
  for (int i = 0; i < 1000; ++i) { // asked again when the late answer has arrived
    try {
      EXPECT_EQ(h->chooseVariant(kMatmul).name, "blas");
      return;
    } catch (const Failure &) {
      std::this_thread::sleep_for(2ms);
    }
  }
  FAIL() << "it is never asked again";
}

TEST(MapperHost, AnAlgorithmIsKeptAndAFailureIsNot) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  auto h = host([asked]() -> Mapper::Choice {
    if (++*asked == 1) throw std::runtime_error("not yet");
    return "tree";
  });
  EXPECT_TRUE(says(failureOf([&] { h->algorithmFor(kReduce); }), "not yet"));
  EXPECT_EQ(h->algorithmFor(kReduce).name, "tree");
  EXPECT_EQ(h->algorithmFor(kReduce).name, "tree");
  EXPECT_EQ(*asked, 2);
}

#if !defined(__has_feature) || !__has_feature(thread_sanitizer) // tsan cannot start threads after a fork
// The thread that asks in the parent does not exist in the child.
TEST(MapperHost, TheChildOfAForkAsksWhatItsParentIsAsking) {
  const pid_t parent = getpid();
  auto isAsked = std::make_shared<std::atomic<bool>>(false),
       open = std::make_shared<std::atomic<bool>>(false);
  auto h = host([=] {
    *isAsked = true;
    while (getpid() == parent && !*open)
      std::this_thread::sleep_for(1ms);
    return Mapper::Choice("tree");
  });
  std::thread asks([&] { EXPECT_EQ(h->algorithmFor(kReduce).name, "tree"); });
  while (!*isAsked)
    std::this_thread::sleep_for(1ms);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20); // kills a child that hangs
    try {
      _exit(h->algorithmFor(kReduce).name == "tree" ? 0 : 1);
    } catch (const Failure &) {
      _exit(2);
    }
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  *open = true;
  asks.join();
}
#endif

TEST(MapperHost, ATableIsCheckedAndSlotsMayBeMissing) {
  int word = 0;
  auto *object = reinterpret_cast<tsr_mp_mapper_t *>(&word);
  tsr_mapper_api_t table = *mapperTable<Scripted>();
  std::string why;
  EXPECT_EQ(wrap(nullptr, object, why), nullptr);
  EXPECT_EQ(why, "its table lacks the required slot destroy");
  table.destroy = [](tsr_mp_mapper_t *m) { ++*reinterpret_cast<int *>(m); };
  EXPECT_EQ(wrap(&table, nullptr, why = ""), nullptr);
  EXPECT_EQ(why, "the mapper is NULL");
  table.version_major = 9;
  EXPECT_EQ(wrap(&table, object, why = ""), nullptr);
  EXPECT_EQ(why, "its mapper interface is 9.0, this runtime has 1.0");
  table.version_major = 1;
  table.struct_size = offsetof(tsr_mapper_api_t, place); // an older table: the hooks do not exist
  {
    Host old("old", wrap(&table, object, why = ""));
    EXPECT_EQ(old.chooseVariant(kMatmul).name, "tile");
    EXPECT_EQ(old.chooseCollective(kReduce).name, "");
    EXPECT_EQ(old.place(kRegion, kMesh).name, "");
  }
  EXPECT_EQ(word, 1); // destroyed once
  tsr_status_t status;
  table.create = nullptr;
  EXPECT_EQ(make(&table, "", status, why = ""), nullptr);
  EXPECT_EQ(why, "its table lacks the required slot create");
  table.create = [](const tsr_host_info_t *, const char *, tsr_mp_mapper_t **, tsr_text_t *) -> int32_t {
    return 0;
  };
  EXPECT_EQ(make(&table, "", status, why = ""), nullptr);
  EXPECT_EQ(why, "it created no mapper");
  table.create = [](const tsr_host_info_t *, const char *, tsr_mp_mapper_t **, tsr_text_t *) -> int32_t {
    return 99;
  };
  EXPECT_EQ(make(&table, "", status, why = ""), nullptr);
  EXPECT_EQ(why, "it failed with status 99");
  EXPECT_EQ(status, TSR_EINVAL);
}

struct Thresholded : Mapper {
  explicit Thresholded(std::string_view text) {
    if (text != "256") throw std::invalid_argument("expected 256");
  }
};

TEST(MapperHost, TablesMakeMappersFromArguments) {
  std::string why;
  tsr_status_t status = TSR_SUCCESS;
  EXPECT_TRUE(make(mapperTable<Thresholded>(), "256", status, why)) << why;
  EXPECT_FALSE(make(mapperTable<Thresholded>(), "x", status, why));
  EXPECT_EQ(why, "expected 256");
  EXPECT_TRUE(make(mapperTable<Scripted>(), "", status, why));
  EXPECT_FALSE(make(mapperTable<Scripted>(), "x", status, why));
  EXPECT_EQ(why, "it takes no arguments");
}

TEST(MapperHost, SetByACallOrTheEnvironment) {
  unsetenv("TESSERA_MAPPER");
  EXPECT_EQ(current(), nullptr);
  setenv("TESSERA_MAPPER", "random(3)", 1);
  auto first = current();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name(), "random(3)");
  EXPECT_EQ(current(), first);
  ASSERT_EQ(tsrSetMapper("default"), TSR_SUCCESS);
  EXPECT_EQ(current()->name(), "default");
  EXPECT_EQ(tsrSetMapper("rndom(3)"), TSR_ENOTFOUND);
  EXPECT_TRUE(std::strstr(tsrLastError(), "[E_MAPPER_UNKNOWN] there is no mapper 'rndom'")) << tsrLastError();
  EXPECT_TRUE(std::strstr(tsrLastError(), "did you mean random?")) << tsrLastError();
  EXPECT_EQ(current()->name(), "default");
  setMapper(std::make_unique<Scripted>(), "mine");
  EXPECT_EQ(current()->name(), "mine");
  EXPECT_EQ(tsrSetMapperTable(mapperTable<Scripted>(), nullptr, "mine"), TSR_EINVAL);
  EXPECT_EQ(tsrSetMapperTable(mapperTable<Scripted>(), nullptr, ""), TSR_EINVAL);
  EXPECT_STREQ(tsrLastError(), "the mapper has no name");
  setMapper(nullptr);
  EXPECT_EQ(current(), first);
  setenv("TESSERA_MAPPER", "random(", 1);
  Failure f = failureOf([] { (void)current(); });
  EXPECT_EQ(f.message.rfind("TESSERA_MAPPER: column 8", 0), 0u) << f.message;
  unsetenv("TESSERA_MAPPER");
}

} // namespace
