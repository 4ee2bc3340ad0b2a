#include "tools/tsr-conformance/Objects.h"
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace tessera::kit {

using thunk::Text;

Bytes pattern(size_t size, unsigned seed) {
  Bytes out(size);
  for (size_t i = 0; i < size; ++i)
    out[i] = static_cast<unsigned char>((i * 167 + (i >> 8) * 13 + seed * 101 + 7) & 0xFF);
  return out;
}

void expectBytes(const Bytes &found, const Bytes &wanted, const std::string &what) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (found[i] != wanted[i])
      throw Failure{what + ": byte " + std::to_string(i) + " of " + std::to_string(wanted.size()) + " is " +
                        std::to_string(wanted[i]),
                    std::to_string(found[i]), ""};
}

Memory::Memory(Subject &s, uint64_t bytes, uint32_t flags, tsr_be_context_t *context)
    : s_(s), context_(context ? context : s.context()) {
  Text why;
  s.must("mem_alloc", s.api().mem_alloc(context_, bytes, flags, &pointer_, why), why);
  expect(pointer_, "a pointer from mem_alloc, which succeeded", "NULL");
}
Memory::Memory(Memory &&o) noexcept
    : s_(o.s_), context_(o.context_), pointer_(std::exchange(o.pointer_, nullptr)) {}
Memory::~Memory() {
  Text why;
  if (pointer_) s_.api().mem_free(context_, pointer_, why);
}
void Memory::free() {
  Text why;
  s_.must("mem_free", s_.api().mem_free(context_, std::exchange(pointer_, nullptr), why), why);
}

Event::Event(Subject &s) : s_(s) {
  Text why;
  s.must("event_create", s.api().event_create(s.context(), &event_, why), why);
  expect(event_, "an object from event_create, which succeeded", "NULL");
}
Event::~Event() { destroy(); }
void Event::destroy() {
  if (event_) s_.api().event_destroy(std::exchange(event_, nullptr));
}
void Event::synchronize() {
  Text why;
  s_.must("event_synchronize", s_.api().event_synchronize(event_, why), why);
}
int64_t Event::timestamp() {
  int64_t out = 0;
  s_.must("event_timestamp", s_.api().event_timestamp(event_, &out), Text());
  return out;
}

Stream::Stream(Subject &s, tsr_be_context_t *context) : s_(s) {
  Text why;
  if (!context) context = s.context();
  s.must("stream_create", s.api().stream_create(context, &stream_, why), why);
  expect(stream_, "an object from stream_create, which succeeded", "NULL");
}
Stream::~Stream() { destroy(); }
void Stream::destroy() {
  if (stream_) s_.api().stream_destroy(std::exchange(stream_, nullptr));
}
void Stream::copy(void *dst, const void *src, uint64_t bytes, bool wait) {
  Text why;
  s_.must("stream_copy", s_.api().stream_copy(stream_, dst, src, bytes, wait, why), why);
}
void Stream::fill(void *dst, uint32_t byte, uint64_t bytes, bool wait) {
  Text why;
  s_.must("stream_fill", s_.api().stream_fill(stream_, dst, byte, bytes, wait, why), why);
}
void Stream::launch(tsr_be_kernel_t *kernel, const uint64_t *values, int64_t x, int64_t y, int64_t z) {
  Text why;
  const int64_t grid[3] = {x, y, z};
  s_.must("stream_launch", s_.api().stream_launch(stream_, kernel, values, grid, why), why);
}
void Stream::record(tsr_be_event_t *event) {
  Text why;
  s_.must("stream_record", s_.api().stream_record(stream_, event, why), why);
}
void Stream::wait(tsr_be_event_t *event) {
  Text why;
  s_.must("stream_wait", s_.api().stream_wait(stream_, event, why), why);
}
void Stream::synchronize() {
  Text why;
  s_.must("stream_synchronize", s_.api().stream_synchronize(stream_, UINT64_MAX, why), why);
}
Bytes Stream::read(const void *src, uint64_t bytes) {
  Bytes out(bytes);
  copy(out.data(), src, bytes, true);
  return out;
}

Context::Context(Subject &s, const tsr_be_allocator_t *allocator) : s_(s) {
  Text why;
  s.must("context_create", s.api().context_create(s.backend(), 0, allocator, &context_, why), why);
  expect(context_, "an object from context_create, which succeeded", "NULL");
}
Context::~Context() { destroy(); }
void Context::destroy() {
  if (context_) s_.api().context_destroy(std::exchange(context_, nullptr));
}

void onThreads(int count, const std::function<void(int)> &body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        body(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  for (std::thread &t : threads)
    t.join();
  if (first) std::rethrow_exception(first);
}

} // namespace tessera::kit
