// The checks of copies of boxes, and of the words that count their arrival.
#include "emulator/Checker.h"
#include <algorithm>
#include <tessera/emulated.hpp>

namespace tessera::emulator {

void Checker::initWord(uint32_t word, int32_t site) {
  const auto lane = static_cast<uint16_t>(block_->lane());
  const Lane &own = lanes_[lane];
  Word &w = words_[word];
  w.lane = static_cast<int>(lanes_.size() + words_.size()) - 1;
  w.init = {serial_, own.own, site, lane};
  w.proxyFences = own.proxyFences.size(), w.wordFences = own.wordFences.size();
}

/// Reports a lane that nothing orders after the initialisation.
void Checker::useWord(uint32_t word, int32_t site) {
  const Word &w = words_.at(word);
  if (!isOrdered(w.init, block_->lane(), true))
    race(w.init, "initialisation", "use", reinterpret_cast<uint64_t>(block_->shared()) + word, true, site);
}

void Checker::fenceArrivals() {
  Lane &lane = lanes_[static_cast<size_t>(block_->lane())];
  lane.wordFences.push_back(lane.own);
}

void Checker::arrive(uint32_t word, int32_t site) {
  const int lane = block_->lane(), rank = static_cast<int>(word / kArenaBytes);
  if (rank != block_->rankOf(lane))
    remotes_[{lane, rank}] = {serial_, lanes_[static_cast<size_t>(lane)].own, site,
                              static_cast<uint16_t>(lane)};
  join(words_.at(word).arrived, clocksOf(block_->lane()));
  ++lanes_[static_cast<size_t>(block_->lane())].own;
}

void Checker::endPhase(uint32_t word) {
  Word &w = words_.at(word);
  join(w.released, w.arrived);
  const auto own = static_cast<size_t>(w.lane);
  if (w.released.size() <= own) w.released.resize(own + 1);
  w.released[own] = ++w.phases;
}

void Checker::passPhase(uint32_t word) {
  join(lanes_[static_cast<size_t>(block_->lane())].seen, words_.at(word).released);
}

void Checker::requireWordFence(uint32_t word, const std::string &what, int32_t site) {
  const Word &w = words_.at(word);
  const Lane &init = lanes_[w.init.lane];
  if (isFenced(init.wordFences, w.wordFences, w.init.lane) ||
      isFenced(init.proxyFences, w.proxyFences, w.init.lane))
    return;
  const Image &image = *launch_.kernel.image;
  launch_.report.add("E_EMU_FENCE", {w.init.site, site},
                     image.site(site).place() + ": " + what + " arrives in the word at byte " +
                         std::to_string(word) + " of shared memory, which lane " +
                         std::to_string(w.init.lane) + " prepared at " + image.site(w.init.site).place() +
                         ": no fence.mbarrier_init of that lane is between them");
}

void Checker::startBox(const BoxChunk &chunk, uint32_t word, int32_t site) {
  constexpr int32_t kChunk = 16;
  const Word &w = words_.at(word);
  requireWordFence(word, "the copy of a box", site);
  if (chunk.copied) access(chunk.from, static_cast<int32_t>(chunk.copied), 0, site);
  for (uint32_t i = chunk.offset; i < chunk.offset + kChunk; ++i)
    requireProxyFence(i, "the copy of a box writes ", site);
  access(block_->shared() + chunk.offset, kChunk, access_flags::kShared | access_flags::kWrite, site);
  for (uint32_t i = chunk.offset; i < chunk.offset + kChunk; ++i) {
    proxy_[i].writer = -1; // written by the engine
    shared_[i].write = {serial_, w.phases + 1, site, static_cast<uint16_t>(w.lane)};
    inFlight_[i] = {site, static_cast<uint16_t>(block_->lane())};
  }
}

void Checker::endBox(uint32_t offset) {
  for (uint32_t i = offset; i < offset + 16; ++i)
    inFlight_[i].site = -1;
}

void Checker::startStore(const BoxChunk &chunk, int32_t site) {
  const auto bytes = static_cast<int32_t>(chunk.copied);
  startRead(chunk.offset, bytes, site, "store of a box");
  access(chunk.from, bytes, access_flags::kWrite, site);
}

void Checker::endStore(const BoxChunk &chunk, int32_t site) {
  endRead(chunk.offset, static_cast<int32_t>(chunk.copied), site);
}

void Checker::startEngineRead(uint32_t offset, int32_t site) {
  constexpr uint32_t kChunk = 16;
  std::array<std::array<Epoch, 2>, kChunk> reads;
  for (uint32_t i = 0; i < kChunk; ++i)
    reads[i] = shared_[offset + i].reads;
  startRead(offset, kChunk, site);
  for (uint32_t i = 0; i < kChunk; ++i)
    shared_[offset + i].reads = reads[i];
}

void Checker::endEngineRead(uint32_t offset, uint32_t word, uint32_t phase, int32_t site) {
  for (uint32_t i = offset; i < offset + 16; ++i) {
    --proxy_[i].reads;
    shared_[i].reads[1] = {serial_, phase, site, static_cast<uint16_t>(words_.at(word).lane)};
  }
}

std::vector<uint32_t> Checker::seen() const {
  Clocks out = base_;
  join(out, lanes_[static_cast<size_t>(block_->lane())].seen);
  return out;
}

bool Checker::hasSeen(uint32_t word, uint32_t phase) const { return isBefore(words_.at(word).lane, phase); }

} // namespace tessera::emulator
