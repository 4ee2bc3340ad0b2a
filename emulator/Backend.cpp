// The emulator as a backend: its devices are the rows of a vendor's table.
#include "emulator/Device.h"
#include "emulator/Launch.h"
#include <tessera/emulated.hpp>
#include <tessera/gpu_capabilities.hpp>
#include <unistd.h>

namespace tessera::emulator {
namespace {

class EmulatedBackend final : public Backend {
public:
  EmulatedBackend(std::vector<DeviceRow> rows, Log log) : rows_(std::move(rows)), log_(log) {}

  tsr_status_t probe(tsr_probe_t &out, std::string &) override {
    out.device_count = deviceCount();
    out.score = 0; // never chosen unless requested by name
    return TSR_SUCCESS;
  }
  int deviceCount() const override { return static_cast<int>(rows_.size()); }
  const DeviceInfo *deviceInfo(int device, std::string &) override {
    return &rows_[static_cast<size_t>(device)].info;
  }
  std::unique_ptr<DeviceContext> createContext(int device, const tsr_allocator_t *allocator,
                                               std::string &) override {
    return makeContext(rows_[static_cast<size_t>(device)], log_, allocator);
  }

private:
  const std::vector<DeviceRow> rows_;
  const Log log_;
};

DeviceRow rowOf(const std::string &backend, const GpuArchitecture &device, const Options &options) {
  DeviceRow row{.info = {},
                .warpSize = static_cast<int>(device.warpSize),
                .maxThreads = device.maxThreads,
                .registers = device.registers,
                .mostInCluster = device.mostInCluster,
                .options = options};
  row.info.name = "emulated " + std::string(device.name);
  row.info.arch = backend + ":emulated:" + std::string(device.name) + (options.check ? "+check" : "");
  row.info.memoryBytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  row.info.maxSharedBytes = static_cast<uint64_t>(device.maxShared);
  row.info.computeUnits = static_cast<uint32_t>(kUnits);
  row.info.vectorBytes = static_cast<uint32_t>(device.warpSize) * 4;
  row.info.capabilities = gpuCapabilities(backend, row.info, device, {.isEmulated = true});
  return row;
}

} // namespace
} // namespace tessera::emulator

extern "C" __attribute__((visibility("default"))) tessera::Backend *
tesseraCreateEmulated_0(const char *backend, std::span<const tessera::GpuArchitecture> devices,
                        const std::string &variant, const tsr_host_info_t *host, std::string &why) {
  using namespace tessera::emulator;
  Options options;
  if (!readOptions(variant, options, why)) return nullptr;
  std::vector<DeviceRow> rows;
  std::string names;
  for (const tessera::GpuArchitecture &device : devices) {
    names += (names.empty() ? "" : ", ") + std::string(device.name);
    if (options.arch.empty() || options.arch == device.name) rows.push_back(rowOf(backend, device, options));
  }
  if (rows.empty()) {
    why = "the emulator has no architecture '" + options.arch + "' of " + backend + "; there are " + names;
    return nullptr;
  }
  return new EmulatedBackend(std::move(rows), {host->log, host->log_user});
}
