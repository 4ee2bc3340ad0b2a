// Blocks of a cluster: they run together, access each other's shared memory and meet in a barrier of their
// own.
#include "emulator/Block.h"
#include "emulator/Checker.h"

namespace tessera::emulator {

std::string Block::nameOfShared(uint64_t offset) const {
  return "byte " + std::to_string(offset % kArenaBytes) + " of shared memory" +
         (blocks_ > 1 ? " of rank " + std::to_string(offset / kArenaBytes) : "");
}

void *Block::mapToRank(void *place, uint32_t rank, int32_t site) {
  const auto offset = static_cast<uint64_t>(static_cast<uint8_t *>(place) - shared_);
  if (rank < static_cast<uint32_t>(blocks_) && isInShared(offset, 0))
    return shared_ + rank * kArenaBytes + offset % kArenaBytes;
  launch_->report.add("E_EMU_BOUNDS", {site, -1},
                      launch_->kernel.image->site(site).place() + ": " + who(running_) +
                          " asks for a place in the shared memory of rank " + std::to_string(rank) +
                          " of its cluster, which has " + std::to_string(blocks_) +
                          " blocks, or for one outside of shared memory");
  end();
}

void Block::arriveInCluster(int32_t site) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  if (own.clusterArrivals != own.clusterWaits) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " arrives in the barrier of its cluster a second time without waiting");
    end();
  }
  ++own.clusterArrivals, ++clusterArrived_;
  if (launch_->checker) launch_->checker->arriveInCluster();
  completeCluster();
}

/// Ends the phase of the cluster's barrier in which all lanes that have not ended have arrived.
void Block::completeCluster() {
  if (!clusterArrived_ || clusterArrived_ < lanes() - ended_) return;
  clusterArrived_ = 0, ++clusterPhase_;
  ++counts_.barriers;
  if (launch_->checker) launch_->checker->endClusterPhase();
  wake(State::AtCluster);
}

void Block::awaitCluster(int32_t site) {
  Lane &own = lanes_[static_cast<size_t>(running_)];
  if (own.clusterArrivals == own.clusterWaits) {
    launch_->report.add("E_EMU_OPERANDS", {site, -1},
                        launch_->kernel.image->site(site).place() + ": " + who(running_) +
                            " waits in the barrier of its cluster and has not arrived");
    end();
  }
  if (clusterPhase_ < own.clusterArrivals) stop(State::AtCluster, site);
  ++own.clusterWaits;
  if (launch_->checker) launch_->checker->passCluster();
}

void Block::endLane(int lane) {
  endStores(lane);
  states_.set(lane, State::Done);
  ++ended_;
  if (clusterPhase_ < lanes_[static_cast<size_t>(lane)].clusterArrivals)
    --clusterArrived_; // it is not waited for any more
  if (launch_->checker && blocks_ > 1) launch_->checker->endLane(lane);
  completeCluster();
}

/// Reports lanes that wait for their cluster for ever.
bool Block::explainCluster() {
  const auto [waiting, first] = lanesIn(State::AtCluster);
  if (!waiting) return false;
  const int32_t site = lanes_[static_cast<size_t>(first)].site;
  launch_->report.add("E_EMU_DEADLOCK", {site, -1},
                      launch_->kernel.image->site(site).place() + ": " + who(-1) + " cannot go on: " +
                          std::to_string(waiting) + " lanes wait in its barrier, in which " +
                          std::to_string(lanes() - ended_ - clusterArrived_) + " have not arrived");
  return true;
}

} // namespace tessera::emulator
