// The names of dtypes that parseDType accepts beside the canonical ones.
#pragma once
#include "numerics/DType.h"
#include <span>
#include <string_view>
#include <utility>

namespace tessera {

std::span<const std::pair<std::string_view, DType>> dtypeAliases();

} // namespace tessera
