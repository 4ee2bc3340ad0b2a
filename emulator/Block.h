// One block of a launch, or one cluster of blocks: its lanes, its shared memory, and the operations in which
// lanes meet. The lanes of a cluster's blocks follow each other, and each block has a part of the memory.
//
// Lanes run on fibres. A lane that reaches an operation of several lanes (a barrier, a shuffle) stops and
// keeps its fibre; the last one to reach it completes the operation for all. So lanes may take different ways
// in between, as on the hardware.
#pragma once
#include "emulator/BlockReads.h"
#include "emulator/Boxes.h"
#include "emulator/Fibres.h"
#include "emulator/LaneStates.h"
#include "emulator/Launch.h"
#include "emulator/Matrix.h"
#include "emulator/TensorMemory.h"
#include "emulator/Warpgroup.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tessera::emulator {

class Checker;

/// How an operation of a warp uses the values that its lanes bring.
enum class Meeting : uint8_t {
  Barrier,
  Exchange,
  Shuffle,
  Vote,
  LoadMatrix,
  StoreMatrix,
  ReadBlock,
  Multiply,
  SharedProduct,
  Tensor,
  SetRegisters
};

/// What a lane brings to an operation of its warp.
struct Request {
  Meeting meeting = Meeting::Barrier;
  int32_t kind =
      0; // of shuffles, votes, loads and stores of matrices (isTransposed) and products (MatrixInstruction)
  uint32_t mask = 0, value = 0, lane = 0, clamp = 0;
  MatrixOperands matrix = {};
  SharedProduct product = {};
  BlockRead block = {};
};

/// Shared memory of a block begins at a multiple of this, so that the low bits of an address are those that
/// the hardware sees. The blocks of a cluster have as many bytes each.
constexpr uint64_t kArenaBytes = 256 << 10;

/// Used by one host thread at a time; may be used for several blocks and launches, one after another.
class Block {
public:
  /// `lanes` are those of all blocks of a cluster.
  Block(int lanes, int warp);

  /// Runs block, or cluster, `index` of the launch. Returns false if it failed; the launch's report then has
  /// the reason.
  bool run(Launch &launch, int64_t index);
  int lanes() const { return int(lanes_.size()); }
  int warpSize() const { return warp_; }

  // Of the lane that runs, called by it.

  /// The block that runs in the calling host thread.
  static Block &current();
  uint32_t coordinate(int32_t which) const;
  const uint32_t *gridSize() const { return grid_; }
  /// The memory of the lane's block; of all blocks of the cluster.
  uint8_t *ownShared() { return shared_ + rankOf(running_) * kArenaBytes; }
  uint8_t *shared() { return shared_; }
  /// Arrives in barrier `number` of so many lanes in all, whole warps; 0: of all lanes of the block. If it
  /// `waits`, it waits until all have arrived.
  void barrier(int32_t number, int32_t count, bool waits, int32_t site);
  uint32_t meetWarp(const Request &, int32_t site);
  /// Starts a copy into shared memory of `copied` of `bytes` bytes, the others become zeros. It is done when
  /// the lane waits for its group.
  void copyAsync(void *to, const void *from, int32_t bytes, int32_t copied, int32_t site);
  /// Ends the group of the copies that the lane started since the last call.
  void commitCopies() { ++lanes_[static_cast<size_t>(running_)].groups; }
  /// Completes the lane's copies except those of the last `pending` groups and those of no group.
  void awaitCopies(int32_t pending);
  // Products.cpp: products of matrices in shared memory. Such a product is computed at once, but what it
  // reads must not be written, nor its sums be used, until the lanes wait for its group.
  void startProduct(const SharedProduct &, int32_t site);
  void fenceProducts() { lanes_[static_cast<size_t>(running_)].isFenced = true; }
  void commitProducts() { ++lanes_[static_cast<size_t>(running_)].productGroups; }
  void awaitProducts(int32_t pending);
  /// The lane uses sums of the operation `number` for anything but a further product.
  void useSums(int32_t number, int32_t site);
  // BlockBoxes.cpp: copies of boxes, and the words in shared memory that count their arrival. A copy is done
  // when no lane can run without it.
  void initArrivals(void *word, uint32_t count, int32_t site);
  void expectBytes(void *word, uint32_t bytes, int32_t site);
  /// The copy is done, and arrives, at the same place of each block of the cluster whose bit `ranks` has; 0:
  /// of the lane's own.
  void copyBox(void *to, const EmulatedTensorMap *map, const int32_t *coordinates, void *word, uint32_t ranks,
               int32_t site);
  void awaitBytes(void *word, uint32_t parity, int32_t site);
  // BlockTensors.cpp: tensor memory. A product is computed when no lane can run without it.
  void allocateTensor(void *place, uint32_t columns, int32_t site);
  void relinquishTensor(int32_t site);
  void freeTensor(uint32_t address, uint32_t columns, int32_t site);
  /// The product's sums start at `address`; `descriptor` is that of the instruction.
  void startTensorProduct(SharedProduct, uint32_t address, uint32_t descriptor, bool adds, int32_t site);
  void commitTensorProducts(void *word, int32_t site);
  void loadTensor(uint32_t address, uint32_t count, bool isHalf, uint32_t *words, int32_t number,
                  int32_t site);
  void awaitTensorLoads();
  void fenceTensor(bool isAfterMeeting);
  void arrive(void *word, int32_t site);
  // BlockStores.cpp: stores of boxes. Shared memory is read when the lane waits for that, tensors are written
  // when it waits for the whole store, or ends.
  void storeBox(const EmulatedTensorMap *map, const int32_t *coordinates, const void *from, int32_t site);
  void commitStores() { ++lanes_[static_cast<size_t>(running_)].storeGroups; }
  void awaitStores(int32_t pending, bool onlyReads);
  // BlockClusters.cpp: blocks that run together and access each other's shared memory.
  /// The place in block `rank` of the cluster that `place` is in the lane's own.
  void *mapToRank(void *place, uint32_t rank, int32_t site);
  void arriveInCluster(int32_t site);
  void awaitCluster(int32_t site);
  // BlockRegisters.cpp: the registers of the block, of which every lane has `atEntry` when it starts. The
  // lane's group of warps gives some back, or waits until so many are free that each lane has `count`.
  void setRegisters(int32_t count, int32_t atEntry, bool increases, int32_t site);
  /// Lets other lanes run, until it is this lane's turn again.
  void leave();
  /// Adds to the multiply-adds that are executed outside of matrix instructions.
  void countMultiplyAdds(int64_t number) { counts_.others += number; }
  void countAccess(bool isStore) { ++(isStore ? counts_.stores : counts_.reads); }
  /// For each access, in a random schedule.
  void maybePause();
  /// Ends the block, after an error was reported.
  [[noreturn]] void end();

  Launch &launch() { return *launch_; }
  int lane() const { return running_; }
  /// Of the first block, and of a lane's.
  int64_t index() const { return index_; }
  int64_t indexOf(int lane) const { return index_ + rankOf(lane); }
  int blocks() const { return blocks_; }
  int rankOf(int lane) const { return blocks_ == 1 ? 0 : lane / blockLanes_; }
  /// Of a block; from the first byte of the cluster's first block to the last one of its last.
  size_t sharedBytes() const { return sharedBytes_; }
  size_t spannedBytes() const { return static_cast<size_t>(blocks_ - 1) * kArenaBytes + sharedBytes_; }
  /// "byte 16 of shared memory", in a cluster with the rank of the block.
  std::string nameOfShared(uint64_t offset) const;
  /// Are these bytes, counted from the cluster's first one, in the memory of one of its blocks?
  bool isInShared(uint64_t offset, uint64_t bytes) const {
    return offset / kArenaBytes < static_cast<uint64_t>(blocks_) && bytes <= sharedBytes_ &&
           offset % kArenaBytes <= sharedBytes_ - bytes;
  }

private:
  /// Reports a box that begins within 16 bytes of a row, and ends the block then.
  void requireAlignedBox(const EmulatedTensorMap &map, const int32_t *coordinates, const char *verb,
                         int32_t site);
  using State = LaneState;
  struct Copy {
    void *to;
    const void *from;
    int32_t bytes, copied, site;
    int64_t group;
  };
  /// What a product reads, in chunks of 16 bytes, until all lanes of its warpgroup have awaited it.
  struct Reads {
    std::vector<uint32_t> chunks;
    int lanes;
  };
  struct Product {
    int32_t number, site;
    int64_t group;
    std::shared_ptr<Reads> reads; // of all lanes of the warpgroup
  };
  struct BoxCopy {
    std::vector<BoxChunk> chunks;
    uint32_t word, bytes; // the offset of the word
    int32_t site;
  };
  struct BoxStore {
    std::vector<BoxChunk> chunks; // those with elements of the tensor, that were not written
    std::vector<uint8_t> bytes;   // that were read
    int64_t group;
    int32_t site;
    bool isRead = false;
  };
  /// A barrier of a block in the phase that has begun.
  struct Barrier {
    int32_t number = 0, count = 0; // of lanes that it is for
    int arrived = 0;
    std::vector<int> passed = {}; // lanes that have arrived and do not wait
    int32_t site = 0;             // of the last arrival
  };
  /// What a lane is doing, and how often it has done it. Each block begins with the values that are here.
  struct Progress {
    int fibre = -1;      // it has not begun
    int32_t site = 0;    // where it has stopped
    int32_t barrier = 0; // AtBarrier
    uint32_t result = 0;
    int64_t groups = 0;               // of copies, that ended
    int64_t productGroups = 0;        // that ended
    int64_t storeGroups = 0;          // that ended
    uint32_t awaited = 0, parity = 0; // AtArrivals: the offset of the word, and the phase
    bool isFenced = false;            // nothing has used the registers of products since wgmma.fence
    bool isTensorFenced = false;      // since it has met other lanes or waited for arrivals
    uint64_t clusterArrivals = 0, clusterWaits = 0;
  };
  struct Lane : Progress {
    Request request;
    std::vector<Copy> copies;        // that were not awaited, in order
    std::vector<Product> products;   // that were not awaited
    std::vector<BoxStore> boxStores; // that were not awaited, in order
    std::vector<TensorLoad> loads;   // that products do not follow yet

    void reset() {
      static_cast<Progress &>(*this) = {};
      copies.clear(), products.clear(), boxStores.clear(), loads.clear();
    }
  };

  /// Runs lanes on one fibre, one after the other: a lane needs a stack of its own only if it begins before
  /// one that has stopped goes on.
  static void body(void *self, int fibre);
  /// The fibre of the lane, that of its number if it has not begun.
  int fibreOf(int lane);
  /// Returns the lane to run after that which runs, or -1 if none can.
  int next();
  void stop(State state, int32_t site);
  /// Lets the lanes go on that are in `state`.
  void wake(State state);
  /// How many lanes are in `state`, and the first of them.
  struct Waiting {
    int count = 0, first = -1;
  };
  Waiting lanesIn(State state) const;
  void completeBarrier(int32_t key);
  /// What lanes wait for in barriers, as the end of a report; "": none does.
  std::string waitsInBarriers() const;
  /// Reports arrivals in a barrier that no lane has waited for.
  bool explainPassed();
  void completeCluster();
  void endLane(int lane);
  bool explainCluster();
  void completeWarp(int first, int last);
  void completeMatrix(int first, int last);
  void completeProduct(int first, int last);
  void completeBlockRead(int first, int last);
  uint32_t offsetOf(const void *word, int32_t site);
  Arrivals &arrivalsAt(uint32_t offset, int32_t site);
  void finish(const BoxCopy &);
  void read(BoxStore &);
  void write(BoxStore &);
  void endStores(int lane);
  void endPhase(uint32_t offset, Arrivals &);
  bool deliver();
  bool deliverProducts();
  void finish(const TensorMemory::Work &);
  void failTensor(const char *code, int32_t site, const std::string &what);
  /// Reports loads of tensor memory that nothing orders before `what` overwrites or frees it.
  void requireLoaded(uint32_t first, uint32_t count, const char *what, int32_t site);
  void requireTensorFence(const char *what, int32_t site);
  bool explainTensor();
  void explainStop();
  bool explainArrivals();
  bool explainRegisters();
  std::string who(int lane) const;

  Fibres fibres_;
  std::vector<Lane> lanes_;
  LaneStates states_;
  const int warp_;
  std::vector<uint8_t> memory_;
  uint8_t *shared_ = nullptr; // aligned in memory_
  size_t sharedBytes_ = 0;
  int blocks_ = 1, blockLanes_; // of the cluster; of one block
  Launch *launch_ = nullptr;
  int64_t index_ = 0;
  uint32_t position_[3] = {}, grid_[3] = {1, 1, 1};
  std::vector<uint64_t> values_;
  Counts counts_;
  int running_ = -1, ended_ = 0;
  std::map<int32_t, Barrier> barriers_; // that lanes have arrived in, by their block and number
  int clusterArrived_ = 0;              // lanes, in the phase of the cluster's barrier
  uint64_t clusterPhase_ = 0;           // that have ended
  std::map<int, int64_t> registers_;    // of a lane, by group of warps; the others have those at entry
  std::vector<int64_t> freeRegisters_;  // that groups have given back, by block
  bool failed_ = false;
  bool isRoundOver_ = false;              // a barrier is complete: the next round begins with the first lane
  std::map<uint32_t, Arrivals> arrivals_; // by offset in shared memory
  int64_t lastCopied_ = 0;                // bytes of the last copy of a box
  std::deque<BoxCopy> boxes_;             // that have not arrived, in the order of their starts
  TensorMemory tensor_;
  std::minstd_rand random_;
};

} // namespace tessera::emulator
