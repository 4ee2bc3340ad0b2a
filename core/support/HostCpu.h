// The features of the processor that runs this process. Thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Returns LLVM's name of the processor ("sapphirerapids"); empty if it is unknown.
std::string_view hostCpuName();

/// Returns what tells this processor from others whose speed differs: its name, or vendor, family and model
/// if that is unknown ("AuthenticAMD-26-2"). Empty: neither is known.
std::string hostCpuModel();

/// Returns the target of code for this processor: "cpu:znver3", or a level such as "cpu:x86-64-v4" if its
/// name is unknown.
std::string hostCpuTarget();

/// Returns the first of `features` (sdk/schema/cpu_features.def) that the processor lacks; empty if it has
/// them all. An unknown name counts as lacking.
/// Features of AMX count as lacking, too, if the system refuses the state of tile registers. The first
/// question about one of them asks the system for it, once in a process.
std::string_view firstMissing(const std::vector<std::string> &features);

/// Returns why this process cannot run code with these features, "this processor has no avx2"; empty if it
/// can.
std::string obstacleTo(const std::vector<std::string> &features);
/// Returns the obstacle if it is the system's, not the processor's.
std::string refusalOf(const std::vector<std::string> &features);

/// The tile registers of AMX as a process may use them.
struct TileRegisters {
  bool hasTiles = false, multipliesBytes = false, multipliesBf16 = false;
  int refusal = 0; // the processor has them, but the system refused, with this error
};
/// Decides from EDX of CPUID leaf 7, register XCR0, and what `request` returns: 0, or an error. A process has
/// to request the state before its first such instruction.
TileRegisters examineTiles(uint32_t edx, uint64_t xcr0, int (*request)());

} // namespace tessera
