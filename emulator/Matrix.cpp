#include "emulator/Matrix.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace tessera::emulator {
namespace {

struct Position {
  int row, column;
};
/// Returns where the i-th element that a lane holds is in the matrix.
using PositionFn = Position (*)(int i, int lane);
using ConvertFn = float (*)(uint16_t);

float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
float fromF16(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }

/// C (m x n) += A (m x k) * B (k x n), elements of A and B of 16 bits, of C f32. The matrices are spread over
/// `lanes` lanes.
struct Instruction {
  int m, n, k, lanes;
  ConvertFn convert;
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

// AMD's matrix instruction calculator, V_MFMA_F32_32X32X8_BF16_1K and V_MFMA_F32_16X16X16_BF16_1K: four
// consecutive elements along k; of D, blocks of four rows.
Position mfma32A(int i, int lane) { return {lane % 32, 4 * (lane / 32) + i}; }
Position mfma32B(int i, int lane) { return {4 * (lane / 32) + i, lane % 32}; }
Position mfma32C(int i, int lane) { return {8 * (i / 4) + 4 * (lane / 32) + i % 4, lane % 32}; }
Position mfma16A(int i, int lane) { return {lane % 16, 4 * (lane / 16) + i}; }
Position mfma16B(int i, int lane) { return {4 * (lane / 16) + i, lane % 16}; }
Position mfma16C(int i, int lane) { return {4 * (lane / 16) + i, lane % 16}; }

// RDNA 3 ISA, "Wave Matrix Multiply Accumulate": a lane holds a row of A and a column of B, which lanes 16 to
// 31 hold once more; of D, every other row.
Position wmmaA(int i, int lane) { return {lane % 16, i}; }
Position wmmaB(int i, int lane) { return {i, lane % 16}; }
Position wmmaC(int i, int lane) { return {2 * i + lane / 16, lane % 16}; }

const Instruction &instructionOf(MatrixInstruction which) {
  static constexpr Instruction kAll[] = {
      {16, 8, 16, 32, fromBf16, mmaA, mmaB, mmaC},
      {16, 8, 16, 32, fromF16, mmaA, mmaB, mmaC},
      {32, 32, 8, 64, fromBf16, mfma32A, mfma32B, mfma32C},
      {32, 32, 8, 64, fromF16, mfma32A, mfma32B, mfma32C},
      {16, 16, 16, 64, fromBf16, mfma16A, mfma16B, mfma16C},
      {16, 16, 16, 64, fromF16, mfma16A, mfma16B, mfma16C},
      {16, 16, 16, 32, fromBf16, wmmaA, wmmaB, wmmaC, /*copies=*/2},
      {16, 16, 16, 32, fromF16, wmmaA, wmmaB, wmmaC, /*copies=*/2},
  };
  return kAll[static_cast<size_t>(which)];
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
  const auto bytesA = static_cast<size_t>(x.m * x.k * x.copies / x.lanes * 2);
  const auto bytesB = static_cast<size_t>(x.k * x.n * x.copies / x.lanes * 2);
  for (size_t lane = apart; lane < lanes.size(); ++lane)
    if (std::memcmp(lanes[lane].a, lanes[lane - apart].a, bytesA) != 0 ||
        std::memcmp(lanes[lane].b, lanes[lane - apart].b, bytesB) != 0)
      return 0;
  constexpr int kMost = 32; // rows, columns and depth
  double a[kMost][kMost], b[kMost][kMost];
  auto gather = [&](double (&to)[kMost][kMost], PositionFn position, int lane, const void *from, int count) {
    for (int i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, static_cast<const char *>(from) + i * 2, sizeof bits);
      const auto [row, column] = position(i, lane);
      to[row][column] = x.convert(bits);
    }
  };
  for (int lane = 0; lane < x.lanes; ++lane) {
    const MatrixOperands &own = lanes[static_cast<size_t>(lane)];
    gather(a, x.a, lane, own.a, static_cast<int>(bytesA / 2));
    gather(b, x.b, lane, own.b, static_cast<int>(bytesB / 2));
  }
  for (int lane = 0; lane < x.lanes; ++lane)
    for (int i = 0; i < x.m * x.n / x.lanes; ++i) {
      char *place = static_cast<char *>(lanes[static_cast<size_t>(lane)].result) + i * 4;
      float before;
      std::memcpy(&before, place, sizeof before);
      const auto [row, column] = x.c(i, lane);
      double sum = before;
      for (int k = 0; k < x.k; ++k)
        sum += a[row][k] * b[k][column];
      const auto after = static_cast<float>(sum);
      std::memcpy(place, &after, sizeof after);
    }
  return int64_t{x.m} * x.n * x.k;
}

} // namespace tessera::emulator
