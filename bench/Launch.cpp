// The cost of a launch on the host, by number of arguments:
//   call        tsrLaunch of a grid without programs: argument checks, geometry and the queue
//   queued      tsrLaunch of one small program while the stream is busy with earlier ones
//   done        100 of those and the wait for them, per launch
//   replay      the same 100 as one graph
//   round trip  tsrLaunch of one small program and the wait for it
#include "bench/Benchmarks.h"
#include "bench/Timing.h"
#include "tools/host/Host.h"
#include <fmt/format.h>

namespace tessera::bench {
namespace {

/// A kernel with `tensors` tensor parameters and one dim: tensors + 1 arguments.
std::string sourceOf(int tensors) {
  std::string params, body;
  for (int t = 0; t < tensors; ++t) {
    params += fmt::format("{}a{}: ts.Tensor[\"n\", ts.f32]", t ? ", " : "", t);
    body += fmt::format("        a{}[i] = 1.0\n", t);
  }
  return fmt::format(
      "import tessera as ts\n\n\n@ts.kernel\ndef k({}):\n    i = ts.tile.linear_id()\n    if i < n:\n{}",
      params, body);
}

constexpr const char *emptySource = "import tessera as ts\n\n\n@ts.kernel\ndef k():\n    ts.tile.barrier()\n";

std::string nanoseconds(const Timing &t, int calls) {
  return fmt::format("{:.0f} ns", t.median / calls * 1e9);
}

/// A graph of the work that `queue` queues on the default stream.
class Graph {
public:
  template <class Queue> Graph(host::Device &device, Queue queue) {
    tsr_stream_t stream = nullptr;
    host::check(tsrGetDefaultStream(device.handle(), &stream), "tsrGetDefaultStream");
    host::check(tsrStreamBeginCapture(stream), "tsrStreamBeginCapture");
    queue();
    host::check(tsrStreamEndCapture(stream, &graph_), "tsrStreamEndCapture");
  }
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  ~Graph() { (void)tsrDestroyGraph(graph_); }
  void launch() const { host::check(tsrGraphLaunch(graph_, nullptr), "tsrGraphLaunch"); }

private:
  tsr_graph_t graph_ = nullptr;
};

std::vector<std::string> measureKernel(host::Device &device, int tensors) {
  const std::string source = tensors ? sourceOf(tensors) : emptySource;
  host::Kernel kernel(device, source, {});
  std::vector<host::Buffer> buffers;
  for (int t = 0; t < tensors; ++t)
    buffers.emplace_back(device, 64 * sizeof(float));
  host::Launch nothing(kernel), something(kernel);
  for (int t = 0; t < tensors; ++t) {
    nothing.set(fmt::format("a{}", t), buffers[t]);
    something.set(fmt::format("a{}", t), buffers[t]);
  }
  nothing.setDims({{"n", 0}});
  something.setDims({{"n", 16}});

  auto burst = [](const host::Launch &launch, int calls) {
    for (int i = 0; i < calls; ++i)
      launch.start();
  };
  auto drain = [&] { device.synchronize(); };
  constexpr int many = 1000, few = 100;
  const Timing queued = measure([&] { burst(something, few); }, drain);
  drain();
  const Graph graph(device, [&] { burst(something, few); });
  auto finished = [&](auto queue) {
    return nanoseconds(measure([&] {
                         queue();
                         drain();
                       }),
                       few);
  };
  const std::string done = finished([&] { burst(something, few); });
  const std::string replay = finished([&] { graph.launch(); });
  const Timing roundTrip = measure([&] { something.run(); });
  std::string call = "-";
  if (tensors) call = nanoseconds(measure([&] { burst(nothing, many); }, drain), many);
  return {std::to_string(tensors ? tensors + 1 : 0),
          call,
          nanoseconds(queued, few),
          done,
          replay,
          nanoseconds(roundTrip, 1)};
}

} // namespace

Table benchLaunch(const Settings &settings) {
  Table table;
  table.title = fmt::format("Launch, {} core{}", settings.cores, settings.cores == 1 ? "" : "s");
  table.notes = {
      "Medians. call: a grid without programs, in bursts of 1000. queued: one small program each, in bursts "
      "of 100. done: the same with the wait for all of them, for each. replay: the same as one graph.",
      "round trip: one launch of one small program and the wait for it."};
  table.columns = {"arguments", "call", "queued", "done", "replay", "round trip"};
  host::Device device("cpu");
  for (int tensors : {0, 7, 18})
    table.rows.push_back(measureKernel(device, tensors));
  return table;
}

} // namespace tessera::bench
