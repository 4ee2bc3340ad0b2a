// Includes tessera.hpp in a program that defines the same names. The test is that it compiles.
struct Event {};
struct Graph {};
#include <tessera/tessera.hpp>
#include <type_traits>

static_assert(std::is_same_v<decltype(&tessera::Stream::wait),
                             void (tessera::Stream::*)(const tessera::Event &) const>);
static_assert(
    std::is_same_v<decltype(&tessera::Stream::endCapture), tessera::Graph (tessera::Stream::*)() const>);
