// The families of operations that models consist of, by size: functions of elements, rows, sums.
#include "bench/CliffCases.h"
#include "bench/CliffPeers.h"
#include "bench/Data.h"
#include <algorithm>
#include <cblas.h>
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

const char *const programs = R"py(
import tessera as ts



@ts.jit
def exp(x: ts.Tensor["n", ts.f32]):
    return ts.exp(x)


@ts.jit
def log(x: ts.Tensor["n", ts.f32]):
    return ts.log(x)


@ts.jit
def tanh(x: ts.Tensor["n", ts.f32]):
    return ts.tanh(x)


@ts.jit
def sigmoid(x: ts.Tensor["n", ts.f32]):
    return ts.sigmoid(x)


@ts.jit
def gelu(x: ts.Tensor["n", ts.f32]):
    return ts.op.gelu(x)


@ts.jit
def gelu_tanh(x: ts.Tensor["n", ts.f32]):
    return ts.op.gelu(x, approximate="tanh")


@ts.jit
def sin(x: ts.Tensor["n", ts.f32]):
    return ts.sin(x)


@ts.jit
def softmax(x: ts.Tensor["R", "C", ts.f32]):
    return ts.softmax(x)


@ts.jit
def log_softmax(x: ts.Tensor["R", "C", ts.f32]):
    return ts.op.log_softmax(x)


@ts.jit
def layer_norm(x: ts.Tensor["R", "C", ts.f32], gamma: ts.Tensor["C", ts.f32], beta: ts.Tensor["C", ts.f32]):
    return ts.layer_norm(x, gamma, beta)


@ts.jit
def rms_norm(x: ts.Tensor["R", "C", ts.f32], gamma: ts.Tensor["C", ts.f32]):
    return ts.op.rms_norm(x, gamma)


@ts.jit
def sum(x: ts.Tensor["n", ts.f32]):
    return ts.sum(x)
)py";

template <typename Loops> Cliff with(Cliff c, Loops loops) {
  c.loops = [=](const std::vector<const float *> &in, float *out) { loops(in, out); };
  c.reference = [=](const std::vector<const double *> &in, double *out) { loops(in, out); };
  return c;
}

template <typename F> Cliff function(const char *kernel, const char *primitive, int64_t n, F f) {
  Cliff c{"function", fmt::format("{} of {}", kernel, n),
          kernel,     {{"x", randomFloats(size_t(n), 1, *kernel == 'l' ? 0.01f : -4.0f, 4.0f)}},
          "result",   size_t(n),
          {{"n", n}}};
  c.program = programs;
  c.bytes = 8.0 * double(n);
  if (primitive) {
    c.peer = "oneDNN";
    c.library = [=](auto &in, float *out) { return dnnlFunction(primitive, in[0], out, n); };
  }
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *out) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(in[0][i]);
  });
}

void addFunctions(std::vector<Cliff> &out) {
  for (int64_t n : {4096, 65536, 1 << 20}) {
    out.push_back(function("exp", "exp", n, [](auto x) { return std::exp(x); }));
    out.push_back(function("log", "log", n, [](auto x) { return std::log(x); }));
    out.push_back(function("tanh", "tanh", n, [](auto x) { return std::tanh(x); }));
    out.push_back(function("sigmoid", "logistic", n, [](auto x) { return 1 / (1 + std::exp(-x)); }));
    out.push_back(function("gelu", "gelu_erf", n,
                           [](auto x) { return x / 2 * (1 + std::erf(x * decltype(x)(M_SQRT1_2))); }));
    out.push_back(function("gelu_tanh", "gelu_tanh", n, [](auto x) {
      using T = decltype(x);
      return x / 2 * (1 + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
    }));
    out.push_back(function("sin", nullptr, n, [](auto x) { return std::sin(x); }));
  }
}

Cliff rowsOf(const char *kernel, int64_t rows, int64_t columns) {
  const size_t n = size_t(rows * columns);
  Cliff c{"rows",
          fmt::format("{} of {}x{}", kernel, rows, columns),
          kernel,
          {{"x", randomFloats(n, 1)}},
          "result",
          n,
          {{"R", rows}, {"C", columns}}};
  c.program = programs;
  c.bytes = 8.0 * double(n);
  return c;
}

Cliff softmaxOf(int64_t rows, int64_t columns, bool logarithm) {
  Cliff c = rowsOf(logarithm ? "log_softmax" : "softmax", rows, columns);
  c.peer = "oneDNN";
  c.library = [=](auto &in, float *out) { return dnnlSoftmax(in[0], out, rows, columns, logarithm); };
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *out) {
    for (int64_t r = 0; r < rows * columns; r += columns) {
      T total = 0;
      for (int64_t i = r; i < r + columns; ++i)
        total += out[i] = std::exp(in[0][i]); // of values below 1
      for (int64_t i = r; i < r + columns; ++i)
        out[i] = logarithm ? in[0][i] - std::log(total) : out[i] / total;
    }
  });
}

Cliff normOf(int64_t rows, int64_t columns, bool rootMeanSquare) {
  Cliff c = rowsOf(rootMeanSquare ? "rms_norm" : "layer_norm", rows, columns);
  c.inputs.push_back({"gamma", randomFloats(size_t(columns), 2)});
  if (!rootMeanSquare) {
    c.inputs.push_back({"beta", randomFloats(size_t(columns), 3)});
    c.peer = "oneDNN";
    c.library = [=](auto &in, float *out) { return dnnlLayerNorm(in[0], in[1], in[2], out, rows, columns); };
  }
  return with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *out) {
    for (int64_t r = 0; r < rows * columns; r += columns) {
      const T *x = in[0] + r;
      T mean = 0, square = 0;
      if (!rootMeanSquare)
        for (int64_t j = 0; j < columns; ++j)
          mean += x[j] / T(columns);
      for (int64_t j = 0; j < columns; ++j)
        square += (x[j] - mean) * (x[j] - mean);
      const T scale = 1 / std::sqrt(square / T(columns) + T(rootMeanSquare ? 1e-6 : 1e-5));
      for (int64_t j = 0; j < columns; ++j)
        out[r + j] = (x[j] - mean) * scale * in[1][j] + (rootMeanSquare ? T(0) : in[2][j]);
    }
  });
}

void addRows(std::vector<Cliff> &out) {
  const std::pair<int64_t, int64_t> shapes[] = {{1, 128},     {8, 1000},   {65536, 16},  {16384, 128},
                                                {10007, 197}, {4096, 512}, {1024, 2048}, {256, 8192},
                                                {32, 65536},  {1, 65536}};
  for (auto [rows, columns] : shapes) {
    out.push_back(softmaxOf(rows, columns, false));
    out.push_back(softmaxOf(rows, columns, true));
    out.push_back(normOf(rows, columns, false));
    out.push_back(normOf(rows, columns, true));
  }
}

void addSums(std::vector<Cliff> &out) {
  for (int64_t n : {4096, 65536, 1 << 20, 1 << 22, 1 << 25}) {
    Cliff c{
        "sum",     fmt::format("sum of {}", n), "sum", {{"x", randomFloats(size_t(n), 1, 0, 1)}}, "result", 1,
        {{"n", n}}};
    c.program = programs;
    c.bytes = 4.0 * double(n);
    c.peer = "sdot of it with itself";
    c.tolerance = 1e-4;
    c.isPeerOfOtherResult = true;
    c.library = [=](auto &in, float *result) {
      return [=, x = in[0]] { *result = cblas_sdot(int(n), x, 1, x, 1); };
    };
    out.push_back(with(std::move(c), [=]<typename T>(const std::vector<const T *> &in, T *result) {
      T total = 0;
      for (int64_t i = 0; i < n; ++i)
        total += in[0][i];
      *result = total;
    }));
  }
}

} // namespace

std::vector<Cliff> familyCases() {
  std::vector<Cliff> out;
  addFunctions(out);
  addRows(out);
  addSums(out);
  return out;
}

} // namespace tessera::bench
