#include "tests/shims/common/Machine.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::shim {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kPoison = 0xa5; // of host memory whose copy has not landed, and of new device memory

size_t pages(size_t bytes) { return (bytes / kPage + 1) * kPage; }

bool overlaps(const void *a, size_t n, const void *b, size_t m) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x < y + m && y < x + n;
}

Options parse(const char *text) {
  Options out;
  std::string all = text ? text : "";
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find(' ', at), all.size());
    const std::string word = all.substr(at, end - at);
    at = end + 1;
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals),
                      value = equals == word.npos ? "" : word.substr(equals + 1);
    if (key == "devices")
      out.devices = std::atoi(value.c_str());
    else if (key == "broken")
      out.broken = std::atoi(value.c_str());
    else if (key == "driver")
      out.driver = std::atoi(value.c_str());
    else if (key == "arch")
      out.arch = value;
    else if (key == "oom")
      out.oom = std::atoll(value.c_str());
    else if (key == "lost")
      out.lost = std::atoll(value.c_str());
    else if (key == "residents")
      out.residents = std::atoll(value.c_str());
    else if (key == "spills")
      out.spills = std::atoll(value.c_str());
    else if (key == "jit")
      out.jit = value != "fails";
    else if (!key.empty())
      std::fprintf(stderr, "SHIM: SHIM_OPTIONS has no key '%s'\n", key.c_str()), _exit(98);
  }
  return out;
}

} // namespace

/// The host has not waited for some of it.
bool isInUse(const Uses &uses) {
  return std::ranges::any_of(uses, [](const auto &use) { return use.first->covered < use.second; });
}

Machine &Machine::get() {
  static Machine &machine = *[] {
    auto *m = new Machine;
    m->options = parse(std::getenv("SHIM_OPTIONS"));
    return m;
  }();
  return machine;
}

void Machine::breach(const char *rule, const std::string &text) {
  breaches_.push_back(std::string(rule) + ": " + text);
  std::fprintf(stderr, "SHIM %s: %s\n", rule, text.c_str());
}
std::string Machine::takeBreaches() {
  std::string out;
  for (const std::string &line : breaches_)
    out += line + "\n";
  breaches_.clear();
  return out;
}
void Machine::expectNothingLeft() {
  size_t memory = 0;
  for (auto &[address, block] : blocks_)
    memory += block.real != nullptr;
  auto expectNone = [&](size_t left, const char *kind) {
    if (left) breach("leak", std::to_string(left) + " of kind " + kind + " left");
  };
  expectNone(memory, "allocation");
  expectNone(streams.live(), streams.kind());
  expectNone(events.live(), events.kind());
  for (const auto &[left, kind] : counted_)
    expectNone(left(), kind);
}

// ---- Memory ----

void *Machine::allocate(Context &context, size_t bytes) {
  if (++allocations == options.oom || bytes > size_t{1} << 40) return nullptr;
  void *real =
      mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (real == MAP_FAILED) return nullptr;
  void *seen = mmap(nullptr, pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::memset(real, kPoison, std::min(bytes, kPage));
  blocks_[reinterpret_cast<uintptr_t>(seen)] = {
      &context, bytes, static_cast<unsigned char *>(real), false, {}};
  return seen;
}
void *Machine::allocatePinned(Context &context, size_t bytes) {
  if (bytes > size_t{1} << 40) return nullptr;
  void *p =
      mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  blocks_[reinterpret_cast<uintptr_t>(p)] = {&context, bytes, static_cast<unsigned char *>(p), true, {}};
  return p;
}
bool Machine::release(Context &context, void *p, bool pinned, const char *call) {
  auto found = blocks_.find(reinterpret_cast<uintptr_t>(p));
  if (found == blocks_.end() || found->second.isPinned != pinned) {
    breach("bad-free", std::string(call) + " of an address that was not allocated like that");
    return false;
  }
  Block &block = found->second;
  if (!block.real) {
    breach("double-free", std::string(call) + " of memory that was freed before");
    return false;
  }
  if (block.context != &context) breach("wrong-context", std::string(call) + " of another context's memory");
  const bool used = isInUse(block.uses);
  if (used && !context.failure)
    breach("free-in-use", std::string(call) + " of memory that queued work uses, which nobody waited for");
  if (!used) munmap(block.real, pages(block.bytes));
  if (!used || !pinned)
    mmap(p, pages(block.bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0); // not reused
  block.real = nullptr;
  block.uses.clear();
  return true;
}
uint64_t Machine::bytesInUse(int device) const {
  uint64_t sum = 0;
  for (auto &[address, block] : blocks_)
    if (block.real && !block.isPinned && block.context->device == device) sum += block.bytes;
  return sum;
}

Machine::Block *Machine::blockOf(const void *p) {
  auto after = blocks_.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (after == blocks_.begin()) return nullptr;
  auto &[begin, block] = *--after;
  return reinterpret_cast<uintptr_t>(p) - begin < pages(block.bytes) ? &block : nullptr;
}
void *Machine::resolve(const void *p, size_t bytes, const Context *context, const char *call) {
  Block *block = blockOf(p);
  if (!block) return const_cast<void *>(p); // the host's
  const uintptr_t begin = std::prev(blocks_.upper_bound(reinterpret_cast<uintptr_t>(p)))->first;
  const size_t offset = reinterpret_cast<uintptr_t>(p) - begin;
  if (!block->real) {
    breach("use-after-free", std::string(call) + ": memory that was freed");
    return nullptr;
  }
  if (offset > block->bytes || bytes > block->bytes - offset) {
    breach("out-of-bounds", std::string(call) + ": " + std::to_string(bytes) + " bytes from byte " +
                                std::to_string(offset) + " of an allocation of " +
                                std::to_string(block->bytes));
    return nullptr;
  }
  const auto &peers = context->peers;
  if (block->context != context && !block->isPinned &&
      std::ranges::find(peers, block->context) == peers.end()) {
    breach("wrong-context",
           std::string(call) + ": memory of another context, to which access was not enabled");
    return nullptr;
  }
  return block->real + offset;
}
void Machine::use(const void *p, const std::shared_ptr<Stream> &stream, uint64_t number) {
  if (Block *block = blockOf(p)) block->uses[stream] = number;
}

// ---- Streams ----

std::shared_ptr<Stream> Machine::startStream(Context &context) {
  auto stream = std::make_shared<Stream>();
  stream->context = &context;
  stream->thread = std::thread([this, stream] { serve(stream); });
  return stream;
}
void *Machine::createStream(Context &context) { return streams.add(startStream(context)); }
std::shared_ptr<Stream> Machine::defaultStream(Context &context) {
  if (!context.defaultStream) context.defaultStream = startStream(context);
  return context.defaultStream;
}
void Machine::pause(const std::shared_ptr<Stream> &stream) {
  enqueue(stream, [this, before = pauses_] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return pauses_ > before; });
  });
}
void Machine::resume() {
  ++pauses_;
  changed.notify_all();
}
void Machine::destroyStream(const std::shared_ptr<Stream> &stream) {
  if (stream->covered < stream->queued && !stream->context->failure)
    breach("destroy-busy", "a stream is destroyed whose work nobody waited for");
  stream->isEnding = true;
  changed.notify_all();
  std::thread thread = std::move(stream->thread);
  mutex.unlock(); // the thread takes it to end
  thread.join();
  mutex.lock();
}
void Machine::serve(const std::shared_ptr<Stream> &stream) {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stream->isEnding || !stream->queue.empty(); });
    if (stream->queue.empty()) return;
    const auto next = std::move(stream->queue.front());
    stream->queue.pop_front();
    lock.unlock();
    next();
    lock.lock();
    ++stream->done;
    changed.notify_all();
  }
}
void Machine::enqueue(const std::shared_ptr<Stream> &stream, std::function<void()> run) {
  ++stream->queued;
  stream->queue.push_back(std::move(run));
  changed.notify_all();
}

bool Machine::push(const std::shared_ptr<Stream> &stream, Work work, const char *call, int failure) {
  Context *context = stream->context;
  void *dst = nullptr, *src = nullptr;
  bool toHost = false, fromHost = false;
  if (work.kind != Work::Kind::Launch) {
    toHost = !blockOf(work.dst) || blockOf(work.dst)->isPinned;
    if (!(dst = resolve(work.dst, work.bytes, context, call))) return false;
  }
  if (work.kind == Work::Kind::Copy) {
    fromHost = !blockOf(work.src) || blockOf(work.src)->isPinned;
    if (!(src = resolve(work.src, work.bytes, context, call))) return false;
    if (overlaps(work.dst, work.bytes, work.src, work.bytes))
      breach("overlap", std::string(call) + ": the ranges of a copy overlap");
  }
  if (work.kind == Work::Kind::Fill && !blockOf(work.dst)) {
    breach("host-address", std::string(call) + ": fills memory of the host's");
    return false;
  }
  for (uint64_t p : work.pointers)
    if (p && !resolve(reinterpret_cast<void *>(p), 0, context, call)) return false;
  if (stream->isRecording) return stream->recorded.push_back(std::move(work)), true;
  const uint64_t number = stream->queued + 1;
  use(work.dst, stream, number), use(work.src, stream, number);
  for (uint64_t p : work.pointers)
    use(reinterpret_cast<void *>(p), stream, number);
  if (work.code) (*work.code)[stream] = number;
  enqueue(stream, [=, this, work = std::move(work)] {
    run(stream, number, work, dst, src, toHost, fromHost, failure);
  });
  return true;
}

/// In the stream's thread, without the lock.
void Machine::run(const std::shared_ptr<Stream> &stream, uint64_t number, const Work &work, void *dst,
                  void *src, bool toHost, bool fromHost, int failure) {
  if (work.kind == Work::Kind::Launch) {
    {
      std::lock_guard lock(mutex);
      if (++launches == options.lost) stream->context->failure = failure;
      if (stream->context->failure) return;
    }
    std::string why;
    if (work.launch(why)) return;
    std::fprintf(stderr, "SHIM: a launch failed: %s\n", why.c_str());
    std::lock_guard lock(mutex);
    stream->context->failure = failure;
    return;
  }
  if (fromHost) { // what earlier work in order brought for the host
    std::lock_guard lock(mutex);
    for (Stream::Landing &l : stream->landings)
      if (overlaps(l.to, l.bytes.size(), src, work.bytes)) std::memcpy(l.to, l.bytes.data(), l.bytes.size());
  }
  if (toHost && work.kind == Work::Kind::Copy) {
    Stream::Landing landing{
        number, dst, {static_cast<unsigned char *>(src), static_cast<unsigned char *>(src) + work.bytes}};
    std::memset(dst, kPoison, work.bytes);
    std::lock_guard lock(mutex);
    stream->landings.push_back(std::move(landing));
  } else if (work.kind == Work::Kind::Copy) {
    std::memmove(dst, src, work.bytes); // an overlap is a breach, which has been reported
  } else {
    std::memset(dst, work.byte, work.bytes);
  }
}

void Machine::record(const std::shared_ptr<Stream> &stream, Event &event) {
  event.time = std::make_shared<int64_t>(0);
  event.place = {stream, stream->queued + 1};
  enqueue(stream, [time = event.time] {
    const int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::lock_guard lock(get().mutex);
    *time = now;
  });
}
void Machine::wait(const std::shared_ptr<Stream> &stream, const Event &event) {
  if (!event.place.stream) return; // never recorded: done
  stream->waits.emplace_back(stream->queued + 1, event.place);
  enqueue(stream, [this, place = event.place] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return isDone(place); });
  });
}
void Machine::synchronize(std::unique_lock<std::mutex> &lock, const Place &place) {
  changed.wait(lock, [&] { return isDone(place); });
  cover(place);
}
void Machine::cover(const Place &place) {
  if (!place.stream || place.stream->covered >= place.number) return;
  Stream &stream = *place.stream;
  stream.covered = place.number;
  for (auto &[number, awaited] : stream.waits)
    if (number <= place.number) cover(awaited);
  std::erase_if(stream.waits, [&](auto &w) { return w.first <= place.number; });
  for (Stream::Landing &l : stream.landings)
    if (l.number <= place.number) std::memcpy(l.to, l.bytes.data(), l.bytes.size());
  std::erase_if(stream.landings, [&](auto &l) { return l.number <= place.number; });
}

} // namespace tessera::shim

using tessera::shim::Machine;

/// Sets the options and counts from zero, with devices that work, as in a new process.
extern "C" __attribute__((visibility("default"))) void tesseraShimConfigure(const char *text) {
  Machine &m = Machine::get();
  std::lock_guard lock(m.mutex);
  m.options = tessera::shim::parse(text);
  m.allocations = m.launches = 0;
  m.lost.clear();
  for (tessera::shim::Context *context : m.lasting)
    context->failure = 0;
}
/// Copies the breaches so far, a line each, and forgets them.
extern "C" __attribute__((visibility("default"))) void tesseraShimTake(char *out, size_t capacity) {
  Machine &m = Machine::get();
  std::lock_guard lock(m.mutex);
  const std::string all = m.takeBreaches();
  std::snprintf(out, capacity, "%s", all.c_str());
}
/// The events that exist.
extern "C" __attribute__((visibility("default"))) size_t tesseraShimEvents() {
  Machine &m = Machine::get();
  std::lock_guard lock(m.mutex);
  return m.liveEvents();
}
extern "C" __attribute__((visibility("default"))) void tesseraShimExpectNothingLeft() {
  Machine &m = Machine::get();
  std::lock_guard lock(m.mutex);
  m.expectNothingLeft();
}
namespace {
__attribute__((destructor)) void atEnd() {
  Machine &m = Machine::get();
  std::lock_guard lock(m.mutex);
  m.expectNothingLeft();
  if (!m.takeBreaches().empty()) _exit(97);
}
} // namespace
