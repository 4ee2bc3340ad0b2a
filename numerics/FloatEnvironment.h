// The floating-point modes of Tessera's own arithmetic, whatever the modes of the calling program.
#pragma once
#include <cfenv>

namespace tessera {

/// Sets the default floating-point environment during its lifetime: rounds to nearest, keeps subnormals,
/// traps nothing. Then restores the thread's environment, including its flags.
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
