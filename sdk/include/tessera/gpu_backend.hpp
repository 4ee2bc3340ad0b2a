// A GPU backend over a driver library.
//
//   struct MyDriver { ... };  // gpu_driver.hpp lists its functions
//   constexpr tessera::GpuArchitecture kEmulated[] = {...};
//   TSR_PLUGIN(tessera::GpuBackend<MyDriver, kEmulated>);  // or GpuBackend<MyDriver>
//
// GpuBackend implements the whole table of plugin.h: contexts, pools of device and pinned memory, streams
// with calls of the host, events on CLOCK_MONOTONIC, activity records, modules, launches with their checks,
// graphs and access to peers. plugins/ptx/runtime is an example, docs/extending/write-a-gpu-backend.md the
// guide.
#pragma once
#include <tessera/gpu_ranges.hpp>
#include <tessera/gpu_stream.hpp>
#include <tessera/plugin.hpp>

namespace tessera {

namespace gpu {

template <class D> class Context final : public DeviceContext {
public:
  Context(D &driver, typename D::Context context, const GpuDevice &device, const tsr_allocator_t *allocator)
      : device_(device), state_(driver, context),
        memory_(
            [this](size_t bytes, void *&out) {
              return state_.use([&] { return state_.driver.allocate(state_.context, bytes, out); });
            },
            [this](void *p) { state_.always([&] { state_.driver.release(state_.context, p); }); },
            device.info.memoryBytes, allocator),
        pinned_(
            [this](size_t bytes, void *&out) {
              return state_.use([&] { return state_.driver.allocateHost(state_.context, bytes, out); });
            },
            [this](void *p) { state_.always([&] { state_.driver.releaseHost(state_.context, p); }); },
            device.info.memoryBytes) {}

  const DeviceInfo &info() const override { return device_.info; }
  tsr_status_t alloc(size_t bytes, uint32_t flags, void **dptr, std::string &why) override {
    if (flags & TSR_MEM_MANAGED) {
      why = "TSR_UNIMPLEMENTED: " + device_.info.arch + " has no managed memory in this release";
      return TSR_UNIMPLEMENTED;
    }
    gpu::MemoryPool &pool = flags & TSR_MEM_PINNED_HOST ? pinned_ : memory_;
    Outcome out = pool.alloc(bytes, *dptr);
    if (out.status == TSR_EOOM) { // work that is done may still hold memory
      state_.collect();
      out = pool.alloc(bytes, *dptr);
    }
    return std::move(out).into(why);
  }
  tsr_status_t free(void *dptr, std::string &why) override {
    if (memory_.free(dptr) || pinned_.free(dptr)) return TSR_SUCCESS;
    why = "the pointer is not a live allocation of this context (freed twice, or from elsewhere)";
    return TSR_EINVAL;
  }
  std::optional<size_t> available(const void *dptr) override {
    const auto room = memory_.available(dptr);
    return room ? room : pinned_.available(dptr);
  }
  MemoryUse memoryUse() override {
    MemoryUse use{device_.info.memoryBytes, 0, memory_.bytesInUse(), memory_.bytesPooled()};
    if (Outcome o = state_.use([&] { return state_.driver.memory(state_.context, use.free, use.total); });
        o.failed())
      throw StatusError(o.status, o.text);
    return use;
  }
  void trim() override {
    state_.trim();
    memory_.trim();
    pinned_.trim();
  }
  std::unique_ptr<DeviceStream> createStream(std::string &) override {
    return std::make_unique<Stream<D>>(state_, memory_);
  }
  std::unique_ptr<DeviceEvent> createEvent(std::string &) override { return std::make_unique<Event<D>>(); }
  std::shared_ptr<DeviceModule> loadModule(const ModuleImage &image, std::string &why) override {
    if (std::ranges::find(D::kFormats, image.format) == D::kFormats.end()) {
      why = "backend " TSR_MANIFEST_NAME " loads no images of this format (" + std::to_string(image.format) +
            ")";
      return nullptr;
    }
    typename D::Module module{};
    Outcome out = state_.use([&] { return state_.driver.loadModule(state_.context, image, module); });
    if (out.failed()) {
      if (out.status != TSR_EINVAL) throw StatusError(out.status, out.text);
      why = std::move(out.text);
      return nullptr;
    }
    return std::make_shared<Module<D>>(std::shared_ptr<LoadedModule<D>>(new LoadedModule<D>{state_, module}),
                                       device_);
  }
  std::shared_ptr<DeviceGraph> createGraph(GraphWork work, std::string &why) override {
    std::shared_ptr<DeviceGraph> out;
    return Graph<D>::make(std::move(work), state_, memory_, out).into(why) == TSR_SUCCESS ? out : nullptr;
  }
  tsr_status_t enablePeer(DeviceContext &peer, std::string &why) override {
    auto &other = static_cast<Context &>(peer);
    return state_.use([&] { return state_.driver.enablePeer(state_.context, other.state_.context); })
        .into(why);
  }
  uint32_t memoryFlags() override { return TSR_BE_MEM_PINNED_HOST | TSR_BE_MEM_PEER; }
  void pushRange(const char *name) override {
    VendorRanges<D>::push(name);
    state_.activities.pushRange(name);
  }
  void popRange() override {
    state_.activities.popRange();
    VendorRanges<D>::pop();
  }
  tsr_status_t reportActivities(ActivitySink sink, std::string &) override {
    state_.collect(); // the previous sink gets what is done
    state_.activities.setSink(std::move(sink));
    return TSR_SUCCESS;
  }
  void tagActivities(const ActivityTag &tag) override { state_.activities.setTag(tag); }

private:
  const GpuDevice &device_;
  State<D> state_;
  MemoryPool memory_, pinned_; // before the state, which they use, is destroyed
};

} // namespace gpu

template <class D, const auto &...Emulated>
class GpuBackend final : public Backend, public WithEmulator<Emulated...> {
public:
  tsr_status_t probe(tsr_probe_t &out, std::string &why) override {
    const GpuDevices &found = devices();
    if (found.devices.empty()) {
      why = found.why.empty() ? "the driver reports no device" : found.why;
      return TSR_ENOTFOUND;
    }
    out.device_count = deviceCount();
    out.score = D::kScore;
    found.driver.copy(out.driver, sizeof out.driver - 1);
    for (size_t i = 0; i < found.devices.size() && i < TSR_PROBE_DEVICES; ++i)
      found.devices[i].pci.copy(out.pci[i], sizeof out.pci[i] - 1);
    return TSR_SUCCESS;
  }
  int deviceCount() const override { return static_cast<int>(devices().devices.size()); }
  const DeviceInfo *deviceInfo(int device, std::string &) override {
    return &devices().devices[static_cast<size_t>(device)].info;
  }
  std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *allocator,
                                               std::string &) override {
    const GpuDevice &row = devices().devices[static_cast<size_t>(device)];
    typename D::Context context{};
    if (Outcome o = driver().open(row.number, context); o.failed()) throw StatusError(o.status, o.text);
    return std::make_unique<gpu::Context<D>>(driver(), context, row, allocator);
  }

private:
  /// Never destroyed: drivers are not unloaded, and threads may outlive static destructors.
  static D &driver() {
    static D &instance = *new D;
    return instance;
  }
  static const GpuDevices &devices() {
    static const GpuDevices &found = *new const GpuDevices(driver().find());
    return found;
  }
};

} // namespace tessera
