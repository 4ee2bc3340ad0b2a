// The constants of a machine that conditions, costs and parameters of variants may name. Part of the static
// library tessera-metadata; core/launch/HostMachine.cpp fills them.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

/// cores: that a launch may use. l1, l2, l3: bytes of the data caches for each core. fma_*: operations (two
/// for each multiply-add) per nanosecond of one core. bw2, bw3, bwm: bytes per nanosecond that one core reads
/// from L2, L3 and memory. wake: nanoseconds until a sleeping worker has begun. Unknown: 0.
inline constexpr std::array<std::string_view, 12> kMachineConstants = {
    "cores", "l1", "l2", "l3", "fma_f32", "fma_f64", "fma_bf16", "fma_i8", "bw2", "bw3", "bwm", "wake"};

using MachineConstants = std::array<int64_t, kMachineConstants.size()>; // in the order of the names

} // namespace tessera
