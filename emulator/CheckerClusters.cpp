// The checks of a cluster's blocks.
#include "emulator/Checker.h"

namespace tessera::emulator {

void Checker::arriveInCluster() {
  join(clusterArrived_, clocksOf(block_->lane()));
  ++lanes_[static_cast<size_t>(block_->lane())].own;
}

void Checker::endClusterPhase() {
  clusterReleased_ = std::move(clusterArrived_);
  clusterArrived_.clear();
}

void Checker::passCluster() { join(lanes_[static_cast<size_t>(block_->lane())].seen, clusterReleased_); }

void Checker::endLane(int lane) { join(ends_[static_cast<size_t>(block_->rankOf(lane))], clocksOf(lane)); }

bool Checker::findRemoteAfterEnd() {
  for (const auto &[lanes, arrival] : remotes_) {
    const auto [lane, rank] = lanes;
    if (ends_[static_cast<size_t>(rank)][static_cast<size_t>(lane)] >= arrival.clock) continue;
    launch_.report.add("E_EMU_NOT_AWAITED", {arrival.site, -1},
                       launch_.kernel.image->site(arrival.site).place() + ": " + nameOfLane(lane) +
                           " arrives in shared memory of block " + std::to_string(block_->index() + rank) +
                           ", which may have ended: it has not waited for its cluster since");
    return true;
  }
  return false;
}

} // namespace tessera::emulator
