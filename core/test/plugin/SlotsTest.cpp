// Optional slots of a backend's table: peer access and the profiler's ranges.
#include "core/plugin/PluginBackend.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>
#include <tessera/thunk.hpp>
#include <thread>

using namespace tessera;
using testing::HasSubstr;

namespace {

std::string calls; // the calls that the backend received

/// A backend that only creates contexts. Its objects are numbers.
tsr_backend_api_t table() {
  tsr_backend_api_t api{};
  api.struct_size = sizeof api;
  api.version_major = TSR_BACKEND_API_MAJOR;
  api.create = [](const tsr_host_info_t *, tsr_be_backend_t **out, tsr_text_t *) -> int32_t {
    *out = reinterpret_cast<tsr_be_backend_t *>(1);
    return TSR_SUCCESS;
  };
  api.destroy = [](tsr_be_backend_t *) {};
  api.device_count = [](tsr_be_backend_t *, int32_t *count, tsr_text_t *) -> int32_t {
    *count = 2;
    return TSR_SUCCESS;
  };
  api.device_info = [](tsr_be_backend_t *, int32_t, tsr_be_device_t *, tsr_text_t *) -> int32_t {
    return TSR_SUCCESS;
  };
  api.context_create = [](tsr_be_backend_t *, int32_t device, const tsr_be_allocator_t *,
                          tsr_be_context_t **out, tsr_text_t *) -> int32_t {
    *out = reinterpret_cast<tsr_be_context_t *>(intptr_t(device) + 10);
    return TSR_SUCCESS;
  };
  api.context_destroy = [](tsr_be_context_t *) {};
  return api;
}

std::string number(const void *p) { return std::to_string(reinterpret_cast<intptr_t>(p)); }

/// Two contexts of a backend with the given table.
struct Two {
  explicit Two(const tsr_backend_api_t &api) : api(api) {
    plugin->name = "slots";
    plugin->info.backend = &this->api;
    backend = makePluginBackend(plugin, "", why);
    a = backend->createContext(0, nullptr, why);
    b = backend->createContext(1, nullptr, why);
  }
  const tsr_backend_api_t api;
  const std::shared_ptr<Plugin> plugin = std::make_shared<Plugin>();
  std::string why;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<DeviceContext> a, b;
};

} // namespace

TEST(Slots, WithoutThemPeersAreRefusedAndRangesAreIgnored) {
  Two two(table());
  EXPECT_EQ(two.a->enablePeer(*two.b, two.why), TSR_UNIMPLEMENTED);
  EXPECT_EQ(two.why, "the backend has no access to other devices' memory");
  two.a->pushRange("step");
  two.a->popRange();
}

TEST(Slots, TheyReceiveTheirArguments) {
  calls.clear();
  tsr_backend_api_t api = table();
  api.peer_enable = [](tsr_be_context_t *c, tsr_be_context_t *peer, tsr_text_t *why) -> int32_t {
    calls += "peer " + number(c) + " " + number(peer) + ";";
    if (calls.size() < 20) return TSR_SUCCESS;
    thunk::put(why, "no link between them");
    return TSR_EDEVICE;
  };
  api.range_push = [](tsr_be_context_t *c, const char *name) { calls += "push " + number(c) + name + ";"; };
  Two half(api);
  half.a->pushRange("x"); // only one slot of the pair exists, so neither is used
  EXPECT_EQ(calls, "");
  api.range_pop = [](tsr_be_context_t *c) { calls += "pop " + number(c) + ";"; };
  Two two(api);
  EXPECT_EQ(two.a->enablePeer(*two.b, two.why), TSR_SUCCESS);
  two.b->pushRange("step");
  two.b->popRange();
  EXPECT_EQ(calls, "peer 10 11;push 11step;pop 11;");
  EXPECT_EQ(two.a->enablePeer(*two.b, two.why), TSR_EDEVICE);
  EXPECT_EQ(two.why, "no link between them");
}

TEST(Slots, APluginWithALiveContextIsCounted) {
  Two two(table());
  EXPECT_EQ(two.plugin->objects, 2);
  two.a.reset();
  EXPECT_EQ(two.plugin->objects, 1);
}

TEST(Ranges, OfTheCpuNestPerThreadAndContext) {
  tsr_context_t a, b;
  ASSERT_EQ(tsrCreateContext(&a), TSR_SUCCESS);
  ASSERT_EQ(tsrCreateContext(&b), TSR_SUCCESS);
  EXPECT_EQ(tsrRangePush(a, "step"), TSR_SUCCESS);
  EXPECT_EQ(tsrRangePush(a, "layer"), TSR_SUCCESS);
  EXPECT_EQ(tsrRangePop(b), TSR_EINVAL);
  EXPECT_THAT(tsrLastError(), HasSubstr("no range open on the context"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      EXPECT_EQ(tsrRangePop(a), TSR_EINVAL); // the ranges belong to another thread
      for (int n = 0; n < 100; ++n) {
        EXPECT_EQ(tsrRangePush(a, "mine"), TSR_SUCCESS);
        EXPECT_EQ(tsrRangePop(a), TSR_SUCCESS);
      }
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(tsrRangePop(a), TSR_SUCCESS);
  EXPECT_EQ(tsrRangePop(a), TSR_SUCCESS);
  EXPECT_EQ(tsrRangePop(a), TSR_EINVAL);
  EXPECT_EQ(tsrRangePush(a, nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrRangePush(nullptr, "x"), TSR_EINVAL);
  EXPECT_EQ(tsrContextEnablePeer(a, b), TSR_UNIMPLEMENTED);
  EXPECT_THAT(tsrLastError(), HasSubstr("peer access on backend cpu: it has no access"));
  EXPECT_EQ(tsrContextEnablePeer(a, a), TSR_EINVAL);
  EXPECT_EQ(tsrDestroyContext(a), TSR_SUCCESS);
  EXPECT_EQ(tsrDestroyContext(b), TSR_SUCCESS);
  EXPECT_EQ(tsrContextEnablePeer(a, b), TSR_EINVAL);
}
