#include "bench/peers/Peers.h"
#include "bench/peers/Blis.h"
#include "bench/peers/Dnnl.h"
#include "bench/peers/Xsmm.h"
#include <cblas.h>

namespace tessera::bench {

std::vector<Peer> findPeers(int threads) {
  openblas_set_num_threads(threads);
  // What they reach without AVX-512 was measured on Zen 3. oneDNN's sgemm stays at half of the peak there.
  const bool isWide = __builtin_cpu_supports("avx512f");
  return {{"OpenBLAS", "libopenblas-dev", openblas_get_corename(), isWide ? 0.92 : 0.84, "f32 512x512x512"},
          {"oneDNN", "libdnnl-dev", dnnlKernels(), isWide ? 0.90 : 0.48, "f32 512x512x512"},
          {"BLIS", "libblis4-openmp", blisKernels(threads), 0.80, "f32 512x512x512"},
          {"libxsmm", "libxsmm-dev", xsmmKernels(), 0.80, "128 of 64x64x64"}};
}

} // namespace tessera::bench
