// The names of the language that are no functions: decorators, attributes, methods, policies.
// docs/language.md has each of them, which a test checks.
#pragma once
#include <string_view>
#include <utility>

namespace tessera::frontend::names {

inline constexpr std::string_view kDecorators[] = {"ts.kernel", "ts.kernel.autotune", "ts.jit", "ts.autodiff",
                                                   "ts.op.specialize"};

/// Of tiles, and of tensors of graph functions. A tensor of a kernel and a shared buffer have some of them.
inline constexpr std::string_view kAttributes[] = {"T", "shape", "ndim", "dtype"};

/// The methods of tensors of graph functions, and the functions that they are.
inline constexpr std::pair<std::string_view, std::string_view> kMethods[] = {
    {"astype", "cast"},   {"cast", "cast"}, {"reshape", "reshape"}, {"transpose", "transpose"},
    {"sum", "sum"},       {"mean", "mean"}, {"max", "max"},         {"min", "min"},
    {"prod", "prod"},     {"std", "std"},   {"var", "var"},         {"argmax", "argmax"},
    {"argmin", "argmin"}, {"any", "any"},   {"all", "all"},         {"cumsum", "cumsum"}};

/// Of a dtype in an annotation: "bf16 @accum(f32)".
inline constexpr std::string_view kPolicies[] = {"accum", "round", "loss_scale"};
inline constexpr std::string_view kRoundingModes[] = {"rne", "rtz", "rtp", "rtn", "stochastic"};

/// Of an annotation, beside dtypes.
inline constexpr std::string_view kTypes[] = {"Tensor", "strides"};

/// The leading dims of a tensor of a graph function, of any number.
inline constexpr std::string_view kLeading = "...";

/// Arguments that are text.
inline constexpr std::string_view kSwizzles[] = {"none", "xor"};
inline constexpr std::string_view kOrders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};
inline constexpr std::string_view kScopes[] = {"group", "device", "system"};

} // namespace tessera::frontend::names
