// Objects of the Level Zero shim. The declarations follow Level Zero's specification and not the plugin's
// header.
#pragma once
#include "tests/shims/common/Code.h"
#include <array>
#include <initializer_list>
#include <set>

namespace tessera::shim {

// ZE_RESULT_...
inline constexpr int kNotReady = 1, kDeviceLost = 0x70000001, kOutOfDeviceMemory = 0x70000003,
                     kBuildFailure = 0x70000004, kUninitialized = 0x78000001, kInvalidArgument = 0x78000004,
                     kInvalidHandle = 0x78000005, kUnsupportedSize = 0x78000009,
                     kInvalidNativeBinary = 0x7800000f, kInvalidKernelName = 0x78000011,
                     kInvalidGroupSize = 0x78000013, kInvalidArgumentIndex = 0x78000015,
                     kInvalidArgumentSize = 0x78000016;
inline constexpr uint64_t kDeviceBytes = uint64_t{8} << 30;

/// A Level Zero context. Its devices access each other's memory.
struct ZeContext {
  std::array<Context, 16> devices;
};
struct List;
class Call;
/// Queues one command; returns the result of its call.
using Command = std::function<int(const Call &, List &)>;
/// An immediate list, a list that is recorded and closed, or what a queue executes.
struct List {
  Context *context = nullptr;
  void *streamHandle = nullptr;
  std::shared_ptr<Stream> stream; // null: recorded
  std::set<const void *> touched; // allocations that commands since the last barrier use
  std::vector<Command> commands;  // recorded ones
  bool isClosed = false;
  Place last; // of the last execution of a recorded list
};
struct Pool {
  Context *context;
  bool hasTimestamps;
  std::vector<bool> isTaken;
};
struct ZeEvent {
  std::shared_ptr<Pool> pool;
  uint32_t index;
  Event event; // stream null: not appended to be signalled since its last reset
};
struct ZeModule : Module {
  bool isLarge = false; // built for the large register file
};
struct Kernel {
  Function function;
  std::array<unsigned, 3> block{};
  std::map<uint32_t, std::vector<unsigned char>> arguments;
  uint32_t dynamicShared = 0; // bytes that the argument for it was set to
  std::thread::id setBy;      // the thread that set an argument since the last launch
};
struct Log {
  std::string text;
};

/// What each of Level Zero's structs begins with.
struct Head {
  int stype;
  void *pNext;
};

Machine &machine();
uint64_t sharedBytes(); // that a group of this device may have
extern Handles<ZeContext> &contexts;
extern Handles<List> &lists;
extern Handles<List> &queues;
extern Handles<Pool> &pools;
extern Handles<ZeEvent> &events;
extern Handles<ZeModule> &modules;
extern Handles<Kernel> &kernels;
extern Handles<Log> &logs;
extern bool isInitialized;

/// A call of the API. Holds the machine's lock.
class Call {
public:
  explicit Call(const char *name);
  /// The device of a handle; -1 with the breach recorded.
  int device(const void *handle);
  const char *const name;
  std::unique_lock<std::mutex> lock;
};

/// Records a breach unless the struct says that it is one of `types`.
bool isOfType(const Call &call, const Head *head, std::initializer_list<int> types);

#define EXPORT extern "C" __attribute__((visibility("default"))) int

} // namespace tessera::shim
