#include "emulator/Checker.h"
#include <algorithm>
#include <bit>
#include <tessera/emulated.hpp>

namespace tessera::emulator {
namespace {

const char *verb(int32_t flags, bool isAtomic) {
  return isAtomic ? "atomic access" : flags & access_flags::kWrite ? "write" : "read";
}

} // namespace

Checker::Checker(Launch &launch, const Memory &memory)
    : launch_(launch), memory_(memory), parameters_(launch.kernel.spec.metadata) {}

void Checker::beginBlock(Block &block) {
  block_ = &block;
  ++serial_;
  indices_.push_back(block.index());
  lanes_.assign(static_cast<size_t>(block.lanes()), {});
  base_.assign(static_cast<size_t>(block.lanes()), 0);
  seenBlocks_.clear();
  const size_t bytes = block.spannedBytes();
  shared_.resize(bytes); // older entries are of other blocks
  written_.assign(bytes, false);
  inFlight_.assign(bytes, {});
  proxy_.assign(bytes, {});
  words_.clear(), passed_.clear();
  clusterArrived_.clear(), clusterReleased_.clear(), remotes_.clear();
  ends_.assign(static_cast<size_t>(block.blocks()), {});
}

// ---- Order

void Checker::join(Clocks &into, const Clocks &from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

Checker::Clocks Checker::clocksOf(int lane) const {
  Clocks out = base_;
  join(out, lanes_[static_cast<size_t>(lane)].seen);
  out[static_cast<size_t>(lane)] = lanes_[static_cast<size_t>(lane)].own;
  return out;
}

bool Checker::isOrdered(const Epoch &e, int lane, bool isShared) const {
  if (e.block == 0) return true;
  if (e.block != serial_)
    return isShared || seenBlocks_.contains(e.block); // shared memory is the block's own
  if (e.lane == lane || (e.lane < base_.size() && e.clock <= base_[e.lane])) return true;
  const Clocks &seen = lanes_[static_cast<size_t>(lane)].seen;
  return e.lane < seen.size() && e.clock <= seen[e.lane];
}

void Checker::arriveInBarrier(int32_t key) {
  join(passed_[key], clocksOf(block_->lane()));
  ++lanes_[static_cast<size_t>(block_->lane())].own;
}

void Checker::barrier(const std::vector<int> &lanes, int32_t key) {
  if (std::ssize(lanes) == block_->lanes()) {
    for (Lane &lane : lanes_) { // first what they have seen of arrivals
      join(base_, lane.seen);
      lane.seen.clear();
    }
    for (size_t i = 0; i < lanes_.size(); ++i)
      base_[i] = lanes_[i].own++;
    return;
  }
  Clocks all;
  if (const auto passed = passed_.extract(key)) all = std::move(passed.mapped());
  for (const int lane : lanes)
    join(all, clocksOf(lane));
  for (const int lane : lanes) {
    lanes_[static_cast<size_t>(lane)].seen = all;
    ++lanes_[static_cast<size_t>(lane)].own;
  }
}

void Checker::fence(int32_t flags) {
  Lane &lane = lanes_[static_cast<size_t>(block_->lane())];
  const bool isInBlock = flags & access_flags::kInBlock;
  if (flags & access_flags::kAcquire) {
    join(lane.seen, lane.pending);
    if (!isInBlock) seenBlocks_.insert(lane.pendingBlocks.begin(), lane.pendingBlocks.end());
  }
  if (flags & access_flags::kRelease) {
    lane.released = clocksOf(block_->lane());
    if (!isInBlock) lane.releasedBlocks = blocksBefore();
    ++lane.own;
  }
}

Checker::Blocks Checker::blocksBefore() const {
  Blocks out = seenBlocks_;
  out.insert(serial_);
  return out;
}

void Checker::atomic(const void *address, int32_t bytes, int32_t flags, int32_t site) {
  checkPlace(address, bytes, flags, site);
  touch(address, bytes, flags, site, /*isAtomic=*/true);
  Lane &lane = lanes_[static_cast<size_t>(block_->lane())];
  Variable &v = variables_[reinterpret_cast<uint64_t>(address)];
  if (v.block != serial_ && v.block != 0) v.clocks.clear();
  v.block = serial_;
  const bool isInBlock = flags & access_flags::kInBlock;
  join(lane.pending, v.clocks);
  if (!isInBlock) lane.pendingBlocks.insert(v.blocks.begin(), v.blocks.end());
  if (flags & access_flags::kAcquire) {
    join(lane.seen, v.clocks);
    if (!isInBlock) seenBlocks_.insert(v.blocks.begin(), v.blocks.end());
  }
  if (!(flags & access_flags::kWrite)) return;
  Blocks before = lane.releasedBlocks;
  if (flags & access_flags::kRelease) {
    join(v.clocks, clocksOf(block_->lane()));
    ++lane.own;
    before = blocksBefore();
  } else if (!lane.released.empty()) {
    join(v.clocks, lane.released);
  }
  if (!isInBlock) v.blocks.insert(before.begin(), before.end());
}

// ---- Places

/// `first` is the first block of its cluster; negative: of the one that runs.
std::string Checker::nameOfLane(int lane, int64_t first) const {
  const int rank = block_->rankOf(lane), lanes = block_->lanes() / block_->blocks();
  return "lane " + std::to_string(lane % lanes) + " of block " +
         std::to_string((first < 0 ? block_->index() : first) + rank);
}

std::string Checker::nameOf(uint64_t address, bool isShared) const {
  if (isShared) return block_->nameOfShared(address - reinterpret_cast<uint64_t>(block_->shared()));
  const std::optional<Allocation> in = memory_.find(address);
  return parameters_.describe(launch_.values, launch_.kernel.spec.valueCount, address,
                              in ? in->begin : address);
}

/// Reports a misaligned access and one that is out of bounds, and ends the block then.
void Checker::checkPlace(const void *pointer, int32_t bytes, int32_t flags, int32_t site) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto size = static_cast<uint64_t>(bytes);
  const bool isShared = flags & access_flags::kShared;
  auto lane = [&] { return nameOfLane(block_->lane()); };
  const uint64_t align = uint64_t{1} << (flags >> access_flags::kAlignShift);
  auto here = [&] { return launch_.kernel.image->site(site).place() + ": "; };
  auto what = [&] { return std::string(verb(flags, false)) + " of " + std::to_string(bytes) + " bytes"; };
  bool isInside;
  if (isShared) {
    const auto begin = reinterpret_cast<uint64_t>(block_->shared());
    isInside = address >= begin && block_->isInShared(address - begin, size);
    if (!isInside)
      launch_.report.add("E_EMU_BOUNDS", {site, -1},
                         here() + what() + " by " + lane() + " at byte " +
                             std::to_string(static_cast<int64_t>(address - begin)) +
                             " of shared memory, of which the block has " +
                             std::to_string(block_->sharedBytes()) + " bytes");
  } else {
    if (!lastAllocation_.holds(address, size)) {
      const std::optional<Allocation> found = memory_.find(address);
      lastAllocation_ = found ? *found : Allocation{};
    }
    isInside = lastAllocation_.holds(address, size);
    if (!isInside) {
      const std::optional<Allocation> before = memory_.before(address);
      const uint64_t base = before ? before->begin : address;
      launch_.report.add(
          "E_EMU_BOUNDS", {site, -1},
          here() + what() + " by " + lane() + " is in no allocation of the device; the one before it has " +
              std::to_string(before ? before->bytes : 0) + " bytes, the access would be " +
              parameters_.describe(launch_.values, launch_.kernel.spec.valueCount, address, base));
    }
  }
  const bool isAligned = address % align == 0;
  if (isInside && !isAligned)
    launch_.report.add("E_EMU_ALIGNMENT", {site, -1},
                       here() + what() + " by " + lane() + " to " + nameOf(address, isShared) +
                           " is at an address that is no multiple of " + std::to_string(align));
  if (!isInside || !isAligned) block_->end(); // the host's instructions need both
}

Checker::Cell *Checker::cellsOf(uint64_t address, bool isShared) {
  if (isShared) return &shared_[address - reinterpret_cast<uint64_t>(block_->shared())];
  const uint64_t page = address / kPageBytes;
  if (page != lastPage_) {
    std::unique_ptr<Page> &slot = pages_[page];
    if (!slot) slot = std::make_unique<Page>();
    lastPage_ = page, lastCells_ = slot.get();
  }
  return &(*lastCells_)[address % kPageBytes];
}

// ---- Accesses

void Checker::race(const Epoch &earlier, const char *was, const char *is, uint64_t address, bool isShared,
                   int32_t site) {
  const Image &image = *launch_.kernel.image;
  const bool isOther = earlier.block != serial_;
  const bool isBox = earlier.lane >= lanes_.size(); // written by the engine
  launch_.report.add(
      "E_EMU_RACE", {earlier.site, site},
      image.site(site).place() + ": " + is + " of " + nameOf(address, isShared) + " by " +
          nameOfLane(block_->lane()) + " and " +
          (isBox ? (was == std::string("read") ? "the product that reads it" : "the copy of a box")
                 : was + (" by " + nameOfLane(earlier.lane, indices_[earlier.block - 1]))) +
          " at " + image.site(earlier.site).place() +
          (isOther ? ": nothing orders the two blocks"
           : isBox ? ": the lane has not waited for its arrival"
                   : ": no barrier is between them"));
}

void Checker::touch(const void *pointer, int32_t bytes, int32_t flags, int32_t site, bool isAtomic) {
  const auto begin = reinterpret_cast<uint64_t>(pointer);
  const bool isShared = flags & access_flags::kShared, writes = flags & access_flags::kWrite;
  const int lane = block_->lane();
  const char *is = verb(flags, isAtomic);
  const Epoch now{serial_,  lanes_[static_cast<size_t>(lane)].own, site, static_cast<uint16_t>(lane),
                  isAtomic, (flags & access_flags::kInBlock) != 0};
  bool reported = false;
  for (int32_t i = 0; i < bytes; ++i) {
    const uint64_t address = begin + static_cast<uint64_t>(i);
    Cell &cell = *cellsOf(address, isShared);
    auto conflicts = [&](const Epoch &e) {
      const bool isWide = e.block == serial_ || !(e.isInBlock || now.isInBlock);
      return !(isAtomic && e.isAtomic && isWide) && !isOrdered(e, lane, isShared);
    };
    if (isShared && !reported)
      if (const InFlight &copy = inFlight_[address - reinterpret_cast<uint64_t>(block_->shared())];
          copy.site >= 0) {
        const Image &image = *launch_.kernel.image;
        launch_.report.add("E_EMU_NOT_AWAITED", {copy.site, site},
                           image.site(site).place() + ": " + is + " of " + nameOf(address, true) + " by " +
                               nameOfLane(lane) + ": the copy into it by lane " + std::to_string(copy.lane) +
                               " at " + image.site(copy.site).place() + " was not awaited");
        reported = true;
      }
    if (isShared && writes) {
      ProxyState &proxy = proxy_[address - reinterpret_cast<uint64_t>(block_->shared())];
      proxy.writer = lane, proxy.fences = lanes_[static_cast<size_t>(lane)].proxyFences.size();
      if (proxy.reads && !reported) {
        const Image &image = *launch_.kernel.image;
        launch_.report.add("E_EMU_NOT_AWAITED", {proxy.site, site},
                           image.site(site).place() + ": " + is + " of " + nameOf(address, true) + " by " +
                               nameOfLane(lane) + ": the " + proxy.reader + " at " +
                               image.site(proxy.site).place() + ", which reads it, was not awaited");
        reported = true;
      }
    }
    if (!reported && conflicts(cell.write)) {
      race(cell.write, cell.write.isAtomic ? "atomic access" : "write", is, address, isShared, site);
      reported = true;
    }
    if (writes && !reported)
      for (const Epoch &e : cell.reads)
        if (conflicts(e)) {
          race(e, "read", is, address, isShared, site);
          reported = true;
          break;
        }
    if (isShared) {
      const size_t offset = address - reinterpret_cast<uint64_t>(block_->shared());
      if ((!writes || isAtomic) && !written_[offset]) {
        launch_.report.add("E_EMU_UNINITIALIZED", {site, -1},
                           launch_.kernel.image->site(site).place() + ": " + is + " of " +
                               nameOf(address, true) + " by " + nameOfLane(lane) + ", which was not written");
        written_[offset] = true; // once for the byte
      }
      if (writes) written_[offset] = true;
    }
    if (writes) {
      cell.write = now;
    } else if ((cell.reads[0].block == serial_ && cell.reads[0].lane == lane) ||
               isOrdered(cell.reads[0], lane, isShared)) {
      cell.reads[0] = now;
    } else {
      cell.reads[1] = now;
    }
  }
}

void Checker::access(const void *address, int32_t bytes, int32_t flags, int32_t site) {
  checkPlace(address, bytes, flags, site);
  touch(address, bytes, flags, site, /*isAtomic=*/false);
}

void Checker::startCopy(const void *to, const void *from, int32_t bytes, int32_t copied, int32_t site) {
  const int32_t align = std::countr_zero(static_cast<uint32_t>(bytes)) << access_flags::kAlignShift;
  if (copied) access(from, copied, align, site);
  access(to, bytes, align | access_flags::kShared | access_flags::kWrite, site);
  const size_t first = reinterpret_cast<uint64_t>(to) - reinterpret_cast<uint64_t>(block_->shared());
  for (size_t i = first; i < first + static_cast<size_t>(bytes); ++i)
    inFlight_[i] = {site, static_cast<uint16_t>(block_->lane())};
}

void Checker::endCopy(const void *to, int32_t bytes, int32_t site) {
  const size_t first = reinterpret_cast<uint64_t>(to) - reinterpret_cast<uint64_t>(block_->shared());
  for (size_t i = first; i < first + static_cast<size_t>(bytes); ++i)
    inFlight_[i].site = -1;
  touch(to, bytes, access_flags::kShared | access_flags::kWrite, site, /*isAtomic=*/false);
}

void Checker::startRead(uint32_t offset, int32_t bytes, int32_t site, const char *reader) {
  touch(block_->shared() + offset, bytes, access_flags::kShared, site, /*isAtomic=*/false);
  for (uint32_t i = offset; i < offset + static_cast<uint32_t>(bytes); ++i) {
    ProxyState &proxy = proxy_[i];
    ++proxy.reads, proxy.site = site, proxy.reader = reader;
    requireProxyFence(i, "the " + std::string(reader) + " reads ", site);
  }
}

bool Checker::isFenced(const std::vector<uint32_t> &fences, size_t number, int by) const {
  return number < fences.size() &&
         isOrdered({.block = serial_, .clock = fences[number], .lane = static_cast<uint16_t>(by)},
                   block_->lane(), true);
}

/// Reports an access by another proxy than that of the lane that wrote the byte, if no fence is between them.
void Checker::requireProxyFence(uint32_t offset, const std::string &what, int32_t site) {
  const ProxyState &proxy = proxy_[offset];
  if (proxy.writer < 0 ||
      isFenced(lanes_[static_cast<size_t>(proxy.writer)].proxyFences, proxy.fences, proxy.writer))
    return;
  const Image &image = *launch_.kernel.image;
  const Epoch &write = shared_[offset].write;
  launch_.report.add("E_EMU_FENCE", {write.site, site},
                     image.site(site).place() + ": " + what +
                         nameOf(reinterpret_cast<uint64_t>(block_->shared()) + offset, true) + " of block " +
                         std::to_string(block_->index()) + ", which lane " + std::to_string(proxy.writer) +
                         " wrote at " + image.site(write.site).place() +
                         ": no fence.proxy.async of that lane is between them");
}

void Checker::endRead(uint32_t offset, int32_t bytes, int32_t site) {
  for (uint32_t i = offset; i < offset + static_cast<uint32_t>(bytes); ++i)
    --proxy_[i].reads;
  touch(block_->shared() + offset, bytes, access_flags::kShared, site, /*isAtomic=*/false);
}

void Checker::fenceProxy() {
  Lane &lane = lanes_[static_cast<size_t>(block_->lane())];
  lane.proxyFences.push_back(lane.own);
}

void Checker::matrixRow(const void *address, bool writes, int32_t site) {
  constexpr int32_t kBytes = 16;
  checkPlace(address, kBytes,
             access_flags::kShared | (writes ? access_flags::kWrite : 0) |
                 std::countr_zero(static_cast<uint32_t>(kBytes)) << access_flags::kAlignShift,
             site);
}

void Checker::matrixElement(const void *address, bool writes, int32_t site) {
  touch(address, /*bytes=*/2, access_flags::kShared | (writes ? access_flags::kWrite : 0), site,
        /*isAtomic=*/false);
}

} // namespace tessera::emulator
