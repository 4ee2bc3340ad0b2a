// Streams and events.
#include "core/abi/Structs.h"
#include "core/log/Log.h"
#include "core/objects/Objects.h"

using namespace tessera;

tsr_status_t tsrCreateStream(tsr_context_t handle, tsr_stream_t *stream) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(stream, "stream")) return status;
    auto object = std::make_shared<StreamObject>();
    std::string why;
    if (!makeStream(*context, *object, why)) return fail(TSR_EDEVICE, why);
    context->add(object);
    *stream = object->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrDestroyStream(tsr_stream_t handle) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolveToDestroy(handle, stream)) return status;
    if (!stream) return TSR_SUCCESS;
    if (stream == stream->context->defaultStream.get())
      return fail(TSR_EINVAL, "the default stream cannot be destroyed");
    std::shared_ptr<StreamObject> owner = stream->context->remove(stream);
    if (!owner) return fail(TSR_EINVAL, "the stream is being destroyed by another thread");
    owner->device->abandonCapture();
    std::string why;
    tsr_status_t status = owner->device->synchronize(UINT64_MAX, why);
    if (status == TSR_SUCCESS) return status;
    log(TSR_LOG_ERROR, "E_QUEUED_WORK", why);
    return fail(status, why);
  });
}

tsr_status_t tsrGetDefaultStream(tsr_context_t handle, tsr_stream_t *stream) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(stream, "stream")) return status;
    *stream = context->defaultStream->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrStreamSynchronize(tsr_stream_t handle) { return tsrStreamSynchronizeFor(handle, UINT64_MAX); }

tsr_status_t tsrStreamSynchronizeFor(tsr_stream_t handle, uint64_t timeoutNs) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    return checked([&](std::string &why) { return stream->device->synchronize(timeoutNs, why); });
  });
}

tsr_status_t tsrStreamQuery(tsr_stream_t handle) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    return checked([&](std::string &why) { return stream->device->query(why); });
  });
}

tsr_status_t tsrStreamNative(tsr_stream_t handle, tsr_native_stream_t *native) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    tsr_native_stream_t known{};
    std::string why;
    if (tsr_status_t status = stream->device->native(known.api, known.handle, why))
      return fail(status,
                  std::string("a stream of backend ") + stream->context->backend->name() + ": " + why);
    return writeInfo(known, native);
  });
}

namespace {

/// Calls a function of a stream with the interface and the handle of another library's stream.
tsr_status_t order(tsr_stream_t handle, const tsr_native_stream_t *native,
                   tsr_status_t (DeviceStream::*function)(const char *, void *, std::string &)) {
  return guarded([&] {
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, stream)) return status;
    if (tsr_status_t status = requireOut(native, "native")) return status;
    tsr_native_stream_t known{};
    if (tsr_status_t status = readOptions(native, known, "native")) return status;
    if (tsr_status_t status = requireOut(known.api, "native: api")) return status;
    std::string why;
    if (tsr_status_t status = ((*stream->device).*function)(known.api, known.handle, why))
      return fail(status,
                  std::string("a stream of backend ") + stream->context->backend->name() + ": " + why);
    return TSR_SUCCESS;
  });
}

} // namespace

tsr_status_t tsrStreamWaitNative(tsr_stream_t stream, const tsr_native_stream_t *native) {
  return order(stream, native, &DeviceStream::waitNative);
}

tsr_status_t tsrNativeWaitStream(const tsr_native_stream_t *native, tsr_stream_t stream) {
  return order(stream, native, &DeviceStream::nativeWaits);
}

tsr_status_t tsrSynchronize(tsr_context_t handle) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    tsr_status_t result = TSR_SUCCESS;
    auto wait = [&](StreamObject &stream) {
      std::string why;
      tsr_status_t status = stream.device->synchronize(UINT64_MAX, why);
      if (status != TSR_SUCCESS && result == TSR_SUCCESS) result = fail(status, why);
    };
    if (StreamObject *only = context->onlyStream()) { // a list of one would take as long as the wait
      wait(*only);
      return result;
    }
    for (auto &stream : context->streams())
      wait(*stream);
    return result;
  });
}

tsr_status_t tsrCreateEvent(tsr_context_t handle, tsr_event_t *event) {
  return guarded([&] {
    ContextObject *context;
    if (tsr_status_t status = resolve(handle, context)) return status;
    if (tsr_status_t status = requireOut(event, "event")) return status;
    auto object = std::make_shared<EventObject>();
    std::string why;
    object->context = context;
    object->device = context->device->createEvent(why);
    if (!object->device) return fail(TSR_EDEVICE, why);
    context->add(object);
    *event = object->handle();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrDestroyEvent(tsr_event_t handle) {
  return guarded([&] {
    EventObject *event;
    if (tsr_status_t status = resolveToDestroy(handle, event)) return status;
    if (!event) return TSR_SUCCESS;
    event->context->remove(event);
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrEventRecord(tsr_event_t handle, tsr_stream_t streamHandle) {
  return guarded([&] {
    EventObject *event;
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, event, streamHandle, stream)) return status;
    return checked([&](std::string &why) { return stream->device->record(event->device, why); });
  });
}

tsr_status_t tsrStreamWaitEvent(tsr_stream_t streamHandle, tsr_event_t handle) {
  return guarded([&] {
    EventObject *event;
    StreamObject *stream;
    if (tsr_status_t status = resolve(handle, event, streamHandle, stream)) return status;
    return checked([&](std::string &why) { return stream->device->wait(event->device, why); });
  });
}

tsr_status_t tsrEventSynchronize(tsr_event_t handle) {
  return guarded([&] {
    EventObject *event;
    if (tsr_status_t status = resolve(handle, event)) return status;
    event->device->wait();
    return TSR_SUCCESS;
  });
}

tsr_status_t tsrEventQuery(tsr_event_t handle) {
  return guarded([&] {
    EventObject *event;
    if (tsr_status_t status = resolve(handle, event)) return status;
    return event->device->isDone() ? TSR_SUCCESS : TSR_NOT_READY;
  });
}

tsr_status_t tsrEventElapsedMs(tsr_event_t startHandle, tsr_event_t endHandle, double *ms) {
  return guarded([&] {
    EventObject *start, *end;
    if (tsr_status_t status = resolve(startHandle, start)) return status;
    if (tsr_status_t status = resolve(endHandle, end)) return status;
    if (start->context != end->context) return fail(TSR_EINVAL, "the events belong to different contexts");
    if (tsr_status_t status = requireOut(ms, "ms")) return status;
    int64_t from, to;
    for (auto [event, time] : {std::pair{start, &from}, std::pair{end, &to}}) {
      tsr_status_t status = event->device->timestamp(*time);
      if (status == TSR_EINVAL)
        return fail(status, event == start ? "start was never recorded" : "end was never recorded");
      if (status != TSR_SUCCESS) return status;
    }
    *ms = static_cast<double>(to - from) / 1e6;
    return TSR_SUCCESS;
  });
}
