#include "tools/tsr/Elements.h"
#include "numerics/Casts.h"
#include "tools/options/Options.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace tessera::cli {
namespace {

/// Dtypes without a corresponding NumPy type are stored as float32.
bool travelsAsF32(DType t) { return isFloat(t) && t != DType::F64 && t != DType::F32 && t != DType::F16; }

bool converts(DType t, bool raw) { return travelsAsF32(t) && t != DType::TF32 && !raw; }

} // namespace

npy::ElementType fileType(DType t, bool raw) {
  const uint8_t bytes = uint8_t(storageBytes(t));
  if (isPacked(t) && raw) return {'u', 1};
  if (travelsAsF32(t))
    return raw && t != DType::TF32 ? npy::ElementType{'u', bytes} : npy::ElementType{'f', 4};
  switch (info(t).cls) {
  case DTypeClass::Float:
    return {'f', bytes};
  case DTypeClass::SignedInt:
    return {'i', bytes};
  case DTypeClass::UnsignedInt:
    return {'u', bytes};
  case DTypeClass::Bool:
    break;
  }
  return {'b', 1};
}

bool toDevice(npy::Bytes file, DType t, bool raw, npy::Bytes &device) {
  if (isPacked(t) && raw) {
    const size_t count = file.size() * 2;
    if (!device.allocate(count)) return false;
    unpackElements(file.data(), t, device.data(), count);
    return true;
  }
  if (!converts(t, raw)) {
    device = std::move(file);
    return true;
  }
  const size_t count = file.size() / 4;
  if (!device.allocate(count * size_t(storageBytes(t)))) return false;
  castArray(file.data(), DType::F32, device.data(), t, count);
  return true;
}

bool toFile(npy::Bytes device, DType t, bool raw, npy::Bytes &file) {
  if (isPacked(t) && raw) {
    const size_t count = device.size();
    if (!file.allocate(count / 2)) return false;
    packElements(device.data(), file.data(), count);
    return true;
  }
  if (!converts(t, raw)) {
    file = std::move(device);
    return true;
  }
  const size_t count = device.size() / size_t(storageBytes(t));
  if (!file.allocate(count * 4)) return false;
  castArray(device.data(), t, file.data(), DType::F32, count);
  return true;
}

namespace {

/// Sets errno to ERANGE when the number is out of range.
bool parseFloat(const std::string &text, double &value) {
  // strtod also takes hexadecimal floats and "nan(...)"; both are harmless. It must consume everything.
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return false;
  char *end = nullptr;
  errno = 0;
  value = std::strtod(text.c_str(), &end);
  return *end == '\0';
}

Error wrong(std::string message) { return {"E_SCALAR_VALUE", std::move(message), ""}; }

Expected<uint64_t> integerBits(int64_t value, DType t) {
  const int width = storageBytes(t) * 8;
  const int64_t low = isUnsigned(t) ? 0 : width == 64 ? INT64_MIN : -(int64_t(1) << (width - 1));
  const uint64_t high = ~uint64_t(0) >> (64 - width + (isUnsigned(t) ? 0 : 1));
  if (value < low || (value > 0 && uint64_t(value) > high))
    return wrong(fmt::format("{} holds {} to {}", name(t), low, high));
  return width == 64 ? uint64_t(value) : uint64_t(value) & ((uint64_t(1) << width) - 1);
}

} // namespace

Expected<uint64_t> parseScalar(std::string_view text, DType t) {
  if (t == DType::Bool) {
    if (text != "true" && text != "false") return wrong("a bool is true or false");
    return uint64_t(text == "true");
  }
  if (isFloat(t)) {
    double value;
    if (!parseFloat(std::string(text), value)) return wrong("not a number (inf and nan are)");
    if (errno == ERANGE && std::isinf(value)) return wrong(fmt::format("too large for {}", name(t)));
    return scalarFromNumber(value, t);
  }
  if (uint64_t large; t == DType::U64 && !text.empty()) { // more than an int64_t holds
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), large);
    if (error == std::errc() && end == text.data() + text.size()) return large;
  }
  int64_t value;
  if (!parseInt(text, value)) return wrong(fmt::format("not a decimal integer that fits {}", name(t)));
  return integerBits(value, t);
}

Expected<uint64_t> scalarFromNumber(const Number &value, DType t) {
  if (const auto *integer = std::get_if<int64_t>(&value); integer && isInt(t))
    return integerBits(*integer, t);
  const uint64_t bits = fromNumber(value, t);
  // fp8, fp6 and fp4 saturate by definition. For other types a finite number that becomes inf is an error.
  const auto *real = std::get_if<double>(&value);
  if (real && isFloat(t) && std::isfinite(*real) && !std::isfinite(toDouble(bits, t)))
    return wrong(fmt::format("too large for {}", name(t)));
  return bits;
}

} // namespace tessera::cli
