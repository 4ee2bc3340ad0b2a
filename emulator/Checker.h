// Finds what is undefined on a GPU in the accesses of a kernel to shared and global memory: races,
// uninitialised, misaligned and out-of-bounds accesses.
//
// Races are found by vector clocks (FastTrack, Flanagan and Freund 2009): each lane counts its releases; an
// access is ordered before another one if the lane of the latter has seen the count that the former had. A
// barrier orders all lanes that meet in it, an atomic operation with release orders what precedes it before
// what follows an acquire that reads its value. Each byte has its last writer and two of its readers.
// Between blocks only atomics and fences of a wider scope order, and they do it for whole blocks.
#pragma once
#include "emulator/Block.h"
#include "emulator/Memory.h"
#include "emulator/Parameters.h"
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace tessera::emulator {

/// The checks of one launch, whose blocks run one after another in one host thread.
class Checker {
public:
  Checker(Launch &launch, const Memory &memory);

  void beginBlock(Block &);
  /// These lanes, in ascending order, have met in a barrier; of a block, with those that have arrived in it
  /// under this key.
  void barrier(const std::vector<int> &lanes, int32_t key = -1);
  /// The lane that runs has arrived in such a barrier and does not wait.
  void arriveInBarrier(int32_t key);
  /// An access of the lane that runs; see access_flags.
  void access(const void *address, int32_t bytes, int32_t flags, int32_t site);
  /// An operation of the warp on matrices in shared memory: the lane that runs gives the address of a row of
  /// 16 bytes; it gets or stores an element of 2.
  void matrixRow(const void *address, bool writes, int32_t site);
  void matrixElement(const void *address, bool writes, int32_t site);
  /// A copy into shared memory that the lane that runs has started, and its end. In between nobody may touch
  /// its bytes.
  void startCopy(const void *to, const void *from, int32_t bytes, int32_t copied, int32_t site);
  void endCopy(const void *to, int32_t bytes, int32_t site);
  /// A read of shared memory, at an offset, by a product or a store of a box (`reader`) that the lane that
  /// runs has started, and its end. In between nobody may write its bytes. Such reads are of another proxy
  /// than a lane's own accesses: who has written must have executed a fence of the proxy before they are
  /// ordered.
  void startRead(uint32_t offset, int32_t bytes, int32_t site, const char *reader = "product");
  void endRead(uint32_t offset, int32_t bytes, int32_t site);
  void fenceProxy();
  // CheckerBoxes.cpp: words that count arrivals, by their offsets, and copies of boxes, whose bytes are
  // ordered before what follows the end of the phase in which they arrive.
  void initWord(uint32_t word, int32_t site);
  void useWord(uint32_t word, int32_t site);
  void fenceArrivals();
  void arrive(uint32_t word, int32_t site);
  void endPhase(uint32_t word);
  void passPhase(uint32_t word);
  void startBox(const BoxChunk &, uint32_t word, int32_t site);
  void endBox(uint32_t offset);
  /// A store of what the chunk has in shared memory to a tensor, until it has been read.
  void startStore(const BoxChunk &, int32_t site);
  void endStore(const BoxChunk &, int32_t site);
  /// Reports an engine that arrives in a word whose preparation no fence has made visible to it; `what` does.
  void requireWordFence(uint32_t word, const std::string &what, int32_t site);
  // CheckerClusters.cpp: the barrier of a cluster, and arrivals in shared memory of its other blocks, which
  // must be before these end.
  void arriveInCluster();
  void endClusterPhase();
  void passCluster();
  void endLane(int lane);
  /// Reports an arrival that may come after its block has ended.
  bool findRemoteAfterEnd();
  // Products whose commit arrives in a word: what they read is as startRead's and endRead's, but the reader
  // is the engine. `phase` counts from 1.
  void startEngineRead(uint32_t offset, int32_t site);
  void endEngineRead(uint32_t offset, uint32_t word, uint32_t phase, int32_t site);
  /// What the lane that runs has waited for, such as the bytes that its products read; and the arrival of a
  /// commit before which that was. The lane's own accesses are not ordered by it.
  std::vector<uint32_t> seen() const;
  void release(uint32_t word, const std::vector<uint32_t> &seen) { join(words_.at(word).arrived, seen); }
  uint32_t nextPhase(uint32_t word) const { return words_.at(word).phases + 1; }
  /// Has the lane that runs waited for the phase, or met one that has?
  bool hasSeen(uint32_t word, uint32_t phase) const;
  uint32_t clock() const { return lanes_[static_cast<size_t>(block_->lane())].own; }
  /// Is what `lane` did at `clock` before what the lane that runs does?
  bool isBefore(int lane, uint32_t clock) const {
    return isOrdered({.block = serial_, .clock = clock, .lane = static_cast<uint16_t>(lane)}, block_->lane(),
                     true);
  }
  void atomic(const void *address, int32_t bytes, int32_t flags, int32_t site);
  void fence(int32_t flags);

private:
  using Clocks = std::vector<uint32_t>; // by lane
  /// When and by whom a byte was accessed; block 0: never.
  struct Epoch {
    uint32_t block = 0, clock = 0;
    int32_t site = 0;
    uint16_t lane = 0;
    bool isAtomic = false, isInBlock = false; // atomic to threads of its block only
  };
  struct Cell {
    Epoch write;
    std::array<Epoch, 2> reads; // of different lanes
  };
  using Blocks = std::set<uint32_t>;
  struct Lane {
    uint32_t own = 1;
    Clocks seen, pending, released; // empty: nothing beyond `base_`
    Blocks pendingBlocks, releasedBlocks;
    std::vector<uint32_t> proxyFences; // the counts at which it executed them
    std::vector<uint32_t> wordFences;  // fences of words that count arrivals, likewise
  };
  /// A word that counts arrivals. The engine's writes are those of a lane of its own, `lane`, whose count is
  /// the number of phases.
  struct Word {
    int lane = 0;
    Clocks arrived, released; // what precedes the arrivals of this phase, and those of the ended ones
    uint32_t phases = 0;      // that have ended
    Epoch init;
    size_t proxyFences = 0, wordFences = 0; // that the lane had executed then
  };
  /// What an atomic variable carries from its releases to acquires.
  struct Variable {
    uint32_t block = 0;
    Clocks clocks;
    Blocks blocks; // that released, and those that they had seen
  };
  static constexpr uint64_t kPageBytes = 1024;
  using Page = std::array<Cell, kPageBytes>;

  bool isOrdered(const Epoch &, int lane, bool isShared) const;
  /// Has `by` executed the fence with this number, before what the lane that runs does?
  bool isFenced(const std::vector<uint32_t> &fences, size_t number, int by) const;
  void requireProxyFence(uint32_t offset, const std::string &what, int32_t site);
  void checkPlace(const void *address, int32_t bytes, int32_t flags, int32_t site);
  void touch(const void *address, int32_t bytes, int32_t flags, int32_t site, bool isAtomic);
  Cell *cellsOf(uint64_t address, bool isShared);
  void race(const Epoch &earlier, const char *was, const char *is, uint64_t address, bool isShared,
            int32_t site);
  std::string nameOf(uint64_t address, bool isShared) const;
  std::string nameOfLane(int lane, int64_t first = -1) const;
  Clocks clocksOf(int lane) const;
  static void join(Clocks &into, const Clocks &from);
  /// The blocks whose work is before a release of the block that runs.
  Blocks blocksBefore() const;

  Launch &launch_;
  const Memory &memory_;
  const Parameters parameters_;
  Block *block_ = nullptr;
  uint32_t serial_ = 0;          // of the block, from 1
  std::vector<int64_t> indices_; // of the blocks, by serial_ - 1
  std::vector<Lane> lanes_;
  Clocks base_; // what every lane has seen
  Blocks seenBlocks_;
  std::vector<Cell> shared_;
  std::vector<bool> written_; // bytes of shared memory
  struct InFlight {
    int32_t site = -1; // of a copy that was not awaited; -1: none
    uint16_t lane = 0;
  };
  std::vector<InFlight> inFlight_; // bytes of shared memory
  struct ProxyState {
    int32_t writer = -1; // lane of the last write in this block
    size_t fences = 0;   // of the proxy, that it had executed
    int32_t reads = 0;   // of products and stores of boxes that were not awaited
    int32_t site = -1;   // of one of them, and what it is
    const char *reader = "";
  };
  std::vector<ProxyState> proxy_;    // bytes of shared memory
  std::map<int32_t, Clocks> passed_; // what precedes the arrivals of lanes that do not wait, by barrier
  Clocks clusterArrived_,
      clusterReleased_;      // before the arrivals of this phase of the barrier, and of the last
  std::vector<Clocks> ends_; // what precedes the end of each block's last lane
  std::map<std::pair<int, int>, Epoch> remotes_; // the last arrival of a lane in another block, by its rank
  std::unordered_map<uint32_t, Word> words_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::unordered_map<uint64_t, Variable> variables_;
  uint64_t lastPage_ = UINT64_MAX;
  Page *lastCells_ = nullptr;
  Allocation lastAllocation_{};
};

} // namespace tessera::emulator
