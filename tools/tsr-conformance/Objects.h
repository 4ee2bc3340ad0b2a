// The plugin's objects as RAII types for the duration of a check, and the calls that checks make on them. A
// call that fails fails the check.
#pragma once
#include "tools/tsr-conformance/Subject.h"
#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::kit {

using Bytes = std::vector<unsigned char>;

/// Returns `size` bytes that differ from their neighbours and between seeds.
Bytes pattern(size_t size, unsigned seed);
/// Fails with the first byte that differs.
void expectBytes(const Bytes &found, const Bytes &wanted, const std::string &what);

class Memory {
public:
  Memory(Subject &s, uint64_t bytes, uint32_t flags = 0, tsr_be_context_t *context = nullptr);
  ~Memory();
  Memory(Memory &&other) noexcept;
  unsigned char *get() const { return static_cast<unsigned char *>(pointer_); }
  operator void *() const { return pointer_; }
  void free();

private:
  Subject &s_;
  tsr_be_context_t *context_;
  void *pointer_ = nullptr;
};

class Event {
public:
  explicit Event(Subject &s);
  ~Event();
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  operator tsr_be_event_t *() const { return event_; }
  int32_t query() const { return s_.api().event_query(event_); }
  void synchronize();
  int64_t timestamp();
  void destroy();

private:
  Subject &s_;
  tsr_be_event_t *event_ = nullptr;
};

class Stream {
public:
  explicit Stream(Subject &s, tsr_be_context_t *context = nullptr);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  operator tsr_be_stream_t *() const { return stream_; }

  void copy(void *dst, const void *src, uint64_t bytes, bool wait = false);
  void fill(void *dst, uint32_t byte, uint64_t bytes, bool wait = false);
  void launch(tsr_be_kernel_t *, const uint64_t *values, int64_t x, int64_t y = 1, int64_t z = 1);
  void record(tsr_be_event_t *);
  void wait(tsr_be_event_t *);
  void synchronize();
  void destroy();
  /// Copies device memory to the host and waits.
  Bytes read(const void *src, uint64_t bytes);
  void write(void *dst, const Bytes &bytes) { copy(dst, bytes.data(), bytes.size(), true); }

private:
  Subject &s_;
  tsr_be_stream_t *stream_ = nullptr;
};

/// A context in addition to the shared one.
class Context {
public:
  explicit Context(Subject &s, const tsr_be_allocator_t *allocator = nullptr);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  operator tsr_be_context_t *() const { return context_; }
  void destroy();

private:
  Subject &s_;
  tsr_be_context_t *context_ = nullptr;
};

/// Runs `body(i)` on `count` threads. When one of them fails, the check fails with the first failure.
void onThreads(int count, const std::function<void(int)> &body);

} // namespace tessera::kit
