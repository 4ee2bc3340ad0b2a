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
    {"bitwise_not", "write ~a"},
    {"invert", "write ~a"},
    {"left_shift", "write a << b"},
    {"right_shift", "write a >> b"},
    {"floor_divide", "write a // b"},
    {"true_divide", "write a / b"},
    {"float_power", "write @pow(x, y)"},
    {"not_equal", "write a != b"},
    {"less_equal", "write a <= b"},
    {"greater_equal", "write a >= b"},
    {"arcsin", "write @asin(x)"},
    {"arccos", "write @acos(x)"},
    {"arctan", "write @atan(x)"},
    {"arctan2", "write @atan2(y, x)"},
    {"rint", "write @round(x)"},
    {"around", "write @round(x)"},
    {"fix", "write @trunc(x)"},
    {"frac", "write x - @trunc(x)"},
    {"lerp", "write a + t * (b - a)"},
    {"nan_to_num", "write @where(@isnan(x), 0.0, x)"},
    {"masked_fill", "write @where(mask, value, x)"},
    {"relu6", "write @clip(x, 0.0, 6.0)"},
    {"hardtanh", "write @clip(x, -1.0, 1.0)"},
    {"logaddexp", "write @maximum(a, b) + @log1p(@exp(-@abs(a - b)))"},
    {"fabs", "write @abs(x)"},
    {"fmaf", "write ts.tile.fma(a, b, c)"},
    {"expf", "write @exp(x)"},
    {"logf", "write @log(x)"},
    {"sqrtf", "write @sqrt(x)"},
    {"rsqrtf", "write @rsqrt(x)"},
    {"powf", "write @pow(x, y)"},
    {"fabsf", "write @abs(x)"},
    {"fmaxf", "write @maximum(a, b)"},
    {"fminf", "write @minimum(a, b)"},
    {"leaky_relu", "write @where(x > 0.0, x, slope * x)"},
    {"elu", "write @where(x > 0.0, x, alpha * (@exp(x) - 1.0))"},
    {"softplus", "write @log(1.0 + @exp(x))"},
    {"swish", "write x * @sigmoid(x)"},
    // Whole axes
    {"amax", "write @max(x, axis)"},
    {"amin", "write @min(x, axis)"},
    {"average", "write ts.mean(x, axis) of tensors"},
    {"ptp", "write @max(x, axis) - @min(x, axis)"},
    {"count_nonzero", "write @sum(x != 0)"},
    {"nansum", "write @sum(@where(@isnan(x), 0.0, x), axis)"},
    {"median", "write ts.sort(x, axis=1)[:, n // 2] of tensors"},
    {"quantile", "sort with ts.sort, and index the tensor at the rank"},
    {"percentile", "sort with ts.sort, and index the tensor at the rank"},
    {"partition", "write @sort(x)"},
    {"argpartition", "write ts.argsort(x) of tensors"},
    {"argwhere", "shapes do not depend on values: keep the mask, and use it with @where"},
    {"flatnonzero", "shapes do not depend on values: keep the mask, and use it with @where"},
    {"unique", "shapes do not depend on values: sort with @sort, and compare neighbours"},
    {"nonzero", "shapes do not depend on values: keep the mask, and use it with @where"},
    // Products
    {"dot", "write ts.matmul(a, b) of tensors, ts.tile.mma(a, b) of tiles"},
    {"mm", "write ts.matmul(a, b) of tensors, ts.tile.mma(a, b) of tiles"},
    {"bmm", "write ts.matmul(a, b): leading dims broadcast"},
    {"conv2d", "write the loops over the window in a @ts.kernel"},
    {"linear", "write ts.matmul(x, w.T) + b of tensors"},
    {"inner", "write @sum(a * b)"},
    {"vdot", "write @sum(a * b)"},
    {"outer", "write a[:, None] * b[None, :]"},
    {"tensordot", "write ts.einsum(\"ij,jk->ik\", a, b) of tensors"},
    {"addmm", "write ts.matmul(a, b) + c of tensors"},
    {"dropout", "compare ts.tile.rand(seed, offset) with the rate in a @ts.kernel"},
    // Shapes and new values
    {"ones", "write @full(shape, 1.0)"},
    {"empty", "write @zeros(shape, dtype)"},
    {"zeros_like", "write @zeros(x.shape, x.dtype)"},
    {"ones_like", "write @full(x.shape, 1.0, x.dtype)"},
    {"full_like", "write @full(x.shape, value, x.dtype)"},
    {"linspace", "write start + step * @cast(@arange(n), ts.f32)"},
    {"cat", "write @concat((a, b), axis=0)"},
    {"vstack", "write @concat((a, b), axis=0)"},
    {"hstack", "write @concat((a, b), axis=1)"},
    {"column_stack", "write ts.stack((a, b), axis=1) of tensors"},
    {"diff", "write x[1:] - x[:-1]"},
    {"flipud", "write @flip(x, axis=0)"},
    {"fliplr", "write @flip(x, axis=1)"},
    {"eye", "write @cast(@arange(n)[:, None] == @arange(n)[None, :], dtype)"},
    {"identity", "write @cast(@arange(n)[:, None] == @arange(n)[None, :], dtype)"},
    {"diag", "write x[i, i] with i = @arange(n)"},
    {"diagonal", "write x[i, i] with i = @arange(n)"},
    {"trace", "write @sum(x[i, i]) with i = @arange(n)"},
    {"index_select", "write x[ids] with a tensor or tile of integers"},
    {"chunk", "write ts.split(x, n, axis) of tensors"},
    {"concatenate", "write @concat((a, b), axis=0)"},
    {"view", "write @reshape(x, shape)"},
    {"ravel", "write @reshape(x, (-1,))"},
    {"expand", "write @broadcast(x, shape)"},
    {"trans", "write x.T"},
    {"swapaxes", "write x.T, or @transpose(x, perm)"},
    {"moveaxis", "write @transpose(x, perm)"},
    {"permute_dims", "write @transpose(x, perm)"},
    {"astype", "write @cast(x, dtype)"},
    {"to", "write @cast(x, dtype)"},
    {"squeeze", "write @reshape(x, shape)"},
    {"flatten", "write @reshape(x, (-1,))"},
    {"expand_dims", "write x[:, None]"},
    {"newaxis", "write None: x[:, None]"},
    {"t", "write x.T"},
    {"array", "pass it as a tensor parameter; constants are numbers and tuples of them"},
    {"asarray", "pass it as a tensor parameter; constants are numbers and tuples of them"},
    {"item", "keep the tensor: one of rank 0 has one element"},
    {"contiguous", "leave it out: values are contiguous"},
    {"detach", "leave it out: there are no gradients"},
    {"at", "build a new tensor with ts.where or ts.concat, or store in a @ts.kernel"},
    {"size", "write the names of the dims, or x.shape[0]"},
    {"numel", "write the product of the dims"},
    {"stride", "the parameter's type has the strides, after the dtype"},
    {"strides", "the parameter's type has the strides, after the dtype"},
    {"unsqueeze", "write x[:, None]"},
    // Programs, lanes and memory
    {"program_id", "write i, j = ts.tile.grid(n, m), or loop with ts.tile.parallel"},
    {"num_programs", "the grid is what ts.tile.grid is called with: ts.cdiv(N, BLOCK)"},
    {"thread_id", "write ts.tile.linear_id()"},
    {"threadIdx", "write ts.tile.linear_id()"},
    {"blockIdx", "write i, j = ts.tile.grid(n, m), or loop with ts.tile.parallel"},
    {"blockDim",
     "the extent of a tile is the constant in its slice; lanes are numbered by ts.tile.linear_id()"},
    {"gridDim", "the grid is what ts.tile.grid is called with: ts.cdiv(N, BLOCK)"},
    {"prange", "write ts.tile.parallel(0, n, 64)"},
    {"cuda.grid", "write ts.tile.linear_id(), and a guard: if i < n:"},
    {"cuda.gridsize", "the lanes of ts.tile.linear_id() cover all elements: no loop over them is needed"},
    {"cuda.shared.array", "write ts.tile.alloc_shared(shape, dtype)"},
    {"cuda.local.array", "write @zeros(shape, dtype)"},
    {"cuda.atomic.add", "write ts.tile.atomic_add(C[i], value)"},
    {"cuda.atomic.max", "write ts.tile.atomic_max(C[i], value)"},
    {"cuda.atomic.min", "write ts.tile.atomic_min(C[i], value)"},
    {"atomicAdd", "write ts.tile.atomic_add(C[i], value)"},
    {"atomicMax", "write ts.tile.atomic_max(C[i], value)"},
    {"atomicMin", "write ts.tile.atomic_min(C[i], value)"},
    {"atomicCAS", "write ts.tile.atomic_cas(C[i], compare, value)"},
    {"shared_memory", "write ts.tile.alloc_shared(shape, dtype)"},
    {"shared_array", "write ts.tile.alloc_shared(shape, dtype)"},
    {"ds", "write the slice: x[i:i+64]"},
    {"dslice", "write the slice: x[i:i+64]"},
    {"slice", "write it in brackets, x[i:i+64]"},
    {"vmap", "leave leading dims out of the indices of a @ts.kernel: they become axes of the grid"},
    {"fori_loop", "write the loop in a @ts.kernel"},
    {"while_loop", "write the loop in a @ts.kernel"},
    {"scan", "write the loop in a @ts.kernel"},
    {"cond", "write @where(condition, a, b)"},
    {"ceildiv", "write ts.cdiv(a, b)"},
    {"ceil_div", "write ts.cdiv(a, b)"},
    {"make_block_ptr", "slice the tensor: x[i:i+64, j:j+64]"},
    {"make_tensor_descriptor", "slice the tensor: x[i:i+64, j:j+64]"},
    {"advance", "slice the tensor at the new index: x[i:i+64]"},
    {"syncthreads", "write ts.tile.barrier()"},
    {"debug_barrier", "write ts.tile.barrier()"},
    {"atomic_or", "write ts.tile.atomic_cas in a loop"},
    {"atomic_and", "write ts.tile.atomic_cas in a loop"},
    {"multiple_of",
     "the compiler knows the steps of its loops; state what divides a dim with ts.assume(K % 16 == 0)"},
    {"max_contiguous", "leave it out: the compiler knows the steps of its loops"},
    {"constexpr", "constants are written at module level, tunables in @ts.kernel.autotune"},
    {"static_assert",
     "what must hold of a shape is written in the parameter's type, or as ts.assume(condition)"},
    {"printf", "write ts.tile.print(\"x = {}\", x)"},
    {"device_print", "write ts.tile.print(\"x = {}\", x)"},
    {"static_print", "write ts.tile.print(\"x = {}\", x)"},
    {"device_assert", "write ts.tile.assert_(condition, \"message\")"},
    {"debug_assert", "write ts.tile.assert_(condition, \"message\")"},
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
      return "the integers are i64, i32, i16, i8, u64, u32, u16 and u8";
    }
  if (name.starts_with("complex")) return "there are no complex numbers: keep two tensors";
  return std::nullopt;
}

std::string foreignDecoratorHint(std::string_view dotted) {
  static constexpr ForeignName kDecorators[] = {
      {"triton.jit", "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"gluon.jit", "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"cuda.jit", "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"numba.cuda.jit", "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"T.prim_func", "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"cute.kernel", "a kernel has @ts.kernel, after 'import tessera as ts'"},
      {"triton.autotune",
       "write @ts.kernel.autotune(space=dict(BLOCK=[64, 128])), after 'import tessera as ts'"},
      {"triton.heuristics",
       "write @ts.kernel.autotune(space=dict(BLOCK=[64, 128])), after 'import tessera as ts'"},
      {"jit", "a kernel has @ts.kernel, a function of whole tensors @ts.jit, after 'import tessera as ts'"},
      {"njit", "a kernel has @ts.kernel, a function of whole tensors @ts.jit, after 'import tessera as ts'"},
      {"numba.jit",
       "a kernel has @ts.kernel, a function of whole tensors @ts.jit, after 'import tessera as ts'"},
      {"numba.njit",
       "a kernel has @ts.kernel, a function of whole tensors @ts.jit, after 'import tessera as ts'"},
      {"jax.jit", "a function of whole tensors has @ts.jit, after 'import tessera as ts'"},
      {"torch.compile", "a function of whole tensors has @ts.jit, after 'import tessera as ts'"},
      {"torch.jit.script", "a function of whole tensors has @ts.jit, after 'import tessera as ts'"},
  };
  const auto *found = std::ranges::find(kDecorators, dotted, &ForeignName::name);
  return found == std::end(kDecorators) ? "" : found->written;
}

std::string foreignTypeHint(std::string_view dotted) {
  for (std::string_view array : {"ndarray", "Tensor", "Array", "tensor", "DeviceArray"})
    if (dotted == array || dotted.ends_with("." + std::string(array)))
      return "write the dims and the dtype: ts.Tensor[\"M\", \"N\", ts.f32]";
  for (std::string_view text : {"str", "list", "tuple", "dict"})
    if (dotted == text)
      return "parameters are tensors and numbers: write a kernel for each case, a flag (bool), or a constant "
             "of the module";
  return {};
}

bool isForeignModule(std::string_view name) {
  static constexpr std::string_view kModules[] = {
      "tl", "triton", "np",   "numpy", "torch", "F",  "nn",    "jnp",  "jax",  "lax",    "pl",
      "tf", "cp",     "cupy", "sp",    "scipy", "nb", "numba", "cuda", "cute", "cutlass"};
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
      {"other", "b"},
      {"a_min", "low"},
      {"a_max", "high"},
  };
  for (const Entry &e : kArguments)
    if (e.foreign == argument && signature.find(e.ours) < signature.size())
      return "write " + std::string(e.ours) + "=";
  const bool isLoad = signature.find("src") < signature.size() || signature.find("dst") < signature.size();
  if (isLoad && argument == "boundary_check") return "leave it out: elements out of bounds are masked";
  if (argument == "device") return "leave it out: the launch chooses the device";
  if (argument == "out") return "leave it out: assign the result";
  if (argument == "dtype") return "cast the result: ts.cast(x, dtype), of tiles ts.tile.cast(x, dtype)";
  if (argument == "keepdims" || argument == "keepdim" || argument == "keep_dims")
    return "insert the axis: x[:, None]";
  return {};
}

} // namespace tessera::ops
