// Products of matrices that are in shared memory: wgmma of PTX, by 128 lanes with sums in registers, and
// tcgen05.mma, whose sums are in tensor memory.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <tessera/emulated.hpp>

namespace tessera::emulator {

constexpr int kWarpgroup = 128; // lanes

/// C (m x n) += A (m x k) * B (k x n), where 32 bytes of a row are along k. Descriptors are those of PTX;
/// neighbours in memory are neighbours along k, or along m and n. Of wgmma `sums` points to the n / 2 sums of
/// one lane.
struct SharedProduct {
  MatrixInstruction instruction;
  int32_t m = 64, n = 0;
  bool adds = true;                 // wgmma: to the sums; otherwise they start at zero
  bool isAlongK[2] = {true, true};  // A, B
  uint64_t descriptors[2] = {0, 0}; // A, B
  int32_t number = 0;               // of the operation in the program
  float *sums = nullptr;
  const uint16_t *held = nullptr; // wgmma: what the lane holds of A; null: A is in shared memory
};

/// Calls `chunk(offset)` for the offset in shared memory of each 16 bytes of an operand (0: A, 1: B) that the
/// instruction reads.
void forEachChunk(const SharedProduct &, int operand, const std::function<void(uint32_t offset)> &chunk);

/// Adds the product to the sums of the lanes. Products are exact, they are summed in double, and rounded
/// once. Returns the number of multiply-adds. Precondition: all chunks are in `shared`.
/// If A is in registers, `held` points to what each lane has of it.
int64_t multiply(const SharedProduct &, const uint8_t *shared, std::span<float *const> sums,
                 std::span<const uint16_t *const> held = {});

/// The same for tcgen05, with sums by column and lane (`rows` of them), of f32 or i32; without `adds` they
/// start at zero. Sums of i32 wrap.
int64_t multiply(const SharedProduct &, const uint8_t *shared, bool adds, uint32_t *sums, int64_t rows);

} // namespace tessera::emulator
