// Converts nodes of a metadata document to values; see MetadataYaml.h.
#include "core/metadata/MetadataYaml.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::yaml {

void reject(const YAML::Node &node, const std::string &key, const std::string &text) {
  throw YAML::RepresentationException(node.Mark(), key + ": " + text);
}

std::string asText(const YAML::Node &node, const std::string &key) {
  if (!node.IsScalar()) reject(node, key, "expected a text");
  return node.Scalar();
}

int64_t asInt(const YAML::Node &node, const std::string &key, int64_t least) {
  std::string text = asText(node, key);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    reject(node, key, "expected an integer, found '" + text + "'");
  if (value < least) reject(node, key, "expected at least " + std::to_string(least) + ", found " + text);
  return value;
}

double asDouble(const YAML::Node &node, const std::string &key) {
  std::string text = asText(node, key);
  if (text == ".inf") return INFINITY;
  if (text == "-.inf") return -INFINITY;
  if (text == ".nan") return NAN;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    reject(node, key, "expected a number, found '" + text + "'");
  return value;
}

Number asNumber(const YAML::Node &node, const std::string &key, DType dtype) {
  if (isFloat(dtype)) return asDouble(node, key);
  const std::string text = asText(node, key);
  if (text.find_first_of(".eE") == std::string::npos) return asInt(node, key, INT64_MIN);
  const double value = asDouble(node, key); // documents of older versions contain 1e+05
  const auto integer = static_cast<int64_t>(fromDouble(value, DType::I64));
  if (static_cast<double>(integer) != value) reject(node, key, "expected an integer, found '" + text + "'");
  return integer;
}

DType asDType(const YAML::Node &node, const std::string &key) {
  std::string text = asText(node, key);
  for (const DTypeInfo &row : allDTypes())
    if (text == row.name) return row.dtype;
  reject(node, key, "unknown dtype '" + text + "'");
}

YAML::Node asList(const YAML::Node &node, const std::string &key, size_t most) {
  if (node.IsDefined() && !node.IsSequence()) reject(node, key, "expected a list");
  if (node.IsDefined() && node.size() > most) reject(node, key, "list is too long");
  return node;
}

std::vector<std::string> asTexts(const YAML::Node &node, const std::string &key) {
  std::vector<std::string> out;
  if (!node.IsDefined()) return out;
  for (const YAML::Node &entry : asList(node, key))
    out.push_back(asText(entry, key));
  return out;
}

void checkMap(const YAML::Node &node, const std::string &key, std::initializer_list<std::string_view> known) {
  if (!node.IsMap()) reject(node, key, "expected a map");
  if (node.size() > kMaxEntries) reject(node, key, "map is too long");
  std::vector<std::string> seen;
  for (const auto &entry : node) {
    std::string name = asText(entry.first, key);
    if (known.size() && std::find(known.begin(), known.end(), name) == known.end())
      reject(entry.first, key, "unknown key '" + name + "'");
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      reject(entry.first, key, "key '" + name + "' occurs twice");
    seen.push_back(std::move(name));
  }
}

bool isIdentifier(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !s.empty() && letter(s[0]) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || digit(c); });
}

bool isNumber(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isEntryName(std::string_view s) {
  for (;;) {
    size_t dot = std::min(s.find('.'), s.size());
    if (!isIdentifier(s.substr(0, dot))) return false;
    if (dot == s.size()) return true;
    s.remove_prefix(dot + 1);
  }
}

std::vector<std::pair<std::string, int64_t>> asInts(const YAML::Node &node, const std::string &key) {
  std::vector<std::pair<std::string, int64_t>> out;
  if (!node.IsDefined()) return out;
  checkMap(node, key, {});
  for (const auto &entry : node)
    out.emplace_back(entry.first.Scalar(), asInt(entry.second, key + "." + entry.first.Scalar(), INT64_MIN));
  return out;
}

} // namespace tessera::yaml
