// Actions that make a mocked method fail. A method that throws fails too and needs no action from this file:
// use testing::Throw.
#pragma once
#include <string>
#include <tessera/status.h>
#include <tuple>

namespace tessera::fakes {

namespace detail {
template <class... Args> std::string &lastOf(Args &&...args) {
  return std::get<sizeof...(Args) - 1>(std::tie(args...));
}
} // namespace detail

/// Makes the method return `status` with `text` as its reason: EXPECT_CALL(stream, copy).WillOnce(Fail(...)).
/// For methods that return a status and take `why` last.
inline auto Fail(tsr_status_t status, std::string text) {
  return [status, text](auto &&...args) -> tsr_status_t {
    detail::lastOf(args...) = text;
    return status;
  };
}

/// Makes the method return null with `text` as its reason. For methods that make an object and take `why`
/// last.
inline auto MakeNothing(std::string text) {
  return [text](auto &&...args) -> std::nullptr_t {
    detail::lastOf(args...) = text;
    return nullptr;
  };
}

} // namespace tessera::fakes
