#include "tools/tsr/Conformance.h"
#include "core/bundle/Hash.h"
#include "core/support/Escaped.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace tessera::cli {
namespace {

std::string contents(const std::filesystem::path &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return ""; // opening a FIFO would block
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
  if (result != "passed" && result != "failed") return; // not a report of the kit, or damaged
  const Json counts = report.contains("counts") ? report["counts"] : Json();
  const Json plugin = report.contains("plugin") ? report["plugin"] : Json();
  // A report without a total comes from a kit that could not distinguish a partial run from a full one.
  const auto passed = at<uint64_t>(counts, "passed", 0), total = at<uint64_t>(report, "total", 0);
  uint64_t judged = 0;
  if (counts.is_object())
    for (const auto &item : counts.items())
      judged += item.value().is_number_unsigned() ? item.value().get<uint64_t>() : 0;
  const bool isPartial = judged < total || total == 0 || passed == 0;
  row["conformance"] = {
      {"result", result == "passed" && isPartial ? "partial" : result},
      {"date", at<std::string>(report, "date", "")},
      {"passed", passed},
      {"failed", at<uint64_t>(counts, "failed", 0) + at<uint64_t>(counts, "stale", 0)},
      {"unsupported", at<uint64_t>(counts, "unsupported", 0)},
      {"skipped", at<uint64_t>(counts, "skipped", 0)},
      {"run", judged},
      {"total", total},
      {"stale", at<std::string>(plugin, "hash", "") != hexadecimal(hash128(contents(path)))}};
}

std::string conformanceText(const Json &c) {
  const auto run = at<uint64_t>(c, "run", 0), total = at<uint64_t>(c, "total", 0);
  std::string counts =
      fmt::format("{} passed, {} failed", at<uint64_t>(c, "passed", 0), at<uint64_t>(c, "failed", 0));
  for (const char *state : {"unsupported", "skipped"})
    if (const auto n = at<uint64_t>(c, state, 0)) counts += fmt::format(", {} {}", n, state);
  return escaped(fmt::format("{}{}: {}, {}{}", at<std::string>(c, "result", ""),
                             run < total ? fmt::format(" ({} of {} checks)", run, total) : "", counts,
                             at<std::string>(c, "date", ""),
                             c.value("stale", false) ? "; stale: the file has changed since" : ""));
}

} // namespace tessera::cli
