// Measures the limits of this machine: the denominators of every "percent of the limit".
#pragma once
#include <functional>
#include <string>

namespace tessera::bench {

/// Returns the single-precision FMA throughput, in flop/s, of `threads` threads with the widest vectors of
/// the CPU and operands in registers: no program can be faster.
double measureFmaPeak(int threads);

/// Returns the bytes per second of y = a * x + y over arrays far larger than the caches, counting x read, y
/// read and y written, with `threads` threads, each on memory that it touched first.
double measureStream(int threads);

/// Runs `body(thread)` on `threads` threads at once, each bound to a core of its own, `rounds` times. Returns
/// the seconds of the shortest round. A round lasts from the first thread's start to the last one's end: when
/// threads outnumber free cores, one may start late.
double bestRound(int threads, int rounds, const std::function<void(int)> &body);

/// Returns the number of cores that this process may run on.
int usableCores();

/// Returns the vector extension that measureFmaPeak uses: "AVX-512", "AVX2" or "SSE".
const char *vectorExtension();

/// Returns the name, for OPENBLAS_CORETYPE, of the best of OpenBLAS's kernels that this processor runs; null:
/// OpenBLAS should choose.
const char *blasCoreType();

/// The same for BLIS_ARCH_TYPE, which is a number.
const char *blisArchitecture();

/// Returns the processor's name as the system reports it: "AMD EPYC". In a virtual machine it is often that
/// of a whole family.
std::string processorName();

/// Returns LLVM's name of the processor, "znver4", or its vendor, family and model, "AuthenticAMD-26-2", if
/// LLVM has no name for it; "unknown" if neither is known.
std::string microarchitecture();

/// Returns the processor in one line: "AMD EPYC (znver4), 2 cores".
std::string describeProcessor();

/// Restricts the process, and every thread that starts later, to `count` cores. Must be called before any
/// library starts threads.
void restrictToCores(int count);

} // namespace tessera::bench
