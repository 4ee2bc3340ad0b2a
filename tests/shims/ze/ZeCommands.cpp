// libze_loader.so.1 without a GPU: command lists and queues.
//
// A list may overlap its commands, so two that use the same memory need a barrier between them. The commands
// of a recorded list are queued in a queue's stream each time it is executed.
#include "tests/shims/ze/Ze.h"
#include <algorithm>
#include <cstring>

namespace tessera::shim {

Handles<List> &lists = *new Handles<List>("command list", 0x65);
Handles<List> &queues = *new Handles<List>("command queue", 0x69);
Handles<Pool> &pools = *new Handles<Pool>("event pool", 0x66);
Handles<ZeEvent> &events = *new Handles<ZeEvent>("event", 0x67);

namespace {

[[maybe_unused]] const bool areCommandsCounted =
    (machine().count(lists), machine().count(queues), machine().count(pools), machine().count(events), machine().liveEvents = [] { return events.live(); }, true);

/// A command other than a barrier uses the memory at these addresses.
void touch(const Call &call, List &list, std::initializer_list<const void *> addresses) {
  for (const void *p : addresses) {
    const void *block = machine().startOf(p);
    if (p && !list.touched.insert(block).second)
      machine().breach("unordered",
                       std::string(call.name) +
                           ": no barrier is between this command and one before it that uses the same "
                           "memory");
  }
}
/// The events of commands are not used by Tessera.
int refuseEvents(const Call &call) {
  return machine().breach("events", std::string(call.name) + ": the shim has events of barriers only"),
         kInvalidArgument;
}
int after(List &list, bool isQueued) {
  if (const int failure = list.context->failure) return failure;
  return isQueued ? 0 : kInvalidArgument;
}
/// Executes a command of an immediate list, keeps that of a recorded one.
int append(const Call &call, List &list, Command command) {
  if (list.stream) return command(call, list);
  if (list.isClosed)
    return machine().breach("closed-list", std::string(call.name) + " to a list that is closed"),
           kInvalidArgument;
  return list.commands.push_back(std::move(command)), 0;
}
/// Does the stream wait for the place, or pass it, before what is queued next?
bool isAfter(const Stream &stream, const Place &place) {
  if (Machine::isDone(place) || place.stream.get() == &stream) return true;
  return std::ranges::any_of(stream.waits, [&](const auto &wait) {
    return wait.second.stream == place.stream && wait.second.number >= place.number;
  });
}

} // namespace
} // namespace tessera::shim

using namespace tessera::shim;

namespace {
struct QueueDescription {
  int stype;
  const void *pNext;
  uint32_t ordinal, index, flags;
  int mode, priority;
};
struct ListDescription {
  int stype;
  const void *pNext;
  uint32_t ordinal, flags;
};
} // namespace

namespace {
/// Creates a list or queue of a device; a recorded list has no queue's description.
int create(Call &call, void *handle, void *deviceHandle, uint32_t ordinal, const QueueDescription *queue,
           Handles<List> &kind, void **out) {
  const auto context = contexts.find(handle, call.name);
  const int device = call.device(deviceHandle);
  if (!context || device < 0 || (queue && queue->stype != 0xe)) return kInvalidHandle;
  if (ordinal != 1)
    return machine().breach("queue", "the queue group " + std::to_string(ordinal) + " takes no kernels"),
           kInvalidArgument;
  if (queue && queue->mode != 2)
    return machine().breach("queue", "the list would block its caller"), kInvalidArgument;
  auto list = std::make_shared<List>();
  list->context = &context->devices[static_cast<size_t>(device)];
  if (list->context->failure) return list->context->failure;
  if (queue) {
    list->streamHandle = machine().createStream(*list->context);
    list->stream = machine().streams.find(list->streamHandle, call.name);
  }
  return *out = kind.add(std::move(list)), 0;
}
int destroy(const Call &call, const std::shared_ptr<List> &list) {
  if (!list) return kInvalidHandle;
  if (list->stream)
    machine().destroyStream(machine().streams.remove(list->streamHandle, call.name));
  else if (!Machine::isDone(list->last) && !list->context->failure)
    machine().breach("destroy-busy", "a list is destroyed while a queue executes it");
  return 0;
}
} // namespace

EXPORT zeCommandListCreateImmediate(void *handle, void *deviceHandle, const QueueDescription *description,
                                    void **out) {
  Call call("zeCommandListCreateImmediate");
  return create(call, handle, deviceHandle, description->ordinal, description, lists, out);
}
EXPORT zeCommandListCreate(void *handle, void *deviceHandle, const ListDescription *description, void **out) {
  Call call("zeCommandListCreate");
  if (description->stype != 0xf) return kInvalidHandle;
  return create(call, handle, deviceHandle, description->ordinal, nullptr, lists, out);
}
EXPORT zeCommandListDestroy(void *handle) {
  Call call("zeCommandListDestroy");
  return destroy(call, lists.remove(handle, call.name));
}
EXPORT zeCommandListClose(void *handle) {
  Call call("zeCommandListClose");
  const auto list = lists.find(handle, call.name);
  if (!list) return kInvalidHandle;
  if (list->stream || list->isClosed)
    return machine().breach("closed-list", "zeCommandListClose of a list that is immediate or closed"),
           kInvalidArgument;
  return list->isClosed = true, 0;
}
EXPORT zeCommandQueueCreate(void *handle, void *deviceHandle, const QueueDescription *description,
                            void **out) {
  Call call("zeCommandQueueCreate");
  return create(call, handle, deviceHandle, description->ordinal, description, queues, out);
}
EXPORT zeCommandQueueDestroy(void *handle) {
  Call call("zeCommandQueueDestroy");
  return destroy(call, queues.remove(handle, call.name));
}
EXPORT zeCommandQueueExecuteCommandLists(void *handle, uint32_t count, void **all, void *) {
  Call call("zeCommandQueueExecuteCommandLists");
  const auto queue = queues.find(handle, call.name);
  if (!queue) return kInvalidHandle;
  for (uint32_t i = 0; i < count; ++i) {
    const auto list = lists.find(all[i], call.name);
    if (!list || list->context != queue->context) return kInvalidHandle;
    if (!list->isClosed)
      return machine().breach("open-list", "a queue is given a list that is not closed"), kInvalidArgument;
    for (const Command &command : list->commands)
      if (const int result = command(call, *queue)) return result;
    list->last = {queue->stream, queue->stream->queued};
  }
  return queue->context->failure;
}
EXPORT zeCommandListAppendMemoryCopy(void *handle, void *dst, const void *src, size_t bytes, void *signals,
                                     uint32_t waits, void **) {
  Call call("zeCommandListAppendMemoryCopy");
  const auto list = lists.find(handle, call.name);
  if (!list) return kInvalidHandle;
  if (signals || waits) return refuseEvents(call);
  return append(call, *list, [=](const Call &now, List &to) {
    touch(now, to, {dst});
    if (machine().startOf(src) != machine().startOf(dst)) touch(now, to, {src});
    Work work;
    work.dst = dst, work.src = src, work.bytes = bytes;
    return after(to, machine().push(to.stream, work, now.name, kDeviceLost));
  });
}
EXPORT zeCommandListAppendMemoryFill(void *handle, void *dst, const void *pattern, size_t patternBytes,
                                     size_t bytes, void *signals, uint32_t waits, void **) {
  Call call("zeCommandListAppendMemoryFill");
  const auto list = lists.find(handle, call.name);
  if (!list) return kInvalidHandle;
  if (signals || waits) return refuseEvents(call);
  if (patternBytes != 1) return kInvalidArgument;
  Work work;
  work.kind = Work::Kind::Fill;
  work.dst = dst, work.byte = *static_cast<const unsigned char *>(pattern), work.bytes = bytes;
  return append(call, *list, [work](const Call &now, List &to) {
    touch(now, to, {work.dst});
    return after(to, machine().push(to.stream, work, now.name, kDeviceLost));
  });
}
EXPORT zeCommandListAppendLaunchKernel(void *handle, void *kernelHandle, const unsigned *groups,
                                       void *signals, uint32_t waits, void **) {
  Call call("zeCommandListAppendLaunchKernel");
  const auto list = lists.find(handle, call.name);
  const auto kernel = kernels.find(kernelHandle, call.name);
  if (!list || !kernel) return kInvalidHandle;
  if (signals || waits) return refuseEvents(call);
  const OwnKernel &own = kernel->function.kernel;
  if (isUnloaded(kernel->function, call.name)) return kInvalidHandle;
  if (kernel->function.module->context != list->context)
    return machine().breach("wrong-context",
                            std::string(call.name) + ": a kernel of another device or context"),
           kInvalidHandle;
  if (machine().options.spills && !static_cast<const ZeModule &>(*kernel->function.module).isLarge)
    machine().breach("spills", "kernel " + own.name + " spills, and not with the large register file");
  kernel->setBy = {};
  std::vector<unsigned char> parameters(own.parameterBytes);
  std::vector<void *> used;
  for (uint32_t i = 0; i < own.parameters.size(); ++i) {
    const auto value = kernel->arguments.find(i);
    if (value == kernel->arguments.end())
      return machine().breach("parameters",
                              "kernel " + own.name + ": argument " + std::to_string(i) + " is not set"),
             kInvalidArgument;
    std::copy(value->second.begin(), value->second.end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(own.parameters[i].offset));
    if (void *p = nullptr; own.parameters[i].isPointer) {
      std::memcpy(&p, value->second.data(), sizeof p);
      used.push_back(p);
    }
  }
  return append(call, *list,
                [=, grid = std::array{groups[0], groups[1], groups[2]}, function = kernel->function,
                 block = kernel->block, shared = kernel->dynamicShared](const Call &now, List &to) {
                  if (isUnloaded(function, now.name)) return kInvalidHandle;
                  std::set<const void *> blocks;
                  for (void *p : used)
                    if (blocks.insert(machine().startOf(p)).second) touch(now, to, {p});
                  const Launch launch{grid, block, {1, 1, 1}, shared, parameters};
                  return after(to, queueLaunch(function, to.stream, launch, now.name, kDeviceLost) ==
                                       Queued::Yes);
                });
}
EXPORT zeCommandListAppendBarrier(void *handle, void *signals, uint32_t waits, void **awaited) {
  Call call("zeCommandListAppendBarrier");
  const auto list = lists.find(handle, call.name);
  if (!list) return kInvalidHandle;
  return append(call, *list, [=, awaited = std::vector(awaited, awaited + waits)](const Call &now, List &to) {
    if (const int failure = to.context->failure) return failure;
    for (void *one : awaited) {
      const auto event = events.find(one, now.name);
      if (!event) return kInvalidHandle;
      if (!event->event.place.stream)
        return machine().breach("never-signalled", "a list waits for an event that nothing will signal"),
               kInvalidArgument;
      machine().wait(to.stream, event->event);
    }
    if (signals) {
      const auto event = events.find(signals, now.name);
      if (!event) return kInvalidHandle;
      if (event->event.place.stream)
        return machine().breach("not-reset", "an event is signalled again without a reset"), kInvalidArgument;
      machine().record(to.stream, event->event);
    }
    to.touched.clear();
    return 0;
  });
}
/// Takes effect in the order of the lists that use the event, which is the order of their calls.
EXPORT zeCommandListAppendEventReset(void *handle, void *eventHandle) {
  Call call("zeCommandListAppendEventReset");
  const auto list = lists.find(handle, call.name);
  if (!list) return kInvalidHandle;
  return append(call, *list, [=](const Call &now, List &to) {
    const auto event = events.find(eventHandle, now.name);
    if (!event) return kInvalidHandle;
    if (!isAfter(*to.stream, event->event.place))
      machine().breach("event-in-use", "a list resets an event before it is signalled");
    return event->event.place = {}, to.context->failure;
  });
}
