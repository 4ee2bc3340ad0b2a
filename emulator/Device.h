// A context on an emulated device. Streams do their work before a call returns.
#pragma once
#include "emulator/Launch.h"
#include "emulator/Memory.h"
#include "emulator/Runner.h"
#include <memory>
#include <tessera/backend.hpp>

namespace tessera::emulator {

/// What a variant's text asks for: "emulated[:ARCH][+check][+ascending|descending|random=SEED][+late|early]".
struct Options {
  std::string arch; // "": all of the table
  bool check = false;
  Schedule schedule;
};
/// Returns false with `why` filled if the text is malformed.
[[nodiscard]] bool readOptions(const std::string &variant, Options &out, std::string &why);

/// The properties of one device.
struct DeviceRow {
  DeviceInfo info;
  int warpSize;
  int64_t maxThreads, registers; // of a block, of a unit (0: they are not divided)
  int64_t mostInCluster;         // blocks
  Options options;
};

std::unique_ptr<DeviceContext> makeContext(const DeviceRow &row, Log log, const tsr_allocator_t *allocator);

} // namespace tessera::emulator
