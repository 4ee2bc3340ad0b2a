// What the shims of CUDA's driver API and of HIP have in common: objects, rules and numbers of results are
// the same, names and parameters differ. The vendor's file declares the functions after the vendor's
// reference and calls these.
#pragma once
#include "tests/shims/common/Code.h"
#include <array>
#include <type_traits>

namespace tessera::shim {

// CUDA_ERROR_..., hipError...
inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101,
                     kInvalidImage = 200, kInvalidContext = 201, kNoBinary = 209, kInvalidCode = 218,
                     kUnsupportedPtx = 222, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600,
                     kPeerAlreadyEnabled = 704, kLaunchFailed = 719, kCaptureUnsupported = 900,
                     kUnknown = 999;
inline constexpr size_t kDeviceBytes = size_t{8} << 30;

struct Recording {
  Context *context;
  std::vector<Work> works;
};

Machine &machine();
extern Handles<Module> &modules;
extern Handles<Function> &functions;
extern bool isInitialized;

/// The vendor's: the dynamic shared memory that each launch may ask for.
extern const uint64_t kDynamicShared;
/// The vendor's: the thread's context, or null with the breach recorded.
Context *currentContext(const char *call);

/// A call of the API. Holds the machine's lock.
class Call {
public:
  explicit Call(const char *name, bool needsContext = true);
  /// The object of a handle, if it belongs to the current context.
  template <class T> std::shared_ptr<T> object(Handles<T> &handles, const void *handle) {
    std::shared_ptr<T> out = handles.find(handle, name);
    if constexpr (std::is_same_v<T, Function>)
      if (out && isUnloaded(*out, name)) return nullptr;
    if (out && contextOf(*out) != context) {
      machine().breach("wrong-context", std::string(name) + ": " + handles.kind() + " of another context");
      return nullptr;
    }
    return out;
  }
  /// The stream of a handle. 0, 1 and 2 are the default streams: here one, as if the program had one thread.
  std::shared_ptr<Stream> stream(const void *handle) {
    if (reinterpret_cast<uint64_t>(handle) <= 2) return machine().defaultStream(*context);
    return object(machine().streams, handle);
  }
  std::shared_ptr<Event> event(const void *handle) { return object(machine().events, handle); }
  const char *const name;
  std::unique_lock<std::mutex> lock;
  Context *context = nullptr;
  int failure = 0;

private:
  template <class T> static Context *contextOf(const T &object) { return object.context; }
  static Context *contextOf(const Function &f) { return f.module->context; }
};

#define EXPORT extern "C" __attribute__((visibility("default"))) int
#define BEGIN(name)                                                                                          \
  Call call(name);                                                                                           \
  if (call.failure) return call.failure

int memoryInfo(Call &, size_t *free, size_t *total);
int allocate(Call &, size_t bytes, void **out);
int allocateHost(Call &, size_t bytes, void **out);
int release(Call &, void *p, bool isPinned);
int copy(Call &, void *dst, const void *src, size_t bytes, void *stream);
int fill(Call &, void *dst, unsigned char byte, size_t bytes, void *stream);

int createStream(Call &, void **out, unsigned flags);
int destroyStream(Call &, void *stream);
int queryStream(Call &, void *stream);
int synchronizeStream(Call &, void *stream);
int waitEvent(Call &, void *stream, void *event);
int createEvent(Call &, void **out);
int destroyEvent(Call &, void *event);
int recordEvent(Call &, void *event, void *stream);
int queryEvent(Call &, void *event);
int synchronizeEvent(Call &, void *event);
int elapsedTime(Call &, float *out, void *begin, void *end);

int unloadModule(Call &, void *module);
int getFunction(Call &, void **out, void *module, const char *name);
/// Of a block's threads, shared memory and registers.
int functionAttribute(Call &, int *out, int which, void *function);
int residentBlocks(Call &, int *out, void *function);
/// `separate` points to each parameter, or `extra` has one buffer of them, which the marker `end` ends.
int launch(Call &, void *function, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
           std::array<unsigned, 3> cluster, unsigned shared, void *stream, void **separate, void **extra,
           void *end);

int beginCapture(Call &, void *stream);
int endCapture(Call &, void *stream, void **out);
int instantiate(Call &, void **out, void *graph);
int launchGraph(Call &, void *graph, void *stream);
int destroyGraph(Call &, void *graph);
int destroyExecutable(Call &, void *graph);

} // namespace tessera::shim
