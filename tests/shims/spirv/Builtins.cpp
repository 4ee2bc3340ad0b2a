// The functions of OpenCL that our SPIR-V calls, for one lane of the emulator (emulator/Calls.cpp). Those of
// vectors are written by read_back.py, because C++ passes vectors in another way than LLVM IR does.
#include <cmath>
#include <cstddef>
#include <cstdint>

extern "C" {
uint32_t tsr_emu_coordinate(int32_t which);
void tsr_emu_barrier(int32_t site);

extern const char tsr_emu_sites[] = ""; // no operation has a place in a source file
}

namespace {
constexpr int kThread = 0, kBlock = 3;
}

size_t get_local_id(uint32_t axis) { return tsr_emu_coordinate(kThread + static_cast<int>(axis)); }
size_t get_group_id(uint32_t axis) { return tsr_emu_coordinate(kBlock + static_cast<int>(axis)); }
void barrier(uint32_t) { tsr_emu_barrier(0); }

float fma(float a, float b, float c) { return std::fmaf(a, b, c); }
float sqrt(float x) { return __builtin_sqrtf(x); }
float fabs(float x) { return __builtin_fabsf(x); }
long min(long a, long b) { return a < b ? a : b; }
long max(long a, long b) { return a < b ? b : a; }
unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }

/// Its address is in global memory, which C++ does not say in its names.
extern "C" int32_t atomicAdd(int32_t *address, int32_t value) __asm__("_Z10atomic_addPU3AS1Vii");
extern "C" int32_t atomicAdd(int32_t *address, int32_t value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
