// The list that cases.py wrote: cases.json describes the contents of cases.bin. Throws std::exception when it
// is malformed.
#pragma once
#include "numerics/DType.h"
#include "tools/host/Host.h"
#include <functional>
#include <map>
#include <optional>

namespace tessera::conformance {

/// Numbers in cases.bin: doubles for floating-point dtypes, else int64.
struct Numbers {
  bool isFloat = true;
  std::vector<uint64_t> bits; // each is the bits of a double or of an int64
};

struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  size_t elements() const;
};

struct Output : Tensor {
  std::optional<Numbers> want, bound, initial;
  double ulps = 0, rtol = 0, atol = 0;
};

struct Input : Tensor {
  Numbers values;
};

struct Run {
  host::NamedInts dims;
  std::map<std::string, double> scalars;
  std::map<std::string, Input> inputs;
  std::map<std::string, Output> outputs;
};

struct Program {
  std::string name, source, error;
  host::BuildOptions options;
  std::vector<Run> runs;
};

/// Reads the programs of a generated folder whose names are wanted, in the folder's order.
std::vector<Program> readPrograms(const std::string &folder,
                                  const std::function<bool(const std::string &name)> &isWanted);

/// Returns the device bytes of `numbers` in a tensor's dtype. The numbers are values of that dtype, so
/// nothing is rounded.
std::vector<std::byte> encode(const Numbers &, DType);

} // namespace tessera::conformance
