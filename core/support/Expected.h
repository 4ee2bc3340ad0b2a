// A value, or why there is none.
#pragma once
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

// <tessera/tessera.hpp> has a class tessera::Error, and one program may hold both. So this one is a member of
// another namespace: a source that includes both headers means the class by `Error`.
namespace tessera_values {

/// Why an operation failed, in the words the user reads.
struct Error {
  std::string code;    // stable, E_[A-Z0-9_]+
  std::string message; // what was found, and what was expected
  std::string hint;    // how to fix it; may be empty
};

} // namespace tessera_values

namespace tessera {

using namespace tessera_values;

/// The result of an operation that gives nothing but success: an Error, or none.
using MaybeError = std::optional<tessera_values::Error>;

/// The result of an operation that can fail: a `T` or an Error. Check it before use.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(tessera_values::Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T &operator*() { return value(); }
  T *operator->() { return &value(); }

  /// Only of a failure.
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
