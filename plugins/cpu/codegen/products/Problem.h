// What a body of a matrix product is called with. The lowering of a kernel fills it in; bodies are compiled
// when Tessera is built and linked into images by name.
#pragma once
#include <cstdint>

namespace tessera::cpu::product {

/// Batch axes of a product; more are refused when the kernel is compiled.
inline constexpr int64_t kMostBatchAxes = 6;

/// The ways in which a body computes a product. ByExtents: the body chooses. Schedule IR may name another one
/// (compiler/schedule/IR/VariantBodies.cpp); where that cannot compute a product, panels do.
enum class Way : int64_t { ByExtents, Dot, Row, Columns, TwoByTwo, Shared, Flat, Small, Skinny, Panels };
inline constexpr const char *kWayNames[] = {"",       "dot",  "row",   "columns", "two_by_two",
                                            "shared", "flat", "small", "skinny",  "panels"};
/// What each of them computes, for the report that panels replaced it.
inline constexpr const char *kWayNeeds[] = {
    "",
    "few rows or columns along a k that both operands, or a copy of few columns, have next to each other",
    "one row, with B as it is stored",
    "few columns of f32 or f64, with A transposed",
    "batches of 2x2x2 without gaps (narrow ones by AVX-512), with A transposed or B as it is stored",
    "products as wide as deep that fill vectors, or divide one of AVX-512, with B as it is stored",
    "tiny products of f32 or f64 without gaps by AVX-512",
    "few rows and columns of f32 or f64, with B as it is stored",
    "few rows, with B as it is stored",
    "every product"};

/// Runs the epilogue of programs [begin, end), like a kernel (CpuKernelFn).
using Epilogue = void (*)(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch);

/// C = A * B for each index of the batch, as a grid of blocks of C. All fields have eight bytes. Strides are
/// in elements. Tensors are contiguous along their last axis.
struct Problem {
  const void *a, *b; // at the first index of the batch
  void *c;           // null: the epilogue stores the results
  int64_t rows, columns, depth;
  int64_t strideA, strideB, strideC; // between rows, as the tensors are stored
  int64_t blockRows, blockColumns;   // of a program
  /// The batch, outermost axis first. A stride of 0 repeats the operand.
  int64_t batchAxes;
  int64_t batchExtent[kMostBatchAxes], batchA[kMostBatchAxes], batchB[kMostBatchAxes], batchC[kMostBatchAxes];
  /// A block of results is passed to the epilogue at an address in values[slot], from which the element at
  /// [row, column] of the whole product is row * blockColumns + column elements away. `values` belongs to the
  /// call.
  Epilogue epilogue;
  uint64_t *values;
  int64_t slot;
  int64_t epilogueScratch; // bytes, a multiple of 64
  Way way;
  int64_t *isReplaced; // set to 1 if panels computed it instead of `way`; null if the body chooses
  int64_t isChain;     // 1: each element is one chain over k, so no way of another order may be chosen
};

/// Computes the blocks [begin, end) of the grid: linear number (batch * blocks of columns + column block) *
/// blocks of rows + row block. `scratch` is aligned to 64 bytes and belongs to the call; the epilogue's is
/// its beginning.
using Body = void (*)(const Problem *, int64_t begin, int64_t end, uint8_t *scratch);

/// Bytes of scratch that a body needs after the epilogue's, for blocks of these extents. An epilogue needs a
/// block in scratch.
inline constexpr int64_t kPanelBytes = int64_t{512} << 10;   // a panel of B
inline constexpr int64_t kRowsOfABytes = int64_t{192} << 10; // a block of rows of a transposed A
inline constexpr int64_t kResultBytes = int64_t{128} << 10;  // results that wait for the epilogue
inline constexpr int64_t resultBytes(int64_t blockRows, int64_t blockColumns, int64_t elementBytes) {
  const int64_t block = blockRows * blockColumns * elementBytes;
  return block > kResultBytes ? block : kResultBytes;
}

} // namespace tessera::cpu::product
