// The features of the processor that runs this process. Thread-safe.
#pragma once
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
std::string_view firstMissing(const std::vector<std::string> &features);

} // namespace tessera
