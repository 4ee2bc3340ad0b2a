// A value, or why there is none.
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace tessera {

/// Why an operation failed, in the words the user reads.
struct Error {
  std::string code;    // stable, E_[A-Z0-9_]+
  std::string message; // what was found, and what was expected
  std::string hint;    // how to fix it; may be empty
};

/// The result of an operation that can fail: a `T` or an Error. Check it before use.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T &operator*() { return value(); }
  T *operator->() { return &value(); }

  /// Only of a failure.
  Error &error() {
    assert(!*this && "there is a value");
    return *std::get_if<1>(&state_);
  }

private:
  T &value() {
    assert(*this && "there is an error");
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

} // namespace tessera
