// The two samples that memory limits.
#include "bench/Data.h"
#include "bench/samples/Sample.h"
#include <cmath>

namespace tessera::bench {

Outcome runSaxpy(host::Device &device, const std::string &source, const std::string &fileName) {
  const size_t n = (size_t(24) << 20) + 7; // 96 MiB each: past every cache, and no multiple of a vector
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
  out.timing = measure([&] { launch.run(); });
  out.numerics = kernel.metadata().numerics;
  out.fallbacks = kernel.metadata().fallbacks;
  return out;
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
  out.bytes = 8.0 * double(x.size()); // read once, written once: what an ideal kernel moves
  const std::vector<float> got = bufferY.as<float>();
  for (size_t r = 0; r < rows; ++r) {
    const float *row = &x[r * columns];
    double largest = -INFINITY, total = 0;
    for (size_t c = 0; c < columns; ++c)
      largest = std::max(largest, double(row[c]));
    for (size_t c = 0; c < columns; ++c)
      total += std::exp(row[c] - largest);
    for (size_t c = 0; c < columns; ++c) {
      const double want = std::exp(row[c] - largest) / total;
      // The argument's rounding enters scaled by itself, the sum's by the number of terms.
      out.check.add(got[r * columns + c], want,
                    want * 0x1p-24 * (std::abs(row[c] - largest) + double(columns) + 16));
    }
  }
  out.timing = measure([&] { launch.run(); });
  out.numerics = kernel.metadata().numerics;
  out.fallbacks = kernel.metadata().fallbacks;
  return out;
}

} // namespace tessera::bench
