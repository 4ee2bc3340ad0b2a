#include "bench/Table.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::bench {

std::string Table::text() const {
  std::vector<size_t> width;
  for (const std::string &c : columns)
    width.push_back(c.size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      width[i] = std::max(width[i], row[i].size());
  auto line = [&](const std::vector<std::string> &cells) {
    std::string out;
    for (size_t i = 0; i < cells.size(); ++i)
      out += i == 0 ? fmt::format("{:<{}}", cells[i], width[i]) : fmt::format("  {:>{}}", cells[i], width[i]);
    return out + "\n";
  };
  std::string out = title + "\n";
  for (const std::string &n : notes)
    out += "  " + n + "\n";
  out += "\n" + line(columns);
  for (const auto &row : rows)
    out += line(row);
  return out;
}

std::string Table::markdown() const {
  std::string out = fmt::format("## {}\n\n", title);
  for (const std::string &n : notes)
    out += n + "\n";
  out += fmt::format("\n| {} |\n|{}\n", fmt::join(columns, " | "), [&] {
    std::string rule;
    for (size_t i = 0; i < columns.size(); ++i)
      rule += i == 0 ? " --- |" : " ---: |";
    return rule;
  }());
  for (const auto &row : rows)
    out += fmt::format("| {} |\n", fmt::join(row, " | "));
  return out;
}

} // namespace tessera::bench
