#include "emulator/Warpgroup.h"
#include <bit>
#include <cstring>
#include <vector>

namespace tessera::emulator {
namespace {

constexpr int kRows = 64, kDepth = 16, kElements = 8; // elements in 16 bytes

/// PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout": the matrix descriptor.
struct Descriptor {
  uint32_t start, leading, stride; // bytes
  uint32_t chunks;                 // of 16 bytes, in a row of the swizzle: 8, 4, 2, or 1 for none

  explicit Descriptor(uint64_t bits)
      : start(field(bits, 0)), leading(field(bits, 16)), stride(field(bits, 32)),
        chunks((bits >> 62) == 0 ? 1u : 16u >> (bits >> 62)) {}

  static uint32_t field(uint64_t bits, int first) {
    return static_cast<uint32_t>(bits >> first & 0x3fff) << 4;
  }

  /// Address bits 4 to 6 are flipped by bits 7 to 9: all three, the lower two, or the lowest.
  uint32_t swizzled(uint32_t address) const { return address ^ (address >> 3 & (chunks - 1) << 4); }

  /// Where the 16 bytes are that begin with the element (mn, k). The canonical layouts, in 16-byte units T:
  ///   along k:  ((8,m),(T,2)) : ((chunks T, stride), (1, T)), without swizzle ((T, stride), (1, leading))
  ///   along mn: ((T,chunks,m),(8,k)) : ((1, T, leading), (chunks T, stride)), without swizzle leading and
  ///   stride change places.
  uint32_t address(bool isAlongK, uint32_t mn, uint32_t k) const {
    const uint32_t row = isAlongK ? mn : k, chunk = (isAlongK ? k : mn) / kElements;
    uint32_t offset = row % 8 * chunks * 16;
    if (chunks == 1 && !isAlongK)
      offset += row / 8 * leading + chunk * stride;
    else if (isAlongK)
      offset += row / 8 * stride + chunk * (chunks == 1 ? leading : 16);
    else
      offset += row / 8 * stride + chunk / chunks * leading + chunk % chunks * 16;
    return swizzled(start + offset) & 0x3ffff;
  }
};

double valueOf(MatrixInstruction instruction, uint16_t bits) {
  if (instruction == MatrixInstruction::Wgmma64xNx16Bf16) return std::bit_cast<float>(uint32_t{bits} << 16);
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// Calls visit(mn, k, offset) for the first element of each chunk.
template <typename Visit> void forEach(const SharedProduct &p, int operand, Visit visit) {
  const Descriptor descriptor(p.descriptors[operand]);
  const bool isAlongK = p.isAlongK[operand];
  const auto extent = static_cast<uint32_t>(operand == 0 ? kRows : p.n);
  for (uint32_t mn = 0; mn < extent; mn += isAlongK ? 1 : kElements)
    for (uint32_t k = 0; k < kDepth; k += isAlongK ? kElements : 1)
      visit(mn, k, descriptor.address(isAlongK, mn, k));
}

} // namespace

void forEachChunk(const SharedProduct &p, int operand, const std::function<void(uint32_t)> &chunk) {
  forEach(p, operand, [&](uint32_t, uint32_t, uint32_t offset) { chunk(offset); });
}

int64_t multiply(const SharedProduct &p, const uint8_t *shared, std::span<float *const> sums) {
  // By rows of A and columns of B, of kDepth elements each.
  std::vector<double> factors[2] = {std::vector<double>(kRows * kDepth),
                                    std::vector<double>(static_cast<size_t>(p.n) * kDepth)};
  for (int operand : {0, 1})
    forEach(p, operand, [&](uint32_t mn, uint32_t k, uint32_t offset) {
      uint16_t bits[kElements];
      std::memcpy(bits, shared + offset, sizeof bits);
      for (uint32_t i = 0; i < kElements; ++i) {
        const size_t at = p.isAlongK[operand] ? mn * kDepth + k + i : (mn + i) * kDepth + k;
        factors[operand][at] = valueOf(p.instruction, bits[i]);
      }
    });
  // PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", matrix D.
  for (int lane = 0; lane < kWarpgroup; ++lane)
    for (int i = 0; i < p.n / 2; ++i) {
      const int row = lane / 32 * 16 + lane % 32 / 4 + (i % 4 < 2 ? 0 : 8);
      const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = sums[static_cast<size_t>(lane)][i];
      for (int k = 0; k < kDepth; ++k)
        sum += factors[0][static_cast<size_t>(row * kDepth + k)] *
               factors[1][static_cast<size_t>(column * kDepth + k)];
      sums[static_cast<size_t>(lane)][i] = static_cast<float>(sum);
    }
  return int64_t{kRows} * p.n * kDepth;
}

} // namespace tessera::emulator
