// What the lanes of a block do. Sets of bits answer the two questions that every operation asks, which lane
// runs next and whether a warp has met, without a visit to each lane.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::emulator {

enum class LaneState : uint8_t { Ready, AtBarrier, AtWarp, AtArrivals, AtRegisters, AtCluster, Done };

/// All lanes are ready at first.
class LaneStates {
public:
  explicit LaneStates(int lanes)
      : states_(static_cast<size_t>(lanes)), ready_(states_.size() / 64 + 2), atWarp_(ready_.size()) {
    reset();
  }
  void reset() {
    std::ranges::fill(states_, LaneState::Ready);
    for (size_t word = 0; word < ready_.size(); ++word)
      ready_[word] = word < states_.size() / 64    ? ~uint64_t{0}
                     : word == states_.size() / 64 ? (uint64_t{1} << states_.size() % 64) - 1
                                                   : 0;
    std::ranges::fill(atWarp_, 0);
  }
  LaneState operator[](int lane) const { return states_[static_cast<size_t>(lane)]; }
  void set(int lane, LaneState state) {
    const auto at = static_cast<size_t>(lane);
    states_[at] = state;
    put(ready_[at / 64], at % 64, state == LaneState::Ready);
    put(atWarp_[at / 64], at % 64, state == LaneState::AtWarp);
  }
  /// The first lane after `after` that is ready, or, after the last lane, the first of all; -1: none is.
  int readyAfter(int after) const {
    const int lane = firstReady(static_cast<size_t>(after + 1));
    return lane >= 0 ? lane : firstReady(0);
  }
  /// The last lane before `before` that is ready, or, before the first lane, the last of all; -1: none is.
  int readyBefore(int before) const {
    const int lane = lastReady(static_cast<size_t>(std::max(before, 0)));
    return lane >= 0 ? lane : lastReady(states_.size());
  }
  /// Have the lanes from `first` to `last` - 1, those of one warp, met in an operation? Bit i of `mask` says
  /// whether lane `first` + i takes part. In a warp of more than 32 lanes all do, whatever `mask` is.
  bool haveMet(int first, int last, uint32_t mask) const {
    if (last - first > 32) mask = ~uint32_t{0};
    for (int lane = first; lane < last; lane += 32) {
      const uint32_t wanted = last - lane < 32 ? mask & ((uint32_t{1} << (last - lane)) - 1) : mask;
      if ((atWarp(static_cast<size_t>(lane)) & wanted) != wanted) return false;
    }
    return true;
  }

private:
  static void put(uint64_t &word, size_t bit, bool value) {
    word = (word & ~(uint64_t{1} << bit)) | uint64_t{value} << bit;
  }
  int firstReady(size_t from) const {
    uint64_t bits = ready_[from / 64] & ~uint64_t{0} << from % 64;
    for (size_t word = from / 64; word < ready_.size(); bits = ready_[word])
      if (bits)
        return static_cast<int>(word * 64) + std::countr_zero(bits);
      else if (++word == ready_.size())
        break;
    return -1;
  }
  int lastReady(size_t end) const {
    uint64_t bits = ready_[end / 64] & ((uint64_t{1} << end % 64) - 1);
    for (size_t word = end / 64;; bits = ready_[--word])
      if (bits)
        return static_cast<int>(word * 64) + 63 - std::countl_zero(bits);
      else if (word == 0)
        return -1;
  }
  /// 32 bits, from that of `lane`.
  uint32_t atWarp(size_t lane) const {
    const size_t shift = lane % 64;
    const uint64_t low = atWarp_[lane / 64] >> shift;
    return static_cast<uint32_t>(shift ? low | atWarp_[lane / 64 + 1] << (64 - shift) : low);
  }

  std::vector<LaneState> states_;
  std::vector<uint64_t> ready_, atWarp_; // a bit for each lane, and a word more
};

} // namespace tessera::emulator
