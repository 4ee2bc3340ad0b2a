#include "tests/shims/common/CudaLike.h"
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace tessera::shim {

Machine &machine() { return Machine::get(); }
// Never destroyed, since the machine counts what is left when the process ends.
Handles<Module> &modules = *new Handles<Module>("module", 0x42);
Handles<Function> &functions = *new Handles<Function>("function", 0x43);
bool isInitialized = false;

namespace {
Handles<Recording> &graphs = *new Handles<Recording>("graph", 0x44),
                   &executables = *new Handles<Recording>("executable graph", 0x45);
[[maybe_unused]] const bool areCounted =
    (machine().count(modules), machine().count(graphs), machine().count(executables), true);

int reached(Call &call, const Place &place) {
  return Machine::isDone(place) ? (machine().cover(place), call.context->failure) : kNotReady;
}
int queued(Call &call, const std::shared_ptr<Stream> &stream, Work work) {
  return machine().push(stream, std::move(work), call.name, kLaunchFailed) ? 0 : kInvalidValue;
}
} // namespace

Call::Call(const char *name, bool needsContext) : name(name), lock(machine().mutex) {
  if (!isInitialized)
    machine().breach("not-initialized", std::string(name) + " before the driver is initialized");
  if (!needsContext) return;
  context = currentContext(name);
  failure = context ? context->failure : kInvalidContext;
}

// ---- Memory ----

int memoryInfo(Call &call, size_t *free, size_t *total) {
  *total = kDeviceBytes;
  return *free = *total - std::min<size_t>(*total, machine().bytesInUse(call.context->device)), 0;
}
int allocate(Call &call, size_t bytes, void **out) {
  if (bytes == 0) return kInvalidValue;
  const size_t limit = kDeviceBytes - machine().bytesInUse(call.context->device);
  void *p = bytes > limit ? nullptr : machine().allocate(*call.context, bytes);
  if (p) *out = p;
  return p ? 0 : kOutOfMemory;
}
int allocateHost(Call &call, size_t bytes, void **out) {
  void *p = machine().allocatePinned(*call.context, bytes);
  if (p) *out = p;
  return p ? 0 : kOutOfMemory;
}
int release(Call &call, void *p, bool isPinned) {
  if (!call.context) return kInvalidContext;
  return machine().release(*call.context, p, isPinned, call.name) ? 0 : kInvalidValue;
}
int copy(Call &call, void *dst, const void *src, size_t bytes, void *handle) {
  const auto stream = call.stream(handle);
  if (!stream) return kInvalidHandle;
  Work work;
  work.dst = dst, work.src = src, work.bytes = bytes;
  return queued(call, stream, work);
}
int fill(Call &call, void *dst, unsigned char byte, size_t bytes, void *handle) {
  const auto stream = call.stream(handle);
  if (!stream) return kInvalidHandle;
  Work work;
  work.kind = Work::Kind::Fill;
  work.dst = dst, work.byte = byte, work.bytes = bytes;
  return queued(call, stream, work);
}

// ---- Streams and events ----

int createStream(Call &call, void **out, unsigned flags) {
  if (flags > 1) return kInvalidValue;
  return *out = machine().createStream(*call.context), 0;
}
int destroyStream(Call &call, void *handle) {
  if (!call.object(machine().streams, handle)) return kInvalidHandle;
  machine().destroyStream(machine().streams.remove(handle, call.name));
  return 0;
}
int queryStream(Call &call, void *handle) {
  const auto stream = call.stream(handle);
  return stream ? reached(call, {stream, stream->queued}) : kInvalidHandle;
}
int synchronizeStream(Call &call, void *handle) {
  const auto stream = call.stream(handle);
  if (!stream) return kInvalidHandle;
  if (stream->isRecording)
    return machine().breach("recording", std::string(call.name) + " of a stream that records"),
           kCaptureUnsupported;
  machine().synchronize(call.lock, {stream, stream->queued});
  return call.context->failure;
}
int waitEvent(Call &call, void *handle, void *event) {
  const auto stream = call.stream(handle);
  const auto awaited = machine().events.find(event, call.name); // may be another context's
  if (!stream || !awaited) return kInvalidHandle;
  return machine().wait(stream, *awaited), 0;
}
int createEvent(Call &call, void **out) {
  auto event = std::make_shared<Event>();
  event->context = call.context;
  return *out = machine().events.add(std::move(event)), 0;
}
int destroyEvent(Call &call, void *handle) {
  return machine().events.remove(handle, call.name) ? 0 : kInvalidHandle;
}
int recordEvent(Call &call, void *handle, void *streamHandle) {
  const auto event = call.event(handle);
  const auto stream = call.stream(streamHandle);
  if (!event || !stream) return kInvalidHandle;
  return machine().record(stream, *event), 0;
}
int queryEvent(Call &call, void *handle) {
  const auto event = call.event(handle);
  return event ? reached(call, event->place) : kInvalidHandle;
}
int synchronizeEvent(Call &call, void *handle) {
  const auto event = call.event(handle);
  if (!event) return kInvalidHandle;
  machine().synchronize(call.lock, event->place);
  return call.context->failure;
}
int elapsedTime(Call &call, float *out, void *begin, void *end) {
  const auto a = call.event(begin), b = call.event(end);
  if (!a || !b || !a->place.stream || !b->place.stream) return kInvalidHandle;
  if (!Machine::isDone(a->place) || !Machine::isDone(b->place)) return kNotReady;
  return *out = static_cast<float>(static_cast<double>(*b->time - *a->time) / 1e6), 0;
}

// ---- Code ----

int unloadModule(Call &call, void *handle) {
  if (!call.object(modules, handle)) return kInvalidHandle;
  const auto module = modules.remove(handle, call.name);
  module->isUnloaded = true;
  if (isInUse(*module->uses) && !call.failure)
    machine().breach("unload-in-use", std::string(call.name) + " of code that queued launches use");
  return 0;
}
int getFunction(Call &call, void **out, void *handle, const char *name) {
  const auto module = call.object(modules, handle);
  if (!module) return kInvalidHandle;
  const auto kernel = std::ranges::find(module->kernels, name, &OwnKernel::name);
  if (kernel == module->kernels.end()) return kNotFound;
  return *out = functions.add(std::make_shared<Function>(Function{module, *kernel, kDynamicShared})), 0;
}
int functionAttribute(Call &call, int *out, int which, void *handle) {
  const auto function = call.object(functions, handle);
  if (!function) return kInvalidHandle;
  const uint32_t *block = function->kernel.block;
  const std::map<int, int> values = {{0, block[0] ? static_cast<int>(block[0] * block[1] * block[2]) : 1024},
                                     {1, static_cast<int>(function->kernel.staticShared)},
                                     {4, 32}};
  const auto found = values.find(which);
  return found == values.end() ? kInvalidValue : (*out = found->second, 0);
}
int residentBlocks(Call &call, int *out, void *handle) {
  if (!call.object(functions, handle)) return kInvalidHandle;
  return *out = static_cast<int>(machine().options.residents), 0;
}
namespace {
/// The parameters of a launch, at the offsets of Code.h. `separate` has a pointer to each. `extra` has them
/// in one buffer, in which the assembler decides the offsets of tensor maps: it aligns their addresses in
/// constant memory, where parameters begin at an address of its choice.
std::optional<std::vector<unsigned char>> parametersOf(const OwnKernel &kernel, void **separate, void **extra,
                                                       void *end) {
  auto refuse = [](const std::string &text) {
    machine().breach("parameters", text);
    return std::nullopt;
  };
  if (separate) {
    std::vector<unsigned char> out(kernel.parameterBytes);
    for (const OwnKernel::Parameter &p : kernel.parameters) {
      if (!*separate) return refuse("a parameter has no value");
      std::memcpy(out.data() + p.offset, *separate++, p.bytes);
    }
    return out;
  }
  if (!extra || extra[0] != reinterpret_cast<void *>(1) || extra[2] != reinterpret_cast<void *>(2) ||
      extra[4] != end)
    return refuse("the parameters are neither separate nor one buffer");
  if (std::ranges::any_of(kernel.parameters, [](auto &p) { return p.bytes == sizeof(EmulatedTensorMap); }))
    return refuse("a buffer of parameters has a tensor map, whose offset the assembler decides");
  const auto *data = static_cast<const unsigned char *>(extra[1]);
  return std::vector<unsigned char>(data, data + *static_cast<size_t *>(extra[3]));
}
} // namespace

int launch(Call &call, void *handle, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
           std::array<unsigned, 3> cluster, unsigned shared, void *streamHandle, void **separate,
           void **extra, void *end) {
  const auto function = call.object(functions, handle);
  const auto stream = call.stream(streamHandle);
  if (!function || !stream) return kInvalidHandle;
  if (!grid[0] || !grid[1] || !grid[2] || grid[0] > INT32_MAX || grid[1] > 65535 || grid[2] > 65535)
    return kInvalidValue;
  const auto parameters = parametersOf(function->kernel, separate, extra, end);
  if (!parameters) return kInvalidValue;
  const Launch asked{grid, block, cluster, shared, *parameters};
  switch (queueLaunch(*function, stream, asked, call.name, kLaunchFailed)) {
  case Queued::Yes:
    return 0;
  case Queued::UnknownImage:
    return kNoBinary;
  default:
    return kInvalidValue;
  }
}

// ---- Graphs ----

int beginCapture(Call &call, void *handle) {
  const auto stream = call.stream(handle);
  if (!stream) return kInvalidHandle;
  return stream->isRecording = true, 0;
}
int endCapture(Call &call, void *handle, void **out) {
  const auto stream = call.stream(handle);
  if (!stream) return kInvalidHandle;
  if (!stream->isRecording)
    return machine().breach("recording", std::string(call.name) + " of a stream that does not record"),
           kInvalidValue;
  stream->isRecording = false;
  auto graph = std::make_shared<Recording>(Recording{call.context, std::move(stream->recorded)});
  stream->recorded.clear();
  return *out = graphs.add(std::move(graph)), 0;
}
int instantiate(Call &call, void **out, void *handle) {
  const auto graph = call.object(graphs, handle);
  return graph ? (*out = executables.add(std::make_shared<Recording>(*graph)), 0) : kInvalidHandle;
}
int launchGraph(Call &call, void *handle, void *streamHandle) {
  const auto graph = call.object(executables, handle);
  const auto stream = call.stream(streamHandle);
  if (!graph || !stream) return kInvalidHandle;
  for (const Work &work : graph->works)
    if (queued(call, stream, work)) return kInvalidValue;
  return 0;
}
int destroyGraph(Call &call, void *handle) { return graphs.remove(handle, call.name) ? 0 : kInvalidHandle; }
int destroyExecutable(Call &call, void *handle) {
  return executables.remove(handle, call.name) ? 0 : kInvalidHandle;
}

} // namespace tessera::shim
