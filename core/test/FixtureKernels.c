/* Kernels as the compiler's images export them, built by the C compiler: what bundles of the tests hold. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Which thread runs it. */
EXPORT void thread(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  (void)begin, (void)end, (void)scratch;
  *(int64_t *)(uintptr_t)values[0] = (int64_t)pthread_self();
}

/* Which thread runs the first of 64 programs; each of the second half takes 100 us or more. */
EXPORT void uneven(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  for (int64_t program = begin; program < end; ++program)
    if (program == 0)
      thread(values, begin, end, scratch);
    else if (program >= 32)
      usleep(100);
}

/* Sets bit 0 if a thread other than the main one takes part, bit 1 if that takes SIGINT. */
EXPORT void signals(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  sigset_t blocked;
  (void)begin, (void)end, (void)scratch;
  usleep(100);
  if (syscall(SYS_gettid) == getpid()) return;
  pthread_sigmask(SIG_BLOCK, 0, &blocked);
  __atomic_fetch_or((int64_t *)(uintptr_t)values[0], sigismember(&blocked, SIGINT) ? 1 : 3, __ATOMIC_RELAXED);
}

/* Loses increments if two launches overlap. */
EXPORT void count(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  volatile int64_t *out = (volatile int64_t *)(uintptr_t)values[0];
  (void)begin, (void)end, (void)scratch;
  *out = *out + 1;
}

/* 0 where 1 + 2^-60 is rounded to nearest. */
EXPORT void rounding(const uint64_t *values, int64_t begin, int64_t end, uint8_t *scratch) {
  volatile double one = 1, tiny = 8.7e-19;
  (void)begin, (void)end, (void)scratch;
  *(int64_t *)(uintptr_t)values[0] = one + tiny != 1;
}
