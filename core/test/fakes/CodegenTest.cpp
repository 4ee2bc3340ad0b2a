// Codegen plugins as the runtime passes them to the compiler.
#include "core/plugin/CodegenLoading.h"
#include "core/service/BuildId.h"
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

namespace {

TEST(FakeCodegen, IsLoadedByItsName) {
  NiceMock<MockCodegen> mock;
  FakePlugin plugin("fake-codegen", mock);
  std::string why;
  CodegenPlugin found = loadedCodegenPlugins().load("fake-codegen", why);
  ASSERT_TRUE(found) << why;
  EXPECT_EQ(found.name, "fake-codegen");
  tsr_cg_target_t row{};
  row.struct_size = sizeof row;
  EXPECT_EQ(found.table.target(0, &row), TSR_SUCCESS);
  EXPECT_STREQ(row.architecture, "v1");
  EXPECT_EQ(found.table.target(1, &row), TSR_ENOTFOUND);
  EXPECT_THAT(loadedCodegenPlugins().names(), testing::Contains("fake-codegen"));
  EXPECT_EQ(loadedCodegenPlugins().identity("fake-codegen:v1"),
            std::nullopt);                                    // must not be cached for other processes
  EXPECT_EQ(tsrUnregisterPlugin("fake-codegen"), TSR_EINVAL); // in use
  found = {};
}

TEST(FakeCodegen, OtherPluginsAreNotCodegens) {
  NiceMock<MockBackend> backend;
  FakePlugin other("no-codegen", backend);
  std::string why;
  EXPECT_FALSE(loadedCodegenPlugins().load("nothing-of-that-name", why));
  EXPECT_EQ(why, "");
  EXPECT_FALSE(loadedCodegenPlugins().load("no-codegen", why));
  EXPECT_THAT(why, HasSubstr("TSRP-117"));
  EXPECT_EQ(loadedCodegenPlugins().identity("nothing-of-that-name:v1"), "");
  EXPECT_EQ(loadedCodegenPlugins().identity("cpu:x86-64-v3"), "");
}

TEST(FakeCodegen, AnExceptionBecomesAStatus) {
  NiceMock<MockCodegen> mock;
  ON_CALL(mock, compile).WillByDefault(Throw(StatusError(TSR_ECOMPILE, "no such instruction")));
  ON_CALL(mock, targets).WillByDefault(Throw(std::runtime_error("no rows")));
  FakePlugin plugin("fake-codegen", mock);
  std::string text;
  const CodegenPlugin found = loadedCodegenPlugins().load("fake-codegen", text);
  tsr_cg_target_t row{};
  row.struct_size = sizeof row;
  EXPECT_EQ(found.table.target(0, &row), TSR_EINTERNAL);
  const tsr_cg_input_t in = {sizeof in, "v1", "", 0, nullptr, 0};
  thunk::Text why;
  EXPECT_EQ(found.table.compile(&in, nullptr, nullptr, why), TSR_ECOMPILE);
  EXPECT_EQ(why.str(), "no such instruction");
}

TEST(FakeCodegen, TheTableAndEveryRequiredSlotMustExist) {
  NiceMock<MockCodegen> mock;
  auto refused = [&](auto alter, const char *code, const char *text) {
    FakePlugin plugin("fake-codegen");
    plugin.serve(mock);
    alter(plugin);
    EXPECT_NE(plugin.add(), TSR_SUCCESS);
    EXPECT_THAT(tsrLastError(), testing::AllOf(HasSubstr(code), HasSubstr(text)));
  };
  refused([](FakePlugin &p) { p.codegenTable().target = nullptr; }, "TSRP-306", "target");
  refused([](FakePlugin &p) { p.codegenTable().compile = nullptr; }, "TSRP-306", "compile");
  refused([](FakePlugin &p) { p.codegenTable().struct_size = 16; }, "TSRP-306", "target, compile");
  refused([](FakePlugin &p) { p.codegenTable().version_major = 2; }, "TSRP-116", "codegen interface is 2.0");
  refused([](FakePlugin &p) { p.info().codegen = nullptr; }, "TSRP-306", "no table");
  refused([](FakePlugin &p) { p.info().compiler_abi = "another"; }, "TSRP-103", "another");
}

} // namespace
