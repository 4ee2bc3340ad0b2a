// Whether two configurations of a kernel compute the same.
#pragma once
#include "numerics/DType.h"
#include <cstddef>
#include <span>
#include <string>

namespace tessera::tune {

/// Returns "" if the elements of `got` agree with those of `base`, else how many do not and the first of
/// them. Integers agree if they are equal, and floats too if `isExact` is set. Otherwise floats may differ as
/// sums of `terms` terms do that are added in another order.
std::string differences(DType, std::span<const std::byte> base, std::span<const std::byte> got, bool isExact,
                        double terms);

} // namespace tessera::tune
