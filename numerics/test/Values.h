// Values that several tests of this folder use.
#pragma once
#include <limits>

namespace tessera {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kQuietNaN = std::numeric_limits<double>::quiet_NaN();

} // namespace tessera
