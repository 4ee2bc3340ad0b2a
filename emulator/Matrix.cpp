#include "emulator/Matrix.h"
#include "emulator/Formats.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace tessera::emulator {
namespace {

struct Position {
  int row, column;
};
/// Returns where the i-th element that a lane holds is in the matrix.
using PositionFn = Position (*)(int i, int lane);

enum class Sum { F32, I32, F64 };
size_t bytesOf(Sum sum) { return sum == Sum::F64 ? 8 : 4; }
double readSum(Sum sum, const void *p) {
  return sum == Sum::F32   ? double(bitsAt<float>(p))
         : sum == Sum::I32 ? bitsAt<int32_t>(p)
                           : bitsAt<double>(p);
}
void writeSum(Sum sum, double value, void *p) {
  const auto f32 = static_cast<float>(value);
  if (sum == Sum::F64)
    std::memcpy(p, &value, sizeof value);
  else if (sum == Sum::F32)
    std::memcpy(p, &f32, sizeof f32);
  else { // wraps; a sum of 32 products is far from the end of an i64
    const auto i32 = static_cast<uint32_t>(static_cast<int64_t>(value));
    std::memcpy(p, &i32, sizeof i32);
  }
}

/// C (m x n) += A (m x k) * B (k x n). The matrices are spread over `lanes` lanes.
struct Instruction {
  int m, n, k, lanes;
  const Format &factor;
  Sum sum;
  PositionFn a, b, c;
  int copies = 1; // of each element of A and B
};

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type". There, groupID is lane / 4 and
// threadID_in_group is lane % 4.
Position mmaA(int i, int lane) {
  const bool isLow = (i >= 0 && i < 2) || (i >= 4 && i < 6);
  return {lane / 4 + (isLow ? 0 : 8), lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Position mmaB(int i, int lane) { return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4}; }
Position mmaC(int i, int lane) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

// The same of m16n8k8 (f16), m16n8k8 (tf32), m16n8k32, m8n8k16 and m8n8k4.
Position mma8A(int i, int lane) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }
Position mma8B(int i, int lane) { return {lane % 4 * 2 + i, lane / 4}; }
Position tf32A(int i, int lane) { return {lane / 4 + (i & 1 ? 8 : 0), lane % 4 + (i < 2 ? 0 : 4)}; }
Position tf32B(int i, int lane) { return {lane % 4 + (i ? 4 : 0), lane / 4}; }
Position mma32A(int i, int lane) {
  const bool isLow = i < 4 || (i >= 8 && i < 12);
  return {lane / 4 + (isLow ? 0 : 8), lane % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Position mma32B(int i, int lane) { return {lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane / 4}; }
Position small16A(int i, int lane) { return {lane / 4, lane % 4 * 4 + i}; }
Position small16B(int i, int lane) { return {lane % 4 * 4 + i, lane / 4}; }
Position small4A(int, int lane) { return {lane / 4, lane % 4}; }
Position small4B(int, int lane) { return {lane % 4, lane / 4}; }
Position smallC(int i, int lane) { return {lane / 4, lane % 4 * 2 + i}; }

// AMD's matrix instruction calculator, V_MFMA_F32_32X32X8_BF16_1K and V_MFMA_F32_16X16X16_BF16_1K: four
// consecutive elements along k; of D, blocks of four rows.
Position mfma32A(int i, int lane) { return {lane % 32, 4 * (lane / 32) + i}; }
Position mfma32B(int i, int lane) { return {4 * (lane / 32) + i, lane % 32}; }
Position mfma32C(int i, int lane) { return {8 * (i / 4) + 4 * (lane / 32) + i % 4, lane % 32}; }
Position mfma16A(int i, int lane) { return {lane % 16, 4 * (lane / 16) + i}; }
Position mfma16B(int i, int lane) { return {4 * (lane / 16) + i, lane % 16}; }
Position mfma16C(int i, int lane) { return {4 * (lane / 16) + i, lane % 16}; }
// Eight consecutive elements along k: V_MFMA_I32_32X32X16_I8, V_MFMA_I32_16X16X32_I8,
// V_MFMA_F32_16X16X32_FP8.
Position mfma32x16A(int i, int lane) { return {lane % 32, 8 * (lane / 32) + i}; }
Position mfma32x16B(int i, int lane) { return {8 * (lane / 32) + i, lane % 32}; }
Position mfma16x32A(int i, int lane) { return {lane % 16, 8 * (lane / 16) + i}; }
Position mfma16x32B(int i, int lane) { return {8 * (lane / 16) + i, lane % 16}; }
// V_MFMA_F64_16X16X4_F64: of D, every fourth row.
Position mfmaF64A(int, int lane) { return {lane % 16, lane / 16}; }
Position mfmaF64B(int, int lane) { return {lane / 16, lane % 16}; }
Position mfmaF64C(int i, int lane) { return {4 * i + lane / 16, lane % 16}; }

// RDNA 3 ISA, "Wave Matrix Multiply Accumulate": a lane holds a row of A and a column of B, which lanes 16 to
// 31 hold once more; of D, every other row.
Position wmmaA(int i, int lane) { return {lane % 16, i}; }
Position wmmaB(int i, int lane) { return {i, lane % 16}; }
Position wmmaC(int i, int lane) { return {2 * i + lane / 16, lane % 16}; }

// OpenCL extension cl_intel_subgroup_matrix_multiply_accumulate: element i of B and of C is of row i, and of
// the lane's column. Of A, element i is of row i: one value of 16 bits or two of 8 in sub-groups of 16 lanes,
// two or four in those of 8.
Position dpasRows(int i, int lane) { return {i, lane}; }
Position dpasA2(int i, int lane) { return {i / 2, 2 * lane + i % 2}; }
Position dpasA4(int i, int lane) { return {i / 4, 4 * lane + i % 4}; }
// ..._accumulate_tf32: the 16 lanes hold two rows of A, element by element.
Position dpasTf32A(int i, int lane) { return {2 * i + lane / 8, lane % 8}; }

const Instruction &instructionOf(MatrixInstruction which) {
  using enum Sum;
  static constexpr Format i8 = kPlain<int8_t>, u8 = kPlain<uint8_t>, f64 = kPlain<double>;
  static constexpr Instruction kAll[] = {
      {16, 8, 16, 32, kBf16, F32, mmaA, mmaB, mmaC},
      {16, 8, 16, 32, kF16, F32, mmaA, mmaB, mmaC},
      {16, 8, 8, 32, kF16, F32, mma8A, mma8B, mmaC},
      {16, 8, 8, 32, kTf32, F32, tf32A, tf32B, mmaC},
      {16, 8, 32, 32, kE4M3, F32, mma32A, mma32B, mmaC},
      {16, 8, 32, 32, kE5M2, F32, mma32A, mma32B, mmaC},
      {16, 8, 32, 32, i8, I32, mma32A, mma32B, mmaC},
      {16, 8, 32, 32, u8, I32, mma32A, mma32B, mmaC},
      {8, 8, 16, 32, i8, I32, small16A, small16B, smallC},
      {8, 8, 16, 32, u8, I32, small16A, small16B, smallC},
      {8, 8, 4, 32, f64, F64, small4A, small4B, smallC},
      {32, 32, 8, 64, kBf16, F32, mfma32A, mfma32B, mfma32C},
      {32, 32, 8, 64, kF16, F32, mfma32A, mfma32B, mfma32C},
      {16, 16, 16, 64, kBf16, F32, mfma16A, mfma16B, mfma16C},
      {16, 16, 16, 64, kF16, F32, mfma16A, mfma16B, mfma16C},
      {16, 16, 32, 64, kE4M3Fnuz, F32, mfma16x32A, mfma16x32B, mfma16C},
      {32, 32, 8, 64, i8, I32, mfma32A, mfma32B, mfma32C},
      {16, 16, 16, 64, i8, I32, mfma16A, mfma16B, mfma16C},
      {32, 32, 16, 64, i8, I32, mfma32x16A, mfma32x16B, mfma32C},
      {16, 16, 32, 64, i8, I32, mfma16x32A, mfma16x32B, mfma16C},
      {16, 16, 4, 64, f64, F64, mfmaF64A, mfmaF64B, mfmaF64C},
      {16, 16, 16, 32, kBf16, F32, wmmaA, wmmaB, wmmaC, /*copies=*/2},
      {16, 16, 16, 32, kF16, F32, wmmaA, wmmaB, wmmaC, /*copies=*/2},
      {16, 16, 16, 32, i8, I32, wmmaA, wmmaB, wmmaC, /*copies=*/2},
      {16, 16, 16, 32, u8, I32, wmmaA, wmmaB, wmmaC, /*copies=*/2},
      {8, 16, 16, 16, kBf16, F32, dpasRows, dpasRows, dpasRows},
      {8, 16, 16, 16, kF16, F32, dpasRows, dpasRows, dpasRows},
      {8, 16, 32, 16, i8, I32, dpasA2, dpasRows, dpasRows},
      {8, 16, 32, 16, u8, I32, dpasA2, dpasRows, dpasRows},
      {8, 8, 16, 8, kBf16, F32, dpasA2, dpasRows, dpasRows},
      {8, 8, 16, 8, kF16, F32, dpasA2, dpasRows, dpasRows},
      {8, 8, 32, 8, i8, I32, dpasA4, dpasRows, dpasRows},
      {8, 8, 32, 8, u8, I32, dpasA4, dpasRows, dpasRows},
      {8, 16, 8, 16, kTf32, F32, dpasTf32A, dpasRows, dpasRows},
  };
  static_assert(std::size(kAll) == static_cast<size_t>(MatrixInstruction::Wgmma64xNx16Bf16));
  return kAll[static_cast<size_t>(which)];
}

constexpr int kMostExtent = 32; // of an instruction
using Square = std::array<double, kMostExtent * kMostExtent>;
/// Where in a Square the elements are that lanes hold: those of lane 0, then those of lane 1, and so on.
using Places = std::vector<uint16_t>;

Places placesOf(PositionFn position, int lanes, int count) {
  Places places;
  for (int lane = 0; lane < lanes; ++lane)
    for (int i = 0; i < count; ++i) {
      const auto [row, column] = position(i, lane);
      places.push_back(static_cast<uint16_t>(row * kMostExtent + column));
    }
  return places;
}

struct Fragments {
  Places a, b, c;
};
/// Computed once: a position takes longer than the multiply-adds of its element.
const Fragments &fragmentsOf(MatrixInstruction which) {
  static const auto kAll = [] {
    std::vector<Fragments> all;
    for (int i = 0; i < static_cast<int>(MatrixInstruction::Wgmma64xNx16Bf16); ++i) {
      const Instruction &x = instructionOf(static_cast<MatrixInstruction>(i));
      all.push_back({placesOf(x.a, x.lanes, x.m * x.k * x.copies / x.lanes),
                     placesOf(x.b, x.lanes, x.k * x.n * x.copies / x.lanes),
                     placesOf(x.c, x.lanes, x.m * x.n / x.lanes)});
    }
    return all;
  }();
  return kAll[static_cast<size_t>(which)];
}

/// Calls `visit` with each element that lanes hold and its place.
template <typename Pointer, typename Visit>
void forEachHeld(std::span<const MatrixOperands> lanes, Pointer MatrixOperands::*held, const Places &places,
                 size_t bytes, Visit visit) {
  const size_t count = places.size() / lanes.size();
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    using Byte = std::conditional_t<std::is_same_v<Pointer, void *>, char, const char>;
    auto *const first = static_cast<Byte *>(lanes[lane].*held);
    for (size_t i = 0; i < count; ++i)
      visit(first + i * bytes, places[lane * count + i]);
  }
}

} // namespace

int64_t conflictsOf(std::span<const MatrixOperands> rows) {
  int64_t most = 1;
  auto chunkOf = [](const MatrixOperands &row) { return reinterpret_cast<uintptr_t>(row.a) / 16; };
  for (size_t i = 0; i < rows.size(); ++i) { // different rows in the same four banks as row i, up to it
    int64_t together = 1;
    for (size_t j = 0; j < i; ++j) {
      const uintptr_t mine = chunkOf(rows[i]), other = chunkOf(rows[j]);
      together += mine != other && mine % 8 == other % 8;
    }
    most = std::max(most, together);
  }
  return most - 1;
}

size_t lanesOf(MatrixInstruction which) { return static_cast<size_t>(instructionOf(which).lanes); }

int64_t multiply(MatrixInstruction which, std::span<const MatrixOperands> lanes) {
  const Instruction &x = instructionOf(which);
  const size_t apart = lanes.size() / static_cast<size_t>(x.copies); // lanes between copies
  const int countA = x.m * x.k * x.copies / x.lanes, countB = x.k * x.n * x.copies / x.lanes;
  const size_t bytesA = static_cast<size_t>(countA) * x.factor.bytes,
               bytesB = static_cast<size_t>(countB) * x.factor.bytes;
  for (size_t lane = apart; lane < lanes.size(); ++lane)
    if (std::memcmp(lanes[lane].a, lanes[lane - apart].a, bytesA) != 0 ||
        std::memcmp(lanes[lane].b, lanes[lane - apart].b, bytesB) != 0)
      return 0;
  const Fragments &fragments = fragmentsOf(which);
  lanes = lanes.first(static_cast<size_t>(x.lanes));
  Square a, b, c;
  forEachHeld(lanes, &MatrixOperands::a, fragments.a, x.factor.bytes,
              [&](const char *from, uint16_t place) { a[place] = x.factor.read(from); });
  forEachHeld(lanes, &MatrixOperands::b, fragments.b, x.factor.bytes,
              [&](const char *from, uint16_t place) { b[place] = x.factor.read(from); });
  forEachHeld(lanes, &MatrixOperands::result, fragments.c, bytesOf(x.sum),
              [&](const char *from, uint16_t place) { c[place] = readSum(x.sum, from); });
  for (int row = 0; row < x.m; ++row)
    for (int k = 0; k < x.k; ++k) {
      const double factor = a[static_cast<size_t>(row * kMostExtent + k)];
      const double *const other = &b[static_cast<size_t>(k * kMostExtent)];
      double *const sums = &c[static_cast<size_t>(row * kMostExtent)];
      for (int column = 0; column < x.n; ++column)
        sums[column] = x.sum == Sum::F64 ? std::fma(factor, other[column], sums[column])
                                         : sums[column] + factor * other[column];
    }
  forEachHeld(lanes, &MatrixOperands::result, fragments.c, bytesOf(x.sum),
              [&](char *to, uint16_t place) { writeSum(x.sum, c[place], to); });
  return int64_t{x.m} * x.n * x.k;
}

} // namespace tessera::emulator
