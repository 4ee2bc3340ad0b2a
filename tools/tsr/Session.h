// One kernel on one device through the C ABI: context, module, buffers, launches.
#pragma once
#include "tools/tsr/Bind.h"
#include <tessera/tessera.h>

namespace tessera::cli {

/// How something failed: what to say, and with which exit status.
struct Failure {
  Error error;
  int exitStatus = exitUser;
  bool said = false; // the compiler's diagnostics have been shown already
};
using MaybeFailure = std::optional<Failure>;

class Session {
public:
  Session() = default;
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session(); // ends the context and with it everything else

  /// A context on `backend`; empty: the environment's choice or the best there is.
  [[nodiscard]] MaybeFailure open(const std::string &backend);
  /// Compiles the one kernel named. Diagnostics go to stderr; so does a note per fallback if `showNotes`.
  [[nodiscard]] MaybeFailure compile(std::string_view source, const CompileOptions &, bool showNotes);
  /// Takes device memory for every tensor and fills it: inputs copied, the others zero.
  [[nodiscard]] MaybeFailure place(const Binding &);
  /// Puts the initial values back into what the kernel reads and writes.
  [[nodiscard]] MaybeFailure restore(const Binding &);
  /// Launches and waits.
  [[nodiscard]] MaybeFailure run();
  /// Copies one tensor back; `param` is its index in the binding.
  [[nodiscard]] MaybeFailure fetch(const Binding &, size_t param, npy::Bytes &out);

  const tsr_device_info_t &device() const { return device_; }
  std::string metadata() const;

private:
  MaybeFailure check(tsr_status_t, std::string_view doing) const;
  MaybeFailure fill(const BoundParam &, void *target);

  tsr_context_t context_ = nullptr;
  tsr_module_t module_ = nullptr;
  tsr_kernel_t kernel_ = nullptr;
  tsr_device_info_t device_ = {};
  std::vector<void *> buffers_;   // by parameter; null for scalars
  std::vector<uint64_t> values_;  // scalars and dims, in argument order
  std::vector<void *> arguments_; // as tsrLaunch wants them
};

} // namespace tessera::cli
