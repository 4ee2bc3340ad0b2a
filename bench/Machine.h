// What this machine can do, measured: the denominators of every "percent of the limit".
#pragma once

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

/// Restricts the process, and every thread made from now on, to `count` cores. Call before any library makes
/// threads.
void restrictToCores(int count);

} // namespace tessera::bench
