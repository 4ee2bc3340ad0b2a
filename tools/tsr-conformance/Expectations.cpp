#include "tools/tsr-conformance/Expectations.h"
#include "core/support/YamlText.h"
#include <algorithm>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <set>
#include <sstream>

namespace tessera::kit {

std::string_view nameOf(State state) {
  static constexpr std::string_view names[] = {"passed",      "failed",           "skipped",
                                               "unsupported", "expected_failure", "stale"};
  return names[static_cast<int>(state)];
}

bool matches(std::string_view pattern, std::string_view id) {
  return fnmatch(std::string(pattern).c_str(), std::string(id).c_str(), 0) == 0;
}

namespace {

struct Wrong {
  YAML::Mark where;
  std::string what;
};

/// Returns how many checks match the pattern, and whether there are checks that do not.
std::pair<size_t, bool> meets(const std::string &pattern) {
  size_t met = 0;
  bool others = false;
  for (const Group *group : allGroups())
    for (const Check &check : group->checks)
      matches(pattern, check.id) ? void(++met) : void(others = true);
  return {met, others};
}

/// Refuses unknown and repeated keys: YAML would take the first of two and ignore the other.
void readKey(const YAML::Node &key, std::set<std::string> &seen, std::initializer_list<const char *> known) {
  const auto text = key.as<std::string>("");
  std::string list;
  for (const char *name : known)
    list += (list.empty() ? "" : " and ") + std::string(name);
  if (std::find(known.begin(), known.end(), text) == known.end())
    throw Wrong{key.Mark(), "'" + text + "' is no key; expected " + list};
  if (!seen.insert(text).second) throw Wrong{key.Mark(), "the key " + text + " is there twice"};
}

void readList(const YAML::Node &list, bool isFailure, std::vector<Expectations::Entry> &out) {
  if (!list.IsSequence()) throw Wrong{list.Mark(), "expected a list of {checks: PATTERN, reason: TEXT}"};
  for (const YAML::Node &row : list) {
    if (!row.IsMap()) throw Wrong{row.Mark(), "expected {checks: PATTERN, reason: TEXT}"};
    std::set<std::string> keys;
    for (const auto &pair : row)
      readKey(pair.first, keys, {"checks", "reason"});
    const YAML::Node checks = row["checks"], reason = row["reason"];
    if (!checks) throw Wrong{row.Mark(), "checks is missing: a pattern over ids, or a list of them"};
    if (!reason || !reason.IsScalar() || reason.Scalar().find_first_not_of(" \t\n") == std::string::npos)
      throw Wrong{row.Mark(), "a reason is missing: state it for the readers of the report"};
    std::vector<YAML::Node> patterns;
    if (checks.IsSequence())
      for (const YAML::Node &one : checks)
        patterns.push_back(one);
    else
      patterns.push_back(checks);
    for (const YAML::Node &pattern : patterns) {
      const auto text = pattern.as<std::string>("");
      const auto [met, others] = meets(text);
      if (!met) throw Wrong{pattern.Mark(), "'" + text + "' is the id of no check; --list shows them"};
      if (!others)
        throw Wrong{pattern.Mark(),
                    "'" + text + "' is every check, and nothing would be judged; name those that are meant"};
      out.push_back({text, reason.Scalar(), isFailure});
    }
  }
}

} // namespace

Expected<Expectations> Expectations::read(const std::string &path) {
  auto fail = [&](const YAML::Mark &mark, const std::string &what) {
    return Error{"E_EXPECTATIONS",
                 path + (mark.is_null() ? "" : ":" + std::to_string(mark.line + 1)) + ": " + what, ""};
  };
  // The file is read here because yaml-cpp leaks its buffer when reading ends in an error, as it does for a
  // folder.
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) return fail(YAML::Mark::null_mark(), "it cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  try {
    const YAML::Node root = yaml::load(text.str(), {.bytes = 1 << 20, .nodes = 1 << 16});
    if (!root.IsMap()) throw Wrong{root.Mark(), "expected the keys unsupported and expected_failure"};
    Expectations out;
    std::set<std::string> keys;
    for (const auto &pair : root) {
      readKey(pair.first, keys, {"unsupported", "expected_failure"});
      readList(pair.second, pair.first.Scalar() == "expected_failure", out.entries_);
    }
    return out;
  } catch (const Wrong &w) {
    return fail(w.where, w.what);
  } catch (const YAML::Exception &e) {
    return fail(e.mark, e.msg);
  }
}

const Expectations::Entry *Expectations::find(const Check &check, bool isFailure) const {
  for (const Entry &e : entries_)
    if (e.isFailure == isFailure && matches(e.pattern, check.id)) return &e;
  return nullptr;
}

} // namespace tessera::kit
