// The functions of OpenCL that our SPIR-V calls, for one lane of the emulator (emulator/Calls.cpp). Those of
// vectors are written by read_back.py, because C++ passes vectors in another way than LLVM IR does.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

extern "C" {
uint32_t tsr_emu_coordinate(int32_t which);
void tsr_emu_barrier(int32_t number, int32_t count, int32_t waits, int32_t site);
uint32_t tsr_emu_exchange(uint32_t value, uint32_t lane, int32_t isXor, int32_t site);

extern const char tsr_emu_sites[] = ""; // no operation has a place in a source file
}

namespace {
constexpr int kThread = 0, kBlock = 3;

/// The value that another lane of the sub-group gives here.
uint32_t valueOf(uint32_t lane, uint32_t own) { return tsr_emu_exchange(own, lane, /*isXor=*/0, /*site=*/0); }

/// C += A * B in a sub-group of 16 lanes (cl_intel_subgroup_matrix_multiply_accumulate), C of 8 rows. A lane
/// holds a column of B and of C. Of each row of A it holds 16 bits, the first lane those of the lowest k;
/// so it gets A from the others. Rounds once.
template <typename T, typename Sum> void multiply(const T *a, const T *b, Sum *c) {
  constexpr int kLanes = 16, kRows = 8, kDepth = 2 / sizeof(T);              // of a lane
  using Wide = std::conditional_t<std::is_integral_v<Sum>, int64_t, double>; // products are exact
  Wide sums[kRows];
  uint32_t own[kRows / 2], others[kRows / 2];
  std::memcpy(own, a, sizeof own);
  for (int row = 0; row < kRows; ++row)
    sums[row] = c[row];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kRows / 2; ++i)
      others[i] = valueOf(lane, own[i]);
    T values[kRows][kDepth];
    std::memcpy(values, others, sizeof values);
    for (int row = 0; row < kRows; ++row)
      for (int k = 0; k < kDepth; ++k)
        sums[row] += Wide(values[row][k]) * Wide(b[lane * kDepth + k]);
  }
  for (int row = 0; row < kRows; ++row)
    c[row] = static_cast<Sum>(sums[row]);
}

/// What lane `lane` of a sub-group of 16 gets of a block (cl_intel_subgroup_2d_block_io): of each of `count`
/// elements, `at` says the row and the column; the block's column counts `unit` bytes. Outside of the matrix
/// there are zeros. The device takes the matrix and the place from the first lane.
template <typename T, typename Position>
void readBlock(int unit, uint64_t address, uint32_t lastByte, uint32_t lastRow, uint32_t lastPitch,
               int32_t column, int32_t row, void *to, int count, Position at) {
  const auto low = valueOf(0, static_cast<uint32_t>(address)),
             high = valueOf(0, static_cast<uint32_t>(address >> 32));
  const auto *matrix = reinterpret_cast<const char *>(uint64_t{high} << 32 | low);
  const int64_t width = int64_t{valueOf(0, lastByte)} + 1, height = int64_t{valueOf(0, lastRow)} + 1,
                pitch = int64_t{valueOf(0, lastPitch)} + 1;
  const auto x0 = static_cast<int32_t>(valueOf(0, static_cast<uint32_t>(column))),
             y0 = static_cast<int32_t>(valueOf(0, static_cast<uint32_t>(row)));
  const int lane = static_cast<int>(tsr_emu_coordinate(kThread)) % 16;
  for (int i = 0; i < count; ++i) {
    const auto [down, across] = at(i, lane);
    const int64_t y = int64_t{y0} + down, x = int64_t{x0} * unit + across * int64_t{sizeof(T)};
    T value{};
    if (y >= 0 && y < height && x >= 0 && x < width)
      std::memcpy(&value, matrix + y * pitch + x, sizeof value);
    std::memcpy(static_cast<char *>(to) + i * static_cast<int>(sizeof value), &value, sizeof value);
  }
}
struct At {
  int down, across;
};
} // namespace

#define BLOCK_READ(name, unit, T, count, down, across)                                                       \
  void read_##name(uint64_t address, uint32_t width, uint32_t height, uint32_t pitch, int32_t x, int32_t y,  \
                   void *to) {                                                                               \
    readBlock<T>(unit, address, width, height, pitch, x, y, to, count,                                       \
                 [](int i, int lane) { return At{down, across}; });                                          \
  }

extern "C" {
BLOCK_READ(u16_m8k16v1, 2, uint16_t, 8, i, lane)
BLOCK_READ(u8_m8k32v1, 1, uint16_t, 8, i, lane)
BLOCK_READ(transform_u16_k16, 2, uint16_t, 16, i, lane)
BLOCK_READ(transform_u8_k32, 1, uint8_t, 32, i, lane)
BLOCK_READ(transpose_u32_k8, 4, uint32_t, 8, lane, i)
void multiply_bf16(const __bf16 *a, const __bf16 *b, float *c) { multiply(a, b, c); }
void multiply_f16(const _Float16 *a, const _Float16 *b, float *c) { multiply(a, b, c); }
void multiply_i8(const int8_t *a, const int8_t *b, int32_t *c) { multiply(a, b, c); }
void multiply_u8(const uint8_t *a, const uint8_t *b, int32_t *c) { multiply(a, b, c); }
}

size_t get_local_id(uint32_t axis) { return tsr_emu_coordinate(kThread + static_cast<int>(axis)); }
size_t get_group_id(uint32_t axis) { return tsr_emu_coordinate(kBlock + static_cast<int>(axis)); }
void barrier(uint32_t) { tsr_emu_barrier(0, 0, 1, 0); }
int intel_sub_group_shuffle(int value, uint32_t lane) { return static_cast<int>(valueOf(lane, value)); }

float fma(float a, float b, float c) { return std::fmaf(a, b, c); }
float sqrt(float x) { return __builtin_sqrtf(x); }
float fabs(float x) { return __builtin_fabsf(x); }
long min(long a, long b) { return a < b ? a : b; }
long max(long a, long b) { return a < b ? b : a; }
unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }

/// Its address is in global memory, which C++ does not say in its names.
extern "C" int32_t atomicAdd(int32_t *address, int32_t value) __asm__("_Z10atomic_addPU3AS1Vii");
extern "C" int32_t atomicAdd(int32_t *address, int32_t value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
