#include "emulator/Warpgroup.h"
#include "emulator/Formats.h"
#include <bit>
#include <vector>

namespace tessera::emulator {
namespace {

constexpr uint32_t kChunk = 16, kRowBytes = 32; // bytes of a descriptor's unit, and of a row along k

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

  /// Where the 16 bytes are that begin with the element (mn, k), `elements` in all. The canonical layouts, in
  /// 16-byte units T:
  ///   along k:  ((8,m),(T,2)) : ((chunks T, stride), (1, T)), without swizzle ((T, stride), (1, leading))
  ///   along mn: ((T,chunks,m),(8,k)) : ((1, T, leading), (chunks T, stride)), without swizzle leading and
  ///   stride change places.
  uint32_t address(bool isAlongK, uint32_t mn, uint32_t k, uint32_t elements) const {
    const uint32_t row = isAlongK ? mn : k, chunk = (isAlongK ? k : mn) / elements;
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

const Format &formatOf(MatrixInstruction instruction) {
  using I = MatrixInstruction;
  switch (instruction) {
  case I::Wgmma64xNx16Bf16:
  case I::Tcgen05MxNx16Bf16:
    return kBf16;
  case I::Wgmma64xNx32E4M3:
  case I::Tcgen05MxNx32E4M3:
    return kE4M3;
  case I::Wgmma64xNx32E5M2:
  case I::Tcgen05MxNx32E5M2:
    return kE5M2;
  case I::Wgmma64xNx8Tf32:
  case I::Tcgen05MxNx8Tf32:
    return kTf32;
  case I::Tcgen05MxNx32I8:
    return kPlain<int8_t>;
  case I::Tcgen05MxNx32U8:
    return kPlain<uint8_t>;
  default:
    return kF16;
  }
}
uint32_t bytesOf(MatrixInstruction instruction) { return static_cast<uint32_t>(formatOf(instruction).bytes); }

/// Calls visit(mn, k, offset) for the first element of each chunk.
template <typename Visit> void forEach(const SharedProduct &p, int operand, Visit visit) {
  const Descriptor descriptor(p.descriptors[operand]);
  const bool isAlongK = p.isAlongK[operand];
  const uint32_t bytes = bytesOf(p.instruction), elements = kChunk / bytes;
  const auto extent = static_cast<uint32_t>(operand == 0 ? p.m : p.n);
  for (uint32_t mn = 0; mn < extent; mn += isAlongK ? 1 : elements)
    for (uint32_t k = 0; k < kRowBytes / bytes; k += isAlongK ? elements : 1)
      visit(mn, k, descriptor.address(isAlongK, mn, k, elements));
}

/// The elements of an operand, by rows of A or columns of B.
std::vector<double> elementsOf(const SharedProduct &p, int operand, const uint8_t *shared) {
  const Format &format = formatOf(p.instruction);
  const uint32_t bytes = bytesOf(p.instruction), depth = kRowBytes / bytes;
  std::vector<double> all(static_cast<size_t>(operand == 0 ? p.m : p.n) * depth);
  forEach(p, operand, [&](uint32_t mn, uint32_t k, uint32_t offset) {
    for (uint32_t i = 0; i < kChunk / bytes; ++i)
      all[p.isAlongK[operand] ? mn * depth + k + i : (mn + i) * depth + k] =
          format.read(shared + offset + i * bytes);
  });
  return all;
}

/// The same of A in registers of 128 lanes: PTX ISA, "WGMMA .m64nNk16 register fragment layout for matrix A".
std::vector<double> elementsOf(const SharedProduct &p, std::span<const uint16_t *const> held) {
  constexpr int kDepth = 16;
  std::vector<double> all(static_cast<size_t>(p.m) * kDepth);
  for (int row = 0; row < p.m; ++row)
    for (int k = 0; k < kDepth; ++k) {
      const int lane = row / 16 * 32 + row % 8 * 4 + k % 8 / 2;
      const int i = k / 8 * 4 + (row % 16 < 8 ? 0 : 2) + k % 2;
      all[static_cast<size_t>(row * kDepth + k)] =
          formatOf(p.instruction).read(held[static_cast<size_t>(lane)] + i);
    }
  return all;
}

/// Calls `add(row, column, products)` with the sum of an element's products.
template <typename Add>
int64_t multiplyAll(const SharedProduct &p, const uint8_t *shared, std::span<const uint16_t *const> held,
                    Add add) {
  const size_t depth = kRowBytes / bytesOf(p.instruction);
  const std::vector<double> a = held.empty() ? elementsOf(p, 0, shared) : elementsOf(p, held),
                            b = elementsOf(p, 1, shared);
  for (int column = 0; column < p.n; ++column)
    for (int row = 0; row < p.m; ++row) {
      const double *x = &a[static_cast<size_t>(row) * depth], *y = &b[static_cast<size_t>(column) * depth];
      add(row, column, [&](double sum) {
        for (size_t k = 0; k < depth; ++k)
          sum += x[k] * y[k];
        return sum;
      });
    }
  return int64_t{p.m} * p.n * static_cast<int64_t>(depth);
}

} // namespace

void forEachChunk(const SharedProduct &p, int operand, const std::function<void(uint32_t)> &chunk) {
  forEach(p, operand, [&](uint32_t, uint32_t, uint32_t offset) { chunk(offset); });
}

int64_t multiply(const SharedProduct &p, const uint8_t *shared, std::span<float *const> sums,
                 std::span<const uint16_t *const> held) {
  return multiplyAll(p, shared, held, [&](int row, int column, auto &&sumFrom) {
    // PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", matrix D.
    const int lane = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
    const int i = column / 8 * 4 + (row % 16 < 8 ? 0 : 2) + column % 2;
    float &sum = sums[static_cast<size_t>(lane)][i];
    sum = static_cast<float>(sumFrom(p.adds ? double{sum} : 0));
  });
}

int64_t multiply(const SharedProduct &p, const uint8_t *shared, bool adds, uint32_t *sums, int64_t rows) {
  const bool isInteger = p.instruction == MatrixInstruction::Tcgen05MxNx32I8 ||
                         p.instruction == MatrixInstruction::Tcgen05MxNx32U8;
  return multiplyAll(p, shared, {}, [&](int row, int column, auto &&sumFrom) {
    // Of 64 rows 16 are in each 32 lanes.
    uint32_t &cell = sums[column * rows + (p.m == 64 ? row / 16 * 32 + row % 16 : row)];
    const uint32_t old = adds ? cell : 0;
    if (isInteger) // far from the end of an i64
      cell = static_cast<uint32_t>(static_cast<int64_t>(sumFrom(double{0}))) + old;
    else
      cell = std::bit_cast<uint32_t>(static_cast<float>(sumFrom(double{std::bit_cast<float>(old)})));
  });
}

} // namespace tessera::emulator
