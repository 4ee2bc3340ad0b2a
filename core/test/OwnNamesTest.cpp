// tessera.hpp in a program that has names like its own: compiling is the test.
struct Event {};
struct Graph {};
#include <tessera/tessera.hpp>
#include <type_traits>

static_assert(std::is_same_v<decltype(&tessera::Stream::wait),
                             void (tessera::Stream::*)(const tessera::Event &) const>);
static_assert(
    std::is_same_v<decltype(&tessera::Stream::endCapture), tessera::Graph (tessera::Stream::*)() const>);
