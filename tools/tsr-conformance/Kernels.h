// The code that the launch checks run: functions of the kit for backends that run host code
// (TSR_IMAGE_HOST_KERNELS), and the image that the command line names.
#pragma once
#include "tools/tsr-conformance/Objects.h"

namespace tessera::kit {

/// How a backend calls a host kernel: the programs [begin, end) of the linearised grid, the launch values in
/// order, and scratch memory of the size the kernel asked for, aligned to 64 bytes.
using HostKernel = void (*)(const uint64_t *values, int64_t begin, int64_t end, unsigned char *scratch);

/// values: cells (uint32). Each program adds 1 to its own cell.
void countKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: from (uint32), to (uint32): to[p] = from[p] * 3 + 1.
void stepKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: out, then 39 numbers. *out is the sum of the numbers, each multiplied by its position.
void sumKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: to (double). Sets to[p] by arithmetic whose result shows the rounding mode and whether denormals
/// are flushed.
void arithmeticKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: cells. Each program fills 4096 bytes of scratch and adds up what it reads back.
void scratchKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *scratch);

/// One loaded kernel of the kit. Skips the check when the backend accepts no host kernels.
class Kernel {
public:
  Kernel(Subject &s, const char *name, HostKernel function, uint32_t values, uint64_t scratch = 0);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  operator tsr_be_kernel_t *() const { return kernel_; }
  void release();

private:
  Subject &s_;
  tsr_be_kernel_t *kernel_ = nullptr;
};

/// Returns the image of one kernel. `row` must live as long as the image is used.
tsr_be_image_t imageOf(const tsr_be_host_kernel_t &row);

/// Returns the descriptor that the runtime would pass for a kernel of the kit.
tsr_be_kernel_desc_t descriptor(const char *name, uint32_t values, uint64_t scratch = 0);

/// Loads a module of host kernels. Skips the check when the backend accepts none.
tsr_be_module_t *loadHostKernels(Subject &s, const tsr_be_image_t &image);

inline uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

} // namespace tessera::kit
