// Contexts.
#include "core/Backends.h"
#include "core/Environment.h"
#include "core/Log.h"
#include "core/Objects.h"
#include "core/api/Structs.h"

using namespace tessera;

namespace {

tsr_status_t readAllocator(const tsr_allocator_t &given, tsr_allocator_t &out) {
  if (tsr_status_t status = readOptions(&given, out, "allocator")) return status;
  if (out.alloc && out.free) return TSR_SUCCESS;
  return fail(TSR_EINVAL, std::string("allocator: ") + (out.alloc ? "free" : "alloc") + " is NULL");
}

} // namespace

tsr_status_t tsrCreateContext(tsr_context_t *context) { return tsrCreateContextEx(nullptr, context); }

tsr_status_t tsrCreateContextEx(const tsr_context_options_t *options, tsr_context_t *context) {
  return guarded([&] {
    warnAboutUnknownVariables();
    if (tsr_status_t status = requireOut(context, "context")) return status;
    tsr_context_options_t o{};
    if (tsr_status_t status = readOptions(options, o)) return status;
    auto object = std::make_unique<ContextObject>();
    if (o.allocator)
      if (tsr_status_t status = readAllocator(*o.allocator, object->allocator)) return status;
    Selection selected;
    if (tsr_status_t status = selectDevice(o.backend, o.device, selected)) return status;
    std::string why;
    object->backend = selected.backend;
    object->device =
        selected.backend->createContext(o.device, o.allocator ? &object->allocator : nullptr, why);
    if (!object->device) return fail(TSR_EDEVICE, why);
    auto stream = std::make_shared<StreamObject>();
    if (!makeStream(*object, *stream, why)) return fail(TSR_EDEVICE, why);
    object->defaultStream = std::move(stream);
    if (logs(TSR_LOG_NOTE))
      log(TSR_LOG_NOTE, "N_BACKEND",
          "context on backend " + std::string(selected.backend->name()) + ", device " +
              std::to_string(o.device) + " (" + object->device->info().name + "), chosen by " +
              selected.reason);
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
      if (status != TSR_SUCCESS) log(TSR_LOG_ERROR, "E_QUEUED_WORK", why);
    }
    return result;
  });
}
