#include "mapper/host/DecisionFile.h"
#include "core/metadata/MetadataYaml.h"
#include <charconv>
#include <cstdio>

namespace tessera::mapping {
namespace {

using namespace tessera::yaml;

constexpr Bounds kBounds = {.bytes = kMaxDecisionBytes, .nodes = 1 << 20};

/// Returns the text as a double-quoted YAML scalar.
std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < ' ') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      out += escape;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

LoggedDecision readEntry(const YAML::Node &node) {
  checkMap(node, "decisions", {"call", "about", "from", "choice", "predicted_ns"});
  for (const char *key : {"call", "about", "choice"})
    if (!node[key]) reject(node, "decisions", std::string("an entry has no ") + key);
  LoggedDecision d;
  d.call = asText(node["call"], "decisions.call");
  if (d.call != "place" && d.call != "choose_collective" && d.call != "choose_variant")
    reject(node["call"], "decisions.call",
           "'" + d.call + "' is not one of place, choose_collective, choose_variant");
  d.about = asText(node["about"], "decisions.about");
  d.legal = asTexts(node["from"], "decisions.from");
  d.choice = asText(node["choice"], "decisions.choice");
  if (node["predicted_ns"]) d.predictedNs = asDouble(node["predicted_ns"], "decisions.predicted_ns");
  return d;
}

} // namespace

std::string decisionsHeader() {
  return "# Decisions of a mapper, for TESSERA_MAPPER=replay(this file). Edit `choice` to decide otherwise.\n"
         "decisions:\n";
}

std::string writeDecision(const LoggedDecision &d) {
  std::string out = "- {call: " + d.call + ", about: " + quote(d.about) + ", from: [";
  for (size_t i = 0; i < d.legal.size(); ++i)
    out += (i ? ", " : "") + quote(d.legal[i]);
  out += "], choice: " + quote(d.choice);
  if (d.predictedNs >= 0) {
    char text[64];
    out += ", predicted_ns: " + std::string(text, std::to_chars(text, text + sizeof text, d.predictedNs).ptr);
  }
  return out + "}\n";
}

std::string writeDecisions(const std::vector<LoggedDecision> &decisions) {
  std::string out = decisionsHeader();
  if (decisions.empty()) out.insert(out.size() - 1, " []");
  for (const LoggedDecision &d : decisions)
    out += writeDecision(d);
  return out;
}

Expected<std::vector<LoggedDecision>> readDecisions(std::string_view text) {
  auto malformed = [](std::string message) { return Error{"E_MAPPER_REPLAY", std::move(message), ""}; };
  try {
    std::vector<LoggedDecision> out;
    YAML::Node root = load(text, kBounds);
    checkMap(root, "file", {"decisions"});
    if (!root["decisions"].IsDefined()) reject(root, "decisions", "missing");
    if (root["decisions"].IsNull()) return out;
    for (const YAML::Node &entry : asList(root["decisions"], "decisions", kBounds.nodes))
      out.push_back(readEntry(entry));
    return out;
  } catch (const YAML::Exception &e) {
    return malformed(describe(e));
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &e) {
    return malformed(e.what());
  }
}

} // namespace tessera::mapping
