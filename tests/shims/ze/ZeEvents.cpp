// libze_loader.so.1 without a GPU: events and their pools.
#include "tests/shims/ze/Ze.h"
#include <algorithm>

using namespace tessera::shim;

namespace {
struct PoolDescription {
  int stype;
  const void *pNext;
  uint32_t flags, count;
};
struct EventDescription {
  int stype;
  const void *pNext;
  uint32_t index, signal, wait;
};
struct Timestamps {
  uint64_t globalStart, globalEnd, contextStart, contextEnd;
};
} // namespace

EXPORT zeEventPoolCreate(void *handle, const PoolDescription *description, uint32_t count,
                         void **deviceHandles, void **out) {
  Call call("zeEventPoolCreate");
  const auto context = contexts.find(handle, call.name);
  const int device = count ? call.device(deviceHandles[0]) : 0;
  if (!context || device < 0 || description->stype != 0x10 || !description->count) return kInvalidHandle;
  if (!(description->flags & 1))
    return machine().breach("host-visible", "the host asks for events of a pool that it does not see"),
           kInvalidArgument;
  return *out = pools.add(std::make_shared<Pool>(Pool{&context->devices[static_cast<size_t>(device)],
                                                      (description->flags & 4) != 0,
                                                      std::vector<bool>(description->count)})),
         0;
}
EXPORT zeEventPoolDestroy(void *handle) {
  Call call("zeEventPoolDestroy");
  const auto pool = pools.remove(handle, call.name);
  if (pool && std::ranges::count(pool->isTaken, true))
    machine().breach("pool-in-use", "an event pool is destroyed before its events");
  return pool ? 0 : kInvalidHandle;
}
EXPORT zeEventCreate(void *handle, const EventDescription *description, void **out) {
  Call call("zeEventCreate");
  const auto pool = pools.find(handle, call.name);
  if (!pool || description->stype != 0x11 || description->index >= pool->isTaken.size())
    return kInvalidHandle;
  if (pool->isTaken[description->index])
    return machine().breach("pool-place", "two events have one place of a pool"), kInvalidArgument;
  pool->isTaken[description->index] = true;
  auto event = std::make_shared<ZeEvent>();
  event->pool = pool, event->index = description->index;
  event->event.context = pool->context;
  return *out = events.add(std::move(event)), 0;
}
EXPORT zeEventDestroy(void *handle) {
  Call call("zeEventDestroy");
  const auto event = events.remove(handle, call.name);
  if (!event) return kInvalidHandle;
  if (!Machine::isDone(event->event.place) && !event->pool->context->failure)
    machine().breach("event-in-use", "an event is destroyed before it is signalled");
  event->pool->isTaken[event->index] = false;
  return 0;
}
EXPORT zeEventHostReset(void *handle) {
  Call call("zeEventHostReset");
  const auto event = events.find(handle, call.name);
  if (!event) return kInvalidHandle;
  if (!Machine::isDone(event->event.place))
    machine().breach("event-in-use", "an event is reset before it is signalled");
  return event->event.place = {}, 0;
}
EXPORT zeEventQueryStatus(void *handle) {
  Call call("zeEventQueryStatus");
  const auto event = events.find(handle, call.name);
  if (!event) return kInvalidHandle;
  const Place place = event->event.place;
  if (!place.stream || !Machine::isDone(place)) return kNotReady;
  machine().cover(place);
  return place.stream->context->failure;
}
EXPORT zeEventHostSynchronize(void *handle, uint64_t) {
  Call call("zeEventHostSynchronize");
  const auto event = events.find(handle, call.name);
  if (!event) return kInvalidHandle;
  const Place place = event->event.place;
  if (!place.stream)
    return machine().breach("never-signalled", "the host waits for an event that nothing will signal"),
           kInvalidArgument;
  machine().synchronize(call.lock, place);
  return place.stream->context->failure;
}
/// The device's clock has 32 bits and 12.5 MHz.
EXPORT zeEventQueryKernelTimestamp(void *handle, Timestamps *out) {
  Call call("zeEventQueryKernelTimestamp");
  const auto event = events.find(handle, call.name);
  if (!event) return kInvalidHandle;
  if (!event->pool->hasTimestamps)
    return machine().breach("no-timestamp", "an event of a pool without timestamps is asked for its time"),
           kInvalidArgument;
  if (!event->event.place.stream || !Machine::isDone(event->event.place)) return kNotReady;
  const uint64_t ticks = static_cast<uint64_t>(*event->event.time) / 80 & 0xffff'ffff;
  return *out = {ticks, ticks, ticks, ticks}, 0;
}
