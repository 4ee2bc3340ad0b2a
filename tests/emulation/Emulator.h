// Runs a lowered gpu.module on the CPU, so that the code the shared GPU path generates can be tested without
// a GPU.
//
// The kernel is compiled for the host; every thread of a block is a fibre that runs until it ends or reaches
// a barrier. What a GPU would leave undefined is an error here: threads of a block that wait at different
// barriers or end while others wait, and writes past the shared memory that the kernel asked for. Shared
// memory starts as a pattern. Running the threads in both orders shows most missing barriers.
#pragma once
#include "core/metadata/KernelMetadata.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>
#include <span>
#include <string>

namespace tessera::emulation {

enum class Order { Ascending, Descending };

/// One kernel. Not thread-safe; one emulator runs at a time in a process.
class Emulator {
public:
  Emulator();
  /// `module` holds one gpu.module with one kernel; it is changed. Null with the reason.
  static std::unique_ptr<Emulator> load(mlir::ModuleOp module, const KernelMetadata &metadata,
                                        std::string &why);
  ~Emulator();

  /// Runs the blocks one after another. `values` are the launch arguments in the order of the metadata.
  [[nodiscard]] bool launch(std::span<const uint64_t> values, int64_t blocks, Order order, std::string &why);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace tessera::emulation
