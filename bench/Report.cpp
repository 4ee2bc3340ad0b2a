#include "bench/Report.h"
#include "bench/Timing.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tessera::bench {
namespace {

std::string escape(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

/// A logarithmic axis from `low` to `high` over the pixels from `begin` to `end`.
struct Axis {
  double low, high, begin, end;
  double at(double value) const {
    const double part = std::log(std::clamp(value, low, high) / low) / std::log(high / low);
    return begin + part * (end - begin);
  }
};

std::string line(double x1, double y1, double x2, double y2, const char *style) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>)", x1, y1, x2, y2,
                     style) +
         "\n";
}

std::string label(double x, double y, const std::string &text, const char *anchor = "start") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                     escape(text)) +
         "\n";
}

std::string dot(double x, double y, const char *style, const std::string &title) {
  return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" class="{}"><title>{}</title></circle>)", x, y,
                     style, escape(title)) +
         "\n";
}

/// Operations per second over operations per byte; the roof is the FMA peak and the slowest memory.
std::string drawRoofline(const Table &table) {
  std::vector<const CaseResult *> cases;
  for (const CaseResult &c : table.cases)
    if (c.operations > 0 && c.bytes > 0) cases.push_back(&c);
  if (cases.empty() || table.peak <= 0 || table.streams.empty()) return "";
  double most = table.peak, least = table.peak;
  for (const CaseResult *c : cases)
    for (size_t i = 0; i < c->contenders.size(); ++i) {
      most = std::max(most, c->operations / c->best(i));
      least = std::min(least, c->operations / c->best(i));
    }
  const Axis x{0.1, 1000, 60, 700}, y{least / 2, most * 1.5, 330, 10};
  std::string out = "<svg viewBox=\"0 0 720 370\" role=\"img\" aria-label=\"roofline\">\n";
  out += line(60, 330, 700, 330, "axis") + line(60, 10, 60, 330, "axis");
  for (double v : {0.1, 1.0, 10.0, 100.0, 1000.0})
    out += label(x.at(v), 346, fmt::format("{:g}", v), "middle");
  for (double v = 1e6; v < 1e14; v *= 10)
    if (v > y.low && v < y.high) out += label(56, y.at(v) + 4, fmt::format("{:g} G", v * 1e-9), "end");
  out += label(380, 364, "operations per byte", "middle");
  for (auto [bytes, rate] : {table.streams.front(), table.streams.back()}) {
    const double ridge = table.peak / rate;
    out += line(x.at(x.low), y.at(rate * x.low), x.at(ridge), y.at(table.peak), "roof");
    out += label(x.at(0.2), y.at(rate * 0.2) - 6,
                 fmt::format("{:.0f} GB/s, {:.3g} MB", rate * 1e-9, bytes * 1e-6));
  }
  out +=
      line(x.at(table.peak / table.streams.front().second), y.at(table.peak), 700, y.at(table.peak), "roof");
  out += label(700, y.at(table.peak) - 6, fmt::format("{:.0f} G/s, f32 FMA", table.peak * 1e-9), "end");
  for (const CaseResult *c : cases)
    for (size_t i = c->contenders.size(); i-- > 0;)
      out +=
          dot(x.at(c->operations / c->bytes), y.at(c->operations / c->best(i)), i ? "peer" : "own",
              fmt::format("{}: {} {:.1f} G/s", c->name, c->contenders[i], c->operations / c->best(i) * 1e-9));
  return out + "</svg>\n";
}

/// A row per case: a bar for the speed beside the best peer, and a dot for each of our rounds over the
/// fastest.
std::string drawRatios(const Table &table) {
  if (table.cases.empty()) return "";
  const double height = 22 + 18 * double(table.cases.size());
  const Axis ratio{0.05, 5, 230, 520}, spread{1, 2, 545, 700};
  std::string out =
      fmt::format("<svg viewBox=\"0 0 720 {:.0f}\" role=\"img\" aria-label=\"ratios\">\n", height);
  for (double v : {0.1, 0.5, 1.0, 2.0, 5.0})
    out += label(ratio.at(v), 12, fmt::format("{:g}", v), "middle");
  out += label(545, 12, "rounds: 1") + label(700, 12, "2", "end");
  out += line(ratio.at(1), 16, ratio.at(1), height, "axis");
  double top = 20;
  for (const CaseResult &c : table.cases) {
    out += label(224, top + 11, c.name, "end");
    if (c.bestPeer()) {
      const double value = c.speedOfPeer(), from = std::min(ratio.at(1), ratio.at(value)),
                   to = std::max(ratio.at(1), ratio.at(value));
      out += fmt::format(
          R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="12" class="{}"><title>{:.2f} of {}</title></rect>)",
          from, top, to - from, value < 1 ? "slower" : "faster", value, escape(c.contenders[c.bestPeer()]));
      out += "\n";
    }
    for (double seconds : c.samples[0])
      out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2" class="own"/>)",
                         spread.at(seconds / c.best(0)), top + 6) +
             "\n";
    top += 18;
  }
  return out + "</svg>\n";
}

std::string htmlTable(const Table &t) {
  auto row = [](const std::vector<std::string> &cells, const char *tag) {
    std::string out = "<tr>";
    for (const std::string &cell : cells)
      out += fmt::format("<{0}>{1}</{0}>", tag, escape(cell));
    return out + "</tr>\n";
  };
  std::string out = "<table>\n" + row(t.columns, "th");
  for (const auto &cells : t.rows)
    out += row(cells, "td");
  return out + "</table>\n";
}

constexpr const char *style =
    R"(body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}td,th{padding:2px 8px;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}svg{width:100%;font-size:11px;margin:1em 0}
.axis{stroke:#888}.roof{stroke:#c60;stroke-width:1.5}.own{fill:#06c}.peer{fill:#bbb}.slower{fill:#d67}.faster{fill:#6a6}
.wrong{color:#b00;font-weight:bold})";

} // namespace

std::string htmlReport(const std::string &heading, const std::vector<Table> &tables) {
  std::string out =
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tessera "
                  "benchmarks</title><style>{}</style></head><body>\n<h1>Tessera beside its "
                  "peers</h1>\n<p>{}</p>\n",
                  style, escape(heading));
  for (const Table &t : tables) {
    out += fmt::format("<h2>{}</h2>\n", escape(t.title));
    if (!t.ok) out += "<p class=\"wrong\">A result was wrong or the run is invalid.</p>\n";
    out += "<ul>\n";
    for (const std::string &note : t.notes)
      out += fmt::format("<li>{}</li>\n", escape(note));
    out += "</ul>\n" + drawRoofline(t) + drawRatios(t) + htmlTable(t);
  }
  return out + "</body></html>\n";
}

} // namespace tessera::bench
