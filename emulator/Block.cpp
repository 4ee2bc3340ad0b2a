#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace tessera::emulator {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr int32_t kBarriers = 16; // of a block (PTX ISA, barrier)
constexpr uint8_t kPoison = 0xcd; // contents of memory that was not written

thread_local Block *running = nullptr;

} // namespace

Block::Block(int lanes, int warp)
    : fibres_(lanes, kStackBytes), lanes_(static_cast<size_t>(lanes)), states_(lanes), warp_(warp),
      blockLanes_(lanes) {}

Block &Block::current() { return *running; }

void Block::body(void *self, int fibre) {
  Block &block = *static_cast<Block *>(self);
  for (;;) {
    block.launch_->kernel.entry(block.values_.data());
    block.endLane(block.running_);
    const int lane = block.failed_ || block.launch_->failed ? -1 : block.next();
    if (lane < 0) return;
    block.running_ = lane;
    if (int &own = block.lanes_[static_cast<size_t>(lane)].fibre; own < 0)
      own = fibre;
    else
      block.fibres_.change(own); // for good
  }
}

int Block::fibreOf(int lane) {
  int &fibre = lanes_[static_cast<size_t>(lane)].fibre;
  return fibre < 0 ? fibre = lane : fibre;
}

bool Block::run(Launch &launch, int64_t index) {
  const KernelSpec &spec = launch.kernel.spec;
  blocks_ = static_cast<int>(spec.cluster[0] * spec.cluster[1] * spec.cluster[2]);
  blockLanes_ = lanes() / blocks_;
  launch_ = &launch, index_ = index * blocks_;
  // Kernels have one axis of blocks, the linearised programs.
  position_[0] = static_cast<uint32_t>(index_), grid_[0] = static_cast<uint32_t>(launch.grid.programs());
  sharedBytes_ = spec.sharedBytes;
  if (memory_.size() < spannedBytes() + kArenaBytes) memory_.resize(spannedBytes() + kArenaBytes);
  shared_ = memory_.data() +
            (kArenaBytes - reinterpret_cast<uintptr_t>(memory_.data()) % kArenaBytes) % kArenaBytes;
  std::memset(shared_, kPoison, spannedBytes());
  values_.assign(launch.values, launch.values + spec.valueCount);
  if (spec.workspaceBytes) values_.push_back(launch.values[spec.valueCount]);
  for (const EmulatedTensorMap &map : launch.tensorMaps)
    values_.push_back(reinterpret_cast<uint64_t>(&map));
  arrivals_.clear(), boxes_.clear();
  tensor_ = {};
  random_.seed(launch.schedule.seed + static_cast<uint32_t>(index_) + 1);
  for (Lane &lane : lanes_)
    lane.reset();
  states_.reset();
  ended_ = 0, clusterArrived_ = 0, clusterPhase_ = 0;
  freeRegisters_.assign(static_cast<size_t>(blocks_), 0);
  barriers_.clear(), registers_.clear();
  counts_ = {};
  failed_ = isRoundOver_ = false;
  if (launch.checker) launch.checker->beginBlock(*this);
  fibres_.restart(body, this);
  Block *outer = std::exchange(running, this);
  running_ = -1;
  while (!failed_) {
    if (const int lane = next(); lane >= 0)
      fibres_.enter(fibreOf(running_ = lane)); // returns when no lane can run
    else if (!deliver() && !deliverProducts())
      break;
    if (launch.failed) failed_ = true; // another block, for which this one may wait
  }
  running = outer;
  if (!failed_ && (ended_ < lanes() || !boxes_.empty())) explainStop();
  if (!failed_) failed_ = explainTensor() || explainPassed();
  if (!failed_ && launch.checker && launch.checker->findRemoteAfterEnd()) failed_ = true;
  if (failed_) launch.failed = true;
  launch.counts.add(counts_);
  return !failed_;
}

int Block::next() {
  const Order order = launch_->schedule.order;
  int after = std::exchange(isRoundOver_, false) ? -1 : running_;
  if (order == Order::Descending) return states_.readyBefore(after);
  if (order == Order::Random) after = static_cast<int>(random_() % static_cast<unsigned>(lanes()));
  return states_.readyAfter(after);
}

void Block::leave() {
  const int lane = failed_ || launch_->failed ? -1 : next();
  if (lane < 0) return fibres_.leave();
  if (lane == std::exchange(running_, lane)) return;
  fibres_.change(fibreOf(lane));
}

void Block::stop(State state, int32_t site) {
  states_.set(running_, state);
  lanes_[static_cast<size_t>(running_)].site = site;
  leave();
}

void Block::wake(State state) {
  for (int lane = 0; lane < lanes(); ++lane)
    if (states_[lane] == state) states_.set(lane, State::Ready);
}

Block::Waiting Block::lanesIn(State state) const {
  Waiting waiting;
  for (int lane = 0; lane < lanes(); ++lane)
    if (states_[lane] == state && waiting.count++ == 0) waiting.first = lane;
  return waiting;
}

void Block::maybePause() {
  if (launch_->schedule.order == Order::Random && random_() % 4 == 0) leave();
}

uint32_t Block::coordinate(int32_t which) const {
  const auto rank = static_cast<uint32_t>(rankOf(running_)),
             lane = static_cast<uint32_t>(running_) - rank * static_cast<uint32_t>(blockLanes_);
  const uint32_t *block = launch_->kernel.spec.block;
  switch (which) {
  case 0:
    return lane < block[0] ? lane : lane % block[0];
  case 1:
    return lane / block[0] % block[1];
  case 2:
    return lane / block[0] / block[1];
  case 12:
    return lane % static_cast<uint32_t>(warp_);
  case 13:
    return lane / static_cast<uint32_t>(warp_);
  case 14:
    return rank;
  default:
    return which == 3  ? position_[0] + rank
           : which < 6 ? position_[which - 3]
           : which < 9 ? grid_[which - 6]
                       : block[(which - 9) % 3];
  }
}

// ---- Barriers of the block

void Block::barrier(int32_t number, int32_t count, bool waits, int32_t site) {
  const int32_t key = number + rankOf(running_) * kBarriers;
  const int all = count ? count : blockLanes_;
  Barrier &barrier = barriers_.try_emplace(key, Barrier{number, all}).first->second;
  auto fail = [&](const std::string &what) {
    launch_->report.add("E_EMU_OPERANDS", {site, barrier.site},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " arrives in barrier " + std::to_string(number) + what);
    end();
  };
  if (number < 0 || number >= kBarriers) fail("; a block has barriers 0 to " + std::to_string(kBarriers - 1));
  if (barrier.count != all)
    fail(" of " + std::to_string(all) + " lanes, in which others have arrived as one of " +
         std::to_string(barrier.count) + " lanes");
  if (std::ranges::find(barrier.passed, running_) != barrier.passed.end())
    fail(" a second time, before its " + std::to_string(all) + " lanes have");
  Lane &own = lanes_[static_cast<size_t>(running_)];
  barrier.site = site;
  ++barrier.arrived;
  if (waits) {
    states_.set(running_, State::AtBarrier);
    own.barrier = key, own.site = site;
  } else {
    barrier.passed.push_back(running_);
    if (launch_->checker) launch_->checker->arriveInBarrier(key);
  }
  if (barrier.arrived == all) return completeBarrier(key);
  if (waits) leave();
}

void Block::completeBarrier(int32_t key) {
  barriers_.erase(key);
  ++counts_.barriers;
  std::vector<int> members;
  for (int lane = 0; lane < lanes(); ++lane) {
    if (states_[lane] == State::AtBarrier && lanes_[static_cast<size_t>(lane)].barrier == key)
      members.push_back(lane);
  }
  if (launch_->checker) launch_->checker->barrier(members, key);
  if (members.empty()) return; // no lane waits
  const int first = members.front();
  const int32_t site = lanes_[static_cast<size_t>(first)].site;
  for (const int lane : members)
    if (const int32_t other = lanes_[static_cast<size_t>(lane)].site; other != site) {
      const Image &image = *launch_->kernel.image;
      launch_->report.add("E_EMU_DIVERGENCE", {other, site},
                          image.site(other).place() + ": lanes of " + who(-1) +
                              " wait at different barriers: " + who(lane) + " at this one, lane " +
                              std::to_string(first) + " at " + image.site(site).place());
      end();
    }
  for (const int lane : members) {
    states_.set(lane, State::Ready);
    lanes_[static_cast<size_t>(lane)].isTensorFenced = false;
  }
  isRoundOver_ = true;
  leave();
}

// ---- Asynchronous copies

namespace {
void perform(void *to, const void *from, int32_t bytes, int32_t copied) {
  std::memcpy(to, from, static_cast<size_t>(copied));
  std::memset(static_cast<char *>(to) + copied, 0, static_cast<size_t>(bytes - copied));
}
} // namespace

void Block::copyAsync(void *to, const void *from, int32_t bytes, int32_t copied, int32_t site) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  if (launch_->checker) launch_->checker->startCopy(to, from, bytes, copied, site);
  if (launch_->schedule.isEarly)
    perform(to, from, bytes, copied);
  else
    std::memset(to, 0xff, static_cast<size_t>(bytes)); // NaNs
  own.copies.push_back({to, from, bytes, copied, site, own.groups});
  counts_.copied += copied;
}

void Block::awaitCopies(int32_t pending) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  std::erase_if(own.copies, [&](const Copy &copy) {
    if (copy.group >= own.groups - pending) return false;
    if (!launch_->schedule.isEarly) perform(copy.to, copy.from, copy.bytes, copy.copied);
    if (launch_->checker) launch_->checker->endCopy(copy.to, copy.bytes, copy.site);
    return true;
  });
}

// ---- Operations of a warp

uint32_t Block::meetWarp(const Request &request, int32_t site) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  states_.set(running_, State::AtWarp);
  own.request = request, own.site = site;
  const bool isOfGroup =
      request.meeting == Meeting::SharedProduct || request.meeting == Meeting::SetRegisters;
  const int group = isOfGroup ? kWarpgroup : warp_;
  const int begin = rankOf(running_) * blockLanes_;
  const int first = begin + (running_ - begin) / group * group,
            last = std::min(first + group, begin + blockLanes_);
  if (states_.haveMet(first, last, request.mask))
    completeWarp(first, last);
  else
    leave();
  return own.result;
}

void Block::completeWarp(int first, int last) {
  const Lane &own = lanes_[static_cast<size_t>(running_)];
  const Request &common = own.request;
  const int count = last - first;
  auto takesPart = [&](int lane) { return count > 32 || (common.mask >> ((lane - first) % 32) & 1); };
  uint32_t votes = 0;
  int members = 0;
  for (int lane = first; lane < last; ++lane) {
    if (!takesPart(lane)) continue;
    const Lane &other = lanes_[static_cast<size_t>(lane)];
    ++members;
    if (other.site != own.site || other.request.mask != common.mask) {
      const Image &image = *launch_->kernel.image;
      launch_->report.add("E_EMU_DIVERGENCE", {own.site, other.site},
                          image.site(own.site).place() +
                              ": lanes of one warp meet in different operations: " + who(running_) +
                              " in this one, " + who(lane) + " in that of " + image.site(other.site).place());
      end();
    }
    if (other.request.value & 1) votes |= 1u << ((lane - first) % 32);
  }
  auto valueOf = [&](int lane, uint32_t otherwise) { // of a lane of the warp, by its number in the warp
    return lane >= 0 && lane < count && takesPart(first + lane)
               ? lanes_[static_cast<size_t>(first + lane)].request.value
               : otherwise;
  };
  for (int lane = first; lane < last; ++lane) {
    if (!takesPart(lane)) continue;
    Lane &to = lanes_[static_cast<size_t>(lane)];
    const Request &r = to.request;
    const int self = lane - first;
    switch (r.meeting) {
    case Meeting::Barrier:
    case Meeting::SetRegisters:
      break;
    case Meeting::Exchange:
      to.result = valueOf(r.kind ? int(uint32_t(self) ^ r.lane) : int(r.lane % uint32_t(count)), 0);
      break;
    case Meeting::Shuffle: { // PTX ISA, shfl.sync: the bits of c are the clamp and, from bit 8, the segment
                             // mask
      const int segment = int(r.clamp >> 8 & 31), clamp = int(r.clamp & 31), b = int(r.lane & 31);
      const int most = (self & segment) | (clamp & ~segment), least = self & segment;
      int from = self;
      bool inside = false;
      if (r.kind == 0) from = self ^ b, inside = from <= most;               // bfly
      if (r.kind == 1) from = self - b, inside = from >= most;               // up
      if (r.kind == 2) from = self + b, inside = from <= most;               // down
      if (r.kind == 3) from = least | (b & ~segment), inside = from <= most; // idx
      to.result = valueOf(inside ? from : self, r.value);
      break;
    }
    case Meeting::Tensor:
      if (r.value != common.value)
        failTensor("E_EMU_OPERANDS", own.site, "lanes of one warp have different addresses or sizes");
      break;
    case Meeting::LoadMatrix:
    case Meeting::StoreMatrix:
    case Meeting::ReadBlock:
    case Meeting::SharedProduct:
    case Meeting::Multiply: // done for all lanes below
      break;
    case Meeting::Vote: // all, any, ballot, uniform: the order of NVVM's attribute is any, all, ballot, uni
      to.result = r.kind == 0   ? votes != 0
                  : r.kind == 1 ? std::popcount(votes) == members
                  : r.kind == 2 ? votes
                                : votes == 0 || std::popcount(votes) == members;
      break;
    }
  }
  if (common.meeting == Meeting::LoadMatrix || common.meeting == Meeting::StoreMatrix ||
      common.meeting == Meeting::Multiply)
    completeMatrix(first, last);
  if (common.meeting == Meeting::SharedProduct) completeProduct(first, last);
  if (common.meeting == Meeting::ReadBlock) completeBlockRead(first, last);
  for (int lane = first; lane < last; ++lane)
    if (takesPart(lane)) states_.set(lane, State::Ready);
  if (common.meeting == Meeting::Barrier && launch_->checker) {
    std::vector<int> members;
    for (int lane = first; lane < last; ++lane)
      if (takesPart(lane)) members.push_back(lane);
    launch_->checker->barrier(members);
  }
}

void Block::completeMatrix(int first, int last) {
  const Lane &own = lanes_[static_cast<size_t>(running_)];
  const Request &common = own.request;
  const auto instruction = static_cast<MatrixInstruction>(common.kind);
  const bool isProduct = common.meeting == Meeting::Multiply,
             isStore = common.meeting == Meeting::StoreMatrix;
  std::array<MatrixOperands, 64> operands; // of the largest warp
  for (int lane = first; lane < last; ++lane)
    operands[static_cast<size_t>(lane - first)] = lanes_[static_cast<size_t>(lane)].request.matrix;
  const std::span all(operands.data(), static_cast<size_t>(last - first));
  if (all.size() != (isProduct ? lanesOf(instruction) : 32)) {
    launch_->report.add("E_EMU_DIVERGENCE", {own.site, -1},
                        launch_->kernel.image->site(own.site).place() + ": a warp of " + who(-1) + " has " +
                            std::to_string(all.size()) + " lanes, too few for this operation of matrices");
    end();
  }
  if (isProduct) {
    const int64_t number = multiply(instruction, all);
    if (!number) {
      launch_->report.add("E_EMU_OPERANDS", {own.site, -1},
                          launch_->kernel.image->site(own.site).place() + ": lanes of " + who(-1) +
                              " that must hold the same elements of a factor hold different ones");
      end();
    }
    counts_.inMatrices += number;
    ++counts_.instructions;
    return;
  }
  const int count = static_cast<int>(common.value), lastLane = running_;
  const int32_t site = own.site;
  auto onAccountOf = [&](size_t lane) -> Checker & {
    running_ = first + static_cast<int>(lane);
    return *launch_->checker;
  };
  if (launch_->checker)
    for (size_t lane = 0; lane < static_cast<size_t>(count) * 8; ++lane)
      onAccountOf(lane).matrixRow(all[lane].a, isStore, site);
  (isStore ? counts_.storedMatrices : counts_.loads) += count;
  for (size_t matrix = 0; matrix < static_cast<size_t>(count); ++matrix)
    (isStore ? counts_.storeConflicts : counts_.conflicts) += conflictsOf(all.subspan(matrix * 8, 8));
  forEachOfMatrices(all, count, common.kind != 0, [&](size_t lane, const char *inMemory, char *ofLane) {
    if (launch_->checker) onAccountOf(lane).matrixElement(inMemory, isStore, site);
    if (isStore)
      std::memcpy(const_cast<char *>(inMemory), ofLane, 2);
    else
      std::memcpy(ofLane, inMemory, 2);
  });
  running_ = lastLane;
}

// ---- Failures

std::string Block::who(int lane) const {
  const std::string block =
      lane >= 0 || blocks_ == 1
          ? "block " + std::to_string(lane < 0 ? index_ : indexOf(lane))
          : "the cluster of blocks " + std::to_string(index_) + " to " + std::to_string(index_ + blocks_ - 1);
  return lane < 0 ? block : "lane " + std::to_string(lane % blockLanes_) + " of " + block;
}

void Block::end() {
  failed_ = true;
  for (;;)
    fibres_.leave();
}

std::string Block::waitsInBarriers() const {
  std::string all;
  for (const auto &[key, barrier] : barriers_)
    if (const auto waiting = barrier.arrived - std::ssize(barrier.passed);
        waiting && barrier.count < blockLanes_)
      all += "; " + std::to_string(waiting) + " lanes wait in barrier " + std::to_string(barrier.number) +
             " (" + launch_->kernel.image->site(barrier.site).place() + "), in which " +
             std::to_string(barrier.arrived) + " of " + std::to_string(barrier.count) + " have arrived";
  return all;
}

bool Block::explainPassed() {
  for (const auto &[key, barrier] : barriers_) {
    launch_->report.add("E_EMU_NOT_AWAITED", {barrier.site, -1},
                        launch_->kernel.image->site(barrier.site).place() + ": " + who(-1) +
                            " ends before a lane has waited for this arrival in barrier " +
                            std::to_string(barrier.number));
    return true;
  }
  return false;
}

/// No lane can run and some have not ended.
void Block::explainStop() {
  failed_ = true;
  const Image &image = *launch_->kernel.image;
  if (explainRegisters() || explainArrivals() || explainCluster()) return;
  const auto [atBarrier, barrierLane] = lanesIn(State::AtBarrier);
  const auto [atWarp, warpLane] = lanesIn(State::AtWarp);
  const int endedLane = lanesIn(State::Done).first;
  if (const std::string all = waitsInBarriers(); !atWarp && !all.empty()) {
    const int32_t site = lanes_[static_cast<size_t>(barrierLane)].site;
    launch_->report.add("E_EMU_DEADLOCK", {site, -1},
                        image.site(site).place() + ": " + who(-1) + " cannot go on" + all);
    return;
  }
  const int waits = barrierLane >= 0 ? barrierLane : warpLane;
  const int32_t site = lanes_[static_cast<size_t>(waits)].site;
  const std::string here = image.site(site).place();
  if (atBarrier && atWarp)
    launch_->report.add("E_EMU_DEADLOCK", {site, lanes_[static_cast<size_t>(warpLane)].site},
                        here + ": " + who(-1) + " cannot go on: " + std::to_string(atBarrier) +
                            " lanes wait at this barrier, " + std::to_string(atWarp) + " in " +
                            image.site(lanes_[static_cast<size_t>(warpLane)].site).operation + " of " +
                            image.site(lanes_[static_cast<size_t>(warpLane)].site).place());
  else if (endedLane >= 0)
    launch_->report.add("E_EMU_DIVERGENCE", {site, -1},
                        here + ": " + image.site(site).operation + " is reached by " +
                            std::to_string(atBarrier + atWarp) + " of " + std::to_string(lanes()) +
                            " lanes of " + who(-1) + " (" + who(waits) + " waits); " + who(endedLane) +
                            " has ended");
  else
    launch_->report.add("E_EMU_DEADLOCK", {site, -1},
                        here + ": " + who(-1) + " cannot go on: " + std::to_string(atWarp) +
                            " lanes wait in " + image.site(site).operation + " for lanes of their warps");
}

} // namespace tessera::emulator
