// What --json prints: one document on standard output, whose keys only ever grow.
#pragma once
#include <nlohmann/json.hpp>

namespace tessera::cli {

using Json = nlohmann::ordered_json;

/// Prints the document and a line end. Text that is not UTF-8 gets replacement characters.
void printJson(const Json &);

} // namespace tessera::cli
