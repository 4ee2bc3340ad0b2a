// Flash attention against its definition: softmax of all scores in double precision, row by row.
#include "bench/Data.h"
#include "bench/Parallel.h"
#include "bench/samples/Sample.h"
#include <cmath>

namespace tessera::bench {
namespace {

struct Shape {
  size_t heads, queries, keys, depth;
};

/// One query's output and, per element, the sum of weight times |value|, the unit in which errors are
/// measured.
void attend(const Shape &s, const float *q, const float *k, const float *v, size_t visible,
            std::vector<double> &out, std::vector<double> &magnitude) {
  std::vector<double> p(visible);
  double largest = -INFINITY, total = 0;
  for (size_t j = 0; j < visible; ++j) {
    double dot = 0;
    for (size_t d = 0; d < s.depth; ++d)
      dot += double(q[d]) * k[j * s.depth + d];
    p[j] = dot / std::sqrt(double(s.depth));
    largest = std::max(largest, p[j]);
  }
  for (double &x : p)
    total += x = std::exp(x - largest);
  std::fill(out.begin(), out.end(), 0);
  std::fill(magnitude.begin(), magnitude.end(), 0);
  for (size_t j = 0; j < visible; ++j)
    for (size_t d = 0; d < s.depth; ++d) {
      out[d] += p[j] / total * v[j * s.depth + d];
      magnitude[d] += p[j] / total * std::abs(v[j * s.depth + d]);
    }
}

} // namespace

Outcome runFlashAttention(host::Device &device, const std::string &source, const std::string &fileName) {
  const Shape s{8, 500, 540, 64}; // not multiples of the blocks; more keys than queries
  const std::vector<uint16_t> q = toBf16(randomFloats(s.heads * s.queries * s.depth, 1, -2, 2)),
                              k = toBf16(randomFloats(s.heads * s.keys * s.depth, 2, -2, 2)),
                              v = toBf16(randomFloats(s.heads * s.keys * s.depth, 3));
  const host::NamedInts dims = {{"B*H", int64_t(s.heads)},
                                {"Sq", int64_t(s.queries)},
                                {"Sk", int64_t(s.keys)},
                                {"D", int64_t(s.depth)}};
  host::Kernel kernel(device, source, {.fileName = fileName, .dims = dims});
  host::Buffer bufferQ(device, q), bufferK(device, k), bufferV(device, v), bufferO(device, q.size() * 2);
  host::Launch launch(kernel);
  launch.set("Q", bufferQ).set("K", bufferK).set("V", bufferV).set("O", bufferO);
  launch.setScalar("is_causal", 1).setDims(dims);
  bufferO.zero();
  launch.run();

  const std::vector<float> got = fromBf16(bufferO.as<uint16_t>()), qf = fromBf16(q), kf = fromBf16(k),
                           vf = fromBf16(v);
  std::vector<Check> rows(s.heads * s.queries);
  double pairs = 0;
  for (size_t i = 0; i < s.queries; ++i)
    pairs += double(s.heads * (i + 1 + s.keys - s.queries));
  forEachRow(rows.size(), [&](size_t row) {
    const size_t head = row / s.queries, i = row % s.queries;
    const size_t visible = i + 1 + (s.keys - s.queries); // bottom-right aligned
    std::vector<double> want(s.depth), magnitude(s.depth);
    attend(s, &qf[row * s.depth], &kf[head * s.keys * s.depth], &vf[head * s.keys * s.depth], visible, want,
           magnitude);
    for (size_t d = 0; d < s.depth; ++d)
      // bf16 has 8 bits: the weights are rounded to it once, and so is the result; errors of the f32 steps
      // are far smaller.
      rows[row].add(got[row * s.depth + d], want[d],
                    0x1p-8 * magnitude[d] + 0x1p-8 * std::abs(want[d]) + 1e-30);
  });

  Outcome out;
  out.shape = "8x500x540x64 causal";
  out.flops = 4 * pairs * double(s.depth);
  for (const Check &r : rows)
    out.check.merge(r);
  return finish(std::move(out), kernel, launch);
}

} // namespace tessera::bench
