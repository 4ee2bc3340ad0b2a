// libxsmm's small products. It generates column-major code: C^T = B^T A^T is the row-major product.
#include "bench/peers/Xsmm.h"
#include "bench/peers/Peers.h"
#ifdef TESSERA_BENCH_XSMM
#include <libxsmm.h>
#include <tbb/parallel_for.h>

namespace tessera::bench {

Call xsmmProducts(const Product &p, const float *a, const float *b, float *c, int threads) {
  if (p.transposeA || p.transposeB || p.input != DType::F32 || p.output != DType::F32) return {};
  const float one = 1, zero = 0;
  const auto m = libxsmm_blasint(p.n), n = libxsmm_blasint(p.m), k = libxsmm_blasint(p.k);
  const libxsmm_smmfunction kernel = libxsmm_smmdispatch(m, n, k, &m, &k, &m, &one, &zero, nullptr, nullptr);
  if (!kernel) return {};
  auto some = [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernel(b + i * p.k * p.n, a + i * p.m * p.k, c + i * p.m * p.n);
  };
  if (threads == 1) return [=] { some(0, p.batch); };
  return [=] {
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, p.batch, std::max<int64_t>(1, p.batch / (4 * threads))),
                      [&](const auto &range) { some(range.begin(), range.end()); });
  };
}

std::string xsmmKernels() { return libxsmm_get_target_arch(); }

} // namespace tessera::bench
#else
namespace tessera::bench {
Call xsmmProducts(const Product &, const float *, const float *, float *, int) { return {}; }
std::string xsmmKernels() { return ""; }
} // namespace tessera::bench
#endif
