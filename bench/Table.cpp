#include "bench/Table.h"
#include "bench/Timing.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::bench {

double CaseResult::best(size_t contender) const { return summarize(samples[contender]).min; }

bool CaseResult::isWrong(const std::string &contender) const {
  return std::find(wrong.begin(), wrong.end(), contender) != wrong.end();
}

size_t CaseResult::bestPeer() const {
  size_t best_ = 0;
  for (size_t i = 1; i < contenders.size(); ++i)
    if (!isWrong(contenders[i]) && (!best_ || best(i) < best(best_))) best_ = i;
  return best_;
}

double CaseResult::speedOfPeer() const {
  const size_t peer = bestPeer();
  return peer ? best(peer) / best(0) : 0;
}

/// Libraries reach 0.95 to 0.98 of the FMA peak: who is at the limit cannot be much faster than them.
double CaseResult::score() const { return std::max(speedOfPeer(), ofLimit() / 0.95); }

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
