// oneDNN's primitives: created once, run often. Operands have the caller's plain layouts, as generated
// code's.
#include "bench/peers/Dnnl.h"
#include "bench/peers/Peers.h"
#include <algorithm>
#include <cmath>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace tessera::bench {
namespace {

using dnnl::memory;

dnnl::engine &engine() {
  static dnnl::engine theEngine(dnnl::engine::kind::cpu, 0);
  return theEngine;
}

memory::desc describe(memory::dims dims) {
  return {dims, memory::data_type::f32, dims.size() == 1 ? memory::format_tag::a : memory::format_tag::ab};
}

memory of(const memory::desc &what, const void *data) { return {what, engine(), const_cast<void *>(data)}; }

Call caller(dnnl::primitive primitive, std::unordered_map<int, memory> arguments) {
  auto stream = std::make_shared<dnnl::stream>(engine());
  return [=] {
    primitive.execute(*stream, arguments);
    stream->wait();
  };
}

memory::data_type typeOf(DType t) {
  switch (t) {
  case DType::F32:
    return memory::data_type::f32;
  case DType::BF16:
    return memory::data_type::bf16;
  case DType::I8:
    return memory::data_type::s8;
  case DType::I32:
    return memory::data_type::s32;
  default:
    return memory::data_type::undef;
  }
}

/// Describes [batch, rows, columns] that is stored as [batch, columns, rows] if `transposed`.
memory::desc matrices(int64_t batch, int64_t rows, int64_t columns, bool transposed, DType t) {
  const memory::dims strides =
      transposed ? memory::dims{rows * columns, 1, rows} : memory::dims{rows * columns, columns, 1};
  if (batch > 1) return {{batch, rows, columns}, typeOf(t), strides};
  return {{rows, columns}, typeOf(t), memory::dims(strides.begin() + 1, strides.end())};
}

/// Sets the scores of the keys that causal attention leaves out to -infinity.
void hideLaterKeys(const AttentionShape &s, std::byte *scores) {
  const auto fillRows = [&](auto *row, auto value) {
    for (int64_t r = 0; r < s.heads * s.queries; ++r, row += s.keys)
      std::fill(row + r % s.queries + s.keys - s.queries + 1, row + s.keys, value);
  };
  if (s.dtype == DType::BF16)
    fillRows(reinterpret_cast<uint16_t *>(scores), uint16_t{0xff80});
  else
    fillRows(reinterpret_cast<float *>(scores), -INFINITY);
}

constexpr auto kInference = dnnl::prop_kind::forward_inference;

} // namespace

Call dnnlGemm(const Product &p, const void *a, const void *b, void *c) {
  if (p.input != DType::F32 || p.output != DType::F32) return {};
  return [=] {
    dnnl_sgemm(p.transposeA ? 'T' : 'N', p.transposeB ? 'T' : 'N', p.m, p.n, p.k, 1,
               static_cast<const float *>(a), p.transposeA ? p.m : p.k, static_cast<const float *>(b),
               p.transposeB ? p.k : p.n, 0, static_cast<float *>(c), p.n);
  };
}

Call dnnlMatmul(const Product &p, const void *a, const void *b, const float *bias, void *c) try {
  const memory::desc left = matrices(p.batch, p.m, p.k, p.transposeA, p.input),
                     right = matrices(p.batch, p.k, p.n, p.transposeB, p.input),
                     result = matrices(p.batch, p.m, p.n, false, p.output);
  if (left.data.data_type == dnnl_data_type_undef || result.data.data_type == dnnl_data_type_undef) return {};
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, of(left, a)}, {DNNL_ARG_WEIGHTS, of(right, b)}, {DNNL_ARG_DST, of(result, c)}};
  if (!bias) return caller(dnnl::matmul({{left, right, result}, engine()}), arguments);
  const memory::desc row({1, p.n}, memory::data_type::f32, memory::format_tag::ab);
  arguments.emplace(DNNL_ARG_BIAS, of(row, bias));
  dnnl::post_ops after;
  after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  return caller(dnnl::matmul({{left, right, row, result}, attributes, engine()}), arguments);
} catch (const dnnl::error &) { // not on this processor
  return {};
}

Call dnnlAttention(const AttentionShape &s, const void *q, const void *k, const void *v, void *out) try {
  const auto dims = [&](int64_t rows, int64_t columns, bool transposed = false, int64_t heads = 0) {
    const memory::dims extents = {heads ? heads : s.heads, rows, columns};
    const memory::dims strides =
        transposed ? memory::dims{rows * columns, 1, rows} : memory::dims{rows * columns, columns, 1};
    return memory::desc(extents, typeOf(s.dtype), strides);
  };
  const memory::desc scores = dims(s.queries, s.keys), query = dims(s.queries, s.depth),
                     key = dims(s.depth, s.keys, true), value = dims(s.keys, s.depth);
  auto space = std::make_shared<std::vector<std::byte>>(scores.get_size());
  dnnl::post_ops after;
  after.append_eltwise(1, dnnl::algorithm::eltwise_linear, 1 / std::sqrt(float(s.depth)), 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  std::vector<Call> steps = {
      caller(dnnl::matmul({{query, key, scores}, attributes, engine()}),
             {{DNNL_ARG_SRC, of(query, q)},
              {DNNL_ARG_WEIGHTS, of(key, k)},
              {DNNL_ARG_DST, of(scores, space->data())}}),
      caller(dnnl::softmax_forward({{kInference, scores, 2}, engine()}),
             {{DNNL_ARG_SRC, of(scores, space->data())}, {DNNL_ARG_DST, of(scores, space->data())}}),
      caller(dnnl::matmul({{scores, value, query}, engine()}), {{DNNL_ARG_SRC, of(scores, space->data())},
                                                                {DNNL_ARG_WEIGHTS, of(value, v)},
                                                                {DNNL_ARG_DST, of(query, out)}})};
  // A mask as a post-op of the product takes its reference code: 500 times as long.
  if (s.causal) steps.insert(steps.begin() + 1, [=] { hideLaterKeys(s, space->data()); });
  return [=] {
    (void)space; // the primitives read it
    for (const Call &step : steps)
      step();
  };
} catch (const dnnl::error &) {
  return {};
}

Call dnnlSoftmax(const float *x, float *y, int64_t rows, int64_t columns) {
  const dnnl::softmax_forward::desc what(kInference, describe({rows, columns}), 1);
  return caller(dnnl::softmax_forward({what, engine()}), {{DNNL_ARG_SRC, of(describe({rows, columns}), x)},
                                                          {DNNL_ARG_DST, of(describe({rows, columns}), y)}});
}

Call dnnlLayerNorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows,
                   int64_t columns) {
  using dnnl::normalization_flags;
  const dnnl::layer_normalization_forward::desc what(kInference, describe({rows, columns}), 1e-5f,
                                                     normalization_flags::use_scale |
                                                         normalization_flags::use_shift);
  return caller(dnnl::layer_normalization_forward({what, engine()}),
                {{DNNL_ARG_SRC, of(describe({rows, columns}), x)},
                 {DNNL_ARG_SCALE, of(describe({columns}), gamma)},
                 {DNNL_ARG_SHIFT, of(describe({columns}), beta)},
                 {DNNL_ARG_DST, of(describe({rows, columns}), y)}});
}

Call dnnlElementwise(const std::string &function, const float *x, float *y, int64_t count) {
  const bool isLinear = function == "linear";
  const auto algorithm = isLinear             ? dnnl::algorithm::eltwise_linear
                         : function == "tanh" ? dnnl::algorithm::eltwise_tanh
                         : function == "exp"  ? dnnl::algorithm::eltwise_exp
                                              : dnnl::algorithm::eltwise_gelu_erf;
  const dnnl::eltwise_forward::desc what(kInference, algorithm, describe({count}), isLinear ? 2 : 0,
                                         isLinear ? 1 : 0);
  return caller(dnnl::eltwise_forward({what, engine()}),
                {{DNNL_ARG_SRC, of(describe({count}), x)}, {DNNL_ARG_DST, of(describe({count}), y)}});
}

std::string dnnlKernels() {
  switch (dnnl::get_effective_cpu_isa()) {
  case dnnl::cpu_isa::avx512_core_amx:
    return "avx512_core_amx";
  case dnnl::cpu_isa::avx512_core_bf16:
    return "avx512_core_bf16";
  case dnnl::cpu_isa::avx512_core_vnni:
    return "avx512_core_vnni";
  case dnnl::cpu_isa::avx512_core:
    return "avx512_core";
  case dnnl::cpu_isa::avx2_vnni:
    return "avx2_vnni";
  case dnnl::cpu_isa::avx2:
    return "avx2";
  default:
    return "an older one";
  }
}

} // namespace tessera::bench
