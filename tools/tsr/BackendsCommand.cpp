// `tsr backends`: lists every plugin, what it drives, and why it is not used.
#include "core/plugin/KnownBackends.h"
#include "core/support/Escaped.h"
#include "tools/tsr/Commands.h"
#include "tools/tsr/Conformance.h"
#include "tools/tsr/Json.h"
#include "tools/tsr/Report.h"
#include <algorithm>
#include <fmt/color.h>
#include <fmt/format.h>
#include <tessera/tessera.h>
#include <unistd.h>

namespace tessera::cli {
namespace {

std::string text(const Json &row, const char *key) {
  auto it = row.find(key);
  return it != row.end() && it->is_string() ? escaped(it->get<std::string>()) : "";
}

std::string devices(const Json &row) {
  if (!row.contains("devices")) return "";
  const int n = row["devices"].get<int>();
  return fmt::format("{} device{}", n, n == 1 ? "" : "s");
}

/// Returns the last column: the description, or the code and the reason.
std::string about(const Json &row) {
  if (!row.contains("code")) return text(row, "description");
  return fmt::format("{} {}", text(row, "code"), text(row, "reason"));
}

/// "2 devices, score 300 (12.3 ms)"
std::string probed(const Json &probe) {
  const std::string found = probe.contains("code")
                                ? fmt::format("{} {}", text(probe, "code"), text(probe, "reason"))
                                : fmt::format("{}, score {}", devices(probe), probe["score"].get<int>());
  return fmt::format("{} ({:.1f} ms)", found, probe["ms"].get<double>());
}

void printTable(const Json &report) {
  const bool colour = wantsColour(STDOUT_FILENO);
  size_t widths[4] = {4, 5, 7, 7}; // headings: NAME STATE VERSION DEVICES
  auto grow = [&](size_t column, const std::string &s) {
    widths[column] = std::max(widths[column], s.size());
  };
  const Json &rows = report["plugins"];
  for (const Json &row : rows) {
    grow(0, text(row, "name")), grow(1, text(row, "state")), grow(2, text(row, "version"));
    grow(3, devices(row));
  }
  fmt::print("  {:<{}}  {:<{}}  {:<{}}  {:<{}}\n", "NAME", widths[0], "STATE", widths[1], "VERSION",
             widths[2], "DEVICES", widths[3]);
  for (const Json &row : rows) {
    const std::string name = text(row, "name").empty() ? "?" : text(row, "name");
    std::string line = fmt::format(
        "{} {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}", row.value("selected", false) ? '*' : ' ', name, widths[0],
        text(row, "state"), widths[1], text(row, "version"), widths[2], devices(row), widths[3], about(row));
    if (!colour)
      fmt::print("{}\n", line);
    else
      fmt::print("{}\n", fmt::styled(line, row.value("selected", false) ? fmt::fg(fmt::terminal_color::green)
                                           : row.contains("code")       ? fmt::fg(fmt::terminal_color::red)
                                                                        : fmt::text_style()));
    if (row.contains("code") && !row["path"].is_null()) fmt::print("    {}\n", text(row, "path"));
    if (row.contains("fix")) fmt::print("    fix: {}\n", text(row, "fix"));
    if (row.contains("probe")) fmt::print("    probe: {}\n", probed(row["probe"]));
  }
  for (const Json &hint : report["hints"])
    fmt::print("hint: {}\n", escaped(hint.get<std::string>()));
  for (const Json &directory : report["directories"])
    fmt::print("plugins are looked for in {}\n", escaped(directory.get<std::string>()));
}

/// Prints everything known about one plugin. Returns false when there is none of that name.
bool printWhy(const Json &report, const std::string &name) {
  bool any = false;
  for (const Json &row : report["plugins"]) {
    if (row["name"] != name) continue;
    any = true;
    fmt::print("{}\n", escaped(name));
    for (auto &[key, value] : row.items())
      if (key != "name")
        fmt::print("  {:<12} {}\n", key,
                   key == "conformance" ? conformanceText(value)
                   : value.is_string()  ? escaped(value.get<std::string>())
                                        : value.dump());
  }
  return any;
}

int backends(const Arguments &args, const std::string &) {
  if (args.has("reset")) {
    uint32_t count = 0;
    if (tsrResetQuarantine(&count)) return fail(Error{"E_INTERNAL", tsrLastError(), ""});
    if (!args.has("json")) fmt::print("{} quarantined plugin{} forgotten\n", count, count == 1 ? "" : "s");
  }
  const char *json = nullptr;
  // Even without --probe, plugins that pass the checks of their files are probed: otherwise the command could
  // not show which backend would be used. A plugin that crashed in an earlier probe is not probed again.
  const uint32_t flags = TSR_REPORT_PROBE | (args.has("probe") ? TSR_REPORT_PROBE_ALL : 0);
  if (tsrGetLoadReport(flags, &json)) return fail(Error{"E_INTERNAL", tsrLastError(), ""});
  Json report = Json::parse(json);
  for (Json &row : report["plugins"])
    addConformance(row);
  if (args.has("why")) {
    const std::string name = canonicalBackend(args.value("why"));
    bool isKnown = true;
    if (args.has("json")) {
      Json rows = Json::array();
      for (const Json &row : report["plugins"])
        if (row["name"] == name) rows.push_back(row);
      printJson(rows);
      isKnown = !rows.empty();
    } else {
      isKnown = printWhy(report, name);
    }
    if (!isKnown) {
      tsr_context_t context = nullptr; // the library's error describes best why it is missing
      tsr_context_options_t options = {};
      options.struct_size = sizeof options;
      options.backend = name.c_str();
      const tsr_status_t status = tsrCreateContextEx(&options, &context);
      if (status == TSR_SUCCESS) tsrDestroyContext(context);
      return fail(
          Error{status == TSR_ENOTFOUND ? "E_BACKEND_UNKNOWN" : "E_BACKEND_UNUSABLE", tsrLastError(), ""});
    }
  } else if (args.has("json")) {
    printJson(report);
  } else {
    printTable(report);
  }
  if (!report.contains("selection_error")) return exitOk;
  return fail(Error{"E_BACKEND_UNUSABLE", text(report, "selection_error"), ""});
}

} // namespace

const Command backendsCommand = {
    {"backends",
     "[--json] [--why PLUGIN] [--probe] [--reset]",
     "which backends and other plugins there are, and why one is not used",
     "Lists every plugin, whether it can be used here and, if not, the reason, its code and how to fix it. "
     "Asks "
     "backends for their devices, each in a process of its own. Status 1 when the backend TESSERA_BACKEND "
     "names "
     "cannot be used.",
     {{"json", 0, OptionSpec::Flag, "", "as a JSON document"},
      {"why", 0, OptionSpec::Value, "PLUGIN", "everything known about one plugin"},
      {"probe", 0, OptionSpec::Flag, "",
       "ask every backend now, also where hardware, TESSERA_PROBE=note or an earlier crash would leave it "
       "unasked"},
      {"reset", 0, OptionSpec::Flag, "", "try plugins again whose probe has crashed"}},
     0,
     "  TESSERA_BACKEND=cpu tsr backends\n  tsr backends --why cpu\n"},
    backends};

} // namespace tessera::cli
