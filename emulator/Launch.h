// One launch of a kernel.
#pragma once
#include "emulator/Image.h"
#include "emulator/Report.h"
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <tessera/backend.hpp>
#include <tessera/emulated.hpp>
#include <vector>

namespace tessera::emulator {

class Checker;

/// In which order the lanes of a block run where they need not wait for each other.
enum class Order : uint8_t { Ascending, Descending, Random };
struct Schedule {
  Order order = Order::Ascending;
  uint32_t seed = 0;
  bool isEarly = false; // asynchronous copies are done when they are started, not when they are awaited
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

/// What a launch executed.
struct Counts {
  int64_t instructions = 0;                       // of matrices
  int64_t inMatrices = 0;                         // multiply-adds in these
  int64_t others = 0;                             // fused multiply-adds of lanes; counted in checked code
  int64_t loads = 0;                              // matrices that were loaded from shared memory
  int64_t conflicts = 0;                          // of banks, in these loads
  int64_t storedMatrices = 0, storeConflicts = 0; // the same of stores to it
  int64_t storedBoxes = 0;                        // of tensors
  int64_t copied = 0;                             // bytes of asynchronous copies
  int64_t barriers = 0;                           // of blocks
  int64_t boxes = 0;                              // of tensors, that were copied
  int64_t readInBlocks = 0;                       // bytes of tensors that 2D block reads brought to registers
  int64_t blocks = 0;                             // block reads of sub-groups
  int64_t reads = 0;                              // loads of lanes from tensors, up to 16 bytes each
  int64_t stores = 0;                             // of lanes to tensors, the same; both in checked code
};

/// Thread-safe.
class CountsOfLaunch {
public:
  void add(const Counts &c) {
    std::lock_guard lock(mutex_);
    sum_.instructions += c.instructions, sum_.inMatrices += c.inMatrices, sum_.others += c.others;
    sum_.loads += c.loads, sum_.conflicts += c.conflicts;
    sum_.storedMatrices += c.storedMatrices, sum_.storeConflicts += c.storeConflicts;
    sum_.storedBoxes += c.storedBoxes;
    sum_.readInBlocks += c.readInBlocks, sum_.blocks += c.blocks;
    sum_.copied += c.copied, sum_.barriers += c.barriers, sum_.boxes += c.boxes, sum_.stores += c.stores;
    sum_.reads += c.reads;
  }
  Counts get() const {
    std::lock_guard lock(mutex_);
    return sum_;
  }

private:
  mutable std::mutex mutex_;
  Counts sum_;
};

/// Units of each emulated device, which run one block at once: few, so that tests have more programs.
constexpr int64_t kUnits = 4;

/// Shared by the host threads that run its blocks.
struct Launch {
  const Kernel &kernel;
  const uint64_t *values;
  LaunchGrid grid; // of blocks
  Schedule schedule;
  int64_t registers;          // of a unit
  Checker *checker = nullptr; // null: nothing is checked
  std::vector<EmulatedTensorMap> tensorMaps{};
  Report report{};
  CountsOfLaunch counts{};
  std::atomic<bool> failed{false};
};

} // namespace tessera::emulator
