// Functions for the tests: plans over kernels written in C++.
#pragma once
#include "core/test/Support.h"

namespace tessera::test {

/// y[i] = a * x[i] + b, 64 elements per program.
inline const char *kAffineYaml = R"yaml({name: f.affine, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: [n], access: read},
  {name: y, kind: result, dtype: f32, dims: [n], access: write},
  {name: a, kind: scalar, dtype: f32}, {name: b, kind: scalar, dtype: f32},
  {name: n, kind: dim}], launch: {axes: ["ceildiv(n, 64)"]}})yaml";

inline void affine(const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
  auto *x = reinterpret_cast<const float *>(v[0]);
  auto *y = reinterpret_cast<float *>(v[1]);
  float a, b;
  std::memcpy(&a, &v[2], sizeof a);
  std::memcpy(&b, &v[3], sizeof b);
  for (int64_t i = begin * 64; i < std::min(end * 64, static_cast<int64_t>(v[4])); ++i)
    y[i] = a * x[i] + b;
}

/// z[i] = x[i] + y[i]
inline const char *kAddYaml = R"yaml({name: f.add, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: [n], access: read},
  {name: y, kind: tensor, dtype: f32, dims: [n], access: read},
  {name: z, kind: result, dtype: f32, dims: [n], access: write},
  {name: n, kind: dim}], launch: {axes: ["ceildiv(n, 64)"]}})yaml";

inline void add(const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
  auto *x = reinterpret_cast<const float *>(v[0]), *y = reinterpret_cast<const float *>(v[1]);
  auto *z = reinterpret_cast<float *>(v[2]);
  for (int64_t i = begin * 64; i < std::min(end * 64, static_cast<int64_t>(v[3])); ++i)
    z[i] = x[i] + y[i];
}

/// wide[m, e] = x[m, e mod D] + e, one row per program.
inline const char *kWidenYaml = R"yaml({name: f.widen, target: cpu, numerics: standard, params: [
  {name: x, kind: tensor, dtype: f32, dims: [M, D], access: read},
  {name: wide, kind: result, dtype: f32, dims: [M, E], access: write},
  {name: M, kind: dim}, {name: D, kind: dim}, {name: E, kind: dim}], launch: {axes: [M]}})yaml";

inline void widen(const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
  auto *x = reinterpret_cast<const float *>(v[0]);
  auto *wide = reinterpret_cast<float *>(v[1]);
  auto d = static_cast<int64_t>(v[3]), e = static_cast<int64_t>(v[4]);
  for (int64_t m = begin; m < end; ++m)
    for (int64_t i = 0; i < e; ++i)
      wide[m * e + i] = x[m * d + i % d] + static_cast<float>(i);
}

/// y[m, d] = sum over k of wide[m, k * D + d], one row per program.
inline const char *kFoldYaml = R"yaml({name: f.fold, target: cpu, numerics: standard, params: [
  {name: wide, kind: tensor, dtype: f32, dims: [M, E], access: read},
  {name: y, kind: result, dtype: f32, dims: [M, D], access: write},
  {name: M, kind: dim}, {name: E, kind: dim}, {name: D, kind: dim}], launch: {axes: [M]}})yaml";

inline void fold(const uint64_t *v, int64_t begin, int64_t end, uint8_t *) {
  auto *wide = reinterpret_cast<const float *>(v[0]);
  auto *y = reinterpret_cast<float *>(v[1]);
  auto e = static_cast<int64_t>(v[3]), d = static_cast<int64_t>(v[4]);
  for (int64_t m = begin; m < end; ++m)
    for (int64_t j = 0; j < d; ++j) {
      y[m * d + j] = 0;
      for (int64_t k = j; k < e; k += d)
        y[m * d + j] += wide[m * e + k];
    }
}

/// y = a * fold(widen(x)): y[m, d] = a * (4 x[m, d] + 4 d + 6 D), by t0 [M, 4*D] and the flat t1.
inline const char *kFourfoldYaml = R"yaml(name: fourfold
target: cpu
numerics: standard
params:
  - {name: x, kind: tensor, dtype: f32, dims: [M, D], access: read}
  - {name: y, kind: result, dtype: f32, dims: [M, D], access: write}
  - {name: a, kind: scalar, dtype: f32}
  - {name: M, kind: dim}
  - {name: D, kind: dim}
plan:
  buffers:
    - {name: t0, dtype: f32, dims: [M, "4*D"]}
    - {name: t1, dtype: f32, dims: [M, D]}
  steps:
    - {kernel: f.widen, args: [x, t0, M, D, "4*D"]}
    - {kernel: f.fold, args: [t0, t1, M, "4*D", D]}
    - {kernel: f.affine, args: [t1, y, a, 0, "M*D"]}
)yaml";

inline std::vector<CompiledKernel> withKernels(std::vector<std::string> functions) {
  std::vector<CompiledKernel> all;
  for (std::string &yaml : functions)
    all.push_back(compiled(yaml.c_str(), nullptr)), all.back().kind = EntryKind::Function;
  all.push_back(compiled(kAffineYaml, affine));
  all.push_back(compiled(kAddYaml, add));
  all.push_back(compiled(kWidenYaml, widen));
  all.push_back(compiled(kFoldYaml, fold));
  return all;
}

/// Returns a document of function f with these parameters and this plan.
inline std::string functionYaml(const std::string &params, const std::string &plan) {
  return "{name: f, target: cpu, numerics: standard, params: [" + params + "], plan: {" + plan + "}}";
}

class FunctionTest : public RuntimeTest {
protected:
  tsr_kernel_t function(const std::string &yaml) {
    tsr_kernel_t k = nullptr;
    EXPECT_OK(tsrGetKernel(module(withKernels({yaml})), nullptr, &k));
    return k;
  }
  uint64_t bytesInUse() {
    tsr_memory_info_t info{};
    info.struct_size = sizeof info;
    EXPECT_OK(tsrGetMemoryInfo(context, &info));
    return info.in_use_bytes;
  }
  /// Returns the workspace of a call with these scalars and dims after `tensors` tensors.
  template <class... Values> uint64_t workspace(tsr_kernel_t k, size_t tensors, Values... values) {
    std::vector<void *> args(tensors, nullptr);
    (args.push_back(&values), ...);
    uint64_t bytes = UINT64_MAX;
    EXPECT_OK(tsrKernelWorkspace(k, args.data(), args.size(), &bytes));
    return bytes;
  }
};

} // namespace tessera::test
