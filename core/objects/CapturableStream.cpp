#include "core/objects/CapturableStream.h"
#include <algorithm>
#include <iterator>
#include <utility>

namespace tessera {
namespace {

/// Makes room for `more` elements. Grows by powers of two, which reserve() alone does not.
template <class T> void makeRoom(std::vector<T> &v, size_t more) {
  if (v.capacity() - v.size() < more) v.reserve(std::max(v.size() + more, 2 * v.size()));
}

} // namespace

tsr_status_t CapturableStream::beginCapture(std::string &why) {
  std::lock_guard lock(mutex_);
  if (isCapturing()) {
    why = "the stream is being captured already";
    return TSR_EINVAL;
  }
  if (tsr_status_t status = below_->query(why); status != TSR_SUCCESS && status != TSR_NOT_READY)
    return status;
  work_ = {};
  capturing_.store(true, std::memory_order_release);
  return TSR_SUCCESS;
}

tsr_status_t CapturableStream::endCapture(const Take &take, std::string &why) {
  std::lock_guard lock(mutex_);
  if (!isCapturing()) {
    why = "the stream is not being captured: call tsrStreamBeginCapture first";
    return TSR_EINVAL;
  }
  if (tsr_status_t status = take(work_, why)) return status; // a copy
  capturing_.store(false, std::memory_order_release);
  work_ = {};
  return TSR_SUCCESS;
}

void CapturableStream::abandonCapture() {
  GraphWork forgotten; // released after the lock
  std::lock_guard lock(mutex_);
  capturing_.store(false, std::memory_order_release);
  std::swap(forgotten, work_);
}

bool CapturableStream::append(GraphWork work) {
  if (!isCapturing()) return false;
  std::lock_guard lock(mutex_);
  if (!isCapturing()) return false;
  makeRoom(work_.nodes, work.nodes.size());
  makeRoom(work_.kept, work.kept.size()); // the last statement that can throw
  std::ranges::move(work.nodes, std::back_inserter(work_.nodes));
  std::ranges::move(work.kept, std::back_inserter(work_.kept));
  return true;
}

/// Appends what `make` fills in when a capture is active. The first check takes no lock.
template <class Make> bool CapturableStream::recorded(Make make) {
  if (!isCapturing()) return false;
  GraphNode node;
  make(node);
  std::lock_guard lock(mutex_);
  if (!isCapturing()) return false;
  work_.nodes.push_back(std::move(node));
  return true;
}

template <class Queue> tsr_status_t CapturableStream::queued(Queue queue) {
  struct Note { // also where queue() throws: it may have queued a part
    CapturableStream &stream;
    ~Note() {
      if (!stream.mayWork_.exchange(true)) stream.noted_();
    }
  } note{*this};
  return queue();
}

bool CapturableStream::takeNote() {
  // Work that is queued from here on finds the flag cleared and is noted. What was queued before is seen.
  mayWork_.exchange(false);
  if (!isShared_.load() && below_->isIdle()) return true;
  mayWork_.store(true);
  return false;
}

bool CapturableStream::refuses(const char *what, std::string &why) const {
  if (!isCapturing()) return false;
  why = std::string("the stream is being captured and nothing of the capture runs, so ") + what +
        " is not possible: end the capture with tsrStreamEndCapture and launch the graph";
  return true;
}

tsr_status_t CapturableStream::copy(void *dst, const void *src, size_t bytes, bool wait, std::string &why) {
  if (wait && refuses("a copy that waits (use the Async form)", why)) return TSR_EINVAL;
  if (!wait && recorded([&](GraphNode &n) {
        n.kind = GraphNode::Kind::Copy;
        n.dst = dst;
        n.src = src;
        n.bytes = bytes;
      }))
    return TSR_SUCCESS;
  return queued([&] { return below_->copy(dst, src, bytes, wait, why); });
}

tsr_status_t CapturableStream::fill(void *dst, uint8_t value, size_t bytes, bool wait, std::string &why) {
  if (wait && refuses("a fill that waits (use tsrMemsetAsync)", why)) return TSR_EINVAL;
  if (!wait && recorded([&](GraphNode &n) {
        n.kind = GraphNode::Kind::Fill;
        n.dst = dst;
        n.byte = value;
        n.bytes = bytes;
      }))
    return TSR_SUCCESS;
  return queued([&] { return below_->fill(dst, value, bytes, wait, why); });
}

tsr_status_t CapturableStream::launch(const std::shared_ptr<DeviceKernel> &kernel, const uint64_t *values,
                                      const LaunchGrid &grid, std::string &why) {
  if (recorded([&](GraphNode &n) {
        n.kind = GraphNode::Kind::Launch;
        n.kernel = kernel;
        n.values.assign(values, values + kernel->valueCount);
        n.grid = grid;
      }))
    return TSR_SUCCESS;
  return queued([&] { return below_->launch(kernel, values, grid, why); });
}

tsr_status_t CapturableStream::record(const std::shared_ptr<DeviceEvent> &event, std::string &why) {
  if (recorded([&](GraphNode &n) {
        n.kind = GraphNode::Kind::Record;
        n.event = event;
      }))
    return TSR_SUCCESS;
  return queued([&] { return below_->record(event, why); });
}

tsr_status_t CapturableStream::wait(const std::shared_ptr<DeviceEvent> &event, std::string &why) {
  if (recorded([&](GraphNode &n) {
        n.kind = GraphNode::Kind::Wait;
        n.event = event;
      }))
    return TSR_SUCCESS;
  return queued([&] { return below_->wait(event, why); });
}

/// A graph launched during a capture becomes part of the captured graph.
tsr_status_t CapturableStream::replay(const std::shared_ptr<const DeviceGraph> &graph, std::string &why) {
  if (isCapturing() && append(graph->work())) return TSR_SUCCESS;
  return queued([&] { return below_->replay(graph, why); });
}

tsr_status_t CapturableStream::callHost(HostCall call, std::string &why) {
  if (refuses("a collective", why)) return TSR_EINVAL;
  return queued([&] { return below_->callHost(std::move(call), why); });
}

tsr_status_t CapturableStream::native(const char *&api, void *&handle, std::string &why) {
  if (refuses("giving out its native handle", why)) return TSR_EINVAL;
  const tsr_status_t status = below_->native(api, handle, why);
  if (status != TSR_SUCCESS) return status;
  isShared_.store(true);
  return queued([] { return TSR_SUCCESS; });
}

tsr_status_t CapturableStream::waitNative(const char *api, void *handle, std::string &why) {
  if (refuses("a wait for another library's stream", why)) return TSR_EINVAL;
  return queued([&] { return below_->waitNative(api, handle, why); });
}

tsr_status_t CapturableStream::nativeWaits(const char *api, void *handle, std::string &why) {
  if (refuses("making another library's stream wait for it", why)) return TSR_EINVAL;
  return below_->nativeWaits(api, handle, why);
}

tsr_status_t CapturableStream::synchronize(uint64_t timeoutNs, std::string &why) {
  if (refuses("waiting for it", why)) return TSR_EINVAL;
  return below_->synchronize(timeoutNs, why);
}

tsr_status_t CapturableStream::query(std::string &why) {
  if (refuses("asking whether it is done", why)) return TSR_EINVAL;
  return below_->query(why);
}

} // namespace tessera
