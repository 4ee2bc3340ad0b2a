// What the processor this process runs on can execute. Thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Its name as LLVM spells it ("sapphirerapids"); empty when it is not among those known.
std::string_view hostCpuName();

/// The target that code for it has: "cpu:znver3", or "cpu:x86-64-v4" and so on where its name is not known.
std::string hostCpuTarget();

/// The first of `features` (sdk/schema/cpu_features.def) that it lacks; empty: it has them all. A name
/// outside the list counts as lacking.
std::string_view firstMissing(const std::vector<std::string> &features);

} // namespace tessera
