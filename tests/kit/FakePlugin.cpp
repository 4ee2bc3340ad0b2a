// The GoogleMock fake of a backend as a plugin that can be loaded: what it does by itself keeps the contract.
#include <tessera/fakes/backend.hpp>
#include <tessera/plugin.hpp>

namespace {
struct Fake final : testing::NiceMock<tessera::fakes::MockBackend> {};
} // namespace

TSR_PLUGIN(Fake);
