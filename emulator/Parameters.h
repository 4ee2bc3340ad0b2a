// Names for addresses: the parameters of a kernel, as its metadata describes them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::emulator {

/// Immutable.
class Parameters {
public:
  /// Reads the list of parameters of a metadata document that the compiler wrote. What it cannot read has no
  /// names.
  explicit Parameters(std::string_view metadata);

  /// Describes the element at `address`, with `room` the bytes from the start of its allocation: "X[3, 17]",
  /// or "byte 12 of an allocation of the device".
  std::string describe(const uint64_t *values, size_t count, uint64_t address, uint64_t allocation) const;

private:
  struct Parameter {
    std::string name;
    bool isTensor = false;
    int bytes = 1; // of an element
    std::vector<std::string> dims;
  };
  int64_t extent(const std::string &dim, const uint64_t *values, size_t count) const;
  std::vector<Parameter> all_;
};

} // namespace tessera::emulator
