// The floating-point modes of Tessera's own arithmetic, whatever the modes of the calling program.
#pragma once
#include <cfenv>
#include <cstdint>

namespace tessera {

/// Sets the default floating-point environment during its lifetime: rounds to nearest, keeps subnormals,
/// traps nothing. Then restores the thread's environment, including its flags.
class DefaultFloats {
public:
  DefaultFloats() {
    if (areDefault()) return;
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() {
#if defined(__x86_64__)
    if (wereDefault_) {
      __builtin_ia32_ldmxcsr(control_);
      return;
    }
#endif
    std::fesetenv(&before_);
  }
  DefaultFloats(const DefaultFloats &) = delete;
  DefaultFloats &operator=(const DefaultFloats &) = delete;

private:
  /// Most programs never change the modes, and the functions of <cfenv> take 0.2 us because they save and
  /// load the x87 unit. Its flags are not restored here: nothing that runs under this class computes with it.
  bool areDefault() {
#if defined(__x86_64__)
    constexpr uint32_t kFlags = 0x3F, kDefault = 0x1F80;
    constexpr uint16_t kDefaultX87 = 0x37F;
    uint16_t x87;
    asm volatile("fnstcw %0" : "=m"(x87));
    control_ = __builtin_ia32_stmxcsr();
    wereDefault_ = (control_ & ~kFlags) == kDefault && x87 == kDefaultX87;
    return wereDefault_;
#else
    return false;
#endif
  }
#if defined(__x86_64__)
  uint32_t control_;
  bool wereDefault_;
#endif
  std::fenv_t before_;
};

} // namespace tessera
