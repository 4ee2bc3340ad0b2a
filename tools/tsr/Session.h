// One kernel on one device through the C ABI: context, module, buffers, launches.
#pragma once
#include "tools/tsr/Bind.h"
#include <tessera/tessera.h>

namespace tessera::cli {

/// A failure: the error to print, and the exit status.
struct Failure {
  Error error;
  int exitStatus = exitUser;
  bool said = false; // the compiler's diagnostics have already been printed
};
using MaybeFailure = std::optional<Failure>;

class Session {
public:
  Session() = default;
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session(); // destroys the context and everything made from it

  /// Creates a context on `backend`. Empty: the environment's choice, else the best backend.
  [[nodiscard]] MaybeFailure open(const std::string &backend);
  /// Compiles one kernel. Prints diagnostics to stderr, and with `showNotes` one note per fallback.
  [[nodiscard]] MaybeFailure compile(std::string_view source, const CompileOptions &, bool showNotes);
  /// Loads the bundle that `file` holds and finds its kernel `name`, or the only one if that is empty.
  [[nodiscard]] MaybeFailure load(const std::string &file, const std::string &bundle,
                                  const std::string &name);
  /// Allocates device memory for every tensor and fills it: inputs are copied, the others are zeroed.
  [[nodiscard]] MaybeFailure place(const Binding &);
  /// Restores the initial values of what the kernel writes, where it reads them or a file gave them.
  [[nodiscard]] MaybeFailure restore(const Binding &);
  /// The kernel that was compiled or loaded last. It stays valid when others are.
  tsr_kernel_t kernel() const { return kernel_; }
  /// Makes run() launch a kernel() of before.
  void use(tsr_kernel_t kernel) { kernel_ = kernel; }
  /// Launches the kernel and waits.
  [[nodiscard]] MaybeFailure run();
  /// Copies one tensor back; `param` is its index in the binding.
  [[nodiscard]] MaybeFailure fetch(const Binding &, size_t param, npy::Bytes &out);

  /// Where place() has put a tensor, by its index in the binding; null for a scalar.
  const void *address(size_t param) const { return param < buffers_.size() ? buffers_[param] : nullptr; }
  const tsr_device_info_t &device() const { return device_; }
  std::string metadata() const;
  std::string metadata(const std::string &entry) const; // of another entry of the module

private:
  MaybeFailure check(tsr_status_t, std::string_view doing) const;
  MaybeFailure fill(const BoundParam &, void *target);
  MaybeFailure upload(const BoundParam &, void *target, const npy::Bytes &elements, size_t bytes);
  MaybeFailure download(const BoundParam &, const void *source, npy::Bytes &elements, size_t bytes);

  tsr_context_t context_ = nullptr;
  tsr_module_t module_ = nullptr;
  tsr_kernel_t kernel_ = nullptr;
  tsr_device_info_t device_ = {};
  std::vector<void *> buffers_;   // by parameter; null for scalars
  std::vector<uint64_t> values_;  // scalars and dims, in argument order
  std::vector<void *> arguments_; // in the form that tsrLaunch takes
};

} // namespace tessera::cli
