// Backends and contexts.
#include "core/Backends.h"
#include "core/Environment.h"
#include "core/Objects.h"
#include "core/api/Structs.h"

using namespace tessera;

tsr_status_t tsrGetBackendInfo(size_t index, tsr_backend_info_t *info) {
  return guarded([&] {
    size_t count;
    const BackendEntry *table = backendTable(count);
    if (index >= count) return fail(TSR_ENOTFOUND, "there are " + std::to_string(count) + " backends");
    const BackendEntry &row = table[index];
    Backend *selected = nullptr;
    std::string why;
    bool any = selectBackend(nullptr, selected, why) == TSR_SUCCESS;
    tsr_backend_info_t out{};
    out.name = row.name;
    out.description = row.description;
    out.reason = row.reason;
    out.available = row.get != nullptr;
    out.selected = row.get && any && row.get() == selected;
    out.device_count = row.get ? row.get()->deviceCount() : 0;
    return writeInfo(out, info);
  });
}

tsr_status_t tsrCreateContext(tsr_context_t *context) { return tsrCreateContextEx(nullptr, context); }

tsr_status_t tsrCreateContextEx(const tsr_context_options_t *options, tsr_context_t *context) {
  return guarded([&] {
    warnAboutUnknownVariables();
    if (tsr_status_t status = requireOut(context, "context")) return status;
    tsr_context_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    std::string why;
    auto object = std::make_unique<ContextObject>();
    if (tsr_status_t status = selectBackend(o.backend, object->backend, why)) return fail(status, why);
    int devices = object->backend->deviceCount();
    if (o.device < 0 || o.device >= devices)
      return fail(TSR_ENOTFOUND, "backend " + std::string(object->backend->name()) + " has " +
                                     std::to_string(devices) + " device(s), there is no device " +
                                     std::to_string(o.device));
    object->device = object->backend->createContext(o.device, why);
    if (!object->device) return fail(TSR_EDEVICE, why);
    auto stream = std::make_shared<StreamObject>();
    if (!makeStream(*object, *stream, why)) return fail(TSR_EDEVICE, why);
    object->defaultStream = std::move(stream);
    *context = object.release()->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrDestroyContext(tsr_context_t handle) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    context->retire();
    std::unique_ptr<ContextObject> owner(context);
    tsr_status_t result = TSR_SUCCESS;
    for (auto &stream : context->streams()) {
      std::string why;
      stream->device->abandonCapture();
      tsr_status_t status = stream->device->synchronize(UINT64_MAX, why);
      if (status != TSR_SUCCESS && result == TSR_SUCCESS) result = fail(status, why);
    }
    return result;
  });
}

tsr_status_t tsrGetDeviceInfo(tsr_context_t handle, tsr_device_info_t *info) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    const DeviceInfo &device = context->device->info();
    tsr_device_info_t out{};
    out.backend = context->backend->name();
    out.name = device.name.c_str();
    out.arch = device.arch.c_str();
    out.memory_bytes = device.memoryBytes;
    out.max_shared_bytes = device.maxSharedBytes;
    out.compute_units = device.computeUnits;
    out.vector_bytes = device.vectorBytes;
    return writeInfo(out, info);
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
