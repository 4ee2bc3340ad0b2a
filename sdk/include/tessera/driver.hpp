// A vendor's driver library, loaded on first use. On a machine without the driver the plugin still loads and
// reports what is missing.
#pragma once
#include <dlfcn.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tessera/require_cxx20.hpp>

namespace tessera {

/// A loaded driver library. It is never unloaded, since drivers often do not support that.
class Driver {
public:
  /// Loads the first of the names ("libamdhip64.so.6", then ".5") that the dynamic linker finds.
  explicit Driver(std::initializer_list<const char *> names) {
    for (const char *name : names) {
      if ((object_ = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))) return;
      if (why_.empty()) why_ = std::string(name) + " is not installed or cannot be loaded: " + dlerror();
    }
  }
  explicit operator bool() const { return object_ != nullptr; }
  const std::string &why() const { return why_; }

  /// Finds a function. Returns false, with the name in why(), if the driver is too old to have it.
  template <class F> bool find(F *&function, const char *name) {
    if (!has(function, name) && why_.empty())
      why_ = std::string("the driver has no ") + name + ": it is too old";
    return function;
  }

  /// As find, of a function that newer drivers have: why() stays as it is.
  template <class F> bool has(F *&function, const char *name) {
    function = object_ ? reinterpret_cast<F *>(dlsym(object_, name)) : nullptr;
    return function;
  }

private:
  void *object_ = nullptr;
  std::string why_;
};

template <class F> struct DriverCall;
/// A function of a driver by its symbol. It returns the driver's result.
template <class... P> struct DriverCall<int(P...)> {
  const char *symbol;
  int (*function)(P...) = nullptr;
  int operator()(P... arguments) const { return function(arguments...); }
  /// The name in the driver's documentation.
  std::string_view name() const {
    const std::string_view all = symbol;
    const size_t version = all.rfind("_v");
    return version == all.npos ? all : all.substr(0, version);
  }
};

} // namespace tessera
