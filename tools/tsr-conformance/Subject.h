// The plugin under test, in the process of one child: loaded, queried and created as far as a check needs it.
// It is reached through plugin.h alone, without the runtime.
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

/// The options of the command line for one child's plugin.
struct SubjectOptions {
  std::string plugin, image, metadata;
  int ranks = 3;           // threads that act as ranks
  bool isLaunched = false; // one of several processes that a launcher started
};

/// An answer to fill, followed by spare bytes: a plugin that writes past the answer fails abi.info_exact
/// only, not every check.
struct RoomyInfo {
  tsr_plugin_info_t answer{};
  unsigned char slack[256] = {};
  RoomyInfo() { answer.struct_size = sizeof answer; }
};

class Subject {
public:
  explicit Subject(SubjectOptions o) : options(std::move(o)) {}

  const SubjectOptions options;
  /// Facts sent to the parent along with the result: "kinds", "why" a device is missing, and so on.
  std::map<std::string, std::string> facts;

  // Each performs its step once. When the step fails, the check that requested it fails.
  const PluginFile &file();
  void *library();
  tsr_plugin_query_fn query();
  const tsr_plugin_info_t &info(); // complete: fields unknown to the plugin are zero
  const tsr_backend_api_t &api();  // complete in the same way
  tsr_be_backend_t *backend();
  tsr_be_context_t *context();
  /// Destroys what was created, in order; with `shutdown`, also shuts the plugin down.
  void finish(bool shutdown);

  /// Fails unless `status` is TSR_SUCCESS. A failing status must come with a text.
  void must(const char *call, int32_t status, const thunk::Text &why);
  /// Fails unless `call` failed with a text and one of `statuses`, or with any failure when `statuses` is
  /// empty.
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

/// Returns the host that the kit provides. It lives as long as the process.
const tsr_host_info_t &kitHost();

/// Returns the status's name, such as "TSR_EINVAL", or its number.
std::string statusName(int32_t status);

/// One slot of a table with its offset. slotsOf() lists them in the table's order.
struct Slot {
  const char *name;
  size_t offset;
  bool isRequired;
};
std::span<const Slot> slotsOf(uint32_t kind);
/// Returns whether the plugin's table has the slot.
bool hasSlot(const tsr_plugin_info_t &, uint32_t kind, std::string_view slot);

} // namespace tessera::kit
