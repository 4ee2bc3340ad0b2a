#include "emulator/Parameters.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace tessera::emulator {
namespace {

/// The value of `key` in a line such as "- {name: x, kind: tensor, dims: [n, 4]}".
std::string_view field(std::string_view line, std::string_view key) {
  const std::string wanted = std::string(key) + ": ";
  size_t at = line.find("{" + wanted);
  if (at == line.npos) at = line.find(" " + wanted);
  if (at == line.npos) return {};
  line.remove_prefix(at + 1 + wanted.size());
  const bool isList = line.starts_with('[');
  return isList ? line.substr(1, line.find(']') - 1) : line.substr(0, line.find_first_of(",}"));
}

std::string unquoted(std::string_view text) {
  auto isOuter = [](char c) { return c == ' ' || c == '"' || c == '\''; };
  while (!text.empty() && isOuter(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isOuter(text.back()))
    text.remove_suffix(1);
  return std::string(text);
}

/// Bytes of an element of a dtype such as bf16, i4 or fp8_e4m3.
int bytesOf(std::string_view dtype) {
  const size_t digit = dtype.find_first_of("0123456789");
  const int bits = digit == dtype.npos ? 8 : std::atoi(std::string(dtype.substr(digit)).c_str());
  return std::max(1, bits / 8);
}

} // namespace

Parameters::Parameters(std::string_view metadata) {
  bool isInside = false;
  while (!metadata.empty()) {
    const std::string_view line = metadata.substr(0, metadata.find('\n'));
    metadata.remove_prefix(std::min(metadata.size(), line.size() + 1));
    if (!line.starts_with(' ')) isInside = line.starts_with("params:");
    if (!isInside || line.find("- {") == line.npos) continue;
    Parameter &p = all_.emplace_back();
    p.name = unquoted(field(line, "name"));
    p.isTensor = field(line, "kind") == "tensor";
    p.bytes = bytesOf(field(line, "dtype"));
    for (std::string_view dims = field(line, "dims"); !dims.empty();) {
      const std::string_view one = dims.substr(0, dims.find(','));
      p.dims.push_back(unquoted(one));
      dims.remove_prefix(std::min(dims.size(), one.size() + 1));
    }
  }
}

/// The extent of a dim that is a number or a parameter; -1 for any other expression.
int64_t Parameters::extent(const std::string &dim, const uint64_t *values, size_t count) const {
  if (!dim.empty() && std::ranges::all_of(dim, [](unsigned char c) { return std::isdigit(c) != 0; }))
    return std::atoll(dim.c_str());
  for (size_t i = 0; i < std::min(count, all_.size()); ++i)
    if (!all_[i].isTensor && all_[i].name == dim) return static_cast<int64_t>(values[i]);
  return -1;
}

std::string Parameters::describe(const uint64_t *values, size_t count, uint64_t address,
                                 uint64_t allocation) const {
  const Parameter *best = nullptr;
  uint64_t base = 0;
  for (size_t i = 0; i < std::min(count, all_.size()); ++i)
    if (all_[i].isTensor && values[i] <= address && values[i] >= allocation && (!best || values[i] > base))
      best = &all_[i], base = values[i];
  if (!best)
    return "byte " + std::to_string(address - allocation) + " of device memory that no parameter points to";
  auto flat = static_cast<int64_t>((address - base) / static_cast<uint64_t>(best->bytes));
  std::string index;
  for (size_t d = best->dims.size(); d-- > 1;) {
    const int64_t n = extent(best->dims[d], values, count);
    if (n <= 0) { // a stride, or an expression
      index.clear();
      flat = static_cast<int64_t>((address - base) / static_cast<uint64_t>(best->bytes));
      break;
    }
    index = ", " + std::to_string(flat % n) + index;
    flat /= n;
  }
  return best->name + "[" + std::to_string(flat) + index + "]";
}

} // namespace tessera::emulator
