#include "bench/TransformerBlock.h"
#include "bench/Data.h"
#include "bench/Parallel.h"
#include <cmath>

namespace tessera::bench {
namespace {

using Doubles = std::vector<double>;

/// Returns a [m, k] times w [k, n].
Doubles product(const Doubles &a, const std::vector<float> &w, size_t k, size_t n) {
  const size_t m = a.size() / k;
  Doubles out(m * n, 0);
  forEachRow(m, [&](size_t i) {
    double *row = &out[i * n];
    for (size_t p = 0; p < k; ++p)
      for (size_t j = 0; j < n; ++j)
        row[j] += a[i * k + p] * w[p * n + j];
  });
  return out;
}

/// Normalizes every row: a layer norm if there is a beta, else an rms norm.
Doubles normalize(const Doubles &x, const std::vector<float> &gamma, const float *beta) {
  const size_t n = gamma.size();
  Doubles out(x.size());
  for (size_t r = 0; r < x.size(); r += n) {
    double mean = 0, square = 0;
    for (size_t j = 0; beta && j < n; ++j)
      mean += x[r + j] / double(n);
    for (size_t j = 0; j < n; ++j)
      square += (x[r + j] - mean) * (x[r + j] - mean) / double(n);
    for (size_t j = 0; j < n; ++j)
      out[r + j] = (x[r + j] - mean) / std::sqrt(square + 1e-5) * gamma[j] + (beta ? beta[j] : 0);
  }
  return out;
}

/// Causal attention on [tokens, heads * depth]: one query of one head after another.
Doubles attention(const BlockShape &s, const Doubles &q, const Doubles &k, const Doubles &v) {
  Doubles out(q.size(), 0);
  const size_t qRow = s.heads * s.depth, kvRow = s.kvHeads * s.depth;
  forEachRow(s.tokens() * s.heads, [&](size_t task) {
    const size_t token = task / s.heads, head = task % s.heads, first = token / s.length * s.length;
    const size_t at = token * qRow + head * s.depth, kvHead = head / (s.heads / s.kvHeads) * s.depth;
    Doubles p(token - first + 1);
    double largest = -INFINITY, total = 0;
    for (size_t j = 0; j < p.size(); ++j) {
      double dot = 0;
      for (size_t d = 0; d < s.depth; ++d)
        dot += q[at + d] * k[(first + j) * kvRow + kvHead + d];
      p[j] = dot / std::sqrt(double(s.depth));
      largest = std::max(largest, p[j]);
    }
    for (double &e : p)
      total += e = std::exp(e - largest);
    for (size_t j = 0; j < p.size(); ++j)
      for (size_t d = 0; d < s.depth; ++d)
        out[at + d] += p[j] / total * v[(first + j) * kvRow + kvHead + d];
  });
  return out;
}

void addRows(Doubles &x, const std::vector<float> &bias) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += bias[i % bias.size()];
}

/// Computes the hidden layer of the MLP: gelu (by tanh), or silu of the gate times the other product.
Doubles hiddenLayer(const Block &b, const Doubles &n) {
  const size_t width = b.shape.width, hidden = b.shape.hidden;
  Doubles h = product(n, b[b.gated ? "Wg" : "W1"], width, hidden);
  if (b.gated) {
    const Doubles up = product(n, b["Wu"], width, hidden);
    for (size_t i = 0; i < h.size(); ++i)
      h[i] = h[i] / (1 + std::exp(-h[i])) * up[i];
    return h;
  }
  addRows(h, b["b1"]);
  for (double &x : h)
    x = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return h;
}

} // namespace

double Block::flops() const {
  const BlockShape &s = shape;
  const double projections = 2.0 * double((s.heads + s.kvHeads) * s.depth * s.width),
               mlp = double((gated ? 3 : 2) * s.width * s.hidden),
               pairs = double(s.batch * s.heads) * double(s.length) * double(s.length + 1) / 2;
  return 2 * double(s.tokens()) * (projections + mlp) + 4 * pairs * double(s.depth);
}

Block randomBlock(const BlockShape &s, bool gated, bool roundToBf16) {
  Block b{s, gated, {}};
  uint64_t seed = 1;
  auto add = [&](const char *name, size_t count, double middle, double spread) {
    std::vector<float> values = randomFloats(count, seed++, float(middle - spread), float(middle + spread));
    b.tensors[name] = roundToBf16 ? fromBf16(toBf16(values)) : values;
  };
  auto weight = [&](const char *name, size_t rows, size_t columns) {
    add(name, rows * columns, 0, std::sqrt(3.0 / double(rows))); // a variance of 1 / rows
  };
  add("x", s.tokens() * s.width, 0, 2);
  weight("Wq", s.width, s.heads * s.depth);
  weight("Wk", s.width, s.kvHeads * s.depth);
  weight("Wv", s.width, s.kvHeads * s.depth);
  weight("Wo", s.heads * s.depth, s.width);
  add("gamma1", s.width, 1, 0.5);
  add("gamma2", s.width, 1, 0.5);
  if (gated) {
    weight("Wg", s.width, s.hidden);
    weight("Wu", s.width, s.hidden);
    weight("Wd", s.hidden, s.width);
    return b;
  }
  add("beta1", s.width, 0, 0.5);
  add("beta2", s.width, 0, 0.5);
  weight("W1", s.width, s.hidden);
  add("b1", s.hidden, 0, 0.5);
  weight("W2", s.hidden, s.width);
  add("b2", s.width, 0, 0.5);
  return b;
}

BlockResult evaluate(const Block &b) {
  const BlockShape &s = b.shape;
  const size_t width = s.width, qRow = s.heads * s.depth, kvRow = s.kvHeads * s.depth;
  auto beta = [&](const char *name) { return b.gated ? nullptr : b[name].data(); };
  Doubles x(b["x"].begin(), b["x"].end());
  const Doubles n1 = normalize(x, b["gamma1"], beta("beta1"));
  const Doubles y = attention(s, product(n1, b["Wq"], width, qRow), product(n1, b["Wk"], width, kvRow),
                              product(n1, b["Wv"], width, kvRow));
  const Doubles joined = product(y, b["Wo"], qRow, width);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += joined[i];
  const Doubles h = hiddenLayer(b, normalize(x, b["gamma2"], beta("beta2")));
  const std::vector<float> &down = b[b.gated ? "Wd" : "W2"];
  Doubles last = product(h, down, s.hidden, width);
  if (!b.gated) addRows(last, b["b2"]);

  // The root of the sum of the squared terms; the squares of products are products of squares.
  Doubles squares = h;
  for (double &v : squares)
    v *= v;
  std::vector<float> weights = down;
  for (float &w : weights)
    w *= w;
  BlockResult out{Doubles(x.size()), product(squares, weights, s.hidden, width)};
  for (size_t i = 0; i < x.size(); ++i) {
    out.value[i] = x[i] + last[i];
    out.size[i] = std::sqrt(out.size[i]) + std::abs(x[i]) + std::abs(out.value[i]);
  }
  return out;
}

Check checkBlock(const BlockResult &want, const std::vector<float> &got, double rounding) {
  Check check;
  for (size_t i = 0; i < want.value.size(); ++i)
    check.add(got.at(i), want.value[i], 16 * rounding * want.size[i]);
  return check;
}

} // namespace tessera::bench
