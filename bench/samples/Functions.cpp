// The graph functions: mlp, and the transformer block in f32 and bf16.
#include "bench/Data.h"
#include "bench/Parallel.h"
#include "bench/TransformerBlock.h"
#include "bench/samples/Sample.h"
#include <cmath>

namespace tessera::bench {
namespace {

struct Mlp {
  size_t rows, width, hidden;
  std::vector<float> x, W1, b1, W2, b2;
};

/// Compares one row with the definition. The error of the hidden layer (that of its sum times gelu's slope,
/// which is below 1.13, and that of gelu itself: of erf, of its argument, and of the rounding of 1 + erf next
/// to a small result) passes through the second product, term by term and independently; the second sum adds
/// its own error.
Check checkMlpRow(const Mlp &m, size_t row, const float *got) {
  const float *x = &m.x[row * m.width];
  std::vector<RunningSum> hidden(m.hidden), out(m.width);
  for (size_t j = 0; j < m.hidden; ++j)
    hidden[j].add(m.b1[j]);
  for (size_t k = 0; k < m.width; ++k)
    for (size_t j = 0; j < m.hidden; ++j)
      hidden[j].add(double(x[k]) * m.W1[k * m.hidden + j]);
  for (size_t i = 0; i < m.width; ++i) {
    out[i].add(m.b2[i]);
    out[i].add(x[i]);
  }
  std::vector<double> passed(m.width); // sum of squares
  for (size_t j = 0; j < m.hidden; ++j) {
    const double sum = hidden[j].sum, h = 0.5 * sum * (1 + std::erf(sum * M_SQRT1_2));
    const double error = 1.13 * hidden[j].error() + 3 * unit * std::abs(sum);
    for (size_t i = 0; i < m.width; ++i) {
      const double w = m.W2[j * m.width + i];
      out[i].add(h * w);
      passed[i] += error * error * w * w;
    }
  }
  Check check;
  for (size_t i = 0; i < m.width; ++i)
    check.add(got[i], out[i].sum, out[i].error() + std::sqrt(passed[i]) + 2 * unit * std::abs(out[i].sum));
  return check;
}

std::string textOf(const BlockShape &s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.length) + "x" + std::to_string(s.width) + " H" +
         std::to_string(s.heads) + " F" + std::to_string(s.hidden);
}

/// Heads and widths belong to the model and are fixed at compile time; batch and length are free.
host::NamedInts modelDims(const Block &b) {
  const BlockShape &s = b.shape;
  host::NamedInts dims = {{"D", int64_t(s.width)}, {"K", int64_t(s.depth)}, {"F", int64_t(s.hidden)}};
  if (!b.gated) dims.push_back({"H", int64_t(s.heads)});
  return dims;
}

Outcome runBlock(host::Device &device, const std::string &source, const host::BuildOptions &build,
                 const Block &block, bool bf16, double rounding) {
  host::Kernel kernel(device, source, build);
  host::Launch launch(kernel);
  std::map<std::string, host::Buffer> buffers;
  for (const auto &[name, values] : block.tensors) {
    buffers[name] = bf16 ? host::Buffer(device, toBf16(values)) : host::Buffer(device, values);
    launch.set(name, buffers[name]);
  }
  host::Buffer result(device, buffers["x"].size());
  host::NamedInts dims = build.dims;
  dims.push_back({"B", int64_t(block.shape.batch)});
  dims.push_back({"S", int64_t(block.shape.length)});
  launch.set("result", result).setDims(dims);
  result.zero();
  launch.run();
  Outcome out;
  out.shape = textOf(block.shape);
  out.flops = block.flops();
  out.check =
      checkBlock(evaluate(block), bf16 ? fromBf16(result.as<uint16_t>()) : result.as<float>(), rounding);
  return finish(std::move(out), kernel, launch);
}

} // namespace

Outcome runMlp(host::Device &device, const std::string &source, const std::string &fileName) {
  Mlp m{500, 500, 2000, {}, {}, {}, {}, {}};
  m.x = randomFloats(m.rows * m.width, 1);
  m.W1 = randomFloats(m.width * m.hidden, 2, -0.1f, 0.1f);
  m.b1 = randomFloats(m.hidden, 3);
  m.W2 = randomFloats(m.hidden * m.width, 4, -0.1f, 0.1f);
  m.b2 = randomFloats(m.width, 5);
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer x(device, m.x), W1(device, m.W1), b1(device, m.b1), W2(device, m.W2), b2(device, m.b2),
      y(device, m.x.size() * sizeof(float));
  host::Launch launch(kernel);
  launch.set("x", x).set("W1", W1).set("b1", b1).set("W2", W2).set("b2", b2).set("result", y);
  launch.setDims({{"M", m.rows}, {"D", m.width}, {"F", m.hidden}});
  y.zero();
  launch.run();
  const std::vector<float> got = y.as<float>();
  std::vector<Check> rows(m.rows);
  forEachRow(m.rows, [&](size_t r) { rows[r] = checkMlpRow(m, r, &got[r * m.width]); });
  Outcome out;
  out.shape = "500x500x2000x500";
  out.flops = 4.0 * double(m.rows) * double(m.width) * double(m.hidden);
  for (const Check &r : rows)
    out.check.merge(r);
  return finish(std::move(out), kernel, launch);
}

Outcome runTransformer(host::Device &device, const std::string &source, const std::string &fileName) {
  const Block block = randomBlock({2, 250, 512, 8, 8, 64, 2048}, false, false);
  return runBlock(device, source, {.fileName = fileName, .kernel = "block", .dims = modelDims(block)}, block,
                  false, unit * std::sqrt(512));
}

Outcome runTransformerBf16(host::Device &device, const std::string &source, const std::string &fileName) {
  const Block block = randomBlock({2, 250, 512, 8, 2, 64, 2048}, true, true);
  return runBlock(device, source, {.fileName = fileName, .kernel = "block_bf16", .dims = modelDims(block)},
                  block, true, 0x1p-9);
}

} // namespace tessera::bench
