// Tensor memory of a block: 128 lanes by 512 columns of 32 bits, which tcgen05 of PTX allocates, multiplies
// into and loads from.
#pragma once
#include "emulator/Warpgroup.h"
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace tessera::emulator {

constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512;

struct TensorMemory {
  /// What a column of sums waits for.
  struct Column {
    int32_t site = -1;   // of the last product; -1: none
    int lane = 0;        // that started it
    bool isHalf = false; // of 64 rows, in the first 16 of each 32 lanes
    bool isDone = false;
    std::vector<std::pair<uint32_t, uint32_t>> commits =
        {}; // the words that they arrive in, and the first phases
  };
  /// A product that was started, with what it reads, or the arrival of those before it in a word.
  struct Work {
    int lane = 0;
    int32_t site = 0;
    bool isCommit = false, adds = false;
    uint32_t word = 0, phase = 0; // of the commit
    uint32_t first = 0;           // column
    SharedProduct product = {};
    std::vector<uint32_t> chunks = {};
    std::vector<uint32_t> seen = {}; // what is before the commit
  };

  uint32_t first = 0, columns = 0; // allocated; 0 columns: none
  int32_t site = -1;               // of the allocation
  bool isRelinquished = false;
  std::vector<uint32_t> cells; // by column and lane
  std::vector<Column> states;  // by column
  std::deque<Work> queue;      // not done, in the order of their starts
  std::vector<Work> running;   // products that are computed and whose commit has not arrived

  bool holds(uint32_t column, uint32_t count) const {
    return columns && column >= first && column + count <= first + columns;
  }
  uint32_t *column(uint32_t number) { return &cells[size_t{number} * kTensorLanes]; }
  void allocate(uint32_t count, int32_t at) {
    // Not from column 0, so that an address that ignores the allocation's is outside of it.
    first = kTensorColumns - count, columns = count, site = at;
    cells.assign(size_t{kTensorColumns} * kTensorLanes, 0xffffffff); // NaNs
    states.assign(kTensorColumns, {});
  }
};

/// A load of a lane, until the next product may overwrite what it reads.
struct TensorLoad {
  int32_t number = 0, site = 0; // of the operation in the program
  uint32_t first = 0, count = 0;
  bool isAwaited = false, isFenced = false; // before threads meet
  uint32_t clock = 0;                       // of the lane, at that fence
};

} // namespace tessera::emulator
