// A value, or the error that prevented it.
#pragma once
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

// <tessera/tessera.hpp> has a class tessera::Error, and one program may contain both. This class is therefore
// in another namespace: in a source that includes both headers, `Error` means tessera::Error.
namespace tessera_values {

/// Why an operation failed, in the text shown to the user.
struct Error {
  std::string code;      // stable, E_[A-Z0-9_]+
  std::string message;   // what was found, and what was expected
  std::string hint = {}; // how to fix it; may be empty
};

} // namespace tessera_values

namespace tessera {

using namespace tessera_values;

/// The result of an operation without a value: an Error, or none.
using MaybeError = std::optional<tessera_values::Error>;

/// The result of an operation that can fail: a `T` or an Error. Check it before use.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(tessera_values::Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T &operator*() { return value(); }
  T *operator->() { return &value(); }

  /// Returns the error. Precondition: the operation failed.
  tessera_values::Error &error() {
    assert(!*this && "there is a value");
    return *std::get_if<1>(&state_);
  }

private:
  T &value() {
    assert(*this && "there is an error");
    return *std::get_if<0>(&state_);
  }
  std::variant<T, tessera_values::Error> state_;
};

} // namespace tessera
