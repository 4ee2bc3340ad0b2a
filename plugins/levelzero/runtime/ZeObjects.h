// What the handles of ZeDriver point to.
#pragma once
#include "plugins/levelzero/runtime/ZeDriver.h"
#include <atomic>
#include <deque>
#include <map>

namespace tessera::levelzero {

struct ZePool {
  Handle handle = nullptr;
  std::vector<uint32_t> free; // places
};

struct ZeEvent {
  Handle handle = nullptr;
  ZePool *pool = nullptr;
  uint32_t place = 0;
  bool isUsed = false; // it must be reset before it is signalled again
};

struct ZeContext {
  ZeDevice &device;
  Handle handle;
  std::mutex mutex; // guards what follows
  std::vector<std::unique_ptr<ZePool>> pools;
  std::map<void *, size_t> blocks; // of the device's memory
  uint64_t bytes = 0;              // of them
};

/// A closed command list and the events around its executions. Each event has one waiter for each signal,
/// which resets it.
struct ZeGraph {
  Handle list = nullptr;
  ZeEvent *ready = nullptr;    // the stream has reached the execution
  ZeEvent *done = nullptr;     // the list has been executed
  ZeEvent *released = nullptr; // the stream has reset `done`
  bool isReleased = false;     // `released` has been signalled, and is not reset
  ZeStream *last = nullptr;    // the stream of the last execution; only compared
};

struct ZeStream {
  Handle list = nullptr;
  Handle queue = nullptr;                     // executes graphs; null before the first one
  std::unique_ptr<ZeGraph> recording;         // whose list is exchanged with the stream's
  std::mutex mutex;                           // a list is used by one thread at a time; guards what follows
  bool isOpen = false;                        // no barrier follows the last command
  bool hasWork = false;                       // since the last mark
  std::deque<std::shared_ptr<ZeEvent>> marks; // oldest first; dropped when they are signalled
};

/// Arguments and block belong to the kernel and are read when a launch is appended.
struct ZeKernel {
  Handle handle = nullptr;
  KernelProperties properties{};
  std::mutex mutex;
};

struct ZeModule {
  Handle handle = nullptr;
  Handle large = nullptr; // the same with the large register file; null before a kernel spills
  std::string image;
  std::mutex mutex; // guards the kernels
  std::map<std::string, ZeKernel> kernels;
};

} // namespace tessera::levelzero
