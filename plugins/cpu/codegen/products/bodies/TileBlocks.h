// Blocks of products in tile registers of AMX: 2 x 2 tiles of 16 rows of 16 words.
#pragma once
#include "plugins/cpu/codegen/products/bodies/Context.h"
#include <immintrin.h>

namespace tessera::cpu::product {
namespace {

constexpr int64_t kTileRows = 16, kBlockTiles = 2;
template <class T> using TileKernels = MicroKernel<T>[kBlockTiles][kBlockTiles]; // by tiles along M and N

/// Configures all tiles as whole ones while it lives: the operands of edges are packed in whole tiles, too.
/// No tile has a value but inside a micro-kernel, and epilogues, which are generated code, use no tiles.
class TileConfiguration {
public:
  TileConfiguration() {
    struct alignas(64) Memory { // of ldtilecfg
      uint8_t palette = 1, startRow = 0, reserved[14] = {};
      uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static constexpr Memory whole;
    static_assert(sizeof whole == 64);
    _tile_loadconfig(&whole);
  }
  TileConfiguration(const TileConfiguration &) = delete;
  TileConfiguration &operator=(const TileConfiguration &) = delete;
  ~TileConfiguration() { _tile_release(); }
};

/// What WordPanels multiplies packed operands by.
template <class T> class TileBlocks {
public:
  static constexpr int64_t kStep = 16;
  /// Two tiles' columns of a panel are 32 KB, which stay in a first-level cache while all rows use them.
  static constexpr int64_t kMostDepth = 256;
  static constexpr bool kRowsOfA = true;
  explicit TileBlocks(const TileKernels<T> &kernels) : kernels_(kernels) {}

  void multiply(int64_t words, int64_t rows, int64_t columns, const T *a, int64_t strideA, const T *b,
                int64_t strideB, T *c, int64_t strideC, int64_t fresh) {
    for (int64_t j = 0; j < columns; j += kSide)
      for (int64_t r = 0; r < rows; r += kSide) {
        const int64_t height = least(kSide, rows - r), width = least(kSide, columns - j);
        const MicroKernel<T> kernel = kernels_[(height - 1) / kTileRows][(width - 1) / kTileRows];
        T *to = c + r * strideC + j;
        if (height % kTileRows == 0 && width % kTileRows == 0) {
          kernel(words, a + r * strideA, strideA, b + j, strideB, to, strideC, 0, fresh);
          continue;
        }
        // At an edge C has no room for whole tiles.
        alignas(64) T edge[kSide * kSide];
        if (!fresh) copy(to, strideC, edge, kSide, height, width);
        kernel(words, a + r * strideA, strideA, b + j, strideB, edge, kSide, 0, fresh);
        copy(edge, kSide, to, strideC, height, width);
      }
  }

private:
  static constexpr int64_t kSide = kBlockTiles * kTileRows;
  static void copy(const T *from, int64_t strideFrom, T *to, int64_t strideTo, int64_t rows,
                   int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; j += kLanes<T>)
        storeFirst(to + r * strideTo + j, loadFirst<Vector<T>>(from + r * strideFrom + j, columns - j),
                   columns - j);
  }

  const TileKernels<T> &kernels_;
};

} // namespace
} // namespace tessera::cpu::product
