// Code the launch checks run: functions of the kit for backends that run the host's code
// (TSR_IMAGE_HOST_KERNELS), and the image the command line gives.
#pragma once
#include "tools/tsr-conformance/Objects.h"

namespace tessera::kit {

/// How a backend calls a host kernel: the programs [begin, end) of the linearised grid, the launch values in
/// order, and scratch memory of the size the kernel asked for, aligned to 64 bytes.
using HostKernel = void (*)(const uint64_t *values, int64_t begin, int64_t end, unsigned char *scratch);

/// values: cells (uint32), one for each program, which adds 1 to its own.
void countKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: from (uint32), to (uint32): to[p] = from[p] * 3 + 1.
void stepKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: out, then 39 numbers: *out is their sum, each times its place.
void sumKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: to (double): to[p] from arithmetic that tells how rounding and denormals are set.
void arithmeticKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *);
/// values: cells: each program fills 4096 bytes of scratch and adds up what it finds there.
void scratchKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *scratch);

/// One kernel of the kit's own, loaded. Skips the check where the backend takes no host kernels.
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

/// The image of one kernel; `rows` lives as long as the image is used.
tsr_be_image_t imageOf(const tsr_be_host_kernel_t &row);

/// What the runtime says of a kernel of the kit's.
tsr_be_kernel_desc_t descriptor(const char *name, uint32_t values, uint64_t scratch = 0);

/// A module of host kernels, or a skip.
tsr_be_module_t *loadHostKernels(Subject &s, const tsr_be_image_t &image);

inline uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

} // namespace tessera::kit
