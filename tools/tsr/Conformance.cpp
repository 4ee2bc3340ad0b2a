#include "tools/tsr/Conformance.h"
#include "core/bundle/Hash.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace tessera::cli {
namespace {

std::string contents(const std::filesystem::path &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return ""; // a FIFO would be waited for
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T> T at(const Json &object, const char *key, T otherwise) {
  auto it = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || it == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return it->is_string() ? it->get<std::string>() : otherwise;
  else
    return it->is_number_unsigned() ? it->get<T>() : otherwise;
}

} // namespace

void addConformance(Json &row) {
  const auto path = at<std::string>(row, "path", "");
  if (path.empty()) return;
  const std::string text = contents(std::filesystem::path(path).replace_extension(".conformance.json"));
  if (text.empty()) return;
  const Json report = Json::parse(text, nullptr, false);
  const std::string result = at<std::string>(report, "result", "");
  if (result != "passed" && result != "failed") return; // not ours, or damaged
  const Json counts = report.contains("counts") ? report["counts"] : Json();
  const Json plugin = report.contains("plugin") ? report["plugin"] : Json();
  row["conformance"] = {
      {"result", result},
      {"date", at<std::string>(report, "date", "")},
      {"passed", at<uint64_t>(counts, "passed", 0)},
      {"failed", at<uint64_t>(counts, "failed", 0) + at<uint64_t>(counts, "stale", 0)},
      {"stale", at<std::string>(plugin, "hash", "") != hexadecimal(hash128(contents(path)))}};
}

std::string conformanceText(const Json &c) {
  return fmt::format("{}: {} passed, {} failed, {}{}", at<std::string>(c, "result", ""),
                     at<uint64_t>(c, "passed", 0), at<uint64_t>(c, "failed", 0),
                     at<std::string>(c, "date", ""),
                     c.value("stale", false) ? "; stale: the file has changed since" : "");
}

} // namespace tessera::cli
