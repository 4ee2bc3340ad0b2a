#include "compiler/ops/ForeignNames.h"
#include "numerics/DType.h"

namespace tessera::ops {

namespace {

struct ForeignName {
  std::string_view name;
  const char *written; // `@` is the prefix of the place
};

constexpr ForeignName kForeignNames[] = {
    // Elementwise
    {"clip", "write @minimum(@maximum(x, low), high)"},
    {"clamp", "write @minimum(@maximum(x, low), high)"},
    {"floor", "write x // 1.0"},
    {"ceil", "write -(-x // 1.0)"},
    {"trunc", "write @where(x < 0.0, -(-x // 1.0), x // 1.0)"},
    {"round", "write (x + 0.5) // 1.0, which rounds halves up"},
    {"sign", "write @where(x > 0.0, 1.0, @where(x < 0.0, -1.0, 0.0))"},
    {"square", "write x * x"},
    {"reciprocal", "write 1.0 / x"},
    {"pow", "write x ** y"},
    {"power", "write x ** y"},
    {"log10", "write @log(x) / math.log(10.0)"},
    {"log1p", "write @log(1.0 + x)"},
    {"expm1", "write @exp(x) - 1.0"},
    {"tan", "write @sin(x) / @cos(x)"},
    {"isnan", "write x != x"},
    {"isinf", "write @abs(x) == float('inf')"},
    {"isfinite", "write @abs(x) < float('inf')"},
    {"add", "write x + y"},
    {"sub", "write x - y"},
    {"subtract", "write x - y"},
    {"mul", "write x * y"},
    {"multiply", "write x * y"},
    {"div", "write x / y"},
    {"divide", "write x / y"},
    {"neg", "write -x"},
    {"logical_and", "write a & b"},
    {"logical_or", "write a | b"},
    {"logical_xor", "write a ^ b"},
    {"logical_not", "write ~a"},
    {"leaky_relu", "write @where(x > 0.0, x, slope * x)"},
    {"elu", "write @where(x > 0.0, x, alpha * (@exp(x) - 1.0))"},
    {"softplus", "write @log(1.0 + @exp(x))"},
    {"swish", "write x * @sigmoid(x)"},
    // Whole axes
    {"any", "write @max(@cast(x, ts.i32)) != 0"},
    {"all", "write @min(@cast(x, ts.i32)) != 0"},
    {"var", "write the mean of (x - mean) * (x - mean)"},
    {"std", "write the square root of the mean of (x - mean) * (x - mean)"},
    {"logsumexp", "write m + @log(@sum(@exp(x - m))), with m the maximum"},
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
    {"einsum", "write it with transpose, reshape and matmul"},
    {"conv2d", "write the loops over the window in a @ts.kernel"},
    // Shapes and new values
    {"ones", "write @full(shape, 1.0)"},
    {"empty", "write @zeros(shape, dtype)"},
    {"zeros_like", "write @zeros(x.shape, x.dtype)"},
    {"ones_like", "write @full(x.shape, 1.0, x.dtype)"},
    {"full_like", "write @full(x.shape, value, x.dtype)"},
    {"linspace", "write start + step * @cast(@arange(n), ts.f32)"},
    {"stack", "write @concat of the parts with an axis inserted: x[None, :]"},
    {"cat", "write @concat((a, b), axis=0)"},
    {"squeeze", "write @reshape(x, shape)"},
    {"flatten", "write @reshape(x, (-1,))"},
    {"expand_dims", "write x[:, None]"},
    {"unsqueeze", "write x[:, None]"},
    {"permute", "write ts.transpose(x, perm)"},
    {"tril", "write @where(row >= column, x, 0.0), with rows and columns from @arange"},
    {"triu", "write @where(row <= column, x, 0.0), with rows and columns from @arange"},
    {"gather", "write ts.embedding(table, ids) of rows, or index the tensor in a @ts.kernel"},
    {"scatter", "write the stores in a @ts.kernel"},
};

} // namespace

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

} // namespace tessera::ops
