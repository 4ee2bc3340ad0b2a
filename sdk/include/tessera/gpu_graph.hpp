// Recorded graphs of GpuBackend (gpu_backend.hpp).
#pragma once
#include <tessera/gpu_module.hpp>

namespace tessera::gpu {

/// A graph that the driver has recorded: one call launches all of it. Only launches, and copies and fills of
/// the context's own memory, are recorded; a graph with anything else is replayed node by node.
template <class D> class Graph final : public DeviceGraph {
public:
  /// Sets `out` to a graph of either kind.
  static Outcome make(GraphWork work, State<D> &state, MemoryPool &memory,
                      std::shared_ptr<DeviceGraph> &out) {
    if constexpr (RecordsGraphs<D>) {
      if (isRecordable(work, memory)) {
        std::shared_ptr<Graph> graph(new Graph(std::move(work), state));
        out = graph;
        return graph->record(memory);
      }
    }
    out = std::make_shared<DeviceGraph>(std::move(work));
    return {};
  }
  ~Graph() override {
    if constexpr (RecordsGraphs<D>)
      if (isRecorded_) state_.always([&] { state_.driver.destroyGraph(state_.context, recorded_); });
  }

  /// With the context entered.
  Outcome launch(typename D::Stream stream) const {
    if constexpr (RecordsGraphs<D>) {
      std::lock_guard lock(launching_);
      return state_.driver.launchGraph(state_.context, stream, recorded_);
    }
    return {TSR_EINTERNAL, "the driver records no graphs"}; // never made
  }

private:
  Graph(GraphWork work, State<D> &state) : DeviceGraph(std::move(work)), state_(state) {}

  static bool isRecordable(const GraphWork &work, const MemoryPool &memory) {
    auto isOwn = [&](const void *p, size_t bytes) {
      const auto room = memory.available(p);
      return room && bytes <= *room;
    };
    for (const GraphNode &node : work.nodes) {
      const auto to = reinterpret_cast<uintptr_t>(node.dst), from = reinterpret_cast<uintptr_t>(node.src);
      if (node.kind == GraphNode::Kind::Launch) continue;
      if (node.kind == GraphNode::Kind::Fill && isOwn(node.dst, node.bytes)) continue;
      if (node.kind != GraphNode::Kind::Copy || !isOwn(node.dst, node.bytes) ||
          !isOwn(node.src, node.bytes) || (to < from + node.bytes && from < to + node.bytes))
        return false;
    }
    return !work.nodes.empty();
  }

  Outcome record(MemoryPool &memory) {
    typename D::Stream stream{};
    if (Outcome o = state_.use([&] { return state_.driver.createStream(state_.context, stream); });
        o.failed())
      return o;
    Outcome out = state_.use([&] { return recordIn(stream, memory); });
    state_.always([&] { state_.driver.destroyStream(state_.context, stream); });
    return out;
  }
  Outcome recordIn(typename D::Stream stream, MemoryPool &memory) {
    size_t bytes = 0; // launches run in order, so they share one workspace
    for (const GraphNode &node : work().nodes) {
      if (node.kind != GraphNode::Kind::Launch) continue;
      const auto &kernel = static_cast<const Kernel<D> &>(*node.kernel);
      if (Outcome o = kernel.check(node.grid); o.failed()) return o;
      bytes = std::max(bytes, kernel.workspaceBytes(node.grid));
    }
    if (bytes)
      if (Outcome o = takeBlock(memory, bytes, workspace_); o.failed()) return o;
    if (Outcome o = state_.driver.beginGraph(state_.context, stream); o.failed()) return o;
    Outcome out;
    for (const GraphNode &node : work().nodes)
      if (!out.failed()) out = add(node, stream);
    Outcome ended = state_.driver.endGraph(state_.context, stream, recorded_); // also if a node failed
    isRecorded_ = !ended.failed();
    return out.failed() ? out : ended;
  }
  Outcome add(const GraphNode &node, typename D::Stream stream) {
    if (node.kind == GraphNode::Kind::Launch) {
      auto &kernel = static_cast<Kernel<D> &>(*node.kernel);
      if (node.grid.programs() == 0) return {};
      std::vector<std::byte> parameters;
      if (Outcome o = kernel.pack(node.values.data(), parameters); o.failed()) return o;
      return kernel.launch(stream, node.grid, parameters, workspace_.get());
    }
    if (node.bytes == 0) return {};
    if (node.kind == GraphNode::Kind::Fill)
      return state_.driver.fill(state_.context, stream, node.dst, node.byte, node.bytes);
    return state_.driver.copy(state_.context, stream, node.dst, node.src, node.bytes);
  }

  struct NoGraph {};
  template <class T> struct HandleOf {
    using Type = NoGraph;
  };
  template <RecordsGraphs T> struct HandleOf<T> {
    using Type = typename T::Graph;
  };
  State<D> &state_;
  typename HandleOf<D>::Type recorded_{};
  bool isRecorded_ = false;
  mutable std::mutex launching_; // drivers do not let two threads launch one graph at a time
  std::shared_ptr<void> workspace_;
};

} // namespace tessera::gpu
