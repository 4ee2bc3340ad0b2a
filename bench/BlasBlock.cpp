#include "bench/BlasBlock.h"
#include "bench/Parallel.h"
#include <algorithm>
#include <cblas.h>
#include <cmath>

namespace tessera::bench {
namespace {

constexpr size_t rowsPerTask = 16; // enough work to be worth a thread

template <typename Body> void forRows(size_t rows, Body body) {
  forEachRow((rows + rowsPerTask - 1) / rowsPerTask, [&](size_t task) {
    for (size_t r = task * rowsPerTask; r < std::min(rows, (task + 1) * rowsPerTask); ++r)
      body(r);
  });
}

/// Computes c = a w + beta c for a [m, k] and w [k, n].
void product(const float *a, const float *w, float *c, size_t m, size_t k, size_t n, float beta) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(m), int(n), int(k), 1, a, int(k), w, int(n),
              beta, c, int(n));
}

void layerNorm(const float *x, const float *gamma, const float *beta, float *out, size_t rows, size_t n) {
  forRows(rows, [=](size_t r) {
    const float *in = x + r * n;
    float mean = 0, square = 0;
    for (size_t j = 0; j < n; ++j)
      mean += in[j];
    mean /= float(n);
    for (size_t j = 0; j < n; ++j)
      square += (in[j] - mean) * (in[j] - mean);
    const float scale = 1 / std::sqrt(square / float(n) + 1e-5f);
    for (size_t j = 0; j < n; ++j)
      out[r * n + j] = (in[j] - mean) * scale * gamma[j] + beta[j];
  });
}

} // namespace

BlasBlock::BlasBlock(const Block &block) : block_(block) {
  const BlockShape &s = block.shape;
  const size_t heads = s.tokens() * s.heads * s.depth;
  norm_.resize(s.tokens() * s.width);
  out_.resize(norm_.size());
  for (std::vector<float> *v : {&q_, &k_, &v_, &y_})
    v->resize(heads);
  scores_.resize(s.length * s.length);
  hidden_.resize(s.tokens() * s.hidden);
}

void BlasBlock::attend(size_t batch, size_t head) {
  const BlockShape &s = block_.shape;
  const size_t row = s.heads * s.depth, at = batch * s.length * row + head * s.depth, n = s.length;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, int(n), int(n), int(s.depth),
              1 / std::sqrt(float(s.depth)), &q_[at], int(row), &k_[at], int(row), 0, scores_.data(), int(n));
  forRows(n, [&](size_t i) {
    float *p = &scores_[i * n], total = 0;
    const float largest = *std::max_element(p, p + i + 1);
    for (size_t j = 0; j <= i; ++j)
      total += p[j] = std::exp(p[j] - largest);
    for (size_t j = 0; j <= i; ++j)
      p[j] /= total;
    std::fill(p + i + 1, p + n, 0.0f);
  });
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(n), int(s.depth), int(n), 1, scores_.data(),
              int(n), &v_[at], int(row), 0, &y_[at], int(row));
}

void BlasBlock::run() {
  const Block &b = block_;
  const BlockShape &s = b.shape;
  const size_t tokens = s.tokens(), width = s.width, row = s.heads * s.depth;
  const std::vector<float> &x = b["x"], &b1 = b["b1"], &b2 = b["b2"];
  layerNorm(x.data(), b["gamma1"].data(), b["beta1"].data(), norm_.data(), tokens, width);
  product(norm_.data(), b["Wq"].data(), q_.data(), tokens, width, row, 0);
  product(norm_.data(), b["Wk"].data(), k_.data(), tokens, width, row, 0);
  product(norm_.data(), b["Wv"].data(), v_.data(), tokens, width, row, 0);
  for (size_t batch = 0; batch < s.batch; ++batch)
    for (size_t head = 0; head < s.heads; ++head)
      attend(batch, head);
  out_ = x;
  product(y_.data(), b["Wo"].data(), out_.data(), tokens, row, width, 1);
  layerNorm(out_.data(), b["gamma2"].data(), b["beta2"].data(), norm_.data(), tokens, width);
  product(norm_.data(), b["W1"].data(), hidden_.data(), tokens, width, s.hidden, 0);
  forRows(tokens, [&](size_t r) {
    float *h = &hidden_[r * s.hidden], *out = &out_[r * width];
    for (size_t j = 0; j < s.hidden; ++j) {
      const float v = h[j] + b1[j];
      h[j] = 0.5f * v * (1 + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    for (size_t j = 0; j < width; ++j)
      out[j] += b2[j];
  });
  product(hidden_.data(), b["W2"].data(), out_.data(), tokens, s.hidden, width, 1);
}

} // namespace tessera::bench
