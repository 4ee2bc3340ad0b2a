// The floating-point modes that Tessera's own arithmetic wants, whatever those of the calling program are.
#pragma once
#include <cfenv>

namespace tessera {

/// The default floating-point environment while it lives: rounds to nearest, keeps subnormals, traps nothing.
/// Then the thread's own again, its flags included.
class DefaultFloats {
public:
  DefaultFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&before_); }
  DefaultFloats(const DefaultFloats &) = delete;
  DefaultFloats &operator=(const DefaultFloats &) = delete;

private:
  std::fenv_t before_;
};

} // namespace tessera
