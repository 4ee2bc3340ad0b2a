// A machine with fake GPUs, behind the shims of drivers (docs/decisions/0072).
//
// It executes what a driver would, as late and as strictly as the driver may: a stream is a thread; device
// memory cannot be touched by the host; what a copy brings to the host is there only after a synchronization
// that covers it, and poison until then. It records every use that breaks a rule of the driver. A breach is
// printed, and makes the process exit with status 97, unless a test takes the list first (tesseraShimTake).
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tessera::shim {

/// What a test asks of the machine: SHIM_OPTIONS="devices=1 arch=sm_80 oom=3", or tesseraShimConfigure.
struct Options {
  int devices = 1;
  std::string arch;      // of all devices; "": the vendor's default
  int64_t oom = 0;       // this allocation of device memory, counted from 1, finds none
  int64_t lost = 0;      // this launch, counted from 1, ends the device
  int64_t residents = 1; // blocks that fit on a unit
  int64_t spills = 0;    // bytes that kernels spill with the usual number of registers
  int broken = -1;       // this device exists and answers no question
  int driver = 0;        // the driver's version; 0: the vendor's default
  bool jit = true;       // false: code does not assemble, and the log says so
};

struct Context {
  int device = 0;
  int owners = 0;
  int failure = 0; // the driver's code; every later call fails with it
  std::vector<Context *> peers;
  std::shared_ptr<struct Stream> defaultStream; // null until it is used
};

/// The last work of each stream that uses something.
using Uses = std::map<std::shared_ptr<Stream>, uint64_t>;
bool isInUse(const Uses &uses);

/// A place in the order of a stream.
struct Place {
  std::shared_ptr<Stream> stream;
  uint64_t number = 0;
};

struct Stream {
  Context *context = nullptr;
  std::deque<std::function<void()>> queue;
  uint64_t queued = 0, done = 0, covered = 0; // covered: the host has waited for it
  bool isEnding = false, isRecording = false;
  struct Landing { // what a copy brought for the host
    uint64_t number;
    void *to;
    std::vector<unsigned char> bytes;
  };
  std::vector<Landing> landings;
  std::vector<std::pair<uint64_t, Place>> waits; // by own number
  std::vector<struct Work> recorded;
  std::thread thread;
};

struct Event {
  Context *context = nullptr;
  Place place; // of the last record; stream null: never recorded
  std::shared_ptr<int64_t> time = std::make_shared<int64_t>(0);
};

/// One piece of work of a stream. Pointers are the program's.
struct Work {
  enum class Kind { Copy, Fill, Launch } kind = Kind::Copy;
  void *dst = nullptr;
  const void *src = nullptr;
  size_t bytes = 0;
  unsigned char byte = 0;
  std::function<bool(std::string &why)> launch; // of a launch: runs it
  std::vector<uint64_t> pointers;               // that it is given
  std::shared_ptr<Uses> code;                   // of the code that it runs
};

/// Objects by handles that are never reused.
template <class T> class Handles {
public:
  explicit Handles(const char *kind, uint64_t tag) : kind_(kind), tag_(tag) {}
  void *add(std::shared_ptr<T> object) {
    all_.push_back(std::move(object));
    return reinterpret_cast<void *>(tag_ << 48 | all_.size());
  }
  /// Null, with the breach recorded, if there is no such object any more.
  std::shared_ptr<T> find(const void *handle, const char *call);
  std::shared_ptr<T> remove(const void *handle, const char *call);
  size_t live() const {
    size_t count = 0;
    for (const auto &object : all_)
      count += object != nullptr;
    return count;
  }
  const char *kind() const { return kind_; }

private:
  const char *const kind_;
  const uint64_t tag_;
  std::vector<std::shared_ptr<T>> all_;
};

/// All members are called with `mutex` held, except where noted.
class Machine {
public:
  static Machine &get();

  std::mutex mutex;
  std::condition_variable_any changed;
  Options options;
  int64_t allocations = 0, launches = 0;
  std::map<int, int> lost;          // devices whose context failed, and the driver's code
  std::set<Context *> lasting;      // contexts that never end; they work again when the shim is configured
  std::set<std::string> tensorMaps; // the bytes of those that were encoded
  Handles<Stream> streams{"stream", 0x51};
  Handles<Event> events{"event", 0x52};
  std::function<size_t()> liveEvents = [this] { return events.live(); };

  /// Records a breach of `rule`.
  void breach(const char *rule, const std::string &text);
  std::string takeBreaches();
  /// Objects of the vendor's that must not be left.
  template <class T> void count(const Handles<T> &handles) {
    counted_.emplace_back([&handles] { return handles.live(); }, handles.kind());
  }
  /// Records what is still alive.
  void expectNothingLeft();

  // Memory. The host's address of device memory is not readable.
  void *allocate(Context &context, size_t bytes);
  void *allocatePinned(Context &context, size_t bytes);
  bool release(Context &context, void *p, bool pinned, const char *call);
  uint64_t bytesInUse(int device) const;

  // Streams. `failure` is the driver's code for a failed launch.
  void *createStream(Context &context);
  /// The default stream, which no other one waits for.
  std::shared_ptr<Stream> defaultStream(Context &context);
  /// The stream does no work that is queued from now on before resume().
  void pause(const std::shared_ptr<Stream> &stream);
  void resume();
  void destroyStream(const std::shared_ptr<Stream> &stream);
  bool push(const std::shared_ptr<Stream> &stream, Work work, const char *call, int failure);
  void record(const std::shared_ptr<Stream> &stream, Event &event);
  void wait(const std::shared_ptr<Stream> &stream, const Event &event);
  static bool isDone(const Place &place) { return !place.stream || place.stream->done >= place.number; }
  /// Blocks, without the lock, until the place is reached; then lands what it covers.
  void synchronize(std::unique_lock<std::mutex> &lock, const Place &place);
  /// The host has seen that the place is reached.
  void cover(const Place &place);
  /// Returns the address behind a pointer of the program; null, with the breach recorded, if it cannot be
  /// used for `bytes` bytes.
  void *resolve(const void *p, size_t bytes, const Context *context, const char *call);
  /// The context of an address's allocation; null of the host's memory.
  Context *ownerOf(const void *p) {
    const Block *block = blockOf(p);
    return block ? block->context : nullptr;
  }
  /// The start of an address's allocation; the address itself of the host's memory.
  const void *startOf(const void *p) {
    return blockOf(p) ? reinterpret_cast<const void *>(
                            std::prev(blocks_.upper_bound(reinterpret_cast<uintptr_t>(p)))->first)
                      : p;
  }
  bool isPinned(const void *p) {
    const Block *block = blockOf(p);
    return block && block->isPinned;
  }

private:
  struct Block {
    Context *context;
    size_t bytes;
    unsigned char *real; // null: freed
    bool isPinned;
    Uses uses;
  };
  Block *blockOf(const void *p);
  void use(const void *p, const std::shared_ptr<Stream> &stream, uint64_t number);
  std::shared_ptr<Stream> startStream(Context &context);
  void serve(const std::shared_ptr<Stream> &stream);
  void enqueue(const std::shared_ptr<Stream> &stream, std::function<void()> run);
  void run(const std::shared_ptr<Stream> &stream, uint64_t number, const Work &work, void *dst, void *src,
           bool toHost, bool fromHost, int failure);
  uint64_t pauses_ = 0; // that have ended
  std::map<uintptr_t, Block> blocks_;
  std::vector<std::string> breaches_;
  std::vector<std::pair<std::function<size_t()>, const char *>> counted_;
};

template <class T> std::shared_ptr<T> Handles<T>::find(const void *handle, const char *call) {
  const auto value = reinterpret_cast<uint64_t>(handle);
  const uint64_t index = value & 0xffff'ffff'ffff;
  if (value >> 48 != tag_ || index == 0 || index > all_.size()) {
    Machine::get().breach("bad-handle", std::string(call) + ": not a " + kind_);
    return nullptr;
  }
  if (!all_[index - 1])
    Machine::get().breach("use-after-destroy",
                          std::string(call) + ": " + kind_ + " " + std::to_string(index) + " was destroyed");
  return all_[index - 1];
}
template <class T> std::shared_ptr<T> Handles<T>::remove(const void *handle, const char *call) {
  std::shared_ptr<T> object = find(handle, call);
  if (object) all_[(reinterpret_cast<uint64_t>(handle) & 0xffff'ffff'ffff) - 1] = nullptr;
  return object;
}

} // namespace tessera::shim
