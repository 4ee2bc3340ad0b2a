// What plugins see when the process ends.
#include "core/test/fakes/FakeFixture.h"
#include <unistd.h>

using namespace tessera::test;

namespace {

void say(const char *text) { (void)!write(2, text, std::strlen(text)); }

using Ending = FakeTest;

/// Ends the process without destroying the mocks.
void end(bool ok) {
  GMOCK_FLAG_SET(catch_leaked_mocks, false);
  std::exit(ok ? 0 : 1);
}

TEST_F(Ending, AMapperIsDestroyedBeforeItsPluginIsShutDown) {
  NiceMock<MockMapper> mapper;
  FakePlugin chooser("chooser");
  chooser.serve(mapper);
  static auto destroy = chooser.mapperTable().destroy;
  chooser.mapperTable().destroy = [](tsr_mp_mapper_t *m) {
    say("destroyed, ");
    destroy(m);
  };
  chooser.onShutdown([] { say("shut down"); });
  auto use = [&] {
    const bool ok = chooser.add() == TSR_SUCCESS && tsrSetMapper("chooser") == TSR_SUCCESS;
    end(ok);
  };
  EXPECT_EXIT(use(), testing::ExitedWithCode(0), "destroyed, shut down");
}

TEST_F(Ending, ABackendWithoutContextsIsShutDown) {
  plugin.serve(backend);
  plugin.onShutdown([] { say("shut down"); });
  auto use = [&] {
    bool ok = plugin.add() == TSR_SUCCESS && create() == TSR_SUCCESS;
    ok = ok && tsrDestroyContext(context) == TSR_SUCCESS;
    end(ok);
  };
  EXPECT_EXIT(use(), testing::ExitedWithCode(0), "shut down");
}

TEST_F(Ending, OneWithALiveContextIsNot) {
  plugin.serve(backend);
  plugin.onShutdown([] { say("shut down"); });
  auto use = [&] {
    const bool ok = plugin.add() == TSR_SUCCESS && create() == TSR_SUCCESS;
    end(ok);
  };
  EXPECT_EXIT(use(), testing::ExitedWithCode(0), testing::Not(HasSubstr("shut down")));
}

} // namespace
