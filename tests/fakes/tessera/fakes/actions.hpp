// What a mocked method does when it goes wrong. Whatever it throws goes wrong too, and needs no action here:
// testing::Throw.
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

/// The method returns `status`, with `text` as its reason: EXPECT_CALL(stream, copy).WillOnce(Fail(...)). For
/// those that return a status and take `why` last.
inline auto Fail(tsr_status_t status, std::string text) {
  return [status, text](auto &&...args) -> tsr_status_t {
    detail::lastOf(args...) = text;
    return status;
  };
}

/// The method returns null, with `text` as its reason. For those that make something and take `why` last.
inline auto MakeNothing(std::string text) {
  return [text](auto &&...args) -> std::nullptr_t {
    detail::lastOf(args...) = text;
    return nullptr;
  };
}

} // namespace tessera::fakes
