#include "tools/tsr-conformance/Subject.h"
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace tessera::kit {

const tsr_host_info_t &kitHost() {
  static const tsr_host_info_t host = {sizeof host,
                                       TSR_PLUGIN_ABI_MAJOR,
                                       TSR_PLUGIN_ABI_MINOR,
                                       TSR_PLUGIN_ABI_FLOOR,
                                       0,
                                       TESSERA_VERSION,
                                       "",
                                       [](void *, int32_t, const char *, const char *) {},
                                       nullptr};
  return host;
}

std::string statusName(int32_t status) {
  static constexpr const char *names[] = {
      "TSR_SUCCESS",  "TSR_EOOM",    "TSR_EINVAL", "TSR_ETIMEOUT",  "TSR_UNIMPLEMENTED", "TSR_ENOTFOUND",
      "TSR_ECOMPILE", "TSR_EDEVICE", "TSR_EIO",    "TSR_NOT_READY", "TSR_EINTERNAL"};
  const bool isKnown = status >= 0 && status < static_cast<int32_t>(std::size(names));
  return isKnown ? names[status] : "status " + std::to_string(status);
}

const PluginFile &Subject::file() {
  if (hasFile_) return file_;
  const int fd = open(options.plugin.c_str(), O_RDONLY | O_CLOEXEC);
  expect(fd >= 0, "a file that can be read", options.plugin + ": " + std::strerror(errno));
  const PluginError error = readManifest(fd, file_);
  close(fd);
  expect(!error, "an ELF note .note.tessera with the plugin's manifest", error.text, error.fix);
  hasFile_ = true;
  return file_;
}

void *Subject::library() {
  if (library_) return library_;
  library_ = dlopen(options.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *why = library_ ? "" : dlerror();
  expect(library_, "a shared object whose symbols are all bound when it is loaded", why ? why : "no reason",
         "link what it needs, and look for drivers at run time with dlopen");
  return library_;
}

tsr_plugin_query_fn Subject::query() {
  auto out = reinterpret_cast<tsr_plugin_query_fn>(dlsym(library(), "tsrPluginQuery"));
  expect(out, "an export tsrPluginQuery", "there is none", "write TSR_PLUGIN(...) in one of its sources");
  return out;
}

const tsr_plugin_info_t &Subject::info() {
  if (isQueried_) return info_;
  RoomyInfo room;
  tsr_plugin_info_t &answer = room.answer;
  const int32_t status = query()(&kitHost(), &answer);
  expect(status == TSR_SUCCESS, "TSR_SUCCESS of tsrPluginQuery", statusName(status));
  expect(answer.struct_size <= sizeof answer, "a struct_size no larger than the one given",
         std::to_string(answer.struct_size));
  // the fields of ABI 1.0
  constexpr uint64_t least = offsetof(tsr_plugin_info_t, numerics) + sizeof answer.numerics;
  expect(answer.struct_size >= least, "a struct_size of at least " + std::to_string(least),
         std::to_string(answer.struct_size), "set it to the size that was filled, as thunk::copyOut() does");
  info_ = thunk::copyIn(&answer);
  if (info_.kinds & TSR_PLUGIN_BACKEND && info_.backend) api_ = thunk::copyIn(info_.backend);
  isQueried_ = true;
  return info_;
}

const tsr_backend_api_t &Subject::api() {
  expect(info().backend, "a backend's table", "NULL");
  return api_;
}

tsr_be_backend_t *Subject::backend() {
  if (backend_) return backend_;
  thunk::Text why;
  must("create", api().create(&kitHost(), &backend_, why), why);
  expect(backend_, "an object from create, which succeeded", "NULL");
  return backend_;
}

tsr_be_context_t *Subject::context() {
  if (context_) return context_;
  thunk::Text why;
  must("context_create", api().context_create(backend(), 0, nullptr, &context_, why), why);
  expect(context_, "an object from context_create, which succeeded", "NULL");
  return context_;
}

void Subject::finish(bool shutdown) {
  if (context_) api_.context_destroy(context_);
  if (backend_) api_.destroy(backend_);
  context_ = nullptr;
  backend_ = nullptr;
  if (shutdown && isQueried_ && info_.shutdown) info_.shutdown();
}

void Subject::must(const char *call, int32_t status, const thunk::Text &why) {
  if (status != TSR_SUCCESS)
    throw Failure{std::string("TSR_SUCCESS of ") + call,
                  statusName(status) + (why.str().empty() ? "" : ": " + why.str()), ""};
}

void Subject::mustFail(const char *call, int32_t status, const thunk::Text &why,
                       std::initializer_list<int32_t> statuses) {
  std::string wanted;
  bool isWanted = statuses.size() == 0 && status > TSR_SUCCESS && status <= TSR_EINTERNAL;
  for (int32_t s : statuses) {
    wanted += (wanted.empty() ? "" : " or ") + statusName(s);
    isWanted |= s == status;
  }
  expect(isWanted, (wanted.empty() ? "a failure" : wanted) + " of " + call, statusName(status));
  expect(!why.str().empty(), std::string("a text that says why ") + call + " failed", "an empty one",
         "fill the caller's tsr_text_t");
}

namespace {
#define TSR_SLOT(type, name, required) {#name, offsetof(type, name), required}
#define TSR_REQUIRED(name) TSR_SLOT(tsr_backend_api_t, name, true)
#define TSR_OPTIONAL(name) TSR_SLOT(tsr_backend_api_t, name, false)

constexpr Slot kBackendSlots[] = {TSR_REQUIRED(create),
                                  TSR_REQUIRED(destroy),
                                  TSR_REQUIRED(device_count),
                                  TSR_REQUIRED(device_info),
                                  TSR_REQUIRED(context_create),
                                  TSR_REQUIRED(context_destroy),
                                  TSR_REQUIRED(mem_alloc),
                                  TSR_REQUIRED(mem_free),
                                  TSR_OPTIONAL(mem_available),
                                  TSR_OPTIONAL(mem_info),
                                  TSR_OPTIONAL(mem_trim),
                                  TSR_REQUIRED(stream_create),
                                  TSR_REQUIRED(stream_destroy),
                                  TSR_REQUIRED(stream_copy),
                                  TSR_OPTIONAL(stream_fill),
                                  TSR_REQUIRED(stream_launch),
                                  TSR_OPTIONAL(stream_record),
                                  TSR_OPTIONAL(stream_wait),
                                  TSR_REQUIRED(stream_synchronize),
                                  TSR_OPTIONAL(stream_drain),
                                  TSR_OPTIONAL(stream_query),
                                  TSR_OPTIONAL(stream_is_idle),
                                  TSR_OPTIONAL(event_create),
                                  TSR_OPTIONAL(event_destroy),
                                  TSR_OPTIONAL(event_query),
                                  TSR_OPTIONAL(event_synchronize),
                                  TSR_OPTIONAL(event_timestamp),
                                  TSR_REQUIRED(module_load),
                                  TSR_REQUIRED(module_unload),
                                  TSR_REQUIRED(kernel_get),
                                  TSR_REQUIRED(kernel_release),
                                  TSR_OPTIONAL(graph_create),
                                  TSR_OPTIONAL(graph_launch),
                                  TSR_OPTIONAL(graph_destroy),
                                  TSR_OPTIONAL(peer_enable),
                                  TSR_OPTIONAL(range_push),
                                  TSR_OPTIONAL(range_pop),
                                  TSR_OPTIONAL(mem_flags),
                                  TSR_OPTIONAL(activity_report),
                                  TSR_OPTIONAL(activity_tag),
                                  TSR_OPTIONAL(stream_call),
                                  TSR_OPTIONAL(stream_native),
                                  TSR_OPTIONAL(stream_wait_native),
                                  TSR_OPTIONAL(native_wait_stream)};
constexpr Slot kMapperSlots[] = {
    TSR_SLOT(tsr_mapper_api_t, create, true), TSR_SLOT(tsr_mapper_api_t, destroy, true),
    TSR_SLOT(tsr_mapper_api_t, place, false), TSR_SLOT(tsr_mapper_api_t, choose_collective, false),
    TSR_SLOT(tsr_mapper_api_t, choose_variant, false)};
constexpr Slot kCollectiveSlots[] = {
    TSR_SLOT(tsr_collective_api_t, comm_create, true), TSR_SLOT(tsr_collective_api_t, comm_destroy, true),
    TSR_SLOT(tsr_collective_api_t, comm_info, true),   TSR_SLOT(tsr_collective_api_t, run, true),
    TSR_SLOT(tsr_collective_api_t, algorithms, false), TSR_SLOT(tsr_collective_api_t, topology, false)};
constexpr Slot kCodegenSlots[] = {TSR_SLOT(tsr_codegen_api_t, target, true),
                                  TSR_SLOT(tsr_codegen_api_t, compile, true)};
constexpr Slot kNumericsSlots[] = {TSR_SLOT(tsr_numerics_api_t, profile, true)};
#undef TSR_SLOT
#undef TSR_REQUIRED
#undef TSR_OPTIONAL

} // namespace

std::span<const Slot> slotsOf(uint32_t kind) {
  switch (kind) {
  case TSR_PLUGIN_BACKEND:
    return kBackendSlots;
  case TSR_PLUGIN_MAPPER:
    return kMapperSlots;
  case TSR_PLUGIN_COLLECTIVE:
    return kCollectiveSlots;
  case TSR_PLUGIN_NUMERICS:
    return kNumericsSlots;
  case TSR_PLUGIN_CODEGEN:
    return kCodegenSlots;
  default:
    return {};
  }
}

bool hasSlot(const tsr_plugin_info_t &info, uint32_t kind, std::string_view slot) {
  const void *table = kind == TSR_PLUGIN_BACKEND      ? static_cast<const void *>(info.backend)
                      : kind == TSR_PLUGIN_MAPPER     ? static_cast<const void *>(info.mapper)
                      : kind == TSR_PLUGIN_COLLECTIVE ? static_cast<const void *>(info.collective)
                      : kind == TSR_PLUGIN_NUMERICS   ? static_cast<const void *>(info.numerics)
                                                      : static_cast<const void *>(info.codegen);
  if (!table) return false;
  uint64_t size = 0;
  std::memcpy(&size, table, sizeof size);
  for (const Slot &s : slotsOf(kind))
    if (slot == s.name) {
      void *pointer = nullptr;
      if (s.offset + sizeof pointer > size) return false;
      std::memcpy(&pointer, static_cast<const char *>(table) + s.offset, sizeof pointer);
      return pointer != nullptr;
    }
  return false;
}

} // namespace tessera::kit
