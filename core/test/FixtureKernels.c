/* Kernels as the compiler's images export them, built by the C compiler: what bundles of the tests hold. */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

static void answer(const uint64_t *values) { *(int64_t *)(uintptr_t)values[0] = 42; }

EXPORT void first(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  (void)begin, (void)end, (void)scratch;
  answer(values);
}

/* The symbol of a kernel that the compiler calls prefixed. */
EXPORT void tsr_kernel_prefixed(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  (void)begin, (void)end, (void)scratch;
  answer(values);
}

EXPORT void second(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  (void)begin, (void)end, (void)scratch;
  answer(values);
}
