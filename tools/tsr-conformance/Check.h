// Defines a check of the kit and how it reports a failure.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::kit {

class Subject;

/// How far a plugin must get before a check can be made. Each stage requires those before it.
enum class Needs : uint8_t {
  File,
  Noted,
  Loaded,
  Exported,
  Queried,
  Slotted,
  Probed,
  Device,
  Created,
  Context
};

/// The checks that must pass before a stage is reached. Device also requires that a device is present.
struct Rung {
  Needs rung;
  std::string_view check;
};
inline constexpr Rung kLadder[] = {
    {Needs::Noted, "abi.manifest"},         {Needs::Loaded, "abi.loads"},
    {Needs::Exported, "abi.export"},        {Needs::Queried, "abi.query"},
    {Needs::Slotted, "abi.tables"},         {Needs::Slotted, "abi.interface_version"},
    {Needs::Slotted, "abi.required_slots"}, {Needs::Probed, "probe.returns"},
    {Needs::Created, "lifecycle.create"},   {Needs::Context, "lifecycle.context"}};

struct Check {
  std::string_view id;     // "memory.alignment": stable
  std::string_view demand; // one line: what the plugin must do
  void (*run)(Subject &);
  Needs needs;
  // optional slots it calls, comma-separated; if one is missing, the check is unsupported
  std::string_view slots = {};
  std::string_view after = {}; // another check that must have passed
  int seconds = 10;            // after this time the check counts as hanging
};

struct Group {
  std::string_view name;
  uint32_t kinds; // TSR_PLUGIN_*: the kinds of plugins it concerns; ~0: all
  bool isAlone;   // every check runs in a process of its own
  std::span<const Check> checks;
};

/// Returns the groups in the order in which they run.
std::span<const Group *const> allGroups();
/// Returns the check with that id, or null.
const Check *findCheck(std::string_view id);

/// Thrown by a check when the plugin breaks a promise.
struct Failure {
  std::string expected, found, fix;
};
/// Thrown by a check that cannot be made in this environment.
struct Skip {
  std::string reason;
};

/// Fails the check unless `holds`.
inline void expect(bool holds, std::string expected, std::string found, std::string fix = "") {
  if (!holds) throw Failure{std::move(expected), std::move(found), std::move(fix)};
}
template <class A, class B> void expectEqual(const A &found, const B &wanted, const std::string &what) {
  if (!(found == static_cast<A>(wanted)))
    throw Failure{what + " " + std::to_string(wanted), std::to_string(found), ""};
}

} // namespace tessera::kit
