// Turns the command line into launch arguments: reads the inputs, gives each symbolic dim one value, and
// checks everything that can be checked before compiling.
#pragma once
#include "core/service/CompilerService.h"
#include "numerics/DType.h"
#include "tools/npy/Npy.h"
#include "tools/options/Options.h"
#include "tools/tsr/Report.h"
#include <memory>
#include <optional>

namespace tessera::cli {

/// The values from the command line, not yet checked.
struct Request {
  std::vector<NamedValue> in, out, scalars, dims, tunables;
  bool raw = false; // --raw: bf16, fp8, fp6 and fp4 files hold bits
  std::vector<std::pair<std::string, int64_t>> compiledFor =
      {};             // dims that a compiled kernel has no other value for
  bool fills = false; // the caller fills inputs that have no file
};

/// One parameter with its value.
struct BoundParam {
  std::string name;
  DType dtype = DType::F32;
  bool isTensor = false, reads = false, writes = false;
  std::vector<int64_t> shape;   // tensors
  std::vector<int64_t> strides; // in elements; empty: contiguous
  size_t elements = 0,
         bytes = 0;   // tensors, contiguous; i4 and u4 take a byte per element until they are copied
  size_t span = 0;    // `bytes`, and more if strides leave gaps
  npy::Bytes initial; // tensors with --in: device representation; empty otherwise (starts as zeros)
  bool hasInput = false;
  std::string output;      // path of --out; empty: not requested
  uint64_t scalarBits = 0; // scalars, in the low bytes
};

struct Binding {
  std::vector<BoundParam> params;                    // in the signature's order
  std::vector<std::pair<std::string, int64_t>> dims; // every symbolic dim, in the signature's order
  std::vector<std::pair<std::string, int64_t>> tunables;
  std::optional<int64_t> leading; // how many dims "..." stands for, in a signature that has it
};

/// Reads the input files. Reports all errors at once, in the order of the signature; `out` then holds the
/// dims and tunables that were understood. Accesses nothing but its arguments and the files.
[[nodiscard]] Errors bind(const Signature &, const Request &, Binding &out);

} // namespace tessera::cli
