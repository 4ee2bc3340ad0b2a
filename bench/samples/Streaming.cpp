// The samples that are limited by memory bandwidth.
#include "bench/Data.h"
#include "bench/samples/Sample.h"
#include <cmath>

namespace tessera::bench {

Outcome runSaxpy(host::Device &device, const std::string &source, const std::string &fileName) {
  // 96 MiB each: larger than every cache, and not a multiple of a vector
  const size_t n = (size_t(24) << 20) + 7;
  const float alpha = 2.5f;
  const std::vector<float> x = randomFloats(n, 1), y = randomFloats(n, 2);
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer bufferX(device, x), bufferY(device, y);
  host::Launch launch(kernel);
  launch.set("x", bufferX).set("y", bufferY).setScalar("alpha", alpha).setDims({{"n", int64_t(n)}});
  launch.run();

  Outcome out;
  out.shape = std::to_string(n);
  out.bytes = 12.0 * double(n);
  const std::vector<float> got = bufferY.as<float>();
  for (size_t i = 0; i < n; ++i) {
    const double product = double(alpha) * x[i];
    out.check.add(got[i], product + y[i], 0x1p-23 * (std::abs(product) + std::abs(y[i])));
  }
  // y grows by alpha x a few hundred times at most: no overflow, no denormals.
  return finish(std::move(out), kernel, launch);
}

Outcome runSoftmax(host::Device &device, const std::string &source, const std::string &fileName) {
  const size_t rows = 2000, columns = 3001;
  const std::vector<float> x = randomFloats(rows * columns, 1, -8, 8);
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer bufferX(device, x), bufferY(device, x.size() * sizeof(float));
  host::Launch launch(kernel);
  launch.set("X", bufferX).set("Y", bufferY).setDims({{"R", int64_t(rows)}, {"C", int64_t(columns)}});
  bufferY.zero();
  launch.run();

  Outcome out;
  out.shape = std::to_string(rows) + "x" + std::to_string(columns);
  out.bytes = 8.0 * double(x.size()); // read once, written once: the traffic of an ideal kernel
  const std::vector<float> got = bufferY.as<float>();
  for (size_t r = 0; r < rows; ++r) {
    const float *row = &x[r * columns];
    double largest = -INFINITY;
    for (size_t c = 0; c < columns; ++c)
      largest = std::max(largest, double(row[c]));
    TiledSum total;
    for (size_t c = 0; c < columns; ++c)
      total.add(std::exp(row[c] - largest));
    total.close();
    for (size_t c = 0; c < columns; ++c) {
      const double want = std::exp(row[c] - largest) / total.total.sum;
      // The rounding error of the argument enters multiplied by the argument itself; exp is within an ulp,
      // which is 2 units; the division rounds once.
      out.check.add(got[r * columns + c], want,
                    want * (unit * (std::abs(row[c] - largest) + 3) + total.error() / total.total.sum));
    }
  }
  return finish(std::move(out), kernel, launch);
}

Outcome runLayerNorm(host::Device &device, const std::string &source, const std::string &fileName) {
  const size_t rows = 2000, columns = 3001;
  const double n = double(columns);
  const std::vector<float> x = randomFloats(rows * columns, 1, 2, 6), gamma = randomFloats(columns, 2),
                           beta = randomFloats(columns, 3);
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer bufferX(device, x), bufferG(device, gamma), bufferB(device, beta),
      bufferY(device, x.size() * sizeof(float));
  host::Launch launch(kernel);
  launch.set("X", bufferX).set("gamma", bufferG).set("beta", bufferB).set("Y", bufferY);
  launch.setScalar("eps", 1e-5).setDims({{"R", int64_t(rows)}, {"C", int64_t(columns)}});
  bufferY.zero();
  launch.run();

  Outcome out;
  out.shape = std::to_string(rows) + "x" + std::to_string(columns);
  out.bytes = 8.0 * double(x.size()); // read once, written once: the traffic of an ideal kernel
  const std::vector<float> got = bufferY.as<float>();
  for (size_t r = 0; r < rows; ++r) {
    const float *row = &x[r * columns];
    TiledSum sum, squares;
    for (size_t c = 0; c < columns; ++c)
      sum.add(row[c]);
    sum.close();
    const double mean = sum.total.sum / n;
    for (size_t c = 0; c < columns; ++c)
      squares.add((row[c] - mean) * (row[c] - mean));
    squares.close();
    const double scale = 1 / std::sqrt(squares.total.sum / n + 1e-5);
    // The errors of the mean and of its division. The root takes half of the variance's error: of the sum,
    // the division and the addition; rsqrt is within an ulp, which is 2 units.
    const double shift = sum.error() / n + unit * std::abs(mean);
    const double stretch = (squares.error() / squares.total.sum + 2 * unit) / 2 + 2 * unit;
    for (size_t c = 0; c < columns; ++c) {
      const double d = (row[c] - mean) * scale, want = d * gamma[c] + beta[c];
      const double error = scale * shift + (stretch + 3 * unit) * std::abs(d); // - mean, * scale, * gamma
      out.check.add(got[r * columns + c], want, error * std::abs(gamma[c]) + unit * std::abs(want));
    }
  }
  return finish(std::move(out), kernel, launch);
}

Outcome runHistogram(host::Device &device, const std::string &source, const std::string &fileName) {
  // with 256 bins the kernel's f32 arithmetic finds the exact bin
  const size_t n = (size_t(4) << 20) + 7, bins = 256;
  const std::vector<float> x = randomFloats(n, 1, -0.25f, 1.25f);
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer bufferX(device, x), counts(device, bins * sizeof(int32_t));
  host::Launch launch(kernel);
  launch.set("x", bufferX).set("counts", counts).setScalar("lo", 0).setScalar("hi", 1);
  launch.setDims({{"n", int64_t(n)}, {"bins", int64_t(bins)}});
  counts.zero();
  launch.run();

  Outcome out;
  out.shape = std::to_string(n) + " to " + std::to_string(bins);
  out.bytes = 4.0 * double(n);
  std::vector<double> want(bins, 0);
  for (double v : x)
    if (v >= 0 && v < 1) ++want[size_t(v * double(bins))];
  const std::vector<int32_t> got = counts.as<int32_t>();
  for (size_t b = 0; b < bins; ++b)
    out.check.add(got[b], want[b], 0.5); // counts: exact
  return finish(std::move(out), kernel, launch, [&] { counts.zero(); });
}

} // namespace tessera::bench
