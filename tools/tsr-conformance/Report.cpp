#include "tools/tsr-conformance/Report.h"
#include "core/bundle/Hash.h"
#include "core/plugin/Manifest.h"
#include "core/support/Escaped.h"
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/color.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

namespace tessera::kit {
namespace {

constexpr State kStates[] = {State::Passed,      State::Failed,          State::Stale,
                             State::Unsupported, State::ExpectedFailure, State::Skipped};

size_t count(const Run &run, State state) {
  return static_cast<size_t>(std::count_if(run.outcomes.begin(), run.outcomes.end(),
                                           [&](const Outcome &o) { return o.state == state; }));
}

fmt::text_style styleOf(State state, bool isColoured) {
  if (!isColoured) return {};
  if (state == State::Passed) return fmt::fg(fmt::terminal_color::green);
  if (state == State::Failed || state == State::Stale) return fmt::fg(fmt::terminal_color::red);
  return fmt::fg(fmt::terminal_color::yellow);
}

std::string fact(const Run &run, const char *key) {
  auto it = run.facts.find(key);
  return it == run.facts.end() ? "" : it->second;
}

std::string hashOfFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  return hexadecimal(hash128(bytes));
}

} // namespace

void Table::add(const Outcome &o) {
  const bool isSilent = o.state == State::Skipped || o.state == State::Unsupported;
  if (!skipped_.empty() && (o.state != skipped_[0].state || o.reason != skipped_[0].reason)) finish();
  if (isSilent && !isVerbose_)
    skipped_.push_back(o);
  else
    print(o, std::string(o.check->id));
}

void Table::finish() {
  if (skipped_.empty()) return;
  std::string id(skipped_.front().check->id);
  if (skipped_.size() > 1) id = fmt::format("{} ... {} ({})", id, skipped_.back().check->id, skipped_.size());
  print(skipped_.front(), id);
  skipped_.clear();
}

void Table::print(const Outcome &o, const std::string &id) {
  fmt::print("{}  {:<28}", fmt::styled(fmt::format("{:<16}", nameOf(o.state)), styleOf(o.state, isColoured_)),
             id);
  if (o.state != State::Passed || isVerbose_)
    fmt::print("  {}", o.reason.empty() ? std::string(o.check->demand) : escaped(o.reason));
  fmt::print("\n");
  if (!o.expected.empty()) {
    fmt::print("    expected: {}\n    found:    {}\n", escaped(o.expected), escaped(o.found));
    if (!o.fix.empty()) fmt::print("    fix:      {}\n", escaped(o.fix));
  }
  std::fflush(stdout);
}

void printSummary(const Run &run, bool isColoured) {
  std::string line;
  for (State state : kStates)
    if (const size_t n = count(run, state))
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", n, nameOf(state));
  if (run.outcomes.size() < run.total)
    line += fmt::format(" ({} of {} checks)", run.outcomes.size(), run.total);
  fmt::print("{} {}: {}\n", escaped(fact(run, "name")), escaped(fact(run, "version")),
             fmt::styled(line, styleOf(run.isGood() ? State::Passed : State::Failed, isColoured)));
}

nlohmann::ordered_json reportOf(const Run &run, const std::string &plugin) {
  using Json = nlohmann::ordered_json;
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  Json out = {{"schema", 1},
              {"kit", TESSERA_VERSION},
              {"plugin_abi", fmt::format("{}.{}", TSR_PLUGIN_ABI_MAJOR, TSR_PLUGIN_ABI_MINOR)},
              {"date", date}};
  const std::string kinds = fact(run, "kinds");
  out["plugin"] = {{"file", std::filesystem::path(plugin).filename().string()},
                   {"hash", hashOfFile(plugin)},
                   {"name", fact(run, "name")},
                   {"version", fact(run, "version")},
                   {"kinds", kindList(kinds.empty() ? 0 : static_cast<uint32_t>(std::stoul(kinds)))}};
  const std::string devices = fact(run, "devices");
  if (!devices.empty())
    out["devices"] = {
        {"count", std::stoi(devices)}, {"driver", fact(run, "driver")}, {"why_none", fact(run, "no_device")}};
  out["result"] = run.isGood() ? "passed" : "failed";
  out["total"] = run.total;
  for (State state : kStates)
    out["counts"][std::string(nameOf(state))] = count(run, state);
  out["checks"] = Json::array();
  for (const Outcome &o : run.outcomes) {
    Json row = {{"id", o.check->id}, {"demand", o.check->demand}, {"state", nameOf(o.state)}};
    if (!o.reason.empty()) row["reason"] = o.reason;
    if (!o.expected.empty()) row["expected"] = o.expected, row["found"] = o.found;
    if (!o.fix.empty()) row["fix"] = o.fix;
    row["ms"] = o.milliseconds;
    out["checks"].push_back(row);
  }
  return out;
}

std::string reportPathOf(const std::string &plugin) {
  return std::filesystem::path(plugin).replace_extension(".conformance.json").string();
}

} // namespace tessera::kit
