// Copies of boxes by a block's lanes, and the words that count their arrival.
#include "emulator/Block.h"
#include "emulator/Checker.h"
#include <bit>
#include <cstring>

namespace tessera::emulator {

/// Returns where a word is in shared memory, or ends the block.
uint32_t Block::offsetOf(const void *word, int32_t site) {
  const auto offset = static_cast<uint64_t>(static_cast<const uint8_t *>(word) - shared_);
  if (offset % 8 == 0 && isInShared(offset, 8)) return static_cast<uint32_t>(offset);
  launch_->report.add(offset % 8 ? "E_EMU_ALIGNMENT" : "E_EMU_BOUNDS", {site, -1},
                      launch_->kernel.image->site(site).place() + ": " + who(running_) +
                          " counts arrivals at byte " + std::to_string(static_cast<int64_t>(offset)) +
                          " of shared memory, which is no aligned word of its " +
                          std::to_string(sharedBytes_) + " bytes");
  end();
}

Arrivals &Block::arrivalsAt(uint32_t offset, int32_t site) {
  const auto found = arrivals_.find(offset);
  if (found == arrivals_.end()) {
    launch_->report.add("E_EMU_UNINITIALIZED", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " uses the word at " + nameOfShared(offset) +
                            ", which was not prepared by mbarrier.init");
    end();
  }
  if (launch_->checker) launch_->checker->useWord(offset, site);
  return found->second;
}

void Block::initArrivals(void *word, uint32_t count, int32_t site) {
  const uint32_t offset = offsetOf(word, site);
  if (!arrivals_.emplace(offset, Arrivals{count, count}).second || count == 0) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " prepares the word at " + nameOfShared(offset) +
                            " a second time, or for no arrivals");
    end();
  }
  if (launch_->checker) launch_->checker->initWord(offset, site);
}

void Block::endPhase(uint32_t offset, Arrivals &arrivals) {
  if (!arrivals.endPhase()) return;
  if (launch_->checker) launch_->checker->endPhase(offset);
  for (int i = 0; i < lanes(); ++i)
    if (const Lane &lane = lanes_[static_cast<size_t>(i)];
        states_[i] == State::AtArrivals && lane.awaited == offset && arrivals.hasEnded(lane.parity))
      states_.set(i, State::Ready);
}

void Block::expectBytes(void *word, uint32_t bytes, int32_t site) {
  constexpr int64_t kMost = (1 << 20) - 1; // PTX ISA, "Tx-Count of the mbarrier object"
  const uint32_t offset = offsetOf(word, site);
  Arrivals &arrivals = arrivalsAt(offset, site);
  arrivals.bytes += bytes;
  if (arrivals.bytes > kMost) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " expects more than 1048575 bytes in the word at " + nameOfShared(offset));
    end();
  }
  arrive(word, site);
}

void Block::arrive(void *word, int32_t site) {
  const uint32_t offset = offsetOf(word, site);
  Arrivals &arrivals = arrivalsAt(offset, site);
  if (arrivals.missing == 0) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " arrives once more than the phase has arrivals in the word at " +
                            nameOfShared(offset));
    end();
  }
  --arrivals.missing;
  if (launch_->checker) launch_->checker->arrive(offset, site);
  endPhase(offset, arrivals);
}

void Block::requireAlignedBox(const EmulatedTensorMap &map, const int32_t *coordinates, const char *verb,
                              int32_t site) {
  if (isBoxAligned(map, coordinates)) return;
  launch_->report.add("E_EMU_ALIGNMENT", {site, -1},
                      launch_->kernel.image->site(site).place() + ": " + who(running_) + " " + verb +
                          " a box that begins at element " + std::to_string(coordinates[0]) + " of rows of " +
                          std::to_string(map.sizes.strides[0]) +
                          "-byte elements; boxes begin at multiples of 16 bytes");
  end();
}

void Block::copyBox(void *to, const EmulatedTensorMap *map, const int32_t *coordinates, void *word,
                    uint32_t ranks, int32_t site) {
  if (ranks) {
    for (uint32_t rank = 0; rank < 16; ++rank)
      if (ranks >> rank & 1)
        copyBox(mapToRank(to, rank, site), map, coordinates, mapToRank(word, rank, site), 0, site);
    // The tensor is read once.
    const auto others = static_cast<int64_t>(std::popcount(ranks)) - 1;
    counts_.boxes -= others, counts_.copied -= others * lastCopied_;
    return;
  }
  constexpr uint32_t kAlign = 128; // PTX ISA, "Tensor-copy: restrictions"
  const uint32_t atWord = offsetOf(word, site);
  arrivalsAt(atWord, site);
  const auto offset = static_cast<uint64_t>(static_cast<uint8_t *>(to) - shared_);
  BoxCopy copy{{}, atWord, bytesOf(*map), site};
  const std::string here = launch_->kernel.image->site(site).place() + ": ";
  if (!isInShared(offset, copy.bytes) || offset % kAlign) {
    launch_->report.add(offset % kAlign ? "E_EMU_ALIGNMENT" : "E_EMU_BOUNDS", {site, -1},
                        here + who(running_) + " copies " + std::to_string(copy.bytes) + " bytes to byte " +
                            std::to_string(static_cast<int64_t>(offset)) + " of shared memory, which has " +
                            std::to_string(sharedBytes_) +
                            " bytes; copies of boxes begin at multiples of 128");
    end();
  }
  requireAlignedBox(*map, coordinates, "copies", site);
  copy.chunks = chunksOf(*map, coordinates, static_cast<uint32_t>(offset));
  lastCopied_ = 0;
  for (const BoxChunk &chunk : copy.chunks) {
    if (launch_->checker) launch_->checker->startBox(chunk, atWord, site);
    std::memset(shared_ + chunk.offset, 0xff, 16); // NaNs
    lastCopied_ += chunk.copied;
  }
  counts_.copied += lastCopied_;
  ++counts_.boxes;
  if (launch_->schedule.isEarly)
    finish(copy);
  else
    boxes_.push_back(std::move(copy));
}

void Block::finish(const BoxCopy &copy) {
  for (const BoxChunk &chunk : copy.chunks) {
    copyChunk(chunk, shared_);
    if (launch_->checker) launch_->checker->endBox(chunk.offset);
  }
  Arrivals &arrivals = arrivals_.at(copy.word);
  arrivals.bytes -= copy.bytes;
  endPhase(copy.word, arrivals);
}

/// No lane can run: the oldest copy that one waits for arrives. Returns false if there is none.
bool Block::deliver() {
  for (int lane = 0; lane < lanes(); ++lane) {
    if (states_[lane] != State::AtArrivals) continue;
    const auto copy = std::ranges::find(boxes_, lanes_[static_cast<size_t>(lane)].awaited, &BoxCopy::word);
    if (copy == boxes_.end()) continue;
    const BoxCopy done = std::move(*copy);
    boxes_.erase(copy);
    finish(done);
    return true;
  }
  return false;
}

void Block::awaitBytes(void *word, uint32_t parity, int32_t site) {
  const uint32_t offset = offsetOf(word, site);
  Arrivals &arrivals = arrivalsAt(offset, site);
  Lane &own = lanes_[static_cast<size_t>(running_)];
  if (!arrivals.hasEnded(parity & 1)) {
    own.awaited = offset, own.parity = parity & 1;
    stop(State::AtArrivals, site);
  } else {
    maybePause();
  }
  own.isTensorFenced = false;
  if (launch_->checker) launch_->checker->passPhase(offset);
}

/// Reports lanes that wait for arrivals for ever, and copies that nobody has waited for.
bool Block::explainArrivals() {
  const Image &image = *launch_->kernel.image;
  if (const auto [waiting, lane] = lanesIn(State::AtArrivals); waiting) {
    const Lane &first = lanes_[static_cast<size_t>(lane)];
    const Arrivals &arrivals = arrivals_.at(first.awaited);
    launch_->report.add(
        "E_EMU_DEADLOCK", {first.site, -1},
        image.site(first.site).place() + ": " + who(-1) + " cannot go on: " + std::to_string(waiting) +
            " lanes wait for phase " + std::to_string(arrivals.phase) + " of the word at " +
            nameOfShared(first.awaited) + ", in which " + std::to_string(arrivals.missing) +
            " arrivals and " + std::to_string(arrivals.bytes) + " bytes are missing" + waitsInBarriers());
    return true;
  }
  if (ended_ < lanes() || boxes_.empty()) return false;
  const int32_t site = boxes_.front().site;
  launch_->report.add("E_EMU_NOT_AWAITED", {site, -1},
                      image.site(site).place() + ": " + who(-1) +
                          " ends before the copy of a box has arrived");
  return true;
}

} // namespace tessera::emulator
