// Edits of IR text as a person might make them, token by token and line by line: most of what comes out still
// parses, which bytes flipped at random would not.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

/// `text` with one to four edits; `other` is where foreign lines and tokens come from.
std::string mutateIr(std::string_view text, std::string_view other, uint32_t seed);

/// The graph, schedule and tile IR of every sample.
const std::vector<std::string> &seeds();

} // namespace tessera::fuzz
