// tsrRegisterPlugin and tsrUnregisterPlugin: what is refused, what is found, and when objects end.
#include "core/test/fakes/FakeFixture.h"
#include <nlohmann/json.hpp>
#include <thread>

using namespace tessera::test;

namespace {

class Register : public FakeTest {
protected:
  void SetUp() override { plugin.serve(backend); }
  /// Returns the plugin's row of the load report; null if there is none.
  static nlohmann::json row(const std::string &name) {
    const char *json = nullptr;
    EXPECT_OK(tsrGetLoadReport(TSR_REPORT_PROBE, &json));
    const auto report = nlohmann::json::parse(json);
    for (auto &row : report["plugins"])
      if (row["name"] == name) return row;
    return nullptr;
  }
};

TEST_F(Register, IsInTheReportUntilUnregistered) {
  ASSERT_OK(plugin.add());
  const auto shown = row("fake");
  EXPECT_EQ(shown["state"], "registered");
  EXPECT_EQ(shown["kinds"], "backend");
  EXPECT_EQ(shown["devices"], 1);
  EXPECT_TRUE(shown["path"].is_null());
  ASSERT_OK(plugin.remove());
  EXPECT_TRUE(row("fake").is_null());
  EXPECT_EQ(create(), TSR_ENOTFOUND);
}

TEST_F(Register, IsARowOfTheBackends) {
  ASSERT_OK(plugin.add());
  bool found = false;
  tsr_backend_info_t info = {};
  info.struct_size = sizeof info;
  for (size_t i = 0; tsrGetBackendInfo(i, &info) == TSR_SUCCESS; ++i)
    if (std::string_view(info.name) == "fake") {
      found = true;
      EXPECT_TRUE(info.available) << info.reason;
      EXPECT_STREQ(info.description, "a fake");
      EXPECT_EQ(info.device_count, 1);
    }
  EXPECT_TRUE(found);
}

TEST_F(Register, IsSelectedLikeAnyOther) {
  ASSERT_OK(plugin.add());
  setenv("TESSERA_BACKEND", "fake", 1);
  int32_t count = 0;
  EXPECT_OK(tsrGetDeviceCount(nullptr, &count));
  EXPECT_OK(tsrCreateContext(&context));
  unsetenv("TESSERA_BACKEND");
  tsr_device_info_t info = {};
  info.struct_size = sizeof info;
  EXPECT_OK(tsrGetDeviceInfo(context, &info));
  EXPECT_STREQ(info.backend, "fake");
  EXPECT_STREQ(info.name, "fake device");
}

TEST_F(Register, StaysWhileInUse) {
  ASSERT_OK(plugin.add());
  ASSERT_OK(create());
  EXPECT_EQ(tsrUnregisterPlugin("fake"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("in use"));
  EXPECT_NE(alloc(), nullptr); // the failed call had no effect
  EXPECT_OK(tsrDestroyContext(std::exchange(context, nullptr)));
  EXPECT_OK(plugin.remove());
}

TEST_F(Register, ASelectionByCallEndsWithIt) {
  ASSERT_OK(plugin.add());
  ASSERT_OK(tsrSelectBackend("fake"));
  ASSERT_OK(plugin.remove());
  ASSERT_OK(tsrCreateContext(&context));
}

TEST_F(Register, ShutdownComesLast) {
  std::string order;
  plugin.onShutdown([&] { order += " shutdown"; });
  backend.made->kernel = [&](MockDeviceKernel &k) { k.onDestroy = [&] { order += "kernel"; }; };
  ASSERT_OK(plugin.add());
  ASSERT_OK(create());
  kernel();
  ASSERT_OK(tsrDestroyContext(std::exchange(context, nullptr)));
  ASSERT_OK(plugin.remove());
  EXPECT_EQ(order, "kernel shutdown");
}

TEST_F(Register, CanBeRegisteredAgain) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(plugin.add());
    ASSERT_OK(create());
    ASSERT_OK(tsrDestroyContext(std::exchange(context, nullptr)));
    ASSERT_OK(plugin.remove());
  }
}

TEST_F(Register, UnregisteringNeedsAName) {
  EXPECT_EQ(tsrUnregisterPlugin(nullptr), TSR_EINVAL);
  EXPECT_EQ(tsrUnregisterPlugin("nobody"), TSR_ENOTFOUND);
  EXPECT_EQ(tsrUnregisterPlugin("cpu"), TSR_ENOTFOUND); // the library's own plugins cannot be unregistered
  EXPECT_EQ(tsrRegisterPlugin(nullptr), TSR_EINVAL);
}

TEST_F(Register, ManyThreadsRegisterAndUnregister) {
  NiceMock<MockBackend> mocks[3];
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const std::string name = "fake" + std::to_string(t);
      for (int i = 0; i < 20; ++i) {
        FakePlugin mine(name, mocks[t]);
        const tsr_context_options_t o = {sizeof o, name.c_str(), 0, nullptr};
        tsr_context_t c = nullptr;
        EXPECT_OK(tsrCreateContextEx(&o, &c));
        EXPECT_OK(tsrDestroyContext(c));
        const char *json = nullptr;
        EXPECT_OK(tsrGetLoadReport(0, &json));
      }
    });
  for (auto &t : threads)
    t.join();
}

TEST_F(Register, APluginInUseStaysSelected) {
  auto untilOver = [](auto call) {
    return std::jthread([call](std::stop_token over) {
      while (!over.stop_requested())
        call();
    });
  };
  std::jthread contexts = untilOver([] {
    tsr_context_t c = nullptr;
    EXPECT_OK(tsrCreateContext(&c));
    EXPECT_OK(tsrDestroyContext(c));
  });
  std::jthread reports = untilOver([] {
    const char *json = nullptr;
    EXPECT_OK(tsrGetLoadReport(0, &json));
  });
  for (int i = 0; i < 300; ++i) {
    ASSERT_OK(plugin.add());
    ASSERT_OK(tsrSelectBackend("fake"));
    while (tsrUnregisterPlugin("fake") == TSR_EINVAL) {
      ASSERT_OK(create(nullptr));
      tsr_device_info_t info = {};
      info.struct_size = sizeof info;
      ASSERT_OK(tsrGetDeviceInfo(context, &info));
      ASSERT_STREQ(info.backend, "fake");
      ASSERT_OK(tsrDestroyContext(std::exchange(context, nullptr)));
    }
  }
  ASSERT_OK(plugin.add()); // the fixture removes it
}

struct Refusal {
  const char *what;
  tsr_status_t status;
  const char *code, *text;
  void (*alter)(FakePlugin &);
};

class RegisterRefuses : public Register, public testing::WithParamInterface<Refusal> {};

TEST_P(RegisterRefuses, WithItsCode) {
  GetParam().alter(plugin);
  EXPECT_EQ(plugin.add(), GetParam().status);
  EXPECT_TRUE(lastErrorHas(GetParam().code));
  EXPECT_TRUE(lastErrorHas(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RegisterRefuses,
    testing::Values(
        Refusal{"major", TSR_UNIMPLEMENTED, "TSRP-101", "plugin ABI 7.",
                [](FakePlugin &p) { p.info().abi_major = 7; }},
        Refusal{"minor", TSR_UNIMPLEMENTED, "TSRP-104", "needs plugin ABI 1.99",
                [](FakePlugin &p) { p.info().needs_minor = 99; }},
        Refusal{"feature", TSR_UNIMPLEMENTED, "TSRP-102", "time_travel@1",
                [](FakePlugin &p) { p.info().features_required = "log@1,time_travel@1"; }},
        Refusal{"compiler", TSR_UNIMPLEMENTED, "TSRP-103", "another",
                [](FakePlugin &p) {
                  p.info().kinds |= TSR_PLUGIN_CODEGEN;
                  p.info().compiler_abi = "another";
                }},
        Refusal{"interface", TSR_UNIMPLEMENTED, "TSRP-116", "9.",
                [](FakePlugin &p) { p.backendTable().version_major = 9; }},
        Refusal{"table", TSR_EINVAL, "TSRP-306", "no table",
                [](FakePlugin &p) { p.info().backend = nullptr; }},
        Refusal{"slot", TSR_EINVAL, "TSRP-306", "mem_alloc",
                [](FakePlugin &p) { p.backendTable().mem_alloc = nullptr; }},
        Refusal{"probe", TSR_EINVAL, "TSRP-306", "probe", [](FakePlugin &p) { p.info().probe = nullptr; }},
        Refusal{"nokind", TSR_EINVAL, "TSRP-117", "no kind", [](FakePlugin &p) { p.info().kinds = 0; }},
        Refusal{"kind", TSR_EINVAL, "TSRP-117", "does not know",
                [](FakePlugin &p) { p.info().kinds |= 1u << 20; }},
        Refusal{"nameless", TSR_EINVAL, "TSRP-304", "name", [](FakePlugin &p) { p.info().name = nullptr; }},
        Refusal{"name", TSR_EINVAL, "TSRP-304", "'No Name'",
                [](FakePlugin &p) { p.info().name = "No Name"; }},
        Refusal{"alias", TSR_EINVAL, "TSRP-304", "levelzero",
                [](FakePlugin &p) { p.info().name = "level_zero"; }},
        Refusal{"builtin", TSR_EINVAL, "TSRP-123", "cpu", [](FakePlugin &p) { p.info().name = "cpu"; }},
        Refusal{"mapper", TSR_EINVAL, "TSRP-123", "Tessera's own mapper 'random' takes precedence",
                [](FakePlugin &p) {
                  static NiceMock<MockMapper> mapper;
                  p.serve(mapper);
                  p.info().name = "random";
                }}),
    [](const auto &info) { return std::string(info.param.what); });

TEST_F(Register, ANameIsTakenOnce) {
  ASSERT_OK(plugin.add());
  NiceMock<MockBackend> other;
  FakePlugin second("fake");
  second.serve(other);
  EXPECT_EQ(second.add(), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("TSRP-123"));
  EXPECT_TRUE(lastErrorHas("tsrUnregisterPlugin(\"fake\")"));
}

TEST_F(Register, AFailingQueryIsRefused) {
  EXPECT_EQ(tsrRegisterPlugin([](const tsr_host_info_t *, tsr_plugin_info_t *) -> int32_t { return 10; }),
            TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("TSRP-304"));
  EXPECT_TRUE(lastErrorHas("status 10"));
}

TEST_F(Register, AQueryThatThrowsIsRefused) {
  EXPECT_EQ(tsrRegisterPlugin([](const tsr_host_info_t *, tsr_plugin_info_t *) -> int32_t {
              throw std::runtime_error("not today");
            }),
            TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("TSRP-304"));
  EXPECT_TRUE(lastErrorHas("status 10: not today"));
}

TEST_F(Register, AProbeThatThrowsDoesNotAffectOthers) {
  plugin.info().probe = [](tsr_probe_t *, tsr_text_t *) -> int32_t { throw std::runtime_error("no luck"); };
  ASSERT_OK(plugin.add());
  EXPECT_OK(create(nullptr)); // another one
  const auto shown = row("fake");
  EXPECT_EQ(shown["code"], "TSRP-205");
  EXPECT_THAT(shown["reason"], HasSubstr("no luck"));
}

TEST_F(Register, AnAnswerWithoutItsSizeIsRefused) {
  static FakePlugin *answering;
  answering = &plugin;
  for (size_t bytes : {size_t(0), offsetof(tsr_plugin_info_t, codegen) - 8, sizeof(tsr_plugin_info_t) + 8}) {
    static size_t claimed;
    claimed = bytes;
    EXPECT_EQ(tsrRegisterPlugin([](const tsr_host_info_t *, tsr_plugin_info_t *out) -> int32_t {
                *out = answering->info();
                out->struct_size = claimed;
                return TSR_SUCCESS;
              }),
              TSR_EINVAL);
    EXPECT_TRUE(lastErrorHas("TSRP-304"));
    EXPECT_TRUE(lastErrorHas(("a struct_size of " + std::to_string(bytes) + " bytes, expected").c_str()));
  }
}

TEST_F(Register, AMapperIsListedWhenAnotherIsMissing) {
  NiceMock<MockMapper> mapper;
  FakePlugin other("scout", mapper);
  EXPECT_EQ(tsrSetMapper("elsewhere"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("there are default, logging, random, replay, scout"));
  EXPECT_EQ(tsrSetMapper("scuot"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("did you mean scout?"));
}

TEST_F(Register, ABackendIsListedWhenAnotherIsMissing) {
  ASSERT_OK(plugin.add());
  EXPECT_EQ(create("elsewhere"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("available: cpu, fake"));
  EXPECT_EQ(create("fkae"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("did you mean fake?"));
}

TEST_F(Register, ControlCharactersAreEscaped) {
  EXPECT_EQ(create("\x1b[31mred\n"), TSR_ENOTFOUND);
  EXPECT_TRUE(lastErrorHas("backend '\\x1b[31mred"));
  EXPECT_EQ(std::string(tsrLastError()).find('\x1b'), std::string::npos);
}

TEST_F(Register, DisabledOnesAreNotUsed) {
  ASSERT_OK(plugin.add());
  setenv("TESSERA_BACKENDS_DISABLE", "fake", 1);
  EXPECT_NE(create(), TSR_SUCCESS);
  EXPECT_TRUE(lastErrorHas("TSRP-120"));
  EXPECT_EQ(row("fake")["state"], "refused");
  unsetenv("TESSERA_BACKENDS_DISABLE");
}

TEST_F(Register, AnotherKindIsNotABackend) {
  NiceMock<MockMapper> mapper;
  FakePlugin other("only-a-mapper", mapper);
  EXPECT_NE(create("only-a-mapper"), TSR_SUCCESS);
  EXPECT_TRUE(lastErrorHas("TSRP-117"));
}

} // namespace
