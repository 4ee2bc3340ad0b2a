// The GoogleMock fake of a backend as a loadable plugin: its default behaviour keeps the contract.
#include <tessera/fakes/backend.hpp>
#include <tessera/plugin.hpp>

namespace {
struct Fake final : testing::NiceMock<tessera::fakes::MockBackend> {};
} // namespace

TSR_PLUGIN(Fake);
