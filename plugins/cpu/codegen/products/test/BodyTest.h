// What the tests of product bodies share: operands between guard pages, dtypes with their random values, and
// the right results as a chain of fused multiply-adds per element.
#pragma once
#include "plugins/cpu/codegen/products/Problem.h"
#include "plugins/cpu/codegen/products/test/TileEmulator.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace tessera::cpu::product::test {

/// The arguments of the program, "v3=FILE": a shared object per level.
inline std::vector<std::string> levels;

/// What a body multiplies: elements of In, summed in T.
struct F32 {
  using In = float;
  using T = float;
  static T wide(In x) { return x; }
  static In draw(unsigned random, bool) { return static_cast<In>(random) / static_cast<In>(1 << 30) - In(1); }
};
struct F64 {
  using In = double;
  using T = double;
  static T wide(In x) { return x; }
  static In draw(unsigned random, bool) { return static_cast<In>(random) / static_cast<In>(1 << 30) - In(1); }
};
struct F16 {
  using In = uint16_t;
  using T = float;
  static T wide(In x) { // exact: the exponents differ by 112
    const uint32_t magnitude = x & 0x7fffu;
    return std::bit_cast<float>((x & 0x8000u) << 16 | magnitude << 13) * 0x1p112f;
  }
  static In draw(unsigned random, bool isTiny) {
    const unsigned exponent = isTiny ? random % 3 : random % 16;
    return static_cast<In>((random >> 5 & 1) << 15 | exponent << 10 | (random >> 10 & 0x3ff));
  }
};
struct Bf16 {
  using In = uint16_t;
  using T = float;
  static T wide(In x) { return std::bit_cast<float>(uint32_t{x} << 16); }
  /// Tiny ones have products and sums around the smallest normal f32, and some are subnormal.
  static In draw(unsigned random, bool isTiny) {
    if (random % 17 == 0) return 0;
    const unsigned exponent = isTiny ? random / 2 % 100 : 115 + random / 2 % 14;
    return static_cast<In>((random & 1) << 15 | exponent << 7 | (random >> 10 & 0x7f));
  }
};
/// Multiplied by tdpbf16ps.
struct Bf16Tiles : Bf16 {};
struct U8 {
  using In = uint8_t;
  using T = int32_t;
  static T wide(In x) { return x; }
  static In draw(unsigned random, bool isTiny) { return static_cast<In>(isTiny ? 255 : random >> 8); }
};
struct I8 {
  using In = int8_t;
  using T = int32_t;
  static T wide(In x) { return x; }
  static In draw(unsigned random, bool isTiny) { return static_cast<In>(isTiny ? -128 : random >> 8); }
};

/// Does this process have AMX, of a processor that has it and a kernel that permits its state?
inline bool hasTiles() {
  static const bool has = [] {
    constexpr long kRequestPermission = 0x1023, kTileData = 18; // of arch_prctl
    return __builtin_cpu_supports("amx-int8") && __builtin_cpu_supports("amx-bf16") &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return has;
}

inline bool runs(const std::string &level, const std::string &body) {
  if (body.ends_with(".amx") && !hasTiles()) {
    std::printf("%s: this processor has no AMX, its instructions are emulated\n", body.c_str());
    TileEmulator::install();
  }
  if (body == "bf16.amx" && !__builtin_cpu_supports("avx512bf16")) return false;
  if (body == "i8.amx" && !__builtin_cpu_supports("avx512vnni")) return false;
  if (body == "bf16.dot" && !__builtin_cpu_supports("avx512bf16")) return false;
  if (body == "i8.dot" && !__builtin_cpu_supports("avx512vnni")) return false;
  if (level == "v4")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/// Whole pages whose neighbours cannot be accessed, so that an access outside faults.
class Guarded {
public:
  explicit Guarded(size_t bytes) : size_(bytes + 2 * page()) {
    base_ = static_cast<char *>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (bytes) mprotect(base_ + page(), bytes, PROT_READ | PROT_WRITE);
  }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  ~Guarded() { munmap(base_, size_); }
  char *data() const { return base_ + page(); }
  static size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

private:
  char *base_;
  size_t size_;
};

/// Returns `count` elements at the beginning or the end of guarded pages. Pages are kept for the next check
/// of an operand of this size, because new ones take most of a check's time.
template <class T> T *guarded(char operand, int64_t count, bool atEnd) {
  static std::map<std::pair<char, size_t>, Guarded> kept;
  const size_t bytes = static_cast<size_t>(count) * sizeof(T);
  const size_t whole = (bytes + Guarded::page() - 1) / Guarded::page() * Guarded::page();
  char *data = kept.try_emplace({operand, whole}, whole).first->second.data();
  return reinterpret_cast<T *>(data + (atEnd ? whole - bytes : 0));
}

struct Case {
  int64_t rows, columns, depth;
  int64_t extraA = 0, extraB = 0, extraC = 0; // in the strides of rows
  int64_t batch = 1;
  int64_t blockRows = 48, blockColumns = 64;
};

/// What the epilogue of a test is called with.
struct Sink {
  Problem *problem;
  void *c;
};

/// Copies the blocks of programs [begin, end) from the address in values[0] to C.
template <class T> void copyBlocks(const uint64_t *values, int64_t begin, int64_t end, uint8_t *) {
  const Sink *sink = reinterpret_cast<const Sink *>(values[1]);
  const Problem &p = *sink->problem;
  const int64_t rowBlocks = (p.rows + p.blockRows - 1) / p.blockRows;
  const int64_t columnBlocks = (p.columns + p.blockColumns - 1) / p.blockColumns;
  for (int64_t program = begin; program < end; ++program) {
    const int64_t r0 = program % rowBlocks * p.blockRows, rest = program / rowBlocks;
    const int64_t c0 = rest % columnBlocks * p.blockColumns, batch = rest / columnBlocks;
    for (int64_t r = r0; r < std::min(p.rows, r0 + p.blockRows); ++r)
      for (int64_t c = c0; c < std::min(p.columns, c0 + p.blockColumns); ++c)
        static_cast<T *>(sink->c)[batch * p.rows * p.strideC + r * p.strideC + c] =
            *reinterpret_cast<const T *>(values[0] +
                                         static_cast<uint64_t>(r * p.blockColumns + c) * sizeof(T));
  }
}

template <class T> T multiplyAdd(T x, T y, T sum) { return std::fma(x, y, sum); }
template <> inline int32_t multiplyAdd(int32_t x, int32_t y, int32_t sum) {
  return sum + x * y;
} // never wraps here

/// The order of a dot: one sum per lane, where elements past the end are 0, then the lanes as a balanced
/// tree.
template <class X, class Y, class T> T dot(X x, Y y, int64_t depth, int64_t lanes, T zero) {
  std::vector<T> sums(static_cast<size_t>(lanes), zero);
  const int64_t whole = (depth + lanes - 1) / lanes * lanes;
  for (int64_t k = 0; k < whole; ++k) {
    T &sum = sums[static_cast<size_t>(k % lanes)];
    sum = k < depth ? multiplyAdd(x(k), y(k), sum) : multiplyAdd(zero, zero, sum);
  }
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      sums[static_cast<size_t>(i)] += sums[static_cast<size_t>(i + half)];
  return sums[0];
}

/// The right results, in rows of `columns`: what a chain or a dot per element gives. Bodies run only where
/// there is FMA, and std::fma would be a call without it.
template <class T>
[[gnu::target("avx2,fma")]] std::vector<T> referenceOf(const std::vector<T> &a, const std::vector<T> &b,
                                                       int64_t rows, int64_t columns, int64_t depth,
                                                       bool isDot, int64_t lanes) {
  std::vector<T> out(static_cast<size_t>(rows * columns), T(0));
  for (int64_t r = 0; r < rows; ++r) {
    const T *line = a.data() + r * depth;
    T *sums = out.data() + r * columns;
    for (int64_t k = 0; k < depth && !isDot; ++k)
      for (int64_t j = 0; j < columns; ++j)
        sums[j] = multiplyAdd(line[k], b[static_cast<size_t>(k * columns + j)], sums[j]);
    for (int64_t j = 0; j < columns && isDot; ++j)
      sums[j] = dot([&](int64_t k) { return line[k]; },
                    [&](int64_t k) { return b[static_cast<size_t>(k * columns + j)]; }, depth, lanes, T(0));
  }
  return out;
}

} // namespace tessera::cpu::product::test
