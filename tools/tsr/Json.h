// The output of --json: one document on standard output. Keys are only ever added.
#pragma once
#include <nlohmann/json.hpp>

namespace tessera::cli {

using Json = nlohmann::ordered_json;

inline Json objectOf(const std::vector<std::pair<std::string, int64_t>> &values) {
  Json out = Json::object();
  for (const auto &[name, value] : values)
    out[name] = value;
  return out;
}

/// Prints the document and a newline. Replaces invalid UTF-8 by replacement characters.
void printJson(const Json &);

} // namespace tessera::cli
