// Tensor memory: its allocation, products that one lane starts, and loads by warps (PTX ISA, "TensorCore 5th
// Generation Instructions").
#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <algorithm>
#include <bit>
#include <utility>

namespace tessera::emulator {
namespace {

/// PTX ISA, "Instruction descriptor" of kinds f16, tf32, f8f6f4 and i8.
struct InstructionDescriptor {
  uint32_t bits;
  uint32_t field(int first, int count) const { return bits >> first & ((1u << count) - 1); }
  uint32_t sum() const { return field(4, 2); }
  uint32_t factor(int operand) const { return field(7 + 3 * operand, 3); }
  bool isAlongK(int operand) const { return field(15 + operand, 1) == 0; }
  int n() const { return static_cast<int>(field(17, 6) * 8); }
  int m() const { return static_cast<int>(field(24, 5) * 16); }
  /// Bits of what is not executed here: sparsity, saturation, negation, and reserved ones.
  bool isPlain() const { return (bits & 0xe080604f) == 0; }
};

} // namespace

void Block::failTensor(const char *code, int32_t site, const std::string &what) {
  launch_->report.add(code, {site, -1},
                      launch_->kernel.image->site(site).place() + ": " + who(running_) + " " + what);
  end();
}

// ---- Allocation, by one warp

void Block::allocateTensor(void *place, uint32_t columns, int32_t site) {
  if (blocks_ > 1)
    failTensor("E_EMU_OPERANDS", site,
               "allocates tensor memory in a cluster, which the emulator does not execute");
  meetWarp({.meeting = Meeting::Tensor, .mask = ~0u, .value = columns}, site);
  if (running_ % warp_) return;
  if (columns < 32 || columns > kTensorColumns || !std::has_single_bit(columns) || tensor_.columns ||
      tensor_.isRelinquished)
    failTensor("E_EMU_ALLOCATION", site,
               "allocates " + std::to_string(columns) +
                   " columns of tensor memory: a power of two from 32 to 512 is allocated once for a block, "
                   "before tcgen05.relinquish_alloc_permit");
  tensor_.allocate(columns, site);
  if (launch_->checker)
    launch_->checker->access(
        place, 4, access_flags::kShared | access_flags::kWrite | 2 << access_flags::kAlignShift, site);
  *static_cast<uint32_t *>(place) = tensor_.first;
}

void Block::relinquishTensor(int32_t site) {
  meetWarp({.meeting = Meeting::Tensor, .mask = ~0u}, site);
  tensor_.isRelinquished = true;
}

void Block::freeTensor(uint32_t address, uint32_t columns, int32_t site) {
  meetWarp({.meeting = Meeting::Tensor, .mask = ~0u, .value = address}, site);
  if (running_ % warp_) return;
  if (!tensor_.columns || address != tensor_.first || columns != tensor_.columns)
    failTensor("E_EMU_ALLOCATION", site,
               "frees tensor memory that the block has not allocated, or freed before");
  requireTensorFence("frees tensor memory", site);
  requireLoaded(tensor_.first, tensor_.columns, "frees", site);
  for (const TensorMemory::Column &column : tensor_.states)
    if (column.site >= 0 && !column.isDone)
      failTensor("E_EMU_NOT_AWAITED", site,
                 "frees tensor memory of the product at " + launch_->kernel.image->site(column.site).place() +
                     ", which was not awaited");
  tensor_.columns = 0;
}

/// The block has ended.
bool Block::explainTensor() {
  if (!tensor_.columns) return false;
  launch_->report.add("E_EMU_ALLOCATION", {tensor_.site, -1},
                      launch_->kernel.image->site(tensor_.site).place() + ": " + who(-1) +
                          " ends without freeing the tensor memory that it allocates here");
  return true;
}

// ---- Order

void Block::fenceTensor(bool isAfterMeeting) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  if (isAfterMeeting) own.isTensorFenced = true;
  for (TensorLoad &load : own.loads)
    if (!isAfterMeeting && load.isAwaited && !load.isFenced) {
      load.isFenced = true;
      if (launch_->checker) load.clock = launch_->checker->clock();
    }
}

void Block::requireTensorFence(const char *what, int32_t site) {
  if (lanes_[static_cast<size_t>(running_)].isTensorFenced) return;
  launch_->report.add(
      "E_EMU_FENCE", {site, -1},
      launch_->kernel.image->site(site).place() + ": " + who(running_) + " " + what +
          " without tcgen05.fence::after_thread_sync since it has met other threads or waited");
}

void Block::requireLoaded(uint32_t first, uint32_t count, const char *what, int32_t site) {
  const Image &image = *launch_->kernel.image;
  for (int lane = 0; lane < lanes(); ++lane)
    std::erase_if(lanes_[static_cast<size_t>(lane)].loads, [&](const TensorLoad &load) {
      if (load.first >= first + count || first >= load.first + load.count) return false;
      const bool isOwn = lane == running_;
      const bool isOrdered = isOwn || !launch_->checker || launch_->checker->isBefore(lane, load.clock);
      if (load.isAwaited && (load.isFenced || isOwn) && isOrdered) return true;
      const char *missing = !load.isAwaited  ? "tcgen05.wait::ld"
                            : !load.isFenced ? "tcgen05.fence::before_thread_sync"
                                             : "no barrier";
      const bool isRace = load.isAwaited && load.isFenced;
      launch_->report.add(isRace ? "E_EMU_RACE" : "E_EMU_FENCE", {load.site, site},
                          image.site(site).place() + ": " + who(running_) + " " + what +
                              " columns of tensor memory that " + who(lane) + " loads at " +
                              image.site(load.site).place() + (isRace ? ": " : ": no ") + missing +
                              " is between them");
      return true;
    });
}

// ---- Products

void Block::startTensorProduct(SharedProduct product, uint32_t address, uint32_t descriptor, bool adds,
                               int32_t site) {
  const InstructionDescriptor d{descriptor};
  using I = MatrixInstruction;
  // The kind, by one of its instructions; the descriptor has the factors' dtype.
  const bool isInteger = product.instruction == I::Tcgen05MxNx32I8,
             isTf32 = product.instruction == I::Tcgen05MxNx8Tf32;
  const auto least = isTf32 ? 2u : 0u, most = isTf32 ? 2u : 1u;
  for (int operand : {0, 1}) {
    product.isAlongK[operand] = d.isAlongK(operand);
    // Bits 46 to 48 have a fixed value; what is beside the fields of wgmma is zero.
    if ((product.descriptors[operand] & 0x3fffc000c000c000) != uint64_t{1} << 46)
      failTensor("E_EMU_OPERANDS", site, "starts a product with a shared memory descriptor of unknown form");
  }
  product.m = d.m(), product.n = d.n();
  if (!d.isPlain() || d.sum() != (isInteger ? 2u : 1u) || d.factor(0) != d.factor(1) || d.factor(0) < least ||
      d.factor(0) > most || (product.m != 128 && product.m != 64) || product.n < 8 || product.n > 256 ||
      product.n % (product.m == 64 && (!isInteger || product.n < 32) ? 8 : 16))
    failTensor("E_EMU_OPERANDS", site,
               "starts a product with an instruction descriptor that is not executed here");
  if (isTf32 && !(product.isAlongK[0] && product.isAlongK[1]))
    failTensor("E_EMU_OPERANDS", site,
               "starts a product of tf32 that are stored along m or n, which needs a swizzle that is not "
               "executed here");
  if (!d.factor(0)) {
    if (isInteger) product.instruction = I::Tcgen05MxNx32U8;
  } else if (product.instruction == I::Tcgen05MxNx16F16) {
    product.instruction = I::Tcgen05MxNx16Bf16;
  } else if (product.instruction == I::Tcgen05MxNx32E4M3) {
    product.instruction = I::Tcgen05MxNx32E5M2;
  }
  const auto count = static_cast<uint32_t>(product.n);
  if (!tensor_.holds(address, count))
    failTensor("E_EMU_ALLOCATION", site,
               "multiplies into " + std::to_string(count) + " columns of tensor memory from " +
                   std::to_string(address) + " on, which the block has not allocated");
  requireTensorFence("starts a product", site);
  requireLoaded(address, count, "multiplies into", site);
  TensorMemory::Work work{.lane = running_, .site = site, .adds = adds, .first = address, .product = product};
  for (int operand : {0, 1})
    forEachChunk(product, operand, [&](uint32_t offset) { work.chunks.push_back(offset); });
  for (uint32_t offset : work.chunks) {
    if (offset + 16 > sharedBytes_)
      failTensor("E_EMU_BOUNDS", site,
                 "starts a product that reads byte " + std::to_string(offset) +
                     " of shared memory, of which the block has " + std::to_string(sharedBytes_) + " bytes");
    if (launch_->checker) launch_->checker->startEngineRead(offset, site);
  }
  for (uint32_t c = address; c < address + count; ++c) {
    TensorMemory::Column &column = tensor_.states[c];
    if (adds && column.site < 0)
      failTensor("E_EMU_UNINITIALIZED", site,
                 "adds to column " + std::to_string(c) + " of tensor memory, which was not written");
    if (column.site >= 0 && column.lane != running_)
      failTensor("E_EMU_RACE", site,
                 "multiplies into column " + std::to_string(c) + " of tensor memory as " + who(column.lane) +
                     " does at " + launch_->kernel.image->site(column.site).place() +
                     ": products of different threads have no order");
    column = {.site = site, .lane = running_, .isHalf = product.m == 64};
  }
  tensor_.queue.push_back(std::move(work));
  if (launch_->schedule.isEarly) {
    const TensorMemory::Work now = std::move(tensor_.queue.back());
    tensor_.queue.pop_back();
    finish(now);
  }
}

void Block::commitTensorProducts(void *word, int32_t site) {
  const uint32_t offset = offsetOf(word, site);
  arrivalsAt(offset, site);
  TensorMemory::Work work{.lane = running_, .site = site, .isCommit = true, .word = offset, .phase = 1};
  if (launch_->checker) {
    launch_->checker->requireWordFence(offset, "the end of products", site);
    work.phase = launch_->checker->nextPhase(offset);
    work.seen = launch_->checker->seen();
  }
  for (TensorMemory::Column &column : tensor_.states) // each commit is for all products before it
    if (column.site >= 0 && column.lane == running_ &&
        std::ranges::find(column.commits, offset, &std::pair<uint32_t, uint32_t>::first) ==
            column.commits.end())
      column.commits.emplace_back(offset, work.phase);
  if (launch_->schedule.isEarly)
    finish(work);
  else
    tensor_.queue.push_back(std::move(work));
}

/// Computes a product, or ends those that the lane has started before its commit.
void Block::finish(const TensorMemory::Work &work) {
  if (!work.isCommit) {
    counts_.inMatrices +=
        multiply(work.product, shared_, work.adds, tensor_.column(work.first), kTensorLanes);
    ++counts_.instructions;
    tensor_.running.push_back(work);
    return;
  }
  std::erase_if(tensor_.running, [&](const TensorMemory::Work &done) {
    if (done.lane != work.lane) return false;
    for (uint32_t offset : done.chunks)
      if (launch_->checker) launch_->checker->endEngineRead(offset, work.word, work.phase, done.site);
    return true;
  });
  for (TensorMemory::Column &column : tensor_.states)
    if (column.lane == work.lane &&
        std::ranges::find(column.commits, std::pair(work.word, work.phase)) != column.commits.end())
      column.isDone = true;
  Arrivals &arrivals = arrivals_.at(work.word);
  if (arrivals.missing == 0) {
    running_ = work.lane;
    launch_->report.add("E_EMU_OPERANDS", {work.site, -1},
                        launch_->kernel.image->site(work.site).place() + ": products of " + who(work.lane) +
                            " arrive once more than the phase of the word at byte " +
                            std::to_string(work.word) + " has arrivals");
    return;
  }
  --arrivals.missing;
  if (launch_->checker) launch_->checker->release(work.word, work.seen);
  endPhase(work.word, arrivals);
}

/// No lane can run: products are done up to the first commit that one waits for. Returns false if there is
/// none.
bool Block::deliverProducts() {
  for (int lane = 0; lane < lanes(); ++lane) {
    if (states_[lane] != State::AtArrivals) continue;
    const uint32_t awaited = lanes_[static_cast<size_t>(lane)].awaited;
    const auto commit = std::ranges::find_if(
        tensor_.queue, [&](const TensorMemory::Work &w) { return w.isCommit && w.word == awaited; });
    if (commit == tensor_.queue.end()) continue;
    for (auto left = commit - tensor_.queue.begin() + 1; left > 0; --left) {
      const TensorMemory::Work work = std::move(tensor_.queue.front());
      tensor_.queue.pop_front();
      finish(work);
    }
    return true;
  }
  return false;
}

// ---- Loads

void Block::loadTensor(uint32_t address, uint32_t count, bool isHalf, uint32_t *words, int32_t number,
                       int32_t site) {
  meetWarp({.meeting = Meeting::Tensor, .mask = ~0u, .value = address}, site);
  const auto warp = static_cast<uint32_t>(running_ / warp_);
  const uint32_t lane = address >> 16, first = address & 0xffff;
  if (lane != warp % 4 * 32)
    failTensor("E_EMU_OPERANDS", site,
               "loads from lane " + std::to_string(lane) + " of tensor memory; its warp has the lanes from " +
                   std::to_string(warp % 4 * 32) + " on");
  if (!tensor_.holds(first, count))
    failTensor("E_EMU_ALLOCATION", site,
               "loads " + std::to_string(count) + " columns of tensor memory from " + std::to_string(first) +
                   " on, which the block has not allocated");
  requireTensorFence("loads from tensor memory", site);
  for (uint32_t c = first; c < first + count; ++c) {
    const TensorMemory::Column &column = tensor_.states[c];
    if (column.site < 0)
      failTensor("E_EMU_UNINITIALIZED", site,
                 "loads column " + std::to_string(c) + " of tensor memory, which was not written");
    auto hasSeen = [&](const auto &commit) { return launch_->checker->hasSeen(commit.first, commit.second); };
    if (!column.isDone || (launch_->checker && std::ranges::none_of(column.commits, hasSeen)))
      failTensor("E_EMU_NOT_AWAITED", site,
                 "loads sums of the product at " + launch_->kernel.image->site(column.site).place() +
                     " from tensor memory, which it has not awaited");
    if (column.isHalf != isHalf)
      failTensor("E_EMU_OPERANDS", site, "loads sums of 64 rows as those of 128, or the other way around");
  }
  // PTX ISA, "Data Movement Shape": 32x32b has a lane of tensor memory for each of the warp, 16x256b the
  // fragments of mma's matrix D in the first 16 lanes.
  const auto own = static_cast<uint32_t>(running_ % warp_);
  if (isHalf)
    for (uint32_t i = 0; i < count / 2; ++i)
      words[i] = tensor_.column(first + i / 4 * 8 + own % 4 * 2 + i % 2)[lane + own / 4 + i / 2 % 2 * 8];
  else
    for (uint32_t i = 0; i < count; ++i)
      words[i] = tensor_.column(first + i)[lane + own];
  lanes_[static_cast<size_t>(running_)].loads.push_back({number, site, first, count});
}

void Block::awaitTensorLoads() {
  for (TensorLoad &load : lanes_[static_cast<size_t>(running_)].loads)
    load.isAwaited = true;
}

} // namespace tessera::emulator
