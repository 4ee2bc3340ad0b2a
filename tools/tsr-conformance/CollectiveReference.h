// Computes the expected result of a collective in double precision and exact integers, and the permitted
// rounding error.
#pragma once
#include "numerics/Casts.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tessera/types.h>
#include <vector>

namespace tessera::test {

using Bytes = std::vector<uint8_t>;

/// Returns `count` elements of rank `rank`: integers have any bits, floats have moderate values.
inline Bytes data(DType t, size_t count, int rank, uint64_t seed) {
  std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(rank));
  const auto bytes = static_cast<size_t>(storageBytes(t));
  Bytes out(count * bytes);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    if (isFloat(t))
      bits = fromDouble(static_cast<double>(static_cast<int64_t>(bits) >> 40) * 0x1p-21, t);
    else if (t == DType::Bool)
      bits = bits % 3; // 2 counts as true as well
    storeBits(out.data() + i * bytes, t, bits);
  }
  return out;
}

/// Returns the integer's value as 64 bits, whether it is signed or not.
inline int64_t integer(const Bytes &b, DType t, size_t i) {
  const uint64_t bits = loadBits(b.data() + i * static_cast<size_t>(storageBytes(t)), t);
  return static_cast<int64_t>(castBits(bits, t, DType::I64));
}
inline double real(const Bytes &b, DType t, size_t i) {
  return toDouble(loadBits(b.data() + i * static_cast<size_t>(storageBytes(t)), t), t);
}

/// Returns whether got[at] equals the op over inputs[r][from].
inline bool agrees(const Bytes &got, size_t at, const std::vector<Bytes> &inputs, size_t from, DType t,
                   int op) {
  if (!isFloat(t)) {
    int64_t want = integer(inputs[0], t, from);
    for (size_t r = 1; r < inputs.size(); ++r) {
      const int64_t v = integer(inputs[r], t, from);
      const auto a = static_cast<uint64_t>(want), b = static_cast<uint64_t>(v);
      if (t == DType::Bool)
        want = op == TSR_REDUCE_SUM || op == TSR_REDUCE_MAX ? want | v : want & v;
      else if (op == TSR_REDUCE_MAX || op == TSR_REDUCE_MIN)
        want = (isUnsigned(t) ? a < b : want < v) == (op == TSR_REDUCE_MAX) ? v : want;
      else
        want = static_cast<int64_t>(op == TSR_REDUCE_SUM ? a + b : a * b);
    }
    want =
        static_cast<int64_t>(castBits(castBits(static_cast<uint64_t>(want), DType::I64, t), t, DType::I64));
    if (inputs.size() == 1) want = integer(inputs[0], t, from);
    return integer(got, t, at) == want;
  }
  long double want = static_cast<long double>(real(inputs[0], t, from)), sum = std::abs(want);
  for (size_t r = 1; r < inputs.size(); ++r) {
    const auto v = static_cast<long double>(real(inputs[r], t, from));
    if (op == TSR_REDUCE_SUM) want += v;
    if (op == TSR_REDUCE_PROD) want *= v;
    if (op == TSR_REDUCE_MAX) want = std::max(want, v);
    if (op == TSR_REDUCE_MIN) want = std::min(want, v);
    sum += std::abs(v);
  }
  const double rounded = toDouble(fromDouble(static_cast<double>(want), t), t); // saturates where t saturates
  const double value = real(got, t, at);
  if (op == TSR_REDUCE_MAX || op == TSR_REDUCE_MIN || inputs.size() == 1) return value == rounded;
  if (std::isinf(rounded)) return value == rounded;
  const DTypeInfo &f = info(t);
  const double unit = std::ldexp(1.0, t == DType::F64 ? -52 : -23) * static_cast<double>(inputs.size());
  const double bound = std::abs(rounded) * std::ldexp(1.0, -f.mantissaBits) +
                       unit * static_cast<double>(op == TSR_REDUCE_SUM ? sum : std::abs(want)) +
                       std::ldexp(1.0, f.minExponent - f.mantissaBits);
  return std::abs(value - rounded) <= bound;
}

} // namespace tessera::test
