// The names the language provides: which module holds them, what arguments they take.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::frontend {

enum class Builtin : uint8_t {
  // Memory
  AllocShared,
  CpAsync,
  CommitGroup,
  WaitGroup,
  Barrier,
  Prefetch,
  Load,
  Store,
  // Make and shape
  Zeros,
  Full,
  Arange,
  Reshape,
  Broadcast,
  Cast,
  Where,
  Concat,
  Transpose,
  // Elementwise
  Minimum,
  Maximum,
  Abs,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Rsqrt,
  Tanh,
  Sigmoid,
  Erf,
  Sin,
  Cos,
  Fma,
  // Reductions and scans
  RowMax,
  RowMin,
  RowSum,
  Sum,
  Max,
  Min,
  Prod,
  ArgMax,
  ArgMin,
  CumSum,
  CumMax,
  Mma,
  CausalMask,
  AtomicAdd,
  AtomicMax,
  AtomicMin,
  AtomicXchg,
  AtomicCas,
  Fence,
  GroupId,
  LocalId,
  LaneId,
  GroupSize,
  GroupSum,
  GroupMax,
  GroupMin,
  Rand,
  Context,
  LinearId,
  Range,
  Parallel,
  Grid,
  Cdiv,
  // Python's own
  PyFloat,
  PyInt,
  PyBool,
  PyMin,
  PyMax,
  // math
  MathSqrt,
  MathExp,
  MathLog,
  MathLog2,
  MathSin,
  MathCos,
  MathTanh,
  MathFloor,
  MathCeil,
  // Library ops on whole tensors: legal in graph functions only
  Matmul,
  Mean,
  Softmax,
  LogSoftmax,
  LayerNorm,
  RmsNorm,
  Relu,
  Silu,
  Gelu,
  Split,
  Embedding,
  Mse,
  CrossEntropy,
  FlashAttention,
  GraphOp, // declared, but not built
};

struct BuiltinInfo {
  Builtin id;
  const char *module; // "tile" (also reached as ts.NAME), "group", "math", "op", "" for Python's own
  const char *name;
  const char *parameters; // names separated by blanks, '?' behind the optional ones, "..." for any number
};

std::span<const BuiltinInfo> allBuiltins();
const BuiltinInfo &info(Builtin);

/// What `module.name` is, for module paths as resolveModule gives them ("tessera", "tessera.tile", "math"
/// ...).
const BuiltinInfo *findBuiltin(std::string_view module, std::string_view name);
/// The path of a submodule, e.g. ("tessera", "tile") -> "tessera.tile"; empty when there is none.
std::string findSubmodule(std::string_view module, std::string_view name);
/// math.pi and the like.
std::optional<double> findConstant(std::string_view module, std::string_view name);
/// Every name of a module, for suggestions.
std::vector<std::string> namesOf(std::string_view module);

} // namespace tessera::frontend
