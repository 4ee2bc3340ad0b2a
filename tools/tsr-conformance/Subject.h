// The plugin under test, in the process of one child: loaded, queried, created as far as a check needs it. It
// is reached through plugin.h alone; nothing of the runtime stands between.
#pragma once
#include "core/plugin/Manifest.h"
#include "tools/tsr-conformance/Check.h"
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tessera/plugin.h>
#include <tessera/thunk.hpp>
#include <vector>

namespace tessera::kit {

/// What the command line says about one child's plugin.
struct SubjectOptions {
  std::string plugin, image, metadata;
  int ranks = 3;           // threads that stand for ranks
  bool isLaunched = false; // one of several processes that a launcher started
};

/// An answer to fill, with room behind it: a plugin that writes past it fails abi.info_exact, not every
/// check.
struct RoomyInfo {
  tsr_plugin_info_t answer{};
  unsigned char slack[256] = {};
  RoomyInfo() { answer.struct_size = sizeof answer; }
};

class Subject {
public:
  explicit Subject(SubjectOptions o) : options(std::move(o)) {}

  const SubjectOptions options;
  /// What is told to the parent along with the result: "kinds", "why" of a missing device ...
  std::map<std::string, std::string> facts;

  // Each does its step once and fails the check that asked when the step fails.
  const PluginFile &file();
  void *library();
  tsr_plugin_query_fn query();
  const tsr_plugin_info_t &info(); // complete: what the plugin does not know is zero
  const tsr_backend_api_t &api();  // the same
  tsr_be_backend_t *backend();
  tsr_be_context_t *context();
  /// Gives back what was made, in order; `shutdown` too.
  void finish(bool shutdown);

  /// The status a call may have and its text, which a failure must have.
  void must(const char *call, int32_t status, const thunk::Text &why);
  /// `call` was right to fail: with one of `statuses`, or any failure when there are none, and a text.
  void mustFail(const char *call, int32_t status, const thunk::Text &why,
                std::initializer_list<int32_t> statuses = {});

private:
  bool hasFile_ = false, isQueried_ = false;
  PluginFile file_;
  void *library_ = nullptr;
  tsr_plugin_info_t info_{};
  tsr_backend_api_t api_{};
  tsr_be_backend_t *backend_ = nullptr;
  tsr_be_context_t *context_ = nullptr;
};

/// The host that the kit plays. Stands for ever.
const tsr_host_info_t &kitHost();

/// "TSR_EINVAL", or the number.
std::string statusName(int32_t status);

/// Every slot of the table with its place, in the table's order.
struct Slot {
  const char *name;
  size_t offset;
  bool isRequired;
};
std::span<const Slot> slotsOf(uint32_t kind);
/// Is the slot there?
bool hasSlot(const tsr_plugin_info_t &, uint32_t kind, std::string_view slot);

} // namespace tessera::kit
