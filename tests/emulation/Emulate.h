// Runs Target IR on an emulated device, so that a test may write it by hand or change what the compiler made.
#pragma once
#include "compiler/target/IR/TargetDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <tessera/tessera.h>
#include <vector>

namespace tessera::emulation {

/// A context on ptx:emulated, rocm:emulated or levelzero:emulated.
class Device {
public:
  explicit Device(const std::string &backend);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  tsr_context_t handle = nullptr;
};

/// Makes a bundle of the Target IR in `module`, which is changed, for the emulated target `name`
/// ("ptx:emulated:sm_80+check"). Returns the reason in `why` if it is refused.
std::string bundleOf(mlir::ModuleOp module, const std::string &name, std::string &why);

/// Launches the kernel of the bundle, or its only one (""); `arguments` has a value for each parameter.
/// Returns the error's text, or
/// "" if there is none.
std::string launch(Device &device, const std::string &bundle, std::vector<uint64_t> arguments,
                   const std::string &kernel = "");

} // namespace tessera::emulation
