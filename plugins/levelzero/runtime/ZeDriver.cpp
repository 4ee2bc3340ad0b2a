#include "plugins/levelzero/runtime/ZeObjects.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera::levelzero {

int64_t ticksBetween(uint64_t begin, uint64_t end, uint32_t bits) {
  const uint32_t unused = 64 - bits;
  return static_cast<int64_t>((end - begin) << unused) >> unused;
}

/// Level Zero has no function that names its results.
Outcome ZeDriver::outcome(Result r, std::string_view name) {
  if (r == result::kSuccess) return {};
  if (r == result::kNotReady) return {TSR_NOT_READY};
  constexpr std::pair<Result, const char *> kNames[] = {
      {result::kDeviceLost, "ZE_RESULT_ERROR_DEVICE_LOST"},
      {result::kOutOfHostMemory, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
      {result::kOutOfDeviceMemory, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
      {result::kBuildFailure, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
      {result::kRequiresReset, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
      {result::kUninitialized, "ZE_RESULT_ERROR_UNINITIALIZED"},
      {result::kUnsupportedFeature, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
      {0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
      {0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"},
      {result::kUnsupportedSize, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"},
      {0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"},
      {result::kInvalidKernelName, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"},
      {0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"},
      {0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"},
      {0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"},
      {0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN"}};
  char code[16];
  std::snprintf(code, sizeof code, "0x%x", static_cast<unsigned>(r));
  const auto *known = std::ranges::find(kNames, r, &std::pair<Result, const char *>::first);
  std::string text = std::string(name) + " failed with " + (known == std::end(kNames) ? code : known->second);
  switch (r) {
  case result::kDeviceLost:
  case result::kRequiresReset:
    return {TSR_EDEVICE, std::move(text)};
  case result::kOutOfHostMemory:
  case result::kOutOfDeviceMemory:
  case result::kUnsupportedSize:
    return {TSR_EOOM, std::move(text)};
  case result::kUnsupportedFeature:
    return {TSR_UNIMPLEMENTED, std::move(text)};
  case result::kInvalidKernelName:
    return {TSR_ENOTFOUND, std::move(text)};
  default:
    return {TSR_EINVAL, std::move(text)};
  }
}

// ---- Contexts and memory ----

Outcome ZeDriver::open(int number, Context &out) {
  ZeDevice &device = devices_[static_cast<size_t>(number)];
  if (Outcome o = call(calls_.deviceStatus, device.device); o.failed()) return o;
  std::lock_guard lock(mutex_);
  auto shared = std::ranges::find(shared_, device.driver, &Shared::driver);
  if (shared == shared_.end()) {
    const ContextDescription description{{type::kContext, nullptr}, 0};
    Handle context = nullptr;
    if (Outcome o = call(calls_.contextCreate, device.driver, &description, &context); o.failed()) return o;
    shared = shared_.insert(shared_.end(), {device.driver, context, 0});
  }
  ++shared->users;
  out = new ZeContext{device, shared->context, {}, {}, {}};
  return {};
}
void ZeDriver::close(Context context) {
  for (const auto &pool : context->pools)
    (void)calls_.poolDestroy(pool->handle);
  std::lock_guard lock(mutex_);
  const auto shared = std::ranges::find(shared_, context->handle, &Shared::context);
  delete context;
  if (--shared->users) return;
  (void)calls_.contextDestroy(shared->context);
  shared_.erase(shared);
}

Outcome ZeDriver::allocate(Context context, size_t bytes, void *&out) {
  constexpr size_t kAlign = 256;
  const DeviceMemory description{{type::kDeviceMemory, nullptr}, 0, 0};
  Outcome o =
      call(calls_.allocate, context->handle, &description, bytes, kAlign, context->device.device, &out);
  if (o.status == TSR_EOOM && bytes > context->device.largest)
    o.text += " (the device's largest allocation is " + std::to_string(context->device.largest) + " bytes)";
  if (o.failed()) return o;
  std::lock_guard lock(context->mutex);
  context->blocks[out] = bytes;
  context->bytes += bytes;
  return o;
}
void ZeDriver::release(Context context, void *p) {
  (void)calls_.release(context->handle, p);
  std::lock_guard lock(context->mutex);
  const auto block = context->blocks.find(p);
  context->bytes -= block->second;
  context->blocks.erase(block);
}
Outcome ZeDriver::allocateHost(Context context, size_t bytes, void *&out) {
  constexpr size_t kAlign = 256;
  const HostMemory description{{type::kHostMemory, nullptr}, 0};
  return call(calls_.allocateHost, context->handle, &description, bytes, kAlign, &out);
}
void ZeDriver::releaseHost(Context context, void *p) { (void)calls_.release(context->handle, p); }
/// Level Zero's core does not say what is free, so others' memory is not counted.
Outcome ZeDriver::memory(Context context, uint64_t &free, uint64_t &total) {
  std::lock_guard lock(context->mutex);
  total = context->device.bytes;
  free = total - std::min(total, context->bytes);
  return {};
}
Outcome ZeDriver::enablePeer(Context context, Context peer) {
  if (&context->device == &peer->device) return {};
  uint8_t can = 0;
  if (context->handle == peer->handle)
    if (Outcome o = call(calls_.canAccessPeer, context->device.device, peer->device.device, &can); o.failed())
      return o;
  return can ? Outcome() : Outcome{TSR_UNIMPLEMENTED, "the devices cannot access each other's memory"};
}

// ---- Streams ----

Outcome ZeDriver::createStream(Context context, Stream &out) {
  const QueueDescription description{
      {type::kQueue, nullptr}, context->device.queueGroup, 0, 0, flag::kAsynchronous, 0};
  auto stream = std::make_unique<ZeStream>();
  Outcome o =
      call(calls_.immediateCreate, context->handle, context->device.device, &description, &stream->list);
  if (!o.failed()) out = stream.release();
  return o;
}
void ZeDriver::destroyStream(Context, Stream stream) {
  (void)calls_.listDestroy(stream->list);
  if (stream->queue) (void)calls_.queueDestroy(stream->queue);
  delete stream;
}
void *ZeDriver::nativeStream(Stream stream) { return stream->list; }

template <class F> Outcome ZeDriver::append(Stream stream, F append) {
  std::lock_guard lock(stream->mutex);
  if (stream->isOpen)
    if (Outcome o = call(calls_.barrier, stream->list, Handle(), 0u, static_cast<Handle *>(nullptr));
        o.failed())
      return o;
  Outcome o = append(stream->list);
  stream->isOpen = !o.failed(), stream->hasWork |= !o.failed();
  return o;
}
Outcome ZeDriver::barrier(Stream stream, Event signals, Event awaits) {
  std::lock_guard lock(stream->mutex);
  return barrierLocked(stream, signals, awaits);
}
Outcome ZeDriver::barrierLocked(Stream stream, Event signals, Event awaits) {
  if (signals && signals->isUsed)
    if (Outcome o = call(calls_.eventReset, signals->handle); o.failed()) return o;
  Outcome o = call(calls_.barrier, stream->list, signals ? signals->handle : nullptr, awaits ? 1u : 0u,
                   awaits ? &awaits->handle : nullptr);
  if (o.failed()) return o;
  stream->isOpen = false, stream->hasWork = true;
  if (signals) signals->isUsed = true;
  return o;
}
Outcome ZeDriver::copy(Context, Stream stream, void *dst, const void *src, size_t bytes) {
  return append(stream, [&](Handle list) {
    return call(calls_.copy, list, dst, src, bytes, Handle(), 0u, static_cast<Handle *>(nullptr));
  });
}
Outcome ZeDriver::fill(Context, Stream stream, void *dst, uint8_t byte, size_t bytes) {
  return append(stream, [&](Handle list) {
    const void *pattern = &byte; // which the call reads
    return call(calls_.fill, list, dst, pattern, size_t{1}, bytes, Handle(), 0u,
                static_cast<Handle *>(nullptr));
  });
}
Outcome ZeDriver::launch(Context, Stream stream, Function kernel, const GpuLaunch &launch) {
  const GroupCount grid{launch.grid[0], launch.grid[1], launch.grid[2]};
  std::lock_guard lock(kernel->mutex);
  Outcome o = call(calls_.setGroupSize, kernel->handle, launch.block[0], launch.block[1], launch.block[2]);
  for (uint32_t i = 0; i < launch.arguments.size() && !o.failed(); ++i) {
    const void *value = launch.parameters.data() + launch.arguments[i].offset;
    o = call(calls_.setArgument, kernel->handle, i, size_t{launch.arguments[i].bytes}, value);
    if (o.failed()) o.text += " for argument " + std::to_string(i);
  }
  if (launch.dynamicShared && !o.failed()) // its size is the argument's
    o = call(calls_.setArgument, kernel->handle, static_cast<uint32_t>(launch.arguments.size()),
             size_t{launch.dynamicShared}, static_cast<const void *>(nullptr));
  if (o.failed()) return o;
  return append(stream, [&](Handle list) {
    return call(calls_.launch, list, kernel->handle, &grid, Handle(), 0u, static_cast<Handle *>(nullptr));
  });
}

Outcome ZeDriver::mark(Context context, Stream stream, std::shared_ptr<ZeEvent> &out) {
  std::lock_guard lock(stream->mutex);
  auto &marks = stream->marks;
  while (!marks.empty() && calls_.eventQuery(marks.front()->handle) == result::kSuccess)
    marks.pop_front();
  if (stream->hasWork) {
    Event event = nullptr;
    if (Outcome o = createEvent(context, event); o.failed()) return o;
    std::shared_ptr<ZeEvent> made(event, [this, context](Event e) { destroyEvent(context, e); });
    if (Outcome o = barrierLocked(stream, event, nullptr); o.failed()) return o;
    stream->hasWork = false;
    marks.push_back(std::move(made));
  }
  if (!marks.empty()) out = marks.back();
  return {};
}
Outcome ZeDriver::query(Context context, Stream stream) {
  std::shared_ptr<ZeEvent> last;
  if (Outcome o = mark(context, stream, last); o.failed()) return o;
  return last ? queryEvent(context, last.get()) : call(calls_.deviceStatus, context->device.device);
}
Outcome ZeDriver::synchronize(Context context, Stream stream) {
  std::shared_ptr<ZeEvent> last;
  if (Outcome o = mark(context, stream, last); o.failed()) return o;
  return last ? synchronizeEvent(context, last.get()) : call(calls_.deviceStatus, context->device.device);
}

// ---- Events ----

Outcome ZeDriver::createEvent(Context context, Event &out) {
  constexpr uint32_t kPlaces = 64;
  std::lock_guard lock(context->mutex);
  auto &pools = context->pools;
  auto pool = std::ranges::find_if(pools, [](const auto &p) { return !p->free.empty(); });
  if (pool == pools.end()) {
    const PoolDescription description{
        {type::kEventPool, nullptr}, flag::kHostVisible | flag::kKernelTimestamp, kPlaces};
    auto made = std::make_unique<ZePool>();
    if (Outcome o = call(calls_.poolCreate, context->handle, &description, 1u, &context->device.device,
                         &made->handle);
        o.failed())
      return o;
    for (uint32_t place = kPlaces; place--;)
      made->free.push_back(place);
    pool = pools.insert(pools.end(), std::move(made));
  }
  auto event = std::make_unique<ZeEvent>();
  event->pool = pool->get(), event->place = (*pool)->free.back();
  const EventDescription description{
      {type::kEvent, nullptr}, event->place, flag::kHostScope, flag::kHostScope};
  if (Outcome o = call(calls_.eventCreate, (*pool)->handle, &description, &event->handle); o.failed())
    return o;
  (*pool)->free.pop_back();
  out = event.release();
  return {};
}
void ZeDriver::destroyEvent(Context context, Event event) {
  (void)calls_.eventDestroy(event->handle);
  std::lock_guard lock(context->mutex);
  event->pool->free.push_back(event->place);
  delete event;
}
Outcome ZeDriver::record(Context, Stream stream, Event event) { return barrier(stream, event, nullptr); }
Outcome ZeDriver::wait(Context, Stream stream, Event event) { return barrier(stream, nullptr, event); }
Outcome ZeDriver::queryEvent(Context, Event event) { return call(calls_.eventQuery, event->handle); }
Outcome ZeDriver::synchronizeEvent(Context, Event event) {
  return call(calls_.eventSynchronize, event->handle, uint64_t{UINT64_MAX});
}
Outcome ZeDriver::elapsed(Context context, Event begin, Event end, int64_t &ns) {
  Timestamps first{}, second{};
  Outcome o = call(calls_.eventTimestamps, begin->handle, &first);
  if (!o.failed()) o = call(calls_.eventTimestamps, end->handle, &second);
  if (o.failed()) return o;
  const int64_t ticks = ticksBetween(first.global.end, second.global.end, context->device.timestampBits);
  ns = std::llround(static_cast<double>(ticks) * context->device.nsPerTick);
  return o;
}

} // namespace tessera::levelzero
