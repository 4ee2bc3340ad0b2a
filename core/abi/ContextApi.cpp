// Contexts.
#include "core/abi/Structs.h"
#include "core/config/Environment.h"
#include "core/log/Log.h"
#include "core/objects/Backends.h"
#include "core/objects/Objects.h"
#include "core/objects/Tracer.h"
#include <unistd.h>
#include <unordered_map>

using namespace tessera;

namespace {

tsr_status_t readAllocator(const tsr_allocator_t &given, tsr_allocator_t &out) {
  if (tsr_status_t status = readOptions(&given, out, "allocator")) return status;
  if (out.alloc && out.free) return TSR_SUCCESS;
  return fail(TSR_EINVAL, std::string("allocator: ") + (out.alloc ? "free" : "alloc") + " is NULL");
}

/// Logs a warning for each TESSERA_* variable that has no effect, each once.
void warnAboutUnknownVariables() {
  if (!logs(TSR_LOG_WARNING)) return;
  for (const std::string &warning : unknownVariableWarnings(environ))
    logOnce(TSR_LOG_WARNING, "W_ENVIRONMENT", warning);
}

/// The number of ranges this thread has open, by context. Handles are never reused, so the entry of a
/// destroyed context cannot be mistaken for another context's.
thread_local std::unordered_map<tsr_context_t, uint64_t> openRanges;

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
    object->ordinal = o.device;
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
    Tracer::add(*object);
    *context = object.release()->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrDestroyContext(tsr_context_t handle) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolveToDestroy(handle, context)) return status;
    if (!context) return TSR_SUCCESS;
    context->retire();
    std::unique_ptr<ContextObject> owner(context);
    Tracer::remove(*context);
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

tsr_status_t tsrContextEnablePeer(tsr_context_t handle, tsr_context_t peerHandle) {
  return guarded([&] {
    ContextObject *context, *peer;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = resolve(peerHandle, peer)) return status;
    const std::string name = context->backend->name();
    if (context == peer) return fail(TSR_EINVAL, "peer is the context itself");
    if (context->backend != peer->backend)
      return fail(TSR_EINVAL, "peer is of backend " + std::string(peer->backend->name()) +
                                  ", the context of backend " + name);
    std::string why;
    tsr_status_t status = context->device->enablePeer(*peer->device, why);
    return status == TSR_SUCCESS ? status : fail(status, "peer access on backend " + name + ": " + why);
  });
}

tsr_status_t tsrRangePush(tsr_context_t handle, const char *name) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(name, "name")) return status;
    uint64_t &open = openRanges[handle];
    context->device->pushRange(name);
    ++open;
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrRangePop(tsr_context_t handle) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    auto open = openRanges.find(handle);
    if (open == openRanges.end()) return fail(TSR_EINVAL, "this thread has no range open on the context");
    context->device->popRange();
    if (--open->second == 0) openRanges.erase(open);
    return TSR_SUCCESS;
  });
}
