// Calls OpenBLAS through its C interface (cblas.h). Row-major, 32-bit integers.
#include "core/library/Blas.h"
#include "core/support/Fork.h"
#include "core/support/SignalMask.h"
#include <array>
#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
template <class T>
using Gemm = void (*)(int order, int transA, int transB, int m, int n, int k, T alpha, const T *a, int lda,
                      const T *b, int ldb, T beta, T *c, int ldc);

struct Blas {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  template <class T> Gemm<T> gemm() const {
    if constexpr (std::is_same_v<T, float>)
      return sgemm;
    else
      return dgemm;
  }
};

std::atomic<const Blas *> loaded{nullptr};

const Blas *load(std::string &why) {
  static Blas blas;
  std::string tried;
  SignalMask mask; // OpenBLAS starts threads when it is loaded
  for (const char *name : {"libopenblas.so.0", "libopenblas.so"}) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
      tried += std::string("\n  ") + dlerror();
      continue;
    }
    blas.sgemm = reinterpret_cast<Gemm<float>>(dlsym(library, "cblas_sgemm"));
    blas.dgemm = reinterpret_cast<Gemm<double>>(dlsym(library, "cblas_dgemm"));
    if (blas.sgemm && blas.dgemm) return &blas;
    tried += std::string("\n  ") + name + " exports no cblas_sgemm and cblas_dgemm";
  }
  why = "OpenBLAS is not installed (package libopenblas0):" + tried;
  return nullptr;
}

/// Runs a product. `values` contains a, b, c, then the dims in the call's order.
template <class T, bool TransA, bool TransB, bool BatchA, bool BatchB>
void run(const uint64_t *values, int64_t begin, int64_t end, uint8_t *) {
  if (begin == end) return;
  auto *a = reinterpret_cast<const T *>(values[0]), *b = reinterpret_cast<const T *>(values[1]);
  auto *c = reinterpret_cast<T *>(values[2]);
  int64_t batch = 1, m, n, k;
  const uint64_t *dim = values + 3;
  if constexpr (BatchA) batch = static_cast<int64_t>(*dim++);
  m = static_cast<int64_t>(dim[TransA ? 1 : 0]);
  k = static_cast<int64_t>(dim[TransA ? 0 : 1]);
  dim += 2;
  if constexpr (BatchB && !BatchA) batch = static_cast<int64_t>(*dim++);
  n = static_cast<int64_t>(*dim);
  if (m == 0 || n == 0) return;
  auto narrow = [](int64_t v) { return static_cast<int>(v); }; // at most kMaxBlasDim: the call was checked
  const int lda = narrow(std::max<int64_t>(1, TransA ? m : k)),
            ldb = narrow(std::max<int64_t>(1, TransB ? k : n));
  const Gemm<T> gemm = loaded.load(std::memory_order_acquire)->gemm<T>();
  for (int64_t i = 0; i < batch; ++i, c += m * n) {
    gemm(kRowMajor, TransA ? kTransposed : kPlain, TransB ? kTransposed : kPlain, narrow(m), narrow(n),
         narrow(k), T(1), a, lda, b, ldb, T(0), c, narrow(n));
    if constexpr (BatchA) a += m * k;
    if constexpr (BatchB) b += k * n;
  }
}

template <class T, size_t... Bits> constexpr auto entriesOf(std::index_sequence<Bits...>) {
  return std::array<CpuKernelFn, sizeof...(Bits)>{
      run<T, (Bits & 1) != 0, (Bits & 2) != 0, (Bits & 4) != 0, (Bits & 8) != 0>...};
}

std::mutex mutex; // held while the library is opened
[[maybe_unused]] auto &heldAcrossFork = *new HeldAcrossFork(mutex);

} // namespace

bool findBlas(std::string &why) {
  if (loaded.load(std::memory_order_acquire)) return true;
  std::lock_guard lock(mutex);
  const Blas *blas = load(why);
  loaded.store(blas, std::memory_order_release);
  return blas != nullptr;
}

CpuKernelFn gemmEntry(const GemmCall &call) {
  static constexpr auto f32 = entriesOf<float>(std::make_index_sequence<16>());
  static constexpr auto f64 = entriesOf<double>(std::make_index_sequence<16>());
  const size_t which =
      (call.transA ? 1u : 0u) | (call.transB ? 2u : 0u) | (call.batchA ? 4u : 0u) | (call.batchB ? 8u : 0u);
  return call.dtype == DType::F64 ? f64[which] : f32[which];
}

} // namespace tessera
