// Loaded code of GpuBackend (gpu_backend.hpp), and the checks of a launch that need the device.
#pragma once
#include <cstring>
#include <tessera/gpu_context.hpp>
#include <tessera/gpu_memory.hpp>
#include <tessera/gpu_tensor_maps.hpp>

namespace tessera::gpu {

/// Takes a block that returns to the pool with its last owner.
inline Outcome takeBlock(MemoryPool &pool, size_t bytes, std::shared_ptr<void> &out) {
  void *block = nullptr;
  if (Outcome o = pool.alloc(bytes, block); o.failed()) return o;
  out = {block, [&pool](void *p) { (void)pool.free(p); }};
  return {};
}

template <class D> struct LoadedModule {
  State<D> &state;
  typename D::Module module;
  ~LoadedModule() {
    state.always([&] { state.driver.unloadModule(state.context, module); });
  }
};

/// Immutable.
template <class D> class Kernel final : public DeviceKernel {
public:
  /// `resident` blocks run on a unit of the device at once.
  Kernel(const KernelSpec &spec, std::shared_ptr<LoadedModule<D>> module, typename D::Function function,
         const GpuDevice &device, int resident)
      : DeviceKernel(spec.valueCount), name(kernelName(spec.name)), module_(std::move(module)), spec_(spec),
        function_(function), device_(device), arguments_(spec.arguments), maps_(spec.tensorMaps) {
    if (spec.isPersistent) { // whole clusters
      const auto cluster = int64_t{spec.cluster[0]} * spec.cluster[1] * spec.cluster[2];
      mostBlocks_ = std::max(int64_t{1}, int64_t{device.info.computeUnits} * resident / cluster) * cluster;
    }
    if (arguments_.empty()) // the host does not know them
      for (uint32_t i = 0; i < spec.valueCount; ++i)
        arguments_.push_back({TSR_ARGUMENT_SCALAR, 8, 8ull * i});
    uint64_t end = 0;
    for (const tsr_be_argument_t &a : arguments_)
      end = std::max(end, a.offset + a.bytes);
    if (spec.workspaceBytes) {
      workspace_ = (end + 7) / 8 * 8;
      arguments_.push_back({TSR_ARGUMENT_POINTER, 8, workspace_});
      end = workspace_ + 8;
    }
    firstMap_ = (end + kTensorMapAlign - 1) / kTensorMapAlign * kTensorMapAlign;
    for (size_t i = 0; i < spec.tensorMaps.size(); ++i) {
      arguments_.push_back({TSR_ARGUMENT_SCALAR, kTensorMapBytes, firstMap_ + i * kTensorMapBytes});
      end = arguments_.back().offset + kTensorMapBytes;
    }
    parameterBytes_ = end;
  }

  size_t workspaceBytes(const LaunchGrid &grid) const {
    return spec_.workspaceBytes * static_cast<size_t>(blocks(grid));
  }
  int64_t blocks(const LaunchGrid &grid) const { return std::min(grid.programs(), mostBlocks_); }
  uint64_t parameterBytes() const { return parameterBytes_; }

  Outcome check(const LaunchGrid &grid) const {
    const int64_t blocks = this->blocks(grid), most = device_.limits.blocks;
    if (blocks > most)
      return {TSR_EINVAL, "kernel " + name + ": a grid of " + std::to_string(blocks) + " programs; " +
                              device_.info.arch + " takes at most " + std::to_string(most)};
    if (blocks % spec_.cluster[0])
      return {TSR_EINVAL, "kernel " + name + ": " + std::to_string(blocks) +
                              " programs are no multiple of its cluster of " +
                              std::to_string(spec_.cluster[0])};
    if (spec_.workspaceBytes && static_cast<uint64_t>(blocks) > SIZE_MAX / spec_.workspaceBytes) {
      return {TSR_EOOM, "kernel " + name + ": " + std::to_string(spec_.workspaceBytes) +
                            " bytes of workspace for each of " + std::to_string(blocks) +
                            " programs are more than any memory"};
    }
    return {};
  }

  /// Gives the parameters of a launch, as the kernel reads them; without the workspace.
  Outcome pack(const uint64_t *values, std::vector<std::byte> &out) {
    out.assign(parameterBytes_, {});
    for (uint32_t i = 0; i < valueCount; ++i) // little-endian: the first bytes are the low ones
      std::memcpy(out.data() + arguments_[i].offset, &values[i], arguments_[i].bytes);
    if constexpr (EncodesTensorMaps<D>)
      if (Outcome o = maps_.encode(module_->state, values, out.data() + firstMap_); o.failed()) {
        o.text = "kernel " + name + ": a tensor map: " + o.text;
        return o;
      }
    return {};
  }

  /// Queues a launch, with the context entered. Kernels read the number of their program, with the last axis
  /// of the grid fastest, as their block along x; devices take far fewer blocks along y and z.
  Outcome launch(typename D::Stream stream, const LaunchGrid &grid, std::vector<std::byte> &parameters,
                 void *workspace) const {
    if (spec_.workspaceBytes) std::memcpy(parameters.data() + workspace_, &workspace, sizeof workspace);
    GpuLaunch launch{{static_cast<uint32_t>(blocks(grid)), 1, 1},
                     {spec_.block[0], spec_.block[1], spec_.block[2]},
                     {spec_.cluster[0], spec_.cluster[1], spec_.cluster[2]},
                     static_cast<uint32_t>(spec_.dynamicSharedBytes),
                     parameters,
                     arguments_};
    State<D> &state = module_->state;
    Outcome out = state.driver.launch(state.context, stream, function_, launch);
    if (out.failed()) out.text = "kernel " + name + ": " + out.text;
    return out;
  }

  const std::string name;

private:
  const std::shared_ptr<LoadedModule<D>> module_;
  const KernelSpec spec_;
  const typename D::Function function_;
  const GpuDevice &device_;
  std::vector<tsr_be_argument_t> arguments_;
  TensorMaps maps_;
  uint64_t workspace_ = 0, firstMap_ = 0, parameterBytes_ = 0; // offsets in the parameters, and their size
  int64_t mostBlocks_ = INT64_MAX;                             // of a launch
};

template <class D> class Module final : public DeviceModule {
public:
  Module(std::shared_ptr<LoadedModule<D>> module, const GpuDevice &device)
      : module_(std::move(module)), device_(device) {}

  std::shared_ptr<DeviceKernel> getKernel(const KernelSpec &spec, std::string &why) override {
    State<D> &state = module_->state;
    typename D::Function function{};
    GpuFunctionInfo info;
    std::optional<int> resident;
    Outcome out = state.use(
        [&] { return state.driver.function(state.context, module_->module, spec.name, function, info); });
    if (!out.failed()) out = fits(spec, info);
    if (!out.failed())
      out = state.use([&] { return state.driver.prepare(state.context, function, spec, resident); });
    auto kernel = std::make_shared<Kernel<D>>(spec, module_, function, device_, resident.value_or(1));
    if (!out.failed() && resident == 0)
      out = {TSR_EINVAL, "no block of " + std::to_string(threads(spec)) + " threads with " +
                             std::to_string(info.registers) + " registers each and " +
                             std::to_string(shared(spec, info)) +
                             " bytes of shared memory fits on a unit of " + device_.info.arch};
    if (!out.failed() && kernel->parameterBytes() > device_.limits.parameterBytes)
      out = {TSR_EINVAL, "it has " + std::to_string(kernel->parameterBytes()) + " bytes of parameters, " +
                             device_.info.arch + " takes " + std::to_string(device_.limits.parameterBytes)};
    if (!out.failed()) return kernel;
    why = "kernel " + kernelName(spec.name) + ": " + out.text;
    if (out.status != TSR_EINVAL) throw StatusError(out.status, why); // the status matters
    return nullptr;
  }

private:
  static uint64_t threads(const KernelSpec &spec) {
    return uint64_t{spec.block[0]} * spec.block[1] * spec.block[2];
  }
  static uint64_t shared(const KernelSpec &spec, const GpuFunctionInfo &info) {
    return std::max<uint64_t>(spec.sharedBytes, info.staticShared + spec.dynamicSharedBytes);
  }
  Outcome fits(const KernelSpec &spec, const GpuFunctionInfo &info) const {
    const uint64_t limit = device_.limits.threads,
                   most = info.maxThreads ? std::min<uint64_t>(info.maxThreads, limit) : limit;
    if (threads(spec) > most)
      return {TSR_EINVAL,
              "it has " + std::to_string(threads(spec)) + " threads in a block, " + device_.info.arch +
                  " takes " + std::to_string(most) +
                  (info.registers && most < limit ? " of this kernel, whose threads have " +
                                                        std::to_string(info.registers) + " registers each"
                                                  : "")};
    if (shared(spec, info) > device_.info.maxSharedBytes)
      return {TSR_EINVAL, "it needs " + std::to_string(shared(spec, info)) + " bytes of shared memory, " +
                              device_.info.arch + " has " + std::to_string(device_.info.maxSharedBytes)};
    if (!EncodesTensorMaps<D> && !spec.tensorMaps.empty())
      return {TSR_EINVAL, "it has tensor maps, which " + device_.info.arch + " does not have"};
    if (spec.cluster[0] * spec.cluster[1] * spec.cluster[2] > 1 && !device_.limits.clusters)
      return {TSR_EINVAL, "its programs form clusters, which " + device_.info.arch + " does not have"};
    return {};
  }

  const std::shared_ptr<LoadedModule<D>> module_;
  const GpuDevice &device_;
};

} // namespace tessera::gpu
