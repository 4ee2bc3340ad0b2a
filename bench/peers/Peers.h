// The libraries that generated code is compared with. Each call is prepared once, as a program would that
// runs it often, and returned as a function; an empty function: the library is not installed or does not have
// the operation.
#pragma once
#include "numerics/DType.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

using Call = std::function<void()>;

struct Peer {
  std::string name, package;
  std::string kernels;   // the processor or instructions it chose its code for; empty: it is not installed
  double recorded;       // of the FMA peak, at `reference`: what it reaches with its best code (AVX-512)
  std::string reference; // a case of a suite
};

/// Prepares every library for `threads` threads and describes them.
std::vector<Peer> findPeers(int threads);

/// `batch` products [m, k] by [k, n], row-major. `transposeA`: A is stored as [k, m]; B likewise.
struct Product {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false;
  int64_t batch = 1;
  DType input = DType::F32, output = DType::F32;
};

Call openBlasProduct(const Product &, const void *a, const void *b, void *c);
Call blisProduct(const Product &, const void *a, const void *b, void *c);
Call dnnlGemm(const Product &, const void *a, const void *b, void *c); // its BLAS call
/// `bias`, of [n], is added and gelu applied if it is not null.
Call dnnlMatmul(const Product &, const void *a, const void *b, const float *bias, void *c);
Call xsmmProducts(const Product &, const void *a, const void *b, void *c, int threads);

/// Attention of [heads, queries, depth] over [heads, keys, depth], composed of oneDNN's product, softmax and
/// product. Causal masks, aligned at the last query and key, are written into the scores by a loop on one
/// core.
struct AttentionShape {
  int64_t heads, queries, keys, depth;
  bool causal = false;
  DType dtype = DType::F32;
};
Call dnnlAttention(const AttentionShape &, const void *q, const void *k, const void *v, void *out);

/// Row softmax of x [rows, columns] into y.
Call dnnlSoftmax(const float *x, float *y, int64_t rows, int64_t columns);
/// Layer norm of the rows of x with eps 1e-5.
Call dnnlLayerNorm(const float *x, const float *gamma, const float *beta, float *y, int64_t rows,
                   int64_t columns);
/// y = f(x): "gelu" (the erf form), "tanh", "exp" or "linear" (2 x + 1).
Call dnnlElementwise(const std::string &function, const float *x, float *y, int64_t count);

} // namespace tessera::bench
