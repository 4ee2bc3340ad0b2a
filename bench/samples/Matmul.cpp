// The two matrix products: sums of K products in f32. Products of bf16 are exact; those of f32 are added by
// an fma.
#include "bench/Data.h"
#include "bench/Parallel.h"
#include "bench/samples/Sample.h"

namespace tessera::bench {
namespace {

struct Matrices {
  size_t m, k, n;
  std::vector<float> a, b, c; // as f32, with the values that the kernel sees
};

/// Checks got = c + a b, row by row.
Check checkProduct(const Matrices &x, const std::vector<float> &got) {
  std::vector<Check> rows(x.m);
  forEachRow(x.m, [&](size_t i) {
    std::vector<RunningSum> sums(x.n);
    for (size_t j = 0; j < x.n; ++j)
      sums[j].add(x.c[i * x.n + j]);
    for (size_t k = 0; k < x.k; ++k) {
      const double a = x.a[i * x.k + k];
      const float *b = &x.b[k * x.n];
      for (size_t j = 0; j < x.n; ++j)
        sums[j].add(a * b[j]);
    }
    for (size_t j = 0; j < x.n; ++j)
      rows[i].add(got[i * x.n + j], sums[j].sum, sums[j].error());
  });
  Check all;
  for (const Check &r : rows)
    all.merge(r);
  return all;
}

Outcome runProduct(host::Kernel &kernel, const host::Launch &launch, const Matrices &x, host::Buffer &c) {
  const std::span<const std::byte> start = std::as_bytes(std::span(x.c));
  Outcome out;
  out.shape = std::to_string(x.m) + "x" + std::to_string(x.k) + "x" + std::to_string(x.n);
  out.flops = 2.0 * double(x.m) * double(x.k) * double(x.n);
  c.upload(start);
  launch.run();
  out.check = checkProduct(x, c.as<float>());
  return finish(std::move(out), kernel, launch, [&] { c.upload(start); });
}

} // namespace

Outcome runGemm(host::Device &device, const std::string &source, const std::string &fileName) {
  Matrices x{600, 770, 650, {}, {}, {}}; // not multiples of the tiles
  const std::vector<uint16_t> a = toBf16(randomFloats(x.m * x.k, 1)), b = toBf16(randomFloats(x.k * x.n, 2));
  x.a = fromBf16(a);
  x.b = fromBf16(b);
  x.c = randomFloats(x.m * x.n, 3);
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer bufferA(device, a), bufferB(device, b), bufferC(device, x.c);
  host::Launch launch(kernel);
  launch.set("A", bufferA).set("B", bufferB).set("C", bufferC);
  launch.setDims({{"M", x.m}, {"K", x.k}, {"N", x.n}});
  return runProduct(kernel, launch, x, bufferC);
}

Outcome runGemmLoops(host::Device &device, const std::string &source, const std::string &fileName) {
  Matrices x{1024, 1024, 1024, {}, {}, {}};
  x.a = randomFloats(x.m * x.k, 1);
  x.b = randomFloats(x.k * x.n, 2);
  x.c.assign(x.m * x.n, 0); // the kernel overwrites it
  host::Kernel kernel(device, source, {.fileName = fileName});
  host::Buffer bufferA(device, x.a), bufferB(device, x.b), bufferC(device, x.c);
  host::Launch launch(kernel);
  launch.set("A", bufferA).set("B", bufferB).set("C", bufferC);
  launch.setDims({{"M", x.m}, {"K", x.k}, {"N", x.n}});
  return runProduct(kernel, launch, x, bufferC);
}

} // namespace tessera::bench
