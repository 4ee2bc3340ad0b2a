// What this machine can do, measured: the denominators of every "percent of the limit".
#pragma once
#include <string>

namespace tessera::bench {

/// Single-precision FMA throughput in flop/s of `threads` threads with the widest vectors the CPU has,
/// operands in registers: no program can be faster.
double measureFmaPeak(int threads);

/// Bytes per second of y = a * x + y over arrays far larger than the caches, counting x read, y read, y
/// written, with `threads` threads on memory each has touched first.
double measureStream(int threads);

/// Cores this process may run on.
int usableCores();

/// "AVX-512", "AVX2" or "SSE": what measureFmaPeak uses.
const char *vectorExtension();

/// What OPENBLAS_CORETYPE calls the best of its kernels that this processor runs; null: leave it the choice.
const char *blasCoreType();

/// The processor's name as the system gives it, and its number of logical cores: "AMD EPYC 9B14, 2 cores".
std::string processorName();

/// Restricts the process, and every thread made from now on, to `count` cores. Call before any library makes
/// threads.
void restrictToCores(int count);

} // namespace tessera::bench
