// Checks of graphs: replaying recorded work has the same effect as making the calls one by one.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Kernels.h"
#include <atomic>
#include <deque>
#include <memory>
#include <utility>

namespace tessera::kit {
namespace {

using thunk::Text;

constexpr const char *kSlots = "graph_create,graph_launch,graph_destroy";
constexpr const char *kWithEvents =
    "graph_create,graph_launch,graph_destroy,event_create,event_destroy,event_query,event_synchronize,"
    "event_timestamp,stream_record,stream_wait";
constexpr size_t kCount = 4000, kBytes = kCount * 4;

tsr_be_node_t node(uint32_t kind) {
  tsr_be_node_t out{};
  out.struct_size = sizeof out;
  out.kind = kind;
  return out;
}
tsr_be_node_t copyNode(void *dst, const void *src, uint64_t bytes) {
  tsr_be_node_t out = node(TSR_NODE_COPY);
  out.dst = dst, out.src = src, out.bytes = bytes;
  return out;
}
tsr_be_node_t fillNode(void *dst, uint32_t byte, uint64_t bytes) {
  tsr_be_node_t out = node(TSR_NODE_FILL);
  out.dst = dst, out.byte = byte, out.bytes = bytes;
  return out;
}

/// Returns a counter that is never destroyed: a stream may release a graph's last launch after the graph and
/// its check have ended.
std::atomic<int> &newCount() {
  static auto &counts = *new std::deque<std::atomic<int>>;
  return counts.emplace_back(0);
}

class Graph {
public:
  Graph(Subject &s, const std::vector<tsr_be_node_t> &nodes) : s_(s) {
    Text why;
    tsr_be_keep_t keep = {&releases, [](void *count) { ++*static_cast<std::atomic<int> *>(count); }};
    s.must("graph_create", s.api().graph_create(s.context(), nodes.data(), nodes.size(), keep, &graph_, why),
           why);
    expect(graph_, "an object from graph_create, which succeeded", "NULL");
  }
  ~Graph() { destroy(); }
  void destroy() {
    if (graph_) s_.api().graph_destroy(std::exchange(graph_, nullptr));
  }
  void launch(tsr_be_stream_t *stream) {
    Text why;
    s_.must("graph_launch", s_.api().graph_launch(stream, graph_, why), why);
  }
  std::atomic<int> &releases = newCount();

private:
  Subject &s_;
  tsr_be_graph_t *graph_ = nullptr;
};

void replay(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes), c(s, kBytes);
  Stream stream(s);
  Graph graph(s, {copyNode(b, a, kBytes), fillNode(b.get() + 100, 0x3C, 200), copyNode(c, b, kBytes),
                  copyNode(c.get() + 8, c.get(), 1000)});
  for (unsigned i = 0; i < 10; ++i) {
    Bytes wanted = pattern(kBytes, i);
    stream.write(a, wanted);
    graph.launch(stream);
    std::fill_n(wanted.begin() + 100, 200, static_cast<unsigned char>(0x3C));
    std::memmove(wanted.data() + 8, wanted.data(), 1000);
    expectBytes(stream.read(c, kBytes), wanted, "what a replayed graph of copies and fills left");
  }
}

void graphOrder(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream stream(s);
  Graph graph(s, {copyNode(b, a, kBytes)});
  for (unsigned i = 0; i < 20; ++i) {
    const Bytes sent = pattern(kBytes, i);
    stream.copy(a, sent.data(), kBytes);
    graph.launch(stream);
    stream.copy(a, pattern(kBytes, 99).data(), kBytes, true);
    expectBytes(stream.read(b, kBytes), sent, "a graph between copies of one stream");
  }
}

void graphLaunches(Subject &s) {
  const Kernel kernel(s, "step", stepKernel, 2);
  const Memory a(s, kBytes), b(s, kBytes);
  Stream stream(s);
  uint64_t values[] = {word(a), word(b)};
  tsr_be_node_t launch = node(TSR_NODE_LAUNCH);
  launch.kernel = kernel, launch.values = values;
  launch.grid[0] = kCount, launch.grid[1] = launch.grid[2] = 1;
  Graph graph(s, {launch, copyNode(a, b, kBytes), launch, copyNode(a, b, kBytes)});
  std::fill_n(values, 2, uint64_t{0}); // read during graph_create
  std::vector<uint32_t> wanted(kCount, 5), found(kCount);
  stream.copy(a, wanted.data(), kBytes, /*wait=*/true);
  for (int i = 0; i < 6; ++i) {
    graph.launch(stream);
    for (uint32_t &w : wanted)
      w = (w * 3 + 1) * 3 + 1;
  }
  stream.copy(found.data(), a, kBytes, true);
  expect(found == wanted, "what the launches and copies of a graph give one by one", "another result");
}

void waits(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Stream first(s), second(s);
  Event ready(s), done(s);
  tsr_be_node_t wait = node(TSR_NODE_WAIT), record = node(TSR_NODE_RECORD);
  wait.event = ready, record.event = done;
  Graph graph(s, {wait, copyNode(b, a, kBytes), record});
  for (unsigned i = 0; i < 10; ++i) {
    const Bytes sent = pattern(kBytes, i);
    Bytes found(kBytes, 0);
    first.copy(a, sent.data(), kBytes);
    first.record(ready);
    graph.launch(second);
    first.wait(done);
    first.copy(found.data(), b, kBytes, true);
    expectBytes(found, sent, "what a graph with a wait and a record handed on");
  }
}

void graphKeep(Subject &s) {
  const Memory a(s, kBytes), b(s, kBytes);
  Graph graph(s, {copyNode(b, a, kBytes)});
  Stream stream(s);
  for (int i = 0; i < 10; ++i)
    graph.launch(stream);
  stream.synchronize();
  expectEqual(graph.releases.load(), 0, "releases of what the graph needs while it lives:");
  graph.launch(stream);
  graph.destroy();
  stream.destroy();
  expectEqual(graph.releases.load(), 1, "releases once the graph is destroyed and its last launch done:");
}

void empty(Subject &s) {
  Stream stream(s);
  Graph graph(s, {});
  graph.launch(stream);
  stream.synchronize();
}

constexpr Check kGraphChecks[] = {
    {"graph.replay", "A graph of copies and fills does what they do one by one, each time.", replay,
     Needs::Context, kSlots},
    {"graph.order", "A graph keeps its place among the calls of a stream.", graphOrder, Needs::Context,
     kSlots},
    {"graph.launches", "A graph's launches do what they do one by one.", graphLaunches, Needs::Context,
     kSlots},
    {"graph.events", "Waits and records of a graph take the events of each launch.", waits, Needs::Context,
     kWithEvents},
    {"graph.keep", "What a graph needs is released once: destroyed and its last launch done.", graphKeep,
     Needs::Context, kSlots},
    {"graph.empty", "A graph of nothing can be launched.", empty, Needs::Context, kSlots},
};

} // namespace

extern const Group kGraph = {"graph", TSR_PLUGIN_BACKEND, false, kGraphChecks};

} // namespace tessera::kit
