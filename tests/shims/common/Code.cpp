#include "tests/shims/common/Code.h"
#include <cstring>
#include <deque>

namespace tessera::shim {

bool loadCode(Module &module, const ShimDevice &device, std::string_view image, std::string &why) {
  const std::string emulated = emulatedImageOf(image);
  if (emulated.empty()) return true;
  module.code = Emulated::load(device.backend, device.row, emulated, why);
  if (!module.code) why = "the emulated image: " + why;
  return module.code != nullptr;
}

bool isUnloaded(const Function &function, const char *call) {
  if (function.module->isUnloaded)
    Machine::get().breach("use-after-destroy",
                          std::string(call) + ": a function of a module that was unloaded");
  return function.module->isUnloaded;
}

Queued queueLaunch(const Function &function, const std::shared_ptr<Stream> &stream, const Launch &launch,
                   const char *call, int failure) {
  Machine &machine = Machine::get();
  const OwnKernel &kernel = function.kernel;
  auto refuse = [&](const char *rule, const std::string &text) {
    machine.breach(rule, "kernel " + kernel.name + " " + text);
    return Queued::Refused;
  };
  if (kernel.block[0] && !std::equal(launch.block.begin(), launch.block.end(), kernel.block))
    return refuse("block", "is launched with blocks of " + std::to_string(launch.block[0]) + "x" +
                               std::to_string(launch.block[1]) + "x" + std::to_string(launch.block[2]) +
                               " threads and was compiled for others");
  if (!std::equal(launch.cluster.begin(), launch.cluster.end(), kernel.cluster))
    return refuse("cluster", "is launched with clusters of " + std::to_string(launch.cluster[0]) +
                                 " blocks and was compiled for " + std::to_string(kernel.cluster[0]));
  if (launch.grid[0] % launch.cluster[0])
    return refuse("cluster", "is launched with " + std::to_string(launch.grid[0]) +
                                 " blocks, no multiple of its cluster of " +
                                 std::to_string(launch.cluster[0]));
  if (launch.grid[1] * launch.grid[2] > 1)
    return refuse("grid", "is launched with " + std::to_string(launch.grid[1]) + "x" +
                              std::to_string(launch.grid[2]) +
                              " blocks along y and z, and compiled kernels read their number along x only");
  if ((launch.dynamicShared > 0) != kernel.hasDynamicShared || launch.dynamicShared > function.dynamicShared)
    return refuse("shared", "is launched with " + std::to_string(launch.dynamicShared) +
                                " bytes of dynamic shared memory, which are not its own");
  if (launch.parameters.size() != kernel.parameterBytes)
    return refuse("parameters", "gets " + std::to_string(launch.parameters.size()) +
                                    " bytes of parameters, it has " + std::to_string(kernel.parameterBytes));
  Work work;
  work.kind = Work::Kind::Launch;
  std::vector<uint64_t> values;
  // Maps that the driver has encoded, with addresses that the emulator can read.
  auto maps = std::make_shared<std::deque<EmulatedTensorMap>>();
  for (const OwnKernel::Parameter &p : kernel.parameters) {
    uint64_t value = 0;
    if (p.bytes == sizeof(EmulatedTensorMap)) {
      EmulatedTensorMap &map = maps->emplace_back();
      std::memcpy(&map, launch.parameters.data() + p.offset, sizeof map);
      if (!machine.tensorMaps.contains(std::string(reinterpret_cast<const char *>(&map), sizeof map)))
        return refuse("tensor-map", "gets a tensor map that cuTensorMapEncodeTiled has not encoded");
      work.pointers.push_back(map.sizes.address);
      const void *real =
          machine.resolve(reinterpret_cast<void *>(map.sizes.address), 0, stream->context, call);
      if (!real) return Queued::Refused;
      map.sizes.address = reinterpret_cast<uint64_t>(real);
      values.push_back(reinterpret_cast<uint64_t>(&map));
      continue;
    }
    std::memcpy(&value, launch.parameters.data() + p.offset, p.bytes);
    if (p.isPointer) {
      work.pointers.push_back(value);
      void *real = machine.resolve(reinterpret_cast<void *>(value), 0, stream->context, call);
      if (value && !real) return Queued::Refused;
      if (value && real == reinterpret_cast<void *>(value) && !machine.isPinned(real))
        return refuse("host-address", "gets an address of the host's memory");
      value = reinterpret_cast<uint64_t>(real);
    }
    values.push_back(value);
  }
  if (!function.module->code) {
    refuse("unknown-image", "is of an image that SHIM_TABLE does not have");
    return Queued::UnknownImage;
  }
  work.launch = [module = function.module, kernel, values, maps, grid = launch.grid,
                 shared = kernel.staticShared + launch.dynamicShared](std::string &why) {
    return module->code->run(kernel, grid.data(), shared, values, why);
  };
  work.code = function.module->uses;
  return machine.push(stream, std::move(work), call, failure) ? Queued::Yes : Queued::Refused;
}

} // namespace tessera::shim
