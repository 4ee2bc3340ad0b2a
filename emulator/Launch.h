// One launch of a kernel.
#pragma once
#include "emulator/Image.h"
#include "emulator/Report.h"
#include <atomic>
#include <cstdint>
#include <string>
#include <tessera/backend.hpp>

namespace tessera::emulator {

class Checker;

/// In which order the lanes of a block run where they need not wait for each other.
enum class Order : uint8_t { Ascending, Descending, Random };
struct Schedule {
  Order order = Order::Ascending;
  uint32_t seed = 0;
};

/// A kernel with what its launches need.
struct Kernel final : DeviceKernel {
  Kernel(const KernelSpec &spec, std::shared_ptr<const Image> image, Image::Entry entry)
      : DeviceKernel(spec.valueCount), spec(spec), name(kernelName(spec.name)), image(std::move(image)),
        entry(entry) {}
  const KernelSpec spec;
  const std::string name;
  const std::shared_ptr<const Image> image;
  const Image::Entry entry;
};

/// Shared by the host threads that run its blocks.
struct Launch {
  const Kernel &kernel;
  const uint64_t *values;
  LaunchGrid grid;
  Schedule schedule;
  Checker *checker = nullptr; // null: nothing is checked
  Report report{};
  std::atomic<bool> failed{false};
};

} // namespace tessera::emulator
