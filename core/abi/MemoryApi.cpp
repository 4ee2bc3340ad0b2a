// Allocation, copies and fills.
#include "core/abi/Structs.h"
#include "core/objects/Tracer.h"

using namespace tessera;

tsr_status_t tsrAlloc(tsr_context_t handle, size_t bytes, uint32_t flags, void **dptr) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(dptr, "dptr")) return status;
    if (flags > TSR_MEM_MANAGED) return fail(TSR_EINVAL, "flags: unknown value " + std::to_string(flags));
    void *out = nullptr;
    tsr_status_t status =
        checked([&](std::string &why) { return context->device->alloc(bytes, flags, &out, why); });
    if (status == TSR_SUCCESS) *dptr = out;
    return status;
  });
}

tsr_status_t tsrFree(tsr_context_t handle, void *dptr) {
  return guarded([&] {
    ContextObject *context = lookup<ContextObject>(handle);
    // inherited by fork: its memory stays until this process ends
    if (context && context->isInherited()) return TSR_SUCCESS;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (!dptr) return TSR_SUCCESS;
    context->drain();
    return checked([&](std::string &why) { return context->device->free(dptr, why); });
  });
}

tsr_status_t tsrGetMemoryInfo(tsr_context_t handle, tsr_memory_info_t *info) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    MemoryUse use = context->device->memoryUse();
    return writeInfo(tsr_memory_info_t{0, use.total, use.free, use.inUse, use.pooled}, info);
  });
}

tsr_status_t tsrTrimMemory(tsr_context_t handle) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    for (auto &stream : context->streams())
      stream->workspace.releaseIfIdle(*stream->device);
    context->device->trim();
    return TSR_SUCCESS;
  });
}

namespace {

enum Direction { HostToDevice, DeviceToHost, DeviceToDevice };

tsr_status_t requireDeviceRange(ContextObject &context, const void *p, size_t bytes, const char *name) {
  if (context.device->owns(p, bytes)) return TSR_SUCCESS;
  return fail(TSR_EINVAL, std::string(name) + ": the " + std::to_string(bytes) +
                              " bytes do not lie inside one live allocation of the context");
}

tsr_status_t copy(const char *call, Direction direction, tsr_context_t handle, void *dst, const void *src,
                  size_t bytes, tsr_stream_t streamHandle, bool wait) {
  return guarded([&] {
    ContextObject *context;
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = resolveStream(*context, streamHandle, stream)) return status;
    if (tsr_status_t status = requireOut(dst, "dst")) return status;
    if (tsr_status_t status = requireOut(src, "src")) return status;
    if (direction != DeviceToHost)
      if (tsr_status_t status = requireDeviceRange(*context, dst, bytes, "dst")) return status;
    if (direction != HostToDevice)
      if (tsr_status_t status = requireDeviceRange(*context, src, bytes, "src")) return status;
    return TracedCall::run(call, *stream, [&] {
      return checked([&](std::string &why) { return stream->device->copy(dst, src, bytes, wait, why); });
    });
  });
}

tsr_status_t fill(const char *call, tsr_context_t handle, void *dst, int value, size_t bytes,
                  tsr_stream_t streamHandle, bool wait) {
  return guarded([&] {
    ContextObject *context;
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = resolveStream(*context, streamHandle, stream)) return status;
    if (value < 0 || value > 255)
      return fail(TSR_EINVAL, "value: expected a byte, found " + std::to_string(value));
    if (tsr_status_t status = requireOut(dst, "dst")) return status;
    if (tsr_status_t status = requireDeviceRange(*context, dst, bytes, "dst")) return status;
    return TracedCall::run(call, *stream, [&] {
      return checked([&](std::string &why) {
        return stream->device->fill(dst, static_cast<uint8_t>(value), bytes, wait, why);
      });
    });
  });
}

} // namespace

tsr_status_t tsrMemcpyH2D(tsr_context_t c, void *dst, const void *src, size_t bytes) {
  return copy(__func__, HostToDevice, c, dst, src, bytes, nullptr, true);
}
tsr_status_t tsrMemcpyD2H(tsr_context_t c, void *dst, const void *src, size_t bytes) {
  return copy(__func__, DeviceToHost, c, dst, src, bytes, nullptr, true);
}
tsr_status_t tsrMemcpyD2D(tsr_context_t c, void *dst, const void *src, size_t bytes) {
  return copy(__func__, DeviceToDevice, c, dst, src, bytes, nullptr, true);
}
tsr_status_t tsrMemcpyH2DAsync(tsr_context_t c, void *dst, const void *src, size_t bytes,
                               tsr_stream_t stream) {
  return copy(__func__, HostToDevice, c, dst, src, bytes, stream, false);
}
tsr_status_t tsrMemcpyD2HAsync(tsr_context_t c, void *dst, const void *src, size_t bytes,
                               tsr_stream_t stream) {
  return copy(__func__, DeviceToHost, c, dst, src, bytes, stream, false);
}
tsr_status_t tsrMemcpyD2DAsync(tsr_context_t c, void *dst, const void *src, size_t bytes,
                               tsr_stream_t stream) {
  return copy(__func__, DeviceToDevice, c, dst, src, bytes, stream, false);
}
tsr_status_t tsrMemset(tsr_context_t c, void *dst, int value, size_t bytes) {
  return fill(__func__, c, dst, value, bytes, nullptr, true);
}
tsr_status_t tsrMemsetAsync(tsr_context_t c, void *dst, int value, size_t bytes, tsr_stream_t stream) {
  return fill(__func__, c, dst, value, bytes, stream, false);
}
