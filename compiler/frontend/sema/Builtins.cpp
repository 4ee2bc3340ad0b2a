#include "compiler/frontend/sema/Builtins.h"
#include "numerics/DType.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::frontend {

using B = Builtin;
static constexpr BuiltinInfo kBuiltins[] = {
    {B::AllocShared, "tile", "alloc_shared", "shape dtype swizzle? align?"},
    {B::CpAsync, "tile", "cp_async", "dst src"},
    {B::CommitGroup, "tile", "commit_group", ""},
    {B::WaitGroup, "tile", "wait_group", "n"},
    {B::Barrier, "tile", "barrier", ""},
    {B::Prefetch, "tile", "prefetch", "src"},
    {B::Load, "tile", "load", "src index? shape?"},
    {B::Store, "tile", "store", "dst index? value?"},
    {B::Zeros, "tile", "zeros", "shape dtype?"},
    {B::Full, "tile", "full", "shape value dtype?"},
    {B::Arange, "tile", "arange", "start stop?"},
    {B::Reshape, "tile", "reshape", "x shape"},
    {B::Broadcast, "tile", "broadcast", "x shape"},
    {B::Cast, "tile", "cast", "x dtype"},
    {B::Where, "tile", "where", "condition a b"},
    {B::Concat, "tile", "concat", "tiles axis?"},
    {B::Transpose, "tile", "transpose", "x"},
    {B::Minimum, "tile", "minimum", "a b"},
    {B::Maximum, "tile", "maximum", "a b"},
    {B::Abs, "tile", "abs", "x"},
    {B::Exp, "tile", "exp", "x"},
    {B::Exp2, "tile", "exp2", "x"},
    {B::Log, "tile", "log", "x"},
    {B::Log2, "tile", "log2", "x"},
    {B::Sqrt, "tile", "sqrt", "x"},
    {B::Rsqrt, "tile", "rsqrt", "x"},
    {B::Tanh, "tile", "tanh", "x"},
    {B::Sigmoid, "tile", "sigmoid", "x"},
    {B::Erf, "tile", "erf", "x"},
    {B::Sin, "tile", "sin", "x"},
    {B::Cos, "tile", "cos", "x"},
    {B::Fma, "tile", "fma", "a b c"},
    {B::RowMax, "tile", "row_max", "x keepdims?"},
    {B::RowMin, "tile", "row_min", "x keepdims?"},
    {B::RowSum, "tile", "row_sum", "x keepdims?"},
    {B::Sum, "tile", "sum", "x axis? keepdims?"},
    {B::Max, "tile", "max", "x axis? keepdims?"},
    {B::Min, "tile", "min", "x axis? keepdims?"},
    {B::Prod, "tile", "prod", "x axis? keepdims?"},
    {B::ArgMax, "tile", "argmax", "x axis? keepdims?"},
    {B::ArgMin, "tile", "argmin", "x axis? keepdims?"},
    {B::CumSum, "tile", "cumsum", "x axis?"},
    {B::CumMax, "tile", "cummax", "x axis?"},
    {B::Mma, "tile", "mma", "a b acc? accumulator?"},
    {B::CausalMask, "tile", "causal_mask", "scores q0 k0"},
    {B::AtomicAdd, "tile", "atomic_add", "tensor index value order? scope?"},
    {B::AtomicMax, "tile", "atomic_max", "tensor index value order? scope?"},
    {B::AtomicMin, "tile", "atomic_min", "tensor index value order? scope?"},
    {B::AtomicXchg, "tile", "atomic_xchg", "tensor index value order? scope?"},
    {B::AtomicCas, "tile", "atomic_cas", "tensor index compare value order? scope?"},
    {B::Fence, "tile", "fence", "order? scope?"},
    {B::GroupId, "tile", "group_id", ""},
    {B::LocalId, "tile", "local_id", ""},
    {B::LaneId, "tile", "lane_id", ""},
    {B::GroupSize, "tile", "group_size", ""},
    {B::GroupSum, "group", "sum", "x"},
    {B::GroupMax, "group", "max", "x"},
    {B::GroupMin, "group", "min", "x"},
    {B::Rand, "tile", "rand", "seed offset"},
    {B::Context, "tile", "context", ""},
    {B::LinearId, "tile", "linear_id", ""},
    {B::Range, "tile", "range", "lo hi? step? stages?"},
    {B::Parallel, "tile", "parallel", "lo hi? step?"},
    {B::Grid, "tile", "grid", "..."},
    {B::Cdiv, "tile", "cdiv", "a b"},
    {B::PyFloat, "", "float", "x"},
    {B::PyInt, "", "int", "x"},
    {B::PyBool, "", "bool", "x"},
    {B::PyMin, "", "min", "a b"},
    {B::PyMax, "", "max", "a b"},
    {B::Abs, "", "abs", "x"},
    {B::Range, "", "range", "lo hi? step?"},
    {B::MathSqrt, "math", "sqrt", "x"},
    {B::MathExp, "math", "exp", "x"},
    {B::MathLog, "math", "log", "x"},
    {B::MathLog2, "math", "log2", "x"},
    {B::MathSin, "math", "sin", "x"},
    {B::MathCos, "math", "cos", "x"},
    {B::MathTanh, "math", "tanh", "x"},
    {B::MathFloor, "math", "floor", "x"},
    {B::MathCeil, "math", "ceil", "x"},
    {B::Matmul, "op", "matmul", "a b trans_a? trans_b? dtype?"},
    {B::Matmul, "op", "gemm", "a b trans_a? trans_b? dtype?"},
    {B::Mean, "op", "mean", "x axis? keepdims?"},
    {B::Softmax, "op", "softmax", "x axis?"},
    {B::LogSoftmax, "op", "log_softmax", "x axis?"},
    {B::LayerNorm, "op", "layer_norm", "x gamma? beta? axis? eps?"},
    {B::RmsNorm, "op", "rms_norm", "x gamma? eps?"},
    {B::Relu, "op", "relu", "x"},
    {B::Silu, "op", "silu", "x"},
    {B::Gelu, "op", "gelu", "x approximate?"},
    {B::Broadcast, "op", "broadcast_to", "x shape"},
    {B::Split, "op", "split", "x parts axis?"},
    {B::Embedding, "op", "embedding", "table ids"},
    {B::Mse, "op", "mse", "pred target"},
    {B::CrossEntropy, "op", "cross_entropy", "logits labels ignore_index?"},
    {B::FlashAttention, "op", "flash_attention", "q k v is_causal? causal? scale?"},
    {B::GraphOp, "op", "grad", "..."},
    {B::GraphOp, "op", "all_reduce", "..."},
    {B::GraphOp, "op", "all_gather", "..."},
    {B::GraphOp, "op", "reduce_scatter", "..."},
    {B::GraphOp, "dist", "mesh", "..."},
    {B::GraphOp, "dist", "tensor", "..."},
    {B::GraphOp, "dist", "all_reduce", "..."},
    {B::GraphOp, "dist", "all_gather", "..."},
    {B::GraphOp, "dist", "reduce_scatter", "..."},
    {B::GraphOp, "dist", "broadcast", "..."},
};

std::span<const BuiltinInfo> allBuiltins() { return kBuiltins; }

const BuiltinInfo &info(Builtin id) {
  return *std::ranges::find_if(kBuiltins, [&](const BuiltinInfo &b) { return b.id == id; });
}

/// Whether table module `have` is visible in path `module`.
static bool visible(std::string_view module, std::string_view have) {
  if (module == "tessera") return have == "tile" || have == "op";
  if (module.starts_with("tessera.")) module.remove_prefix(8);
  return module == have || (module == "op" && have == "tile");
}

const BuiltinInfo *findBuiltin(std::string_view module, std::string_view name) {
  for (const BuiltinInfo &b : kBuiltins)
    if (name == b.name && visible(module, b.module)) return &b;
  return nullptr;
}

std::string findSubmodule(std::string_view module, std::string_view name) {
  if (module == "tessera" && (name == "tile" || name == "op" || name == "dist" || name == "group"))
    return "tessera." + std::string(name);
  if (module == "tessera.tile" && name == "group") return "tessera.group";
  return {};
}

std::optional<double> findConstant(std::string_view module, std::string_view name) {
  if (module != "math") return std::nullopt;
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "tau") return 2 * std::numbers::pi;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::vector<std::string> namesOf(std::string_view module) {
  std::vector<std::string> out;
  for (const BuiltinInfo &b : kBuiltins)
    if (visible(module, b.module)) out.emplace_back(b.name);
  if (module == "tessera")
    for (const char *s : {"tile", "op", "dist", "group", "Tensor", "kernel", "jit", "autodiff"})
      out.emplace_back(s);
  if (module == "tessera" || module == "tessera.tile")
    for (const DTypeInfo &d : allDTypes())
      out.emplace_back(d.name);
  if (module == "tessera.tile") out.emplace_back("group");
  if (module == "math")
    for (const char *s : {"pi", "e", "tau", "inf", "nan"})
      out.emplace_back(s);
  return out;
}

} // namespace tessera::frontend
