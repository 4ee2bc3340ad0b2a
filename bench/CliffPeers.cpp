#include "bench/CliffPeers.h"
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
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

memory of(memory::dims dims, const float *data) {
  return {describe(std::move(dims)), engine(), const_cast<float *>(data)};
}

std::function<void()> caller(dnnl::primitive primitive, std::unordered_map<int, memory> arguments) {
  auto stream = std::make_shared<dnnl::stream>(engine());
  return [=] {
    primitive.execute(*stream, arguments);
    stream->wait();
  };
}

constexpr auto kInference = dnnl::prop_kind::forward_inference;

} // namespace

std::function<void()> dnnlSoftmax(const float *x, float *y, int64_t rows, int64_t columns, bool logarithm) {
  if (logarithm) {
    const dnnl::logsoftmax_forward::desc what(kInference, describe({rows, columns}), 1);
    return caller(dnnl::logsoftmax_forward({what, engine()}),
                  {{DNNL_ARG_SRC, of({rows, columns}, x)}, {DNNL_ARG_DST, of({rows, columns}, y)}});
  }
  const dnnl::softmax_forward::desc what(kInference, describe({rows, columns}), 1);
  return caller(dnnl::softmax_forward({what, engine()}),
                {{DNNL_ARG_SRC, of({rows, columns}, x)}, {DNNL_ARG_DST, of({rows, columns}, y)}});
}

std::function<void()> dnnlLayerNorm(const float *x, const float *gamma, const float *beta, float *y,
                                    int64_t rows, int64_t columns) {
  using dnnl::normalization_flags;
  const dnnl::layer_normalization_forward::desc what(kInference, describe({rows, columns}), 1e-5f,
                                                     normalization_flags::use_scale |
                                                         normalization_flags::use_shift);
  return caller(dnnl::layer_normalization_forward({what, engine()}),
                {{DNNL_ARG_SRC, of({rows, columns}, x)},
                 {DNNL_ARG_SCALE, of({columns}, gamma)},
                 {DNNL_ARG_SHIFT, of({columns}, beta)},
                 {DNNL_ARG_DST, of({rows, columns}, y)}});
}

std::function<void()> dnnlFunction(const char *name, const float *x, float *y, int64_t count) {
  using dnnl::algorithm;
  static const std::unordered_map<std::string, algorithm> algorithms = {
      {"exp", algorithm::eltwise_exp},           {"log", algorithm::eltwise_log},
      {"tanh", algorithm::eltwise_tanh},         {"logistic", algorithm::eltwise_logistic},
      {"gelu_erf", algorithm::eltwise_gelu_erf}, {"gelu_tanh", algorithm::eltwise_gelu_tanh}};
  const dnnl::eltwise_forward::desc what(kInference, algorithms.at(name), describe({count}), 0, 0);
  return caller(dnnl::eltwise_forward({what, engine()}),
                {{DNNL_ARG_SRC, of({count}, x)}, {DNNL_ARG_DST, of({count}, y)}});
}

std::function<void()> dnnlLinear(const float *x, float *y, int64_t count) {
  const dnnl::eltwise_forward::desc what(kInference, dnnl::algorithm::eltwise_linear, describe({count}), 2,
                                         1);
  return caller(dnnl::eltwise_forward({what, engine()}),
                {{DNNL_ARG_SRC, of({count}, x)}, {DNNL_ARG_DST, of({count}, y)}});
}

} // namespace tessera::bench
