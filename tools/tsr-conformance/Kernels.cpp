#include "tools/tsr-conformance/Kernels.h"
#include <cmath>
#include <utility>

namespace tessera::kit {

void countKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *) {
  auto *cells = reinterpret_cast<uint32_t *>(values[0]);
  for (int64_t p = begin; p < end; ++p)
    cells[p] += 1;
}

void stepKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *) {
  auto *from = reinterpret_cast<const uint32_t *>(values[0]);
  auto *to = reinterpret_cast<uint32_t *>(values[1]);
  for (int64_t p = begin; p < end; ++p)
    to[p] = from[p] * 3 + 1;
}

void sumKernel(const uint64_t *values, int64_t begin, int64_t, unsigned char *) {
  uint64_t sum = 0;
  for (uint64_t i = 1; i < 40; ++i)
    sum += values[i] * i;
  reinterpret_cast<uint64_t *>(values[0])[begin] = sum;
}

void arithmeticKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *) {
  auto *to = reinterpret_cast<double *>(values[0]);
  for (int64_t p = begin; p < end; ++p) {
    volatile double third = 3.0, tiny = 2.2250738585072014e-308; // the smallest normal number
    to[p] = static_cast<double>(p + 1) / third + std::sqrt(static_cast<double>(p) + 0.1);
    if (p % 2) to[p] = tiny / static_cast<double>(p + 2); // denormal
    if (p % 5 == 4) to[p] = -to[p];
  }
}

void scratchKernel(const uint64_t *values, int64_t begin, int64_t end, unsigned char *scratch) {
  auto *cells = reinterpret_cast<uint32_t *>(values[0]);
  for (int64_t p = begin; p < end; ++p) {
    std::memset(scratch, static_cast<int>(p & 0x7F), 4096);
    uint32_t sum = reinterpret_cast<uintptr_t>(scratch) % 64 == 0 ? 0 : 1;
    for (int i = 0; i < 4096; ++i)
      sum += *static_cast<volatile unsigned char *>(scratch + i);
    cells[p] = sum;
  }
}

tsr_be_image_t imageOf(const tsr_be_host_kernel_t &row) {
  tsr_be_image_t image{};
  image.struct_size = sizeof image;
  image.format = TSR_IMAGE_HOST_KERNELS;
  image.data = &row;
  image.bytes = sizeof row;
  image.name = "the conformance kit's kernels";
  return image;
}

tsr_be_kernel_desc_t descriptor(const char *name, uint32_t values, uint64_t scratch) {
  tsr_be_kernel_desc_t desc{};
  desc.struct_size = sizeof desc;
  desc.name = name, desc.metadata = "";
  desc.value_count = values, desc.scratch_bytes = scratch;
  for (int i = 0; i < 3; ++i)
    desc.block[i] = desc.cluster[i] = 1;
  desc.image_format = TSR_IMAGE_HOST_KERNELS;
  return desc;
}

tsr_be_module_t *loadHostKernels(Subject &s, const tsr_be_image_t &image) {
  tsr_be_module_t *module = nullptr;
  thunk::Text why;
  const int32_t status = s.api().module_load(s.context(), &image, &module, why);
  if (status != TSR_SUCCESS) {
    s.mustFail("module_load of host kernels", status, why);
    throw Skip{"it runs no code of the host's (" + why.str() +
               "); --image and --metadata give code of its own"};
  }
  expect(module, "an object from module_load, which succeeded", "NULL");
  return module;
}

Kernel::Kernel(Subject &s, const char *name, HostKernel function, uint32_t values, uint64_t scratch) : s_(s) {
  const tsr_be_host_kernel_t row = {name, reinterpret_cast<const void *>(function)};
  tsr_be_module_t *module = loadHostKernels(s, imageOf(row));
  const tsr_be_kernel_desc_t desc = descriptor(name, values, scratch);
  thunk::Text why;
  const int32_t status = s.api().kernel_get(module, &desc, &kernel_, why);
  s.api().module_unload(module); // its kernels remain valid
  s.must("kernel_get", status, why);
  expect(kernel_, "an object from kernel_get, which succeeded", "NULL");
}
Kernel::~Kernel() { release(); }
void Kernel::release() {
  if (kernel_) s_.api().kernel_release(std::exchange(kernel_, nullptr));
}

} // namespace tessera::kit
