/* The emulated code of kernels.ptx: what one lane does. */
#include <stdint.h>

uint32_t tsr_emu_coordinate(int32_t which);
void *tsr_emu_shared(int64_t offset);

const char tsr_emu_sites[] = "";

enum { kThread = 0, kBlock = 3, kBlockSize = 9, kRank = 14 };

/* y += alpha * x */
void tsr_kernel_axpy(const uint64_t *values) {
  const float *x = (const float *)values[0];
  float *y = (float *)values[1];
  union {
    uint32_t bits;
    float value;
  } alpha = {(uint32_t)values[2]};
  const uint64_t i =
      (uint64_t)tsr_emu_coordinate(kBlock) * tsr_emu_coordinate(kBlockSize) + tsr_emu_coordinate(kThread);
  if (i < values[3]) y[i] = alpha.value * x[i] + y[i];
}

/* sums[block] = x[block] * 2, by way of the block's 64 bytes of workspace */
void tsr_kernel_total(const uint64_t *values) {
  const uint32_t block = tsr_emu_coordinate(kBlock);
  if (tsr_emu_coordinate(kThread)) return;
  float *own = (float *)(values[2] + 64u * block);
  *own = ((const float *)values[0])[block];
  ((float *)values[1])[block] = *own * 2;
}

/* y[block] = its number in the cluster */
void tsr_kernel_pairs(const uint64_t *values) {
  ((float *)values[0])[tsr_emu_coordinate(kBlock)] = (float)tsr_emu_coordinate(kRank);
}

/* y[thread] = thread, by way of dynamic shared memory */
void tsr_kernel_dynamic(const uint64_t *values) {
  const uint32_t thread = tsr_emu_coordinate(kThread);
  ((float *)tsr_emu_shared(0))[thread] = (float)thread;
  ((float *)values[0])[thread] = ((float *)tsr_emu_shared(0))[thread];
}
