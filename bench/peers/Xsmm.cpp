// libxsmm's small products. It generates column-major code: C^T = B^T A^T is the row-major product.
#include "bench/peers/Xsmm.h"
#include "bench/peers/Peers.h"
#ifdef TESSERA_BENCH_XSMM
#include <libxsmm.h>
#include <tbb/parallel_for.h>

namespace tessera::bench {

namespace {

template <typename T, typename Kernel>
Call products(Kernel kernel, const Product &p, const void *a, const void *b, void *c, int threads) {
  if (!kernel) return {};
  auto some = [=, a = static_cast<const T *>(a), b = static_cast<const T *>(b),
               c = static_cast<T *>(c)](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernel(b + i * p.k * p.n, a + i * p.m * p.k, c + i * p.m * p.n);
  };
  if (threads == 1) return [=] { some(0, p.batch); };
  return [=] {
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, p.batch, std::max<int64_t>(1, p.batch / (4 * threads))),
                      [&](const auto &range) { some(range.begin(), range.end()); });
  };
}

} // namespace

Call xsmmProducts(const Product &p, const void *a, const void *b, void *c, int threads) {
  if (p.transposeA || p.transposeB || p.input != p.output) return {};
  const auto m = libxsmm_blasint(p.n), n = libxsmm_blasint(p.m), k = libxsmm_blasint(p.k);
  if (p.input == DType::F32) {
    const float one = 1, zero = 0;
    return products<float>(libxsmm_smmdispatch(m, n, k, &m, &k, &m, &one, &zero, nullptr, nullptr), p, a, b,
                           c, threads);
  }
  if (p.input == DType::F64) {
    const double one = 1, zero = 0;
    return products<double>(libxsmm_dmmdispatch(m, n, k, &m, &k, &m, &one, &zero, nullptr, nullptr), p, a, b,
                            c, threads);
  }
  return {};
}

std::string xsmmKernels() { return libxsmm_get_target_arch(); }

} // namespace tessera::bench
#else
namespace tessera::bench {
Call xsmmProducts(const Product &, const void *, const void *, void *, int) { return {}; }
std::string xsmmKernels() { return ""; }
} // namespace tessera::bench
#endif
