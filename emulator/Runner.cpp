#include "emulator/Runner.h"
#include "emulator/Checker.h"
#include <algorithm>
#include <system_error>
#include <thread>

namespace tessera::emulator {
namespace {

/// Blocks for which another host thread is worth its start.
constexpr int64_t kBlocksPerThread = 4;

/// Device memory for the blocks' workspaces, for the time of a launch.
class Workspace {
public:
  Workspace(Memory &memory, size_t bytes) : memory_(memory), data(bytes ? memory.allocate(bytes) : nullptr) {}
  ~Workspace() {
    if (data) (void)memory_.release(data);
  }
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;

private:
  Memory &memory_;

public:
  void *const data;
};

} // namespace

std::unique_ptr<Block> Runner::take(int lanes) {
  {
    std::lock_guard lock(mutex_);
    for (auto &block : idle_)
      if (block->lanes() == lanes) {
        std::swap(block, idle_.back());
        auto out = std::move(idle_.back());
        idle_.pop_back();
        return out;
      }
  }
  return std::make_unique<Block>(lanes, warpSize_);
}

void Runner::giveBack(std::unique_ptr<Block> block) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(block));
}

void Runner::report(const Launch &launch) const {
  const Counts counts = launch.counts.get();
  std::string text = "kernel " + launch.kernel.name + " executed " + std::to_string(counts.instructions) +
                     " matrix instructions (" + std::to_string(counts.inMatrices) + " multiply-adds)";
  if (check_) text += " and " + std::to_string(counts.others) + " other fused multiply-adds";
  if (counts.loads)
    text += ", and loaded " + std::to_string(counts.loads) + " matrices with " +
            std::to_string(counts.conflicts) + " bank conflicts";
  if (counts.storedMatrices)
    text += ", and stored " + std::to_string(counts.storedMatrices) + " matrices with " +
            std::to_string(counts.storeConflicts) + " bank conflicts";
  if (counts.copied) text += ", and copied " + std::to_string(counts.copied) + " bytes asynchronously";
  if (counts.boxes) text += ", " + std::to_string(counts.boxes) + " boxes";
  if (counts.blocks)
    text += ", and read " + std::to_string(counts.readInBlocks) + " bytes in " +
            std::to_string(counts.blocks) + " blocks";
  if (counts.barriers) text += ", and passed " + std::to_string(counts.barriers) + " barriers of blocks";
  if (counts.reads) text += ", and loaded " + std::to_string(counts.reads) + " times from tensors";
  if (counts.stores) text += ", and stored " + std::to_string(counts.stores) + " times to tensors";
  if (counts.storedBoxes) text += ", and stored " + std::to_string(counts.storedBoxes) + " boxes";
  if (log_.call) log_.call(log_.user, TSR_LOG_NOTE, "N_EMULATED", text.c_str());
}

tsr_status_t Runner::run(const Kernel &kernel, const uint64_t *values, const LaunchGrid &grid, Memory &memory,
                         std::string &why) {
  const KernelSpec &spec = kernel.spec;
  const auto inCluster = int64_t{spec.cluster[0]} * spec.cluster[1] * spec.cluster[2];
  const int64_t most = std::max(kUnits / inCluster, int64_t{1}) * inCluster; // whole clusters
  const int64_t blocks = spec.isPersistent ? std::min(grid.programs(), most) : grid.programs();
  if (blocks % inCluster) {
    why = "kernel " + kernel.name + ": " + std::to_string(blocks) +
          " programs are no multiple of its cluster of " + std::to_string(inCluster);
    return TSR_EINVAL;
  }
  const int lanes = static_cast<int>(spec.block[0] * spec.block[1] * spec.block[2] * inCluster);
  const Workspace workspace(memory, spec.workspaceBytes * static_cast<size_t>(blocks));
  if (spec.workspaceBytes && blocks && !workspace.data) {
    why = "kernel " + kernel.name + ": no memory for its workspace";
    return TSR_EOOM;
  }
  std::vector<uint64_t> all(values, values + spec.valueCount);
  all.push_back(reinterpret_cast<uint64_t>(workspace.data));
  Launch launch{kernel, all.data(), {blocks}, schedule_, registers_};
  for (const tsr_be_tensor_map_t &map : spec.tensorMaps) {
    launch.tensorMaps.push_back({sizesOf(map, values), map.swizzle});
    if (const std::string fault = whyNoMap(launch.tensorMaps.back()); !fault.empty()) {
      why = "kernel " + kernel.name + ": the tensor map of value " + std::to_string(map.value) + ": " + fault;
      return TSR_EINVAL;
    }
  }
  std::unique_lock<std::mutex> checking;
  std::unique_ptr<Checker> checker;
  if (check_) {
    checking = std::unique_lock(checking_);
    checker = std::make_unique<Checker>(launch, memory);
    launch.checker = checker.get();
  }
  const int64_t clusters = blocks / inCluster;
  std::atomic<int64_t> next{0};
  auto work = [&] {
    std::unique_ptr<Block> block = take(lanes);
    for (int64_t i; !launch.failed && (i = next++) < clusters;)
      if (!block->run(launch, schedule_.order == Order::Descending ? clusters - 1 - i : i)) break;
    giveBack(std::move(block));
  };
  {
    std::vector<std::jthread> others;
    const int64_t mostThreads = check_ ? 1 : std::max<int64_t>(1, std::thread::hardware_concurrency());
    try {
      while (static_cast<int64_t>(others.size()) + 1 < std::min(mostThreads, clusters / kBlocksPerThread))
        others.emplace_back(work);
    } catch (const std::system_error &) { // no more threads can be started
    }
    work();
  }
  report(launch);
  if (launch.report.isEmpty()) return TSR_SUCCESS;
  why = launch.report.text();
  return TSR_EDEVICE;
}

} // namespace tessera::emulator
