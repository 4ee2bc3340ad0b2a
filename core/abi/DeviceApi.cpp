// Backends and their devices.
#include "core/abi/Structs.h"
#include "core/config/Config.h"
#include "core/objects/Backends.h"
#include "core/objects/Objects.h"
#include "core/plugin/Quarantine.h"
#include <nlohmann/json.hpp>

using namespace tessera;

namespace {

tsr_status_t writeDeviceInfo(const Backend &backend, const DeviceInfo &device, tsr_device_info_t *info) {
  tsr_device_info_t out{};
  out.backend = backend.name();
  out.name = device.name.c_str();
  out.arch = device.arch.c_str();
  out.memory_bytes = device.memoryBytes;
  out.max_shared_bytes = device.maxSharedBytes;
  out.compute_units = device.computeUnits;
  out.vector_bytes = device.vectorBytes;
  return writeInfo(out, info);
}

/// Finds a device of a backend without a context. If `backend` is null, uses the backend that a new context
/// would use.
tsr_status_t askDevice(const char *backend, int32_t device, Selection &selected, const DeviceInfo *&info) {
  if (tsr_status_t status = selectDevice(backend, device, selected)) return status;
  std::string why;
  info = selected.backend->deviceInfo(device, why);
  return info ? TSR_SUCCESS : fail(TSR_EDEVICE, why);
}

/// Returns the keys of nested objects, as "arch, tensorcore.bf16, ...".
std::string joinedKeys(const nlohmann::json &object, const std::string &prefix = "") {
  std::string out;
  for (const auto &[key, value] : object.items())
    out += (out.empty() ? "" : ", ") +
           (value.is_object() ? joinedKeys(value, prefix + key + ".") : prefix + key);
  return out;
}

} // namespace

tsr_status_t tsrSelectBackend(const char *name) {
  return guarded([&] { return checked([&](std::string &why) { return setSelectedBackend(name, why); }); });
}

tsr_status_t tsrGetBackendInfo(size_t index, tsr_backend_info_t *info) {
  return guarded([&] {
    size_t count;
    auto row = backendRow(index, count);
    if (!row) return fail(TSR_ENOTFOUND, "there are " + std::to_string(count) + " backends");
    Selection selected;
    std::string why;
    bool any = selectBackend(nullptr, selected, why) == TSR_SUCCESS;
    tsr_backend_info_t out{};
    out.name = row->name;
    out.description = row->description;
    out.reason = row->reason;
    out.available = row->backend != nullptr;
    out.selected = row->backend && any && row->backend == selected.backend;
    out.device_count = row->backend ? row->backend->deviceCount() : 0;
    return writeInfo(out, info);
  });
}

tsr_status_t tsrRegisterPlugin(int32_t (*query)(const tsr_host_info *, tsr_plugin_info *)) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(reinterpret_cast<const void *>(query), "query")) return status;
    return checked([&](std::string &why) { return addPlugin(query, why); });
  });
}

tsr_status_t tsrUnregisterPlugin(const char *name) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(name, "name")) return status;
    return checked([&](std::string &why) { return removePlugin(name, why); });
  });
}

tsr_status_t tsrGetLoadReport(uint32_t flags, const char **json) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(json, "json")) return status;
    if (flags & ~uint32_t(TSR_REPORT_PROBE | TSR_REPORT_PROBE_ALL))
      return fail(TSR_EINVAL, "flags: " + std::to_string(flags) +
                                  " has bits other than TSR_REPORT_PROBE and "
                                  "TSR_REPORT_PROBE_ALL");
    thread_local std::string report;
    report = loadReport(flags & (TSR_REPORT_PROBE | TSR_REPORT_PROBE_ALL), flags & TSR_REPORT_PROBE_ALL);
    *json = report.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetConfig(const char **json) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(json, "json")) return status;
    auto orNull = [](const std::string &text) {
      return text.empty() ? nlohmann::json() : nlohmann::json(text);
    };
    nlohmann::ordered_json out = {{"file", orNull(configPath())}, {"error", orNull(configError())}};
    auto &settings = out["settings"] = nlohmann::ordered_json::object();
    for (std::string_view key : configKeys()) {
      const Setting found = setting(variableOf(key).c_str());
      settings[std::string(key)] = {{"value", orNull(found.value)}, {"from", orNull(found.from)}};
    }
    thread_local std::string text;
    text = out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    *json = text.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrResetQuarantine(uint32_t *count) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(count, "count")) return status;
    *count = static_cast<uint32_t>(resetQuarantine());
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetDeviceInfo(tsr_context_t handle, tsr_device_info_t *info) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    return writeDeviceInfo(*context->backend, context->device->info(), info);
  });
}

tsr_status_t tsrGetDeviceCapabilities(tsr_context_t handle, const char **json) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(json, "json")) return status;
    *json = context->device->info().capabilities.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetDeviceCapability(tsr_context_t handle, const char *key, const char **value) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(key, "key")) return status;
    if (tsr_status_t status = requireOut(value, "value")) return status;
    const auto all =
        nlohmann::json::parse(context->device->info().capabilities, nullptr, /*allow_exceptions=*/false);
    const nlohmann::json *found = &all;
    std::string_view rest = key;
    for (bool isLast = false; !isLast;) {
      const size_t dot = rest.find('.');
      const std::string name(rest.substr(0, dot));
      if (!found->is_object() || !found->contains(name))
        return fail(TSR_ENOTFOUND, "key '" + std::string(key) +
                                       "': the device has no such capability; it has " + joinedKeys(all));
      found = &(*found)[name];
      isLast = dot == rest.npos;
      if (!isLast) rest.remove_prefix(dot + 1);
    }
    thread_local std::string kept;
    kept = found->is_string() ? found->get<std::string>() : found->dump();
    *value = kept.c_str();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetDeviceCount(const char *backend, int32_t *count) {
  return guarded([&] {
    if (tsr_status_t status = requireOut(count, "count")) return status;
    Selection selected;
    std::string why;
    if (tsr_status_t status = selectBackend(backend, selected, why)) return fail(status, why);
    *count = selected.backend->deviceCount();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrGetBackendDeviceInfo(const char *backend, int32_t device, tsr_device_info_t *info) {
  return guarded([&] {
    Selection selected;
    const DeviceInfo *known;
    if (tsr_status_t status = askDevice(backend, device, selected, known)) return status;
    return writeDeviceInfo(*selected.backend, *known, info);
  });
}

tsr_status_t tsrGetBackendDeviceCapabilities(const char *backend, int32_t device, const char **json) {
  return guarded([&] {
    Selection selected;
    const DeviceInfo *known;
    if (tsr_status_t status = requireOut(json, "json")) return status;
    if (tsr_status_t status = askDevice(backend, device, selected, known)) return status;
    *json = known->capabilities.c_str();
    return TSR_SUCCESS;
  });
}
