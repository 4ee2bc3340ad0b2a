#include "numerics/Combine.h"
#include "numerics/Casts.h"
#include "numerics/FloatEnvironment.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

namespace tessera {
namespace {

constexpr size_t kBlock = 512; // elements; a tree's partial results then stay in the first-level cache

template <CombineOp op, class T> [[gnu::always_inline]] inline T apply(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return op == CombineOp::Sum || op == CombineOp::Max ? a || b : a && b;
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (op == CombineOp::Sum) return a + b;
    if constexpr (op == CombineOp::Prod) return a * b;
    if constexpr (op == CombineOp::Max) return __builtin_elementwise_maximum(a, b);
    if constexpr (op == CombineOp::Min) return __builtin_elementwise_minimum(a, b);
  } else {
    using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>; // wraps where int would overflow
    if constexpr (op == CombineOp::Sum) return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    if constexpr (op == CombineOp::Prod) return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    if constexpr (op == CombineOp::Max) return std::max(a, b);
    if constexpr (op == CombineOp::Min) return std::min(a, b);
  }
}

/// out[i] depends only on a[i] and b[i], so the arrays may be the same.
template <class T, CombineOp op>
[[gnu::always_inline]] inline void loop(void *outRaw, const void *aRaw, const void *bRaw, size_t n) {
  if constexpr (std::is_same_v<T, bool>) {
    auto *out = static_cast<uint8_t *>(outRaw);
    auto *a = static_cast<const uint8_t *>(aRaw), *b = static_cast<const uint8_t *>(bRaw);
#pragma clang loop vectorize(assume_safety)
    for (size_t i = 0; i < n; ++i)
      out[i] = apply<op>(a[i] != 0, b[i] != 0);
  } else {
    auto *out = static_cast<T *>(outRaw);
    auto *a = static_cast<const T *>(aRaw), *b = static_cast<const T *>(bRaw);
#pragma clang loop vectorize(assume_safety)
    for (size_t i = 0; i < n; ++i)
      out[i] = apply<op>(a[i], b[i]);
  }
}

// One instance per instruction set. All produce the same bits.
template <class T, CombineOp op> void baseline(void *out, const void *a, const void *b, size_t n) {
  loop<T, op>(out, a, b, n);
}
using Loop = void (*)(void *, const void *, const void *, size_t);
#if defined(__x86_64__)
template <class T, CombineOp op>
[[gnu::target("avx2")]] void avx2(void *out, const void *a, const void *b, size_t n) {
  loop<T, op>(out, a, b, n);
}
template <class T, CombineOp op> constexpr Loop kLoops[2] = {baseline<T, op>, avx2<T, op>};
int level() {
  static const int l = __builtin_cpu_supports("avx2") ? 1 : 0;
  return l;
}
#else
template <class T, CombineOp op> constexpr Loop kLoops[1] = {baseline<T, op>};
int level() { return 0; }
#endif

template <class T> Loop loopOf(CombineOp op) {
  switch (op) {
  case CombineOp::Sum:
    return kLoops<T, CombineOp::Sum>[level()];
  case CombineOp::Max:
    return kLoops<T, CombineOp::Max>[level()];
  case CombineOp::Min:
    return kLoops<T, CombineOp::Min>[level()];
  case CombineOp::Prod:
    break;
  }
  return kLoops<T, CombineOp::Prod>[level()];
}

Loop loopOf(DType t, CombineOp op) {
  switch (t) {
  case DType::F64:
    return loopOf<double>(op);
  case DType::I64:
    return loopOf<int64_t>(op);
  case DType::I32:
    return loopOf<int32_t>(op);
  case DType::I16:
    return loopOf<int16_t>(op);
  case DType::I8:
    return loopOf<int8_t>(op);
  case DType::U8:
    return loopOf<uint8_t>(op);
  case DType::U16:
    return loopOf<uint16_t>(op);
  case DType::U32:
    return loopOf<uint32_t>(op);
  case DType::U64:
    return loopOf<uint64_t>(op);
  case DType::Bool:
    return loopOf<bool>(op);
  default:
    return loopOf<float>(op); // f32, and the dtypes that are computed in f32
  }
}

bool isTakenInF32(DType t) { return isFloat(t) && t != DType::F64 && t != DType::F32; }

/// Returns the f32 value of every bit pattern of a one-byte float.
const float *tableOf(DType t) {
  static const auto tables = [] {
    std::vector<std::array<float, 256>> out(allDTypes().size());
    for (const DTypeInfo &d : allDTypes())
      if (d.cls == DTypeClass::Float && d.storageBytes == 1)
        for (uint64_t bits = 0; bits < 256; ++bits)
          out[size_t(d.dtype)][bits] =
              std::bit_cast<float>(static_cast<uint32_t>(castBits(bits, d.dtype, DType::F32)));
    return out;
  }();
  return tables[size_t(t)].data();
}

#if defined(__x86_64__)
[[gnu::target("avx2,f16c")]] void widenF16(const void *in, float *out, size_t n) {
  auto *from = static_cast<const _Float16 *>(in);
  for (size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(from[i]);
}
[[gnu::target("avx2,f16c")]] void narrowF16(const float *in, void *out, size_t n) {
  auto *to = static_cast<_Float16 *>(out);
  for (size_t i = 0; i < n; ++i)
    to[i] = static_cast<_Float16>(in[i]);
}
bool hasF16() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}
#else
void widenF16(const void *, float *, size_t) {}
void narrowF16(const float *, void *, size_t) {}
bool hasF16() { return false; }
#endif

void widen(const void *in, DType t, float *out, size_t n) {
  if (storageBytes(t) == 1) {
    const float *table = tableOf(t);
    for (size_t i = 0; i < n; ++i)
      out[i] = table[static_cast<const uint8_t *>(in)[i]];
  } else if (t == DType::BF16) {
    for (size_t i = 0; i < n; ++i)
      out[i] = std::bit_cast<float>(uint32_t{static_cast<const uint16_t *>(in)[i]} << 16);
  } else if (t == DType::F16 && hasF16()) {
    widenF16(in, out, n);
  } else {
    castArray(in, t, out, DType::F32, n);
  }
}

void narrow(const float *in, DType t, void *out, size_t n) {
  if (t == DType::F16 && hasF16())
    narrowF16(in, out, n);
  else
    castArray(in, DType::F32, out, t, n);
}

/// Elements [from, from + n) of the tree over sources [first, first + ranks).
struct Tree {
  const void *const *sources;
  DType dtype;
  Loop apply;
  size_t from, n;

  const void *leaf(int rank, void *space) const {
    const auto *at =
        static_cast<const std::byte *>(sources[rank]) + from * static_cast<size_t>(storageBytes(dtype));
    if (!isTakenInF32(dtype)) return at;
    widen(at, dtype, static_cast<float *>(space), n);
    return space;
  }
  /// Returns the result in `space`, or in place if it is a single leaf that needs no widening.
  const void *evaluate(int first, int ranks, void *space) const {
    if (ranks == 1) return leaf(first, space);
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks - 1)));
    alignas(64) std::byte other[kBlock * 8];
    const void *a = evaluate(first, left, space);
    const void *b = evaluate(first + left, ranks - left, other);
    apply(space, a, b, n);
    return space;
  }
};

/// Avoids fesetenv, which is slow: hardly any thread has modes other than the default.
bool modesAreDefault() {
#if defined(__x86_64__)
  return (__builtin_ia32_stmxcsr() & 0xFFC0u) == 0x1F80u;
#else
  return false;
#endif
}

} // namespace

void combine(void *out, const void *const *sources, int ranks, size_t count, DType t, CombineOp op) {
  const auto bytes = static_cast<size_t>(storageBytes(t));
  if (ranks == 1) {
    if (count && out != sources[0]) std::memcpy(out, sources[0], count * bytes);
    return;
  }
  std::optional<DefaultFloats> modes;
  if (isFloat(t) && !modesAreDefault()) modes.emplace();
  const Loop apply = loopOf(t, op);
  if (ranks == 2 && !isTakenInF32(t)) return apply(out, sources[0], sources[1], count);
  for (size_t from = 0; from < count; from += kBlock) {
    const size_t n = std::min(kBlock, count - from);
    alignas(64) std::byte space[kBlock * 8];
    Tree{sources, t, apply, from, n}.evaluate(0, ranks, space);
    auto *to = static_cast<std::byte *>(out) + from * bytes;
    if (isTakenInF32(t))
      narrow(reinterpret_cast<const float *>(space), t, to, n);
    else
      std::memcpy(to, space, n * bytes);
  }
}

} // namespace tessera
