#include "emulator/Matrix.h"
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
};

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type". There, groupID is lane / 4 and
// threadID_in_group is lane % 4.
Position mmaA(int i, int lane) {
  const bool isLow = (i >= 0 && i < 2) || (i >= 4 && i < 6);
  return {lane / 4 + (isLow ? 0 : 8), lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
Position mmaB(int i, int lane) { return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4}; }
Position mmaC(int i, int lane) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

const Instruction &instructionOf(MatrixInstruction which) {
  static constexpr Instruction kAll[] = {
      {16, 8, 16, 32, fromBf16, mmaA, mmaB, mmaC},
      {16, 8, 16, 32, fromF16, mmaA, mmaB, mmaC},
  };
  return kAll[static_cast<size_t>(which)];
}

} // namespace

size_t lanesOf(MatrixInstruction which) { return static_cast<size_t>(instructionOf(which).lanes); }

int64_t multiply(MatrixInstruction which, std::span<const MatrixOperands> lanes) {
  const Instruction &x = instructionOf(which);
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
    gather(a, x.a, lane, own.a, x.m * x.k / x.lanes);
    gather(b, x.b, lane, own.b, x.k * x.n / x.lanes);
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
