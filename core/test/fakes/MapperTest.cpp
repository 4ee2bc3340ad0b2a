// A mapper made of mocks: the errors it may make, and how they affect the program that asked. In the source
// "choose" the fake compiler leaves one product open.
#include "core/plugin/Mappers.h"
#include "core/test/fakes/FakeFixture.h"

using namespace tessera;
using namespace tessera::test;

namespace {

class FakeMapper : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("TESSERA_MAPPER");
    options.targets = {"cpu:x86-64-v3"};
    options.fileName = "mlp.py";
  }
  void TearDown() override { EXPECT_OK(tsrSetMapper(nullptr)); }
  tsr_status_t decide() { return decideVariants("choose", options, diags); }
  void expectFailure(const char *code, const char *text) {
    EXPECT_NE(decide(), TSR_SUCCESS);
    ASSERT_EQ(diags.size(), 1u);
    EXPECT_EQ(diags[0].code, code);
    EXPECT_THAT(diags[0].message, HasSubstr(text));
    EXPECT_THAT(diags[0].message, HasSubstr("mapper chooser"));
  }

  NiceMock<MockMapper> mapper;
  FakePlugin plugin{"chooser", mapper};
  CompileOptions options;
  std::vector<Diagnostic> diags;
};

TEST_F(FakeMapper, IsAskedWithTheLegalSet) {
  EXPECT_CALL(mapper, create("speed=9"));
  EXPECT_CALL(mapper, chooseVariant).WillOnce([](const Mapper::VariantCall &c) {
    EXPECT_EQ(c.op, "matmul");
    EXPECT_TRUE(c.offers("tile"));
    return Mapper::Choice("tile", 7);
  });
  ASSERT_OK(tsrSetMapper("chooser(speed=9)"));
  ASSERT_EQ(decide(), TSR_SUCCESS);
  ASSERT_EQ(options.decisions.size(), 1u);
  EXPECT_EQ(options.decisions[0].variant, "tile");
  EXPECT_EQ(options.decisions[0].predictedNs, 7);
}

TEST_F(FakeMapper, IsNamedByTheEnvironment) {
  setenv("TESSERA_MAPPER", "chooser", 1);
  EXPECT_CALL(mapper, chooseVariant).WillOnce(Return(Mapper::Choice()));
  EXPECT_EQ(decide(), TSR_SUCCESS);
  unsetenv("TESSERA_MAPPER");
  EXPECT_EQ(decide(), TSR_SUCCESS); // the mapper is gone, so nothing is asked
}

TEST_F(FakeMapper, AnswersOutOfRange) {
  EXPECT_CALL(mapper, chooseVariant).WillOnce(Return(Mapper::Choice("magic")));
  ASSERT_OK(tsrSetMapper("chooser"));
  expectFailure("E_MAPPER_ANSWER", "the answer 'magic' is not legal here");
}

TEST_F(FakeMapper, Throws) {
  EXPECT_CALL(mapper, chooseVariant).WillOnce(Throw(std::runtime_error("out of ideas")));
  ASSERT_OK(tsrSetMapper("chooser"));
  expectFailure("E_MAPPER_FAILED", "out of ideas");
}

TEST_F(FakeMapper, ThrowsAnythingElse) {
  EXPECT_CALL(mapper, chooseVariant).WillOnce(Throw(42));
  ASSERT_OK(tsrSetMapper("chooser"));
  expectFailure("E_MAPPER_FAILED", "not a std::exception");
}

TEST_F(FakeMapper, RefusesItsArguments) {
  EXPECT_CALL(mapper, create).WillOnce(Throw(std::invalid_argument("speed is 1 to 9")));
  EXPECT_EQ(tsrSetMapper("chooser(speed=11)"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("speed is 1 to 9"));
}

TEST_F(FakeMapper, StaysWhileItIsSet) {
  ASSERT_OK(tsrSetMapper("chooser"));
  EXPECT_EQ(tsrUnregisterPlugin("chooser"), TSR_EINVAL);
  EXPECT_TRUE(lastErrorHas("in use"));
  ASSERT_OK(tsrSetMapper(nullptr));
  EXPECT_OK(plugin.remove());
  EXPECT_EQ(tsrSetMapper("chooser"), TSR_ENOTFOUND);
}

TEST_F(FakeMapper, WithoutAHookItsChoiceIsTheDefault) {
  EXPECT_CALL(mapper, chooseVariant).Times(0);
  FakePlugin silent("silent");
  silent.serve(mapper);
  silent.mapperTable().choose_variant = nullptr;
  ASSERT_OK(silent.add());
  ASSERT_OK(tsrSetMapper("silent"));
  EXPECT_EQ(decide(), TSR_SUCCESS);
  EXPECT_OK(tsrSetMapper(nullptr));
}

} // namespace
