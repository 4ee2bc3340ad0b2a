// OpenBLAS, and BLIS, which is loaded with its symbols hidden because both define the same names.
#include "bench/peers/Blis.h"
#include "bench/peers/Peers.h"
#include <cblas.h>
#include <dlfcn.h>

namespace tessera::bench {

Call openBlasProduct(const Product &p, const void *a, const void *b, void *c) {
  const auto transA = p.transposeA ? CblasTrans : CblasNoTrans,
             transB = p.transposeB ? CblasTrans : CblasNoTrans;
  const int m = int(p.m), n = int(p.n), k = int(p.k), lda = p.transposeA ? m : k, ldb = p.transposeB ? k : n;
  if (p.input == DType::F64 && p.output == DType::F64)
    return [=, a = static_cast<const double *>(a), b = static_cast<const double *>(b),
            c = static_cast<double *>(c)] {
      cblas_dgemm(CblasRowMajor, transA, transB, m, n, k, 1, a, lda, b, ldb, 0, c, n);
    };
  if (p.input != DType::F32 || p.output != DType::F32) return {};
  return
      [=, a = static_cast<const float *>(a), b = static_cast<const float *>(b), c = static_cast<float *>(c)] {
        if (m == 1) // what a program calls for a vector
          cblas_sgemv(CblasRowMajor, transB == CblasTrans ? CblasNoTrans : CblasTrans,
                      transB == CblasTrans ? n : k, transB == CblasTrans ? k : n, 1, b, ldb, a, 1, 0, c, 1);
        else
          cblas_sgemm(CblasRowMajor, transA, transB, m, n, k, 1, a, lda, b, ldb, 0, c, n);
      };
}

namespace {

/// The typed interface of BLIS; trans_t 0 is "not transposed", and strides say the rest.
template <typename T>
using BlisGemm = void (*)(int transA, int transB, int64_t m, int64_t n, int64_t k, const T *alpha, const T *a,
                          int64_t rowA, int64_t columnA, const T *b, int64_t rowB, int64_t columnB,
                          const T *beta, T *c, int64_t rowC, int64_t columnC);

void *blisSymbol(const char *name) {
  static void *library = dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  return library ? dlsym(library, name) : nullptr;
}

template <typename T>
Call blisCall(const char *name, const Product &p, const void *a, const void *b, void *c) {
  auto gemm = reinterpret_cast<BlisGemm<T>>(blisSymbol(name));
  if (!gemm) return {};
  return [=] {
    const T one = 1, zero = 0;
    gemm(0, 0, p.m, p.n, p.k, &one, static_cast<const T *>(a), p.transposeA ? 1 : p.k, p.transposeA ? p.m : 1,
         static_cast<const T *>(b), p.transposeB ? 1 : p.n, p.transposeB ? p.k : 1, &zero,
         static_cast<T *>(c), p.n, 1);
  };
}

} // namespace

Call blisProduct(const Product &p, const void *a, const void *b, void *c) {
  if (p.input == DType::F64 && p.output == DType::F64) return blisCall<double>("bli_dgemm", p, a, b, c);
  if (p.input == DType::F32 && p.output == DType::F32) return blisCall<float>("bli_sgemm", p, a, b, c);
  return {};
}

std::string blisKernels(int threads) {
  auto query = reinterpret_cast<int (*)()>(blisSymbol("bli_arch_query_id"));
  auto nameOf = reinterpret_cast<const char *(*)(int)>(blisSymbol("bli_arch_string"));
  auto setThreads = reinterpret_cast<void (*)(int64_t)>(blisSymbol("bli_thread_set_num_threads"));
  if (!query || !nameOf || !setThreads) return "";
  setThreads(threads);
  return nameOf(query());
}

} // namespace tessera::bench
