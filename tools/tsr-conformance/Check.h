// What a check of the kit is, and how it says what is wrong.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::kit {

class Subject;

/// How far a plugin must have come before a check can say anything. Each rung stands on those before it.
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

/// Which checks a rung stands on (Device: also on a device being there).
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
  std::string_view slots = {}; // optional slots it calls, comma-separated; without them it is unsupported
  std::string_view after = {}; // another check that must have passed
  int seconds = 10;            // after which it is taken for hanging
};

struct Group {
  std::string_view name;
  uint32_t kinds; // TSR_PLUGIN_*: of which plugins; ~0: of all
  bool isAlone;   // every check in a process of its own
  std::span<const Check> checks;
};

/// In the order they are run.
std::span<const Group *const> allGroups();
/// The check of that id; null: there is none.
const Check *findCheck(std::string_view id);

/// Thrown by a check that found a promise broken.
struct Failure {
  std::string expected, found, fix;
};
/// Thrown by a check that cannot be made here.
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
