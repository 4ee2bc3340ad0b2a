#include "bench/suite/Products.h"
#include "bench/Data.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

/// Up to 64 rows, spread over the result, and the last one are compared in full.
struct ProductReference {
  Product p;
  bool gelu;
  std::vector<double> a, b, bias;

  double left(int64_t batch, int64_t i, int64_t k) const {
    return a[size_t(p.transposeA ? k * p.m + i : (batch * p.m + i) * p.k + k)];
  }

  void row(const double *got, int64_t batch, int64_t i, Check &check) const {
    std::vector<double> sum(size_t(p.n)), magnitude(size_t(p.n));
    for (int64_t k = 0; k < p.k; ++k) {
      const double factor = left(batch, i, k);
      const double *right = b.data() + batch * p.k * p.n + (p.transposeB ? k : k * p.n);
      const int64_t step = p.transposeB ? p.k : 1;
      for (int64_t j = 0; j < p.n; ++j) {
        const double term = factor * right[j * step];
        sum[size_t(j)] += term;
        magnitude[size_t(j)] += std::abs(term);
      }
    }
    const double rounding = p.output == DType::F64 ? 0x1p-53 : p.output == DType::I32 ? 0 : unit;
    for (size_t j = 0; j < size_t(p.n); ++j) {
      double want = sum[j], bound = double(p.k + 1) * rounding * magnitude[j] + 1e-30;
      if (p.output == DType::BF16) bound += std::abs(want) * 0x1p-8;
      if (p.output == DType::F16) bound += std::abs(want) * 0x1p-11 + 0x1p-25;
      if (gelu) {
        const double x = want + bias[j];
        want = x * 0.5 * std::erfc(-x / std::sqrt(2.0));
        bound = bound * 1.2 + 1e-5; // its slope is at most 1.13; approximations of erf
      }
      check.add(got[j], want, bound);
    }
  }

  Check operator()(const void *result) const {
    Check check;
    const int64_t rows = p.batch * p.m, step = std::max<int64_t>(1, rows / 64);
    const auto *bytes = static_cast<const std::byte *>(result);
    auto compare = [&](int64_t r) {
      const std::vector<double> got =
          toDoubles(p.output, bytes + size_t(r * p.n) * size_t(storageBytes(p.output)), size_t(p.n));
      row(got.data(), r / p.m, r % p.m, check);
    };
    for (int64_t r = 0; r < rows; r += step)
      compare(r);
    compare(rows - 1);
    return check;
  }
};

} // namespace

std::string productSource(const Product &p, bool gelu) {
  const char *dtype = name(p.input);
  auto tensor = [&](const char *rows, const char *columns, bool transposed) {
    if (p.batch > 1) return fmt::format("ts.Tensor[\"B\", \"{}\", \"{}\", ts.{}]", rows, columns, dtype);
    return transposed ? fmt::format("ts.Tensor[\"{}\", \"{}\", ts.{}]", columns, rows, dtype)
                      : fmt::format("ts.Tensor[\"{}\", \"{}\", ts.{}]", rows, columns, dtype);
  };
  const std::string product = fmt::format("a{} @ b{}", p.transposeA ? ".T" : "", p.transposeB ? ".T" : "");
  return fmt::format("import tessera as ts\n\n\n@ts.jit\ndef f(a: {}, b: {}{}):\n    return {}\n",
                     tensor("M", "K", p.transposeA), tensor("K", "N", p.transposeB),
                     gelu ? ", bias: ts.Tensor[\"N\", ts.f32]" : "",
                     gelu ? fmt::format("ts.gelu({} + bias)", product) : product);
}

ProductData storeProduct(Trial &trial, const Product &p, const std::string &name, bool gelu) {
  const size_t countA = size_t(p.batch * p.m * p.k), countB = size_t(p.batch * p.k * p.n);
  const ProductData out = {trial.store(randomValues(p.input, countA, name + " a")),
                           trial.store(randomValues(p.input, countB, name + " b")),
                           trial.store(randomValues(DType::F32, size_t(p.n), name + " bias")),
                           size_t(p.batch * p.m * p.n) * size_t(storageBytes(p.output))};
  trial.check =
      ProductReference{p, gelu, toDoubles(p.input, out.a, countA), toDoubles(p.input, out.b, countB),
                       toDoubles(DType::F32, out.bias, size_t(p.n))};
  return out;
}

std::vector<std::byte> randomValues(DType t, size_t count, const std::string &seed) {
  const bool isInteger = info(t).cls != DTypeClass::Float;
  const std::vector<float> values =
      randomFloats(count, std::hash<std::string>()(seed), isInteger ? -128 : -1, isInteger ? 128 : 1);
  std::vector<std::byte> out(count * size_t(storageBytes(t)));
  castArray(values.data(), DType::F32, out.data(), t, count);
  return out;
}

std::vector<double> toDoubles(DType t, const void *values, size_t count) {
  std::vector<double> out(count);
  castArray(values, t, out.data(), DType::F64, count);
  return out;
}

std::string extentsOf(const Product &p) { return fmt::format("{}x{}x{}", p.m, p.n, p.k); }

Case productCase(std::string family, std::string name, const Product &p, bool gelu) {
  const double in = storageBytes(p.input), out = storageBytes(p.output), batch = double(p.batch);
  const Unit unit = p.input == DType::F64    ? Unit::F64
                    : p.input == DType::BF16 ? Unit::Bf16
                    : p.input == DType::I8   ? Unit::I8
                                             : Unit::F32;
  Work work{2.0 * batch * double(p.m) * double(p.n) * double(p.k), unit,
            in * batch * (double(p.m) * double(p.k) + double(p.k) * double(p.n)),
            out * batch * double(p.m) * double(p.n)};
  auto prepare = [=](Trial &trial) {
    const ProductData data = storeProduct(trial, p, name, gelu);
    const void *a = data.a, *b = data.b;
    const auto *bias = static_cast<const float *>(data.bias);
    const size_t bytes = data.bytes;
    std::vector<std::pair<const char *, const void *>> inputs = {{"a", a}, {"b", b}};
    if (gelu) inputs.emplace_back("bias", bias);
    trial.addTessera(trial.lab.kernel(productSource(p, gelu), "f"), inputs,
                     {{"B", p.batch}, {"M", p.m}, {"N", p.n}, {"K", p.k}}, bytes);
    if (!gelu && p.batch == 1) {
      trial.addPeer("OpenBLAS", bytes, [=](void *c) { return openBlasProduct(p, a, b, c); });
      trial.addPeer("BLIS", bytes, [=](void *c) { return blisProduct(p, a, b, c); });
      trial.addPeer("oneDNN", bytes, [=](void *c) { return dnnlGemm(p, a, b, c); });
    }
    if (gelu || p.batch > 1 || p.input != DType::F32)
      trial.addPeer("oneDNN", bytes, [=](void *c) { return dnnlMatmul(p, a, b, gelu ? bias : nullptr, c); });
    if (p.batch > 1)
      trial.addPeer("libxsmm", bytes, [=, threads = trial.lab.settings.cores](void *c) {
        return xsmmProducts(p, a, b, c, threads);
      });
  };
  return {std::move(family), std::move(name), work, prepare};
}

} // namespace tessera::bench
