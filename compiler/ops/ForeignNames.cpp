#include "compiler/ops/ForeignNames.h"
#include "numerics/DType.h"
#include <algorithm>
#include <iterator>

namespace tessera::ops {

namespace {

constexpr ForeignName kForeignNames[] = {
    // Elementwise
    {"square", "write x * x"},
    {"reciprocal", "write 1.0 / x"},
    {"power", "write @pow(x, y)"},
    {"log10", "write @log(x) / math.log(10.0)"},
    {"log1p", "write @log(1.0 + x)"},
    {"expm1", "write @exp(x) - 1.0"},
    {"tan", "write @sin(x) / @cos(x)"},
    {"add", "write x + y"},
    {"sub", "write x - y"},
    {"subtract", "write x - y"},
    {"mul", "write x * y"},
    {"multiply", "write x * y"},
    {"div", "write x / y"},
    {"divide", "write x / y"},
    {"neg", "write -x"},
    {"negative", "write -x"},
    {"fdiv", "write x / y"},
    {"absolute", "write @abs(x)"},
    {"remainder", "write x % y"},
    {"mod", "write x % y"},
    {"bitwise_and", "write a & b"},
    {"bitwise_or", "write a | b"},
    {"bitwise_xor", "write a ^ b"},
    {"equal", "write a == b"},
    {"less", "write a < b"},
    {"greater", "write a > b"},
    {"select", "write @where(condition, a, b)"},
    {"fmin", "write @minimum(a, b)"},
    {"fmax", "write @maximum(a, b)"},
    {"logical_and", "write a & b"},
    {"logical_or", "write a | b"},
    {"logical_xor", "write a ^ b"},
    {"logical_not", "write ~a"},
    {"leaky_relu", "write @where(x > 0.0, x, slope * x)"},
    {"elu", "write @where(x > 0.0, x, alpha * (@exp(x) - 1.0))"},
    {"softplus", "write @log(1.0 + @exp(x))"},
    {"swish", "write x * @sigmoid(x)"},
    // Whole axes
    {"amax", "write @max(x, axis)"},
    {"amin", "write @min(x, axis)"},
    {"cumprod", "write the loop in a @ts.kernel"},
    {"sort", "nothing sorts: sort outside, or write the network in a @ts.kernel"},
    {"argsort", "nothing sorts: sort outside, or write the network in a @ts.kernel"},
    {"topk", "nothing sorts: take k times @argmax(x, axis) and mask what it found with @where"},
    {"unique", "nothing sorts: it is computed outside"},
    {"nonzero", "shapes do not depend on values: keep the mask, and use it with @where"},
    // Products
    {"dot", "write ts.matmul(a, b) of tensors, ts.tile.mma(a, b) of tiles"},
    {"mm", "write ts.matmul(a, b) of tensors, ts.tile.mma(a, b) of tiles"},
    {"bmm", "write ts.matmul(a, b): leading dims broadcast"},
    {"einsum", "write it with ts.transpose, ts.reshape and ts.matmul of tensors"},
    {"conv2d", "write the loops over the window in a @ts.kernel"},
    // Shapes and new values
    {"ones", "write @full(shape, 1.0)"},
    {"empty", "write @zeros(shape, dtype)"},
    {"zeros_like", "write @zeros(x.shape, x.dtype)"},
    {"ones_like", "write @full(x.shape, 1.0, x.dtype)"},
    {"full_like", "write @full(x.shape, value, x.dtype)"},
    {"linspace", "write start + step * @cast(@arange(n), ts.f32)"},
    {"cat", "write @concat((a, b), axis=0)"},
    {"concatenate", "write @concat((a, b), axis=0)"},
    {"join", "write @concat of the parts with an axis inserted: x[:, None]"},
    {"view", "write @reshape(x, shape)"},
    {"ravel", "write @reshape(x, (-1,))"},
    {"expand", "write @broadcast(x, shape)"},
    {"trans", "write x.T"},
    {"swapaxes", "write x.T, or ts.transpose(x, perm) of tensors"},
    {"moveaxis", "write ts.transpose(x, perm) of tensors"},
    {"permute_dims", "write ts.transpose(x, perm) of tensors"},
    {"astype", "write @cast(x, dtype)"},
    {"to", "write @cast(x, dtype)"},
    {"squeeze", "write @reshape(x, shape)"},
    {"flatten", "write @reshape(x, (-1,))"},
    {"expand_dims", "write x[:, None]"},
    {"unsqueeze", "write x[:, None]"},
    {"permute", "write ts.transpose(x, perm) of tensors, x.T of a tile"},
    {"gather",
     "write ts.embedding(table, ids) of rows, or T[ids, i:i+64] with a tile of indices in a @ts.kernel"},
    {"scatter", "store with a tile of integers as the index in a @ts.kernel: y[ids, i:i+64] = x"},
    // Programs, lanes and memory
    {"program_id", "write i, j = ts.tile.grid(n, m), or loop with ts.tile.parallel"},
    {"num_programs", "the grid is what ts.tile.grid is called with: ts.cdiv(N, BLOCK)"},
    {"thread_id", "write ts.tile.linear_id()"},
    {"threadIdx", "write ts.tile.linear_id()"},
    {"blockIdx", "write i, j = ts.tile.grid(n, m), or loop with ts.tile.parallel"},
    {"ceildiv", "write ts.cdiv(a, b)"},
    {"ceil_div", "write ts.cdiv(a, b)"},
    {"make_block_ptr", "slice the tensor: x[i:i+64, j:j+64]"},
    {"make_tensor_descriptor", "slice the tensor: x[i:i+64, j:j+64]"},
    {"advance", "slice the tensor at the new index: x[i:i+64]"},
    {"syncthreads", "write ts.tile.barrier()"},
    {"debug_barrier", "write ts.tile.barrier()"},
    {"atomic_or", "write ts.tile.atomic_cas in a loop"},
    {"atomic_and", "write ts.tile.atomic_cas in a loop"},
    {"randint", "scale ts.tile.rand(seed, offset), which is in [0, 1), and cast it"},
    {"multiple_of", "leave it out: the compiler knows the steps of its loops"},
    {"max_contiguous", "leave it out: the compiler knows the steps of its loops"},
    {"constexpr", "constants are written at module level, tunables in @ts.kernel.autotune"},
};

} // namespace

std::span<const ForeignName> foreignNames() { return kForeignNames; }

std::optional<std::string> foreignHint(std::string_view name, const std::string &prefix) {
  for (const ForeignName &a : kForeignNames) {
    if (a.name != name) continue;
    std::string out = a.written;
    for (size_t at = 0; (at = out.find('@', at)) != std::string::npos;) {
      bool isDecorator = out.compare(at, 4, "@ts.") == 0;
      if (!isDecorator) out.replace(at, 1, prefix);
      ++at;
    }
    return out;
  }
  if (parseDType(name)) return std::nullopt;
  static constexpr ForeignName kDTypes[] = {
      {"long", "write ts.i64"},          {"short", "write ts.i16"},
      {"int1", "write ts.bool"},         {"float8e4nv", "write ts.fp8_e4m3"},
      {"float8e5", "write ts.fp8_e5m2"},
  };
  for (const ForeignName &d : kDTypes)
    if (d.name == name) return d.written;
  std::string_view digits = name;
  for (std::string_view family : {"uint", "u", "int", "i"})
    if (name.starts_with(family) && name != family) {
      digits.remove_prefix(family.size());
      if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
      return "the integers are i64, i32, i16, i8 and u8";
    }
  if (name.starts_with("complex")) return "there are no complex numbers: keep two tensors";
  return std::nullopt;
}

bool isForeignModule(std::string_view name) {
  static constexpr std::string_view kModules[] = {"tl",  "triton", "np",  "numpy", "torch", "F",  "nn",
                                                  "jnp", "jax",    "lax", "pl",    "tf",    "cp", "cupy"};
  return std::ranges::find(kModules, name) != std::end(kModules);
}

std::string foreignArgumentHint(std::string_view argument, const Signature &signature) {
  struct Entry {
    std::string_view foreign, ours;
  };
  static constexpr Entry kArguments[] = {
      {"dim", "axis"},
      {"dims", "axis"},
      {"keepdim", "keepdims"},
      {"keep_dims", "keepdims"},
      {"axes", "perm"},
      {"dims", "perm"},
      {"permutation", "perm"},
      {"input", "x"},
      {"self", "x"},
      {"size", "shape"},
      {"newshape", "shape"},
      {"fill_value", "value"},
      {"end", "stop"},
      {"epsilon", "eps"},
      {"weight", "gamma"},
      {"bias", "beta"},
      {"out_dtype", "dtype"},
      {"out_dtype", "accumulator"},
      {"preferred_element_type", "dtype"},
      {"preferred_element_type", "accumulator"},
      {"sm_scale", "scale"},
      {"softmax_scale", "scale"},
      {"num_stages", "stages"},
      {"sem", "order"},
      {"cond", "condition"},
      {"labels", "target"},
      {"target", "labels"},
      {"input", "logits"},
      {"transpose_a", "trans_a"},
      {"transpose_b", "trans_b"},
      {"indices_or_sections", "parts"},
      {"chunks", "parts"},
      {"indices", "ids"},
  };
  for (const Entry &e : kArguments)
    if (e.foreign == argument && signature.find(e.ours) < signature.size())
      return "write " + std::string(e.ours) + "=";
  const bool isLoad = signature.find("src") < signature.size() || signature.find("dst") < signature.size();
  if (isLoad && argument == "boundary_check") return "leave it out: elements out of bounds are masked";
  return {};
}

} // namespace tessera::ops
